"""The numbers of a report on a ranker, gathered from a model and graded documents: no text for the eye, no HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...evaluation import QueryScores, drawn_interval, query_columns, query_resamples, tells_nothing
from ...measures import NDCG, Queries, QueryMeasure, get_query_measure
from ..training import Training, made_now, training_of
from .single_feature import SingleFeature, best_single_feature

if TYPE_CHECKING:
    from ...estimators.ranker import MeasureRanker

Array = NDArray[np.float64]
#: A value and its 95 % interval.
Judged = tuple[float, float, float]
#: So many of the worst queries are named, with the grades of so many documents.
WORST, SHOWN = 12, 10
#: Places from the top that are looked at, as long as such a share of the queries has them.
PLACES, ENOUGH = 20, 1 / 3


@dataclass(frozen=True)
class WorstQuery:
    """A query that is ranked badly.

    Attributes
    ----------
    name : str
        What the file calls it.
    value, single : float
        NDCG of the model, and of the best single feature.
    documents, relevant : int
        How many documents it has, and how many of a grade above 0.
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
class Places:
    """Mean grades at the first places, over queries that have as many documents."""

    model: list[float]
    single: list[float]
    ideal: list[float]


@dataclass(frozen=True)
class RankingContents:
    """All that a report on a ranker shows.

    Attributes
    ----------
    model_name, data_name : str
        What to call the two files.
    n_documents, n_queries : int
        Of the data.
    training : Training
        About the model.
    constant : bool
        Whether it tells nothing: all documents have the same score.
    empty : bool
        Whether that is so because it has no weights.
    measures : dict of str to (float, float, float)
        Mean over queries and 95 % bootstrap interval of all measures.
    gains : dict of str to (float, float, float)
        How much more that is than what the best single feature has, with the interval of the paired difference.
    spread_of : str
        The measure that is shown query by query: NDCG, of as many places as the model was trained for.
    values, single_values : ndarray
        That measure of the queries that count, for the model and for the best single feature.
    single : SingleFeature
        The feature that ranks best by itself.
    worst : list of WorstQuery
        The worst first.
    places : Places
        Grades from the top.
    made : str
        When, and by which version.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import MeasureRanker
    >>> from smoothperf.measures import Queries
    >>> from smoothperf.report import gather_ranking
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(range(20), 10)
    >>> y = np.digitize(X @ [2, -1, 0], [1, 3])
    >>> ranker = MeasureRanker("pairs").fit(X, y, qid=qid)
    >>> names = [f"query {number}" for number in range(20)]
    >>> contents = gather_ranking(ranker, X, Queries.of(y, qid), query_names=names)
    >>> contents.n_documents, contents.constant
    (200, False)
    """

    model_name: str
    data_name: str
    n_documents: int
    n_queries: int
    training: Training
    constant: bool
    empty: bool
    measures: dict[str, Judged]
    gains: dict[str, Judged]
    spread_of: str
    values: Array
    single_values: Array
    single: SingleFeature
    worst: list[WorstQuery]
    places: Places
    made: str


def gather_ranking(
    model: MeasureRanker,
    X: Any,
    queries: Queries,
    *,
    query_names: Sequence[str],
    feature_names: Sequence[str] | None = None,
    model_name: str = "model",
    data_name: str = "data",
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
    queries : Queries
        Their grades and queries.
    query_names : sequence of str
        What to call the queries.
    feature_names : sequence of str, optional
        What to call the features; numbers from 1 on by default.
    model_name, data_name : str
        What to call them.
    n_resamples, seed : int
        Of the bootstrap.

    Examples
    --------
    >>> from smoothperf import MeasureRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(range(20), 10)
    >>> y = np.digitize(X @ [2, -1, 0], [1, 3])
    >>> queries = Queries.of(y, qid)
    >>> names = [f"query {number}" for number in range(20)]
    >>> contents = gather_ranking(MeasureRanker("pairs").fit(X, y, qid=qid), X, queries, query_names=names)
    >>> contents.single.name, bool(contents.gains["ndcg@10"][0] > 0.05)
    ('feature 1', True)
    """
    trained_for = get_query_measure(model.measure)
    shown = trained_for if isinstance(trained_for, NDCG) else NDCG(10)
    if not shown.takes(queries.grades):
        shown = NDCG(10, gain="linear")
    scores = model.predict(X)
    single = best_single_feature(X, model.coef_, queries, shown, feature_names)
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
        constant=tells_nothing(scores),
        empty=not model.coef_.any(),
        measures=measures,
        gains=gains,
        spread_of=shown.full_name,
        values=values[counted],
        single_values=single_values[counted],
        single=single,
        worst=_worst(queries, scores, values, single_values, query_names),
        places=_places(queries, scores, single.scores),
        made=made_now(),
    )


def _training(model: MeasureRanker) -> Training:
    measure, trained_with = get_query_measure(model.measure), model.trained_with
    averaged = getattr(model, "averaged_", {})
    return training_of(model, measure.full_name, trained_with.measure.full_name, trained_with.bound, averaged=averaged)


def _judged(
    queries: Queries, columns: dict[str, QueryMeasure], scores: Array, single: Array, n_resamples: int, seed: int
) -> tuple[dict[str, Judged], dict[str, Judged]]:
    """All measures by which some query counts, and how much more they are than those of a single feature."""
    found = {name: QueryScores.of(measure, queries, scores) for name, measure in columns.items()}
    found = {name: worth for name, worth in found.items() if worth.count}
    others = {name: QueryScores.of(columns[name], queries, single) for name in found}
    draws = list(query_resamples(queries.sizes.size, n_resamples, seed))
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


def _places(queries: Queries, scores: Array, single: Array) -> Places:
    """Mean grades at the first places; in the order of the file where scores are equal."""
    number = min(PLACES, int(np.quantile(queries.sizes, 1.0 - ENOUGH, method="lower")))
    inside = queries.places < number
    counts = np.bincount(queries.places[inside], minlength=number)

    def means(keys: Array) -> list[float]:
        grades = queries.grades[queries.sorted_by(keys)]
        sums = np.bincount(queries.places[inside], grades[inside], minlength=number)
        return [float(mean) for mean in sums / counts]

    return Places(means(queries.by_document(scores)), means(queries.by_document(single)), means(queries.grades))
