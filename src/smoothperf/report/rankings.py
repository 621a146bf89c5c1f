"""The numbers of a report on a ranker, gathered from a model and graded documents: no text for the eye, no HTML.

Beside the model is the feature that ranks best by itself, which anybody could sort by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._arrays import Array
from ..evaluation import QueryScores, drawn_interval, is_constant, multiplicities, query_columns
from ..measures import NDCG, Queries, QueryMeasure, get_query_measure
from .contents import ReportContents, ValueAndInterval
from .shapes import ShapeFacts, shapes_of
from .training import TrainingFacts, made_now, training_of

if TYPE_CHECKING:
    from ..estimators.ranker import MeasureRanker

#: So many of the worst queries are named, with the grades of so many documents.
WORST, SHOWN = 12, 10
#: PlaceMeans from the top that are looked at, as long as such a share of the queries has them.
PLACES, ENOUGH = 20, 1 / 3
#: Most features that are tried; each costs as much as judging a model twice.
MOST = 300


@dataclass(frozen=True)
class WorstQuery:
    """A query that is ranked badly.

    Attributes
    ----------
    name : str
        Its name in the data.
    value, single : float
        NDCG of the model, and of the best single feature.
    documents, relevant : int
        Number of its documents, and of those of a grade above 0.
    first_relevant : int
        The place of the first relevant document.
    grades : list of float
        Of the first documents, in the order of the model.
    """

    name: str
    value: float
    single: float
    documents: int
    relevant: int
    first_relevant: int
    grades: list[float]


@dataclass(frozen=True)
class PlaceMeans:
    """Mean grades at the first places, over queries that have as many documents."""

    model: list[float]
    single: list[float]
    ideal: list[float]


@dataclass(frozen=True)
class SingleFeature:
    """The feature that ranks best by itself.

    Attributes
    ----------
    name : str
        Its name.
    falling : bool
        Whether it is small values that come first.
    tried, n_features : int
        Number of features that were tried, and of all.
    scores : ndarray of shape (n,)
        The feature, or its negative if it is falling.
    """

    name: str
    falling: bool
    tried: int
    n_features: int
    scores: Array = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class RankingContents(ReportContents):
    """The numbers of a report on a ranker, whose measures are means over queries.

    Attributes
    ----------
    n_documents, n_queries : int
        Of the data.
    gains : dict of str to (float, float, float)
        Values of all measures less those of the best single feature, with the interval of the paired difference.
    spread_of : str
        The measure that is shown query by query: NDCG, of as many places as the model was trained for.
    values, single_values : ndarray
        That measure of the queries that count, for the model and for the best single feature.
    single : SingleFeature
        The feature that ranks best by itself.
    shapes : ShapeFacts or None
        What columns add to the scores, where features are made of them one by one.
    worst : list of WorstQuery
        The worst first.
    places : PlaceMeans
        Grades from the top.

    Examples
    --------
    >>> from smoothperf import MeasureRanker
    >>> from smoothperf.report import gather_ranking
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(range(20), 10)
    >>> y = np.digitize(X @ [2, -1, 0], [1, 3])
    >>> contents = gather_ranking(MeasureRanker("pairs").fit(X, y, qid=qid), X, y, qid)
    >>> contents.n_documents, contents.constant
    (200, False)
    """

    n_documents: int
    n_queries: int
    gains: dict[str, ValueAndInterval]
    spread_of: str
    values: Array
    single_values: Array
    single: SingleFeature
    worst: list[WorstQuery]
    shapes: ShapeFacts | None = None
    places: PlaceMeans


def gather_ranking(
    model: MeasureRanker,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike,
    *,
    model_name: str = "model",
    data_name: str = "data",
    feature_names: Sequence[str] | None = None,
    n_resamples: int = 200,
    seed: int = 0,
) -> RankingContents:
    """Score graded documents, and compare with the best single feature.

    Parameters
    ----------
    model : MeasureRanker
        Fitted.
    X : {ndarray, sparse matrix} of shape (n, d)
        Documents to judge the model on.
    y : array-like of shape (n,)
        Their grades.
    qid : array-like of shape (n,)
        The query of each.
    model_name, data_name : str
        Names of the two on the page.
    feature_names : sequence of str, optional
        Names of the features; numbers from 1 on by default.
    n_resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    RankingContents
        For :func:`render_report`.

    Examples
    --------
    >>> from smoothperf import MeasureRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(range(20), 10)
    >>> y = np.digitize(X @ [2, -1, 0], [1, 3])
    >>> contents = gather_ranking(MeasureRanker("pairs").fit(X, y, qid=qid), X, y, qid)
    >>> contents.single.name, bool(contents.gains["ndcg@10"][0] > 0.05)
    ('feature 1', True)
    """
    queries = Queries.of(y, qid)
    first = queries.starts[:-1] if queries.rows is None else queries.rows[queries.starts[:-1]]
    query_names = [str(name) for name in np.asarray(qid)[first].tolist()]
    trained_for = get_query_measure(model.measure)
    shown = trained_for if isinstance(trained_for, NDCG) else NDCG(10)
    if not shown.takes(queries.grades):
        shown = NDCG(10, gain="linear")
    scores = model.predict(X)
    single = best_single_feature(model.features_of(X), model.coef_, queries, shown, feature_names)
    columns = query_columns(trained_for, queries.grades) | {shown.full_name: shown}
    measures, gains = _judged(queries, columns, scores, single.scores, n_resamples, seed)
    values, single_values = (shown.of_queries(queries, of) for of in (scores, single.scores))
    counted = ~np.isnan(values)
    return RankingContents(
        model_name=model_name,
        data_name=data_name,
        n_documents=queries.here_count,
        n_queries=int(queries.sizes.size),
        training=_training(model),
        constant=is_constant(scores),
        empty=not model.coef_.any(),
        measures=measures,
        gains=gains,
        spread_of=shown.full_name,
        values=values[counted],
        single_values=single_values[counted],
        single=single,
        worst=_worst(queries, scores, values, single_values, query_names),
        places=_places(queries, scores, single.scores),
        shapes=shapes_of(model, X, None, feature_names),
        made=made_now(),
    )


def _training(model: MeasureRanker) -> TrainingFacts:
    measure, trained_with = get_query_measure(model.measure), model.trained_with
    averaged = getattr(model, "averaged_", {})
    return training_of(model, measure.full_name, trained_with.measure.full_name, trained_with.bound, averaged=averaged)


def _judged(
    queries: Queries, columns: dict[str, QueryMeasure], scores: Array, single: Array, n_resamples: int, seed: int
) -> tuple[dict[str, ValueAndInterval], dict[str, ValueAndInterval]]:
    """Return all measures by which some query counts, and the gains over a single feature."""
    found = {name: QueryScores.of(measure, queries, scores) for name, measure in columns.items()}
    found = {name: worth for name, worth in found.items() if worth.count}
    others = {name: QueryScores.of(columns[name], queries, single) for name in found}
    draws = list(multiplicities(queries.sizes.size, n_resamples, seed))
    measures, gains = {}, {}
    for name, worth in found.items():
        drawn = np.array([worth.mean(draw) for draw in draws])
        differences = drawn - np.array([others[name].mean(draw) for draw in draws])
        measures[name] = worth.mean(), *drawn_interval(drawn)
        gains[name] = worth.mean() - others[name].mean(), *drawn_interval(differences)
    return measures, gains


def _worst(
    queries: Queries, scores: Array, values: Array, single_values: Array, names: Sequence[str]
) -> list[WorstQuery]:
    grades = queries.grades[queries.sorted_by(queries.by_document(scores))]
    order = np.argsort(values, kind="stable")  # NaN, of queries that do not count, last
    found = []
    for query in order[: min(WORST, int((~np.isnan(values)).sum()))]:
        ranked = grades[queries.starts[query] : queries.starts[query + 1]]
        relevant = np.flatnonzero(ranked > 0.0)
        found.append(
            WorstQuery(
                name=names[query],
                value=float(values[query]),
                single=float(single_values[query]),
                documents=ranked.size,
                relevant=relevant.size,
                first_relevant=int(relevant[0]) + 1,
                grades=ranked[:SHOWN].tolist(),
            )
        )
    return found


def _places(queries: Queries, scores: Array, single: Array) -> PlaceMeans:
    """Mean grades at the first places; in the order of the file where scores are equal."""
    number = min(PLACES, int(np.quantile(queries.sizes, 1.0 - ENOUGH, method="lower")))
    inside = queries.places < number
    counts = np.bincount(queries.places[inside], minlength=number)

    def means(keys: Array) -> list[float]:
        grades = queries.grades[queries.sorted_by(keys)]
        sums = np.bincount(queries.places[inside], grades[inside], minlength=number)
        return [float(mean) for mean in sums / counts]

    return PlaceMeans(means(queries.by_document(scores)), means(queries.by_document(single)), means(queries.grades))


def best_single_feature(
    X: Any, coef: Array, queries: Queries, measure: QueryMeasure, names: Sequence[str] | None = None
) -> SingleFeature:
    """Sort by every feature, upwards and downwards, and return the best.

    Of more than 300 features only those are tried that the model makes most of: with the largest standard deviation of
    ``coef_j x_j``.

    Examples
    --------
    >>> from smoothperf import NDCG
    >>> X = np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]])
    >>> found = best_single_feature(X, np.ones(2), Queries.of([2, 1, 0], [7, 7, 7]), NDCG())
    >>> found.name, found.falling
    ('feature 1', True)
    """
    n_features = X.shape[1]
    tried = np.arange(n_features)
    if n_features > MOST:
        tried = np.sort(np.argsort(-np.abs(coef) * _spread(X), kind="stable")[:MOST])
    columns: Any = X.tocsc() if sp.issparse(X) else X  # type: ignore[attr-defined]
    best, worth = None, -np.inf
    for place in tried.tolist():
        values = _column(columns, place)
        for falling in (False, True):
            found = measure.mean_score(queries, -values if falling else values)
            if found > worth:
                best, worth = (place, falling), found
    assert best is not None
    values = _column(columns, best[0])
    return SingleFeature(
        name=f"feature {best[0] + 1}" if names is None else str(names[best[0]]),
        falling=best[1],
        tried=tried.size,
        n_features=n_features,
        scores=-values if best[1] else values,
    )


def _column(X: Any, place: int) -> Array:
    column: Any = X[:, [place]]
    dense = column.toarray() if hasattr(column, "toarray") else column
    return np.asarray(dense, dtype=np.float64).ravel()


def _spread(X: Any) -> Array:
    """Return the standard deviation of each feature."""
    deviations: Array = np.sqrt(mean_variance_axis(X, axis=0)[1]) if sp.issparse(X) else X.std(axis=0)
    return deviations
