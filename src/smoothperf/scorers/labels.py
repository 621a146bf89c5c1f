"""Scorers of measures of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from ..measures import (
    PRBEP,
    AveragePrecision,
    BalancedErrorRate,
    ErrorRate,
    LogLoss,
    Measure,
    ROCArea,
    SquaredHinge,
    get_measure,
)


def get_scorer(measure: str | Measure, pos_label: Any = None) -> Any:
    """Return the scorer of a measure of labels.

    Parameters
    ----------
    measure : str or Measure
        By name or as an object.
    pos_label : label, optional
        The positive one; the larger by default.

    Returns
    -------
    callable
        For scikit-learn's ``scoring=``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from smoothperf.scorers import get_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> bool(cross_val_score(model, X, y, scoring=get_scorer("prbep")).min() > 0.9)
    True
    """
    found = get_measure(measure)
    methods: Any = ("decision_function", "predict_proba")
    if found.judges_decisions:
        methods = "predict"
    elif found.fits_bias:
        methods = "decision_function"
    return make_scorer(_score, response_method=methods, measure=found, pos_label=pos_label)


def _score(
    y: ArrayLike,
    response: ArrayLike,
    *,
    measure: Measure,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The measure, for labels of any kind, of scores or of predicted labels."""
    labels = np.asarray(y)
    classes = np.unique(labels)
    if classes.size != 2:
        shown = ", ".join(map(repr, classes[:5].tolist()))
        raise ValueError(
            f"y must hold two kinds of labels to compute {measure.name}, got {classes.size}: {shown}. "
            "Use stratified folds if a fold has one class only."
        )
    positive = classes[1] if pos_label is None else pos_label
    scores = np.where(np.asarray(response) == positive, 1.0, -1.0) if measure.judges_decisions else response
    return measure.score(labels == positive, scores, sample_weight)


#: Precision/recall break-even point.
prbep = get_scorer(PRBEP())
#: Area under the ROC curve.
roc_area = get_scorer(ROCArea())
#: Mean of the precision over the recall.
average_precision = get_scorer(AveragePrecision())
#: 1 less the error rate: accuracy.
error_rate = get_scorer(ErrorRate())
#: 1 less the balanced error rate: balanced accuracy.
balanced_error_rate = get_scorer(BalancedErrorRate())
#: Minus the log loss of the decision function.
log_loss = get_scorer(LogLoss())
#: Minus the squared hinge of the decision function.
squared_hinge = get_scorer(SquaredHinge())
