"""Measures of scores query by query, and a bootstrap of their mean: queries are drawn again.

Documents of a query stand and fall together, so it is queries that a bootstrap draws, with replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .._validation import vector
from ..measures import Queries, QueryMeasure, get_query_measure
from .bootstrap import interval, multiplicities

#: Whole queries are drawn; the name of 0.1.0.
query_resamples = multiplicities
#: The measures of every table of rankings, by name.
QUERY_COLUMNS = ("ndcg@10", "ndcg", "precision@10", "average_precision", "reciprocal_rank", "roc_area")


def query_columns(trained_for: QueryMeasure, grades: Array) -> dict[str, QueryMeasure]:
    """The measures of a table by their full names: that which a model was trained for first, then the usual ones.

    Of these all that take grades so high.

    Parameters
    ----------
    trained_for : QueryMeasure
        The measure of the model.
    grades : ndarray of shape (n,)
        Grades of the documents.

    Returns
    -------
    dict of str to QueryMeasure
        Measures by full name.

    Examples
    --------
    >>> from smoothperf import NDCG
    >>> list(query_columns(NDCG(10), np.array([0.0, 1.0])))[:3]
    ['ndcg@10', 'ndcg', 'precision@10']
    >>> list(query_columns(NDCG(10, gain="linear"), np.array([0.0, 1.0])))[:3]
    ['ndcg@10, linear gains', 'ndcg@10', 'ndcg']
    """
    usual = (get_query_measure(name) for name in QUERY_COLUMNS)
    return {trained_for.full_name: trained_for} | {
        measure.name: measure for measure in usual if measure.name != trained_for.full_name and measure.takes(grades)
    }


@dataclass(frozen=True, eq=False)
class QueryScores:
    """A measure of every query, and its mean over those that count.

    Attributes
    ----------
    values : ndarray of shape (n_queries,)
        The measure; NaN for queries that are left out, as every order of them is equally good.
    weights : ndarray of shape (n_queries,)
        Weights of queries.

    Examples
    --------
    >>> from smoothperf import NDCG
    >>> queries = Queries.of([1, 0, 2, 0, 0, 0], ["a", "a", "b", "b", "c", "c"])
    >>> worth = QueryScores.of(NDCG(), queries, np.array([2.0, 1.0, 1.0, 2.0, 1.0, 2.0]))
    >>> worth.values.round(2), worth.count, round(worth.mean(), 3)
    (array([1.  , 0.63,  nan]), 2, 0.815)
    """

    values: Array
    weights: Array

    @classmethod
    def of(cls, measure: QueryMeasure, queries: Queries, scores: Array) -> QueryScores:
        """Judge scores by a measure.

        Parameters
        ----------
        measure : QueryMeasure
            A measure of queries.
        queries : Queries
            Grades and queries of the documents.
        scores : ndarray of shape (n,)
            Scores of the documents.

        Returns
        -------
        QueryScores
            A value for each query.
        """
        checked = vector("scores", scores, length=queries.here_count)
        return cls(measure.of_queries(queries, checked), measure.weights(queries))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Mask of the queries that count."""
        return ~np.isnan(self.values)

    @property
    def count(self) -> int:
        """Number of queries that count."""
        return int(self.counted.sum())

    def mean(self, multiplicity: Array | None = None) -> float:
        """The mean, each query counted as often as it was drawn; NaN if there is none that counts.

        Parameters
        ----------
        multiplicity : ndarray of shape (n_queries,), optional
            Counts of the queries, as a resample has them.

        Returns
        -------
        float
            The mean.
        """
        weights = np.where(self.counted, self.weights, 0.0)
        if multiplicity is not None:
            weights = weights * multiplicity
        total = float(weights.sum())
        return float((weights * np.nan_to_num(self.values)).sum()) / total if total > 0.0 else float("nan")


def drawn_interval(values: Sequence[float] | Array) -> tuple[float, float]:
    """The middle 95 % of means of resamples; of those that drew a query that counts, NaN if none did.

    Parameters
    ----------
    values : sequence of float
        A mean for each resample.

    Returns
    -------
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> drawn_interval([0.5, float("nan"), 0.5])
    (0.5, 0.5)
    """
    found = np.asarray(values, dtype=np.float64)
    found = found[~np.isnan(found)]
    return interval(found) if found.size else (float("nan"), float("nan"))
