"""The numbers of a report on a classifier, gathered from a model and data: no text for the eye, no HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import Array
from ..cuts.sorted_scores import Counts
from ..evaluation import Ranking, interval, is_constant, resamples
from ..measures import Measure, get_measure
from .bands import Band, precision_at, rate_places, recall_at, recall_places
from .contents import ReportContents, ValueAndInterval
from .penalty import has_bounds, penalty_words
from .shapes import ShapeFacts, shapes_of
from .thinning import separating_thresholds, thin_cuts
from .training import TrainingFacts, made_now, training_of
from .weights import LargestWeights, weights_of

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier


#: Measures of the whole ranking, which no threshold changes.
RANKING_MEASURES = ("prbep", "roc_area", "average_precision")
BINS = 60
#: Share of the scores at either end that the outermost bins may swallow, so that one outlier does not flatten the rest.
TAIL = 5e-4


@dataclass(frozen=True)
class Histogram:
    """Scores of the two classes in common bins; the outermost bins also hold what lies beyond them."""

    edges: Array
    positive: NDArray[np.intp]
    negative: NDArray[np.intp]
    beyond: int


@dataclass(frozen=True)
class CutTables:
    """Contingency tables at some of the cuts, from nothing predicted positive to everything; all exact.

    Attributes
    ----------
    thresholds, raw_thresholds : list of float
        Positive are scores above; or has ``raw_scores`` above, which is what ``set_operating_point`` takes.
    tp, fp : list of int
        True and false positives.
    operating_point, break_even, best_f1 : int
        Positions of the model's own threshold, of precision = recall (as near as ties allow), and of the largest F1.
    n_cuts : int
        Number of all cuts.
    """

    thresholds: list[float]
    raw_thresholds: list[float]
    tp: list[int]
    fp: list[int]
    operating_point: int
    break_even: int
    best_f1: int
    n_cuts: int


@dataclass(frozen=True, kw_only=True)
class LabelContents(ReportContents):
    """The numbers of a report on a classifier.

    Attributes
    ----------
    classes : tuple of str
        The negative and the positive label.
    n_positive, n_negative : int
        Examples of the data.
    curve : CutTables
        For the curves and the slider.
    precision_band, recall_band : Band
        95 % bands of the precision over the recall, and of the recall over the false positive rate, from the same
        bootstrap.
    histogram : Histogram
        Scores by class.
    weights : LargestWeights
        Weights of features.
    shift : float
        Added to raw scores: the model's intercept, higher for the positive label.
    shapes : ShapeFacts or None
        What columns add to the score, where features are made of them one by one.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.report import gather
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> contents = gather(MeasureClassifier(alpha=0.1).fit(X, y), X, y)
    >>> contents.n_positive, contents.measures["roc_area"][0], contents.constant
    (2, 1.0, False)
    """

    classes: tuple[str, str]
    n_positive: int
    n_negative: int
    curve: CutTables
    precision_band: Band
    recall_band: Band
    histogram: Histogram
    weights: LargestWeights
    shift: float
    shapes: ShapeFacts | None = None


def gather(
    model: MeasureClassifier,
    X: Any,
    y: ArrayLike,
    *,
    model_name: str = "model",
    data_name: str = "data",
    feature_names: Any = None,
    n_resamples: int = 200,
    seed: int = 0,
    base_scores: ArrayLike | None = None,
) -> LabelContents:
    """Score the data and count.

    Parameters
    ----------
    model : MeasureClassifier
        Fitted.
    X : {array-like, sparse matrix} of shape (n, d)
        Data to judge the model on.
    y : array-like of shape (n,)
        Labels that the model knows, both of them.
    model_name, data_name : str
        Names of the two on the page.
    feature_names : sequence of str, optional
        Names of the features; those that the model was trained with by default.
    n_resamples, seed : int
        Of the bootstrap.
    base_scores : array-like of shape (n,), optional
        Those of the rows, for a model that was fitted with such.

    Returns
    -------
    LabelContents
        For :func:`render_report`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smoothperf import MeasureClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X / X.max(axis=0)
    >>> contents = gather(MeasureClassifier("prbep", alpha=1e-3).fit(X, y), X, y)
    >>> contents.n_positive, contents.curve.thresholds[contents.curve.operating_point]
    (357, 0.0)
    """
    negative_label, positive_label = model.label_pair
    positive = np.asarray(y) == positive_label
    raw_scores = model.raw_scores(X, base_scores)
    shift = float(model._sign * model.intercept_[0])
    scores = raw_scores + shift  # as in positive_scores
    ranking = Ranking(positive, scores)
    measures, bands = _judged(ranking, positive, get_measure(model.measure), n_resamples, seed)
    weights = weights_of(model, X, feature_names)
    return LabelContents(
        model_name=model_name,
        data_name=data_name,
        classes=(str(negative_label), str(positive_label)),
        n_positive=int(positive.sum()),
        n_negative=int((~positive).sum()),
        training=_training(model),
        constant=is_constant(scores),
        empty=weights.n_used == 0,
        measures=measures,
        curve=curve_of(ranking, raw_scores, shift),
        precision_band=bands[0],
        recall_band=bands[1],
        histogram=_histogram(positive, scores),
        weights=weights,
        shift=shift,
        shapes=shapes_of(model, X, positive, feature_names),
        made=made_now(),
    )


def _judged(
    ranking: Ranking, positive: NDArray[np.bool_], trained_for: Measure, n_resamples: int, seed: int
) -> tuple[dict[str, ValueAndInterval], tuple[Band, Band]]:
    """Return the measures with intervals and the bands of the curves, from one bootstrap."""
    own = trained_for if trained_for.name not in RANKING_MEASURES else None

    def judge(multiplicity: Array | None = None, cuts: Counts | None = None) -> dict[str, float]:
        found = ranking.measures(multiplicity=multiplicity, also=own, cuts=cuts)
        return {name: found[name] for name in ((own.name,) if own is not None else ()) + RANKING_MEASURES}

    try:
        values = judge()
    except ValueError:  # there are fewer than k examples
        own = None
        values = judge()
    recalls, rates = recall_places(), rate_places(float((~positive).sum()))
    drawn, precisions, heights = [], [], []
    for draw in resamples(positive, n_resamples, seed):
        cuts = ranking.cuts(draw)
        drawn.append(judge(draw, cuts))
        precisions.append(precision_at(cuts, recalls))
        heights.append(recall_at(cuts, rates))
    measures = {name: (values[name], *interval([draw[name] for draw in drawn])) for name in values}
    return measures, (Band.of(recalls, precisions), Band.of(rates, heights))


def curve_of(ranking: Ranking, raw_scores: Array, shift: float) -> CutTables:
    """Return counts at some of the cuts of scores, which are raw ones and this shift."""
    cuts = ranking.cuts()
    operating_point = ranking.cut_at(0.0)
    break_even = int(np.abs(cuts.tp + cuts.fp - cuts.tp[-1]).argmin())
    best_f1 = int(cuts.f1.argmax())
    shown = thin_cuts(cuts, ranking.levels, keep=(operating_point, break_even, best_f1))
    place = {int(cut): position for position, cut in enumerate(shown)}
    thresholds = separating_thresholds(ranking.levels, shown)
    return CutTables(
        thresholds=thresholds,
        raw_thresholds=_raw_thresholds(thresholds, raw_scores, shift),
        tp=cuts.tp[shown].astype(int).tolist(),
        fp=cuts.fp[shown].astype(int).tolist(),
        operating_point=place[operating_point],
        break_even=place[break_even],
        best_f1=place[best_f1],
        n_cuts=cuts.tp.shape[0],
    )


def _raw_thresholds(thresholds: list[float], raw_scores: Array, shift: float) -> list[float]:
    """Return thresholds of the raw scores that call the same rows positive.

    They differ by the intercept. Where that rounds to the other side of a row, the raw score of the row below takes
    its place.
    """
    raw = np.sort(raw_scores)
    cuts = np.searchsorted(raw + shift, thresholds, side="right")  # so many rows are not above
    below = np.concatenate([[-np.inf], raw])[cuts]
    above = np.concatenate([raw, [np.inf]])[cuts]
    moved = np.asarray(thresholds) - shift
    found: list[float] = np.where((below <= moved) & (moved < above), moved, below).tolist()
    return found


def _histogram(positive: NDArray[np.bool_], scores: Array) -> Histogram:
    tails = [np.quantile(part, [TAIL, 1.0 - TAIL]) for part in (scores[positive], scores[~positive])]
    low = min(float(tail[0]) for tail in tails)
    high = max(float(tail[1]) for tail in tails)
    if not low < high:  # all scores are equal, as for w = 0
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    inside = np.clip(scores, low, high)
    return Histogram(
        edges=edges,
        positive=np.histogram(inside[positive], edges)[0],
        negative=np.histogram(inside[~positive], edges)[0],
        beyond=int(((scores < low) | (scores > high)).sum()),
    )


def _training(model: MeasureClassifier) -> TrainingFacts:
    measure = get_measure(model.measure)
    counts: Any = getattr(model, "class_count_", None)
    return training_of(
        model,
        measure.name,
        model.trained_with.name,
        model.bound_,
        decides=measure.fits_bias or measure.judges_decisions,
        rows=None if counts is None else tuple(counts[:: int(model._sign)].tolist()),
        penalty=penalty_words(model),
        bounded=has_bounds(model),
    )
