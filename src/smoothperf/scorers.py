"""Scorers of the measures, for scikit-learn's ``scoring=``: model selection by what you will be judged by.

They are scikit-learn's own scorer objects, so everything that takes a scorer takes them, and
``scorers.prbep.set_score_request(sample_weight=True)`` routes weights to them. Any binary classifier can be scored.
Measures that compare scores take its ``decision_function``, or its ``predict_proba`` if it has no other; measures of
decisions (error rates, F-beta and the like) take its ``predict``; log loss and squared hinge, which depend on how far
scores are from 0, take its ``decision_function``. The larger label is positive, or ``get_scorer(measure,
pos_label=...)``. Measures of queries take ``predict``, and the query of each row by metadata routing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from .measures import (
    PRBEP,
    AveragePrecision,
    BalancedErrorRate,
    ErrorRate,
    LogLoss,
    Measure,
    QueryMeasure,
    ROCArea,
    SquaredHinge,
    get_measure,
    get_query_measure,
)

__all__ = [
    "average_precision",
    "balanced_error_rate",
    "error_rate",
    "get_query_scorer",
    "get_scorer",
    "log_loss",
    "prbep",
    "roc_area",
    "squared_hinge",
]


def get_scorer(measure: str | Measure, pos_label: Any = None) -> Any:
    """Return the scorer of a measure, given by name or as an object; the larger label is positive by default.

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


def get_query_scorer(measure: str | QueryMeasure) -> Any:
    """Return the scorer of a measure of queries, for any model whose ``predict`` orders documents.

    It needs scikit-learn's metadata routing, which hands on the query of each row: ``set_score_request(qid=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GroupKFold, cross_validate
    >>> from smoothperf.scorers import get_query_scorer
    >>> X, qid = np.random.default_rng(0).normal(size=(60, 2)), np.repeat(range(6), 10)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scorer = get_query_scorer("ndcg@5").set_score_request(qid=True)
    ...     folds = {"cv": GroupKFold(3), "params": {"qid": qid, "groups": qid}}
    ...     scores = cross_validate(Ridge(), X, y, scoring=scorer, **folds)["test_score"]
    >>> bool(scores.min() > 0.9)
    True
    """
    return make_scorer(_score_queries, response_method="predict", measure=get_query_measure(measure))


def _score_queries(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    measure: QueryMeasure,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The measure, if it is known which rows belong together."""
    if qid is None:
        raise ValueError(
            f"qid is needed to compute {measure.name}: enable scikit-learn's metadata routing, call "
            "set_score_request(qid=True) of the scorer, and pass qid."
        )
    return measure.score(y, scores, qid, sample_weight)


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
