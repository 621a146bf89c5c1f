"""The numbers of a report on a classifier for many labels, gathered from a model and data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators.weights import most_important, names_of, scaling_of
from ..evaluation import Ranking, interval, multiplicities
from ..evaluation.decisions import Decisions
from ..measures import get_measure
from .contents import ValueAndInterval
from .labels import CutTables, curve_of
from .training import made_now

if TYPE_CHECKING:
    from ..estimators.multilabel import MultilabelModel

#: Features that are named for a label.
NAMED = 10


@dataclass(frozen=True)
class OneLabel:
    """A label on the page.

    Attributes
    ----------
    worth : dict
        Rows that have it, rows that get it, precision, recall and F1.
    curve : CutTables or None
        What other thresholds would do; None if no row has the label, or all have, or the highest score decides.
    features : list of (str, float)
        Those with the largest weights.
    alpha : float
        Strength of the regulariser.
    trained_with : str
        Risk, as far as it is known.
    """

    worth: dict[str, Any]
    curve: CutTables | None
    features: list[tuple[str, float]]
    alpha: float
    trained_with: str


@dataclass(frozen=True, kw_only=True)
class ManyContents:
    """The numbers of a report on a classifier for many labels.

    Attributes
    ----------
    model_name, data_name : str
        Names of the two files.
    measure, average : str
        For which it was trained.
    n_rows, n_features : int
        Size of the data, and of the model.
    measures : dict of str to (float, float, float)
        Macro-F1 and micro-F1 with 95 % bootstrap intervals.
    labels : list of OneLabel
        The worst F1 first, of equal ones the label of most rows.
    origin : dict of str to str
        What is known of the training.
    made : str
        Date and version.
    """

    model_name: str
    data_name: str
    measure: str
    average: str
    n_rows: int
    n_features: int
    measures: dict[str, ValueAndInterval]
    labels: list[OneLabel]
    origin: dict[str, str]
    made: str


def gather_many(
    model: MultilabelModel,
    X: Any,
    y: Any,
    *,
    model_name: str = "model",
    data_name: str = "data",
    feature_names: Sequence[str] | None = None,
    n_resamples: int = 200,
    seed: int = 0,
) -> ManyContents:
    """Score the data and count, for each label.

    Parameters
    ----------
    model : MultilabelMeasureClassifier
        Fitted.
    X, y
        Data to judge the model on, in the forms of ``fit``.
    model_name, data_name : str
        Names of the two on the page.
    feature_names : sequence of str, optional
        Names of the features; those that the model was trained with by default.
    n_resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    ManyContents
        For :func:`render_report`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from smoothperf import MultilabelMeasureClassifier
    >>> X, Y = make_multilabel_classification(200, random_state=0)
    >>> contents = gather_many(MultilabelMeasureClassifier("f1", alpha=1e-3).fit(X, Y), X, Y)
    >>> len(contents.labels), contents.measures["macro_f1"][0] > 0.7
    (5, True)
    """
    scores = model.decision_function(X)
    members, predicted = model.members_of(y), model.decisions(scores)
    decisions = Decisions(members, predicted)
    drawn = [decisions.measures(draw) for draw in multiplicities(members.shape[1], n_resamples, seed)]
    measures = {
        name: (value, *interval([draw[name] for draw in drawn])) for name, value in decisions.measures().items()
    }
    weights = scaling_of(model).unscaled(model.coef_)
    names = feature_names if getattr(model, "features_", None) is None else model.feature_names
    trained = [str(one) for one in getattr(model, "trained_for_", [])]
    by_threshold = model.label_kind_ != "classes"
    place = {label: at for at, label in enumerate(model.classes_.tolist())}

    def one(worth: dict[str, Any]) -> OneLabel:
        at = place[worth["label"]]
        largest = most_important(weights[at], NAMED)
        positive, own = members[at], scores[:, at]
        told = by_threshold and bool(positive.any() and not positive.all())
        return OneLabel(
            worth,
            curve_of(Ranking(positive, own), own - model.intercept_[at], float(model.intercept_[at])) if told else None,
            list(zip(names_of(model, largest.tolist(), names), weights[at][largest].tolist(), strict=True)),
            float(model.alpha_[at]),
            trained[at] if trained else "",
        )

    each = decisions.each(np.asarray(model.classes_))
    return ManyContents(
        model_name=model_name,
        data_name=data_name,
        measure=get_measure(model.measure).name,
        average=model.average,
        n_rows=members.shape[1],
        n_features=int(model.coef_.shape[1]),
        measures=measures,
        labels=[one(worth) for worth in sorted(each, key=lambda worth: (worth["f1"], -worth["rows"]))],
        origin=dict(getattr(model, "origin_", {})),
        made=made_now(),
    )
