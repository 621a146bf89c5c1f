"""The contract of measures of queries: a score of the order of their documents, and a convex risk to train with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._arrays import Array
from ..._validation import HEAVIEST, vector
from ..risk import Risk
from .queries import Queries


class QueryRisk(Risk):
    """A convex function of the scores that only compares documents of the same query.

    Parameters
    ----------
    queries : Queries
        Grades and weights. They are the ``examples`` of this risk.
    """

    shift_invariant: ClassVar[bool] = True

    def __init__(self, queries: Queries):
        super().__init__(queries)
        self.queries = queries


class QueryMeasure(ABC):
    """Something to be good at, as a mean over queries; higher is better. Immutable, comparable and hashable.

    Examples
    --------
    >>> from smoothperf import NDCG
    >>> grades, qid = [2, 0, 1, 0, 1], [7, 7, 7, 8, 8]
    >>> NDCG().score(grades, [3.0, 1.0, 2.0, 0.0, 1.0], qid)   # both queries are in the best order
    1.0
    >>> NDCG(10) == NDCG(k=10), NDCG(10).name
    (True, 'ndcg@10')
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that :func:`~smoothperf.measures.queries.names.get_query_measure` knows it by."""

    @property
    def full_name(self) -> str:
        """The name, and what sets it apart from the usual measure of that name: ``ndcg@10, linear gains``."""
        return self.name

    def bind(self, grades: ArrayLike, qid: ArrayLike, sample_weight: ArrayLike | None = None) -> Risk:
        """Return the convex risk of this measure for given grades.

        Parameters
        ----------
        grades : array-like of shape (n,)
            Grades of relevance, 0 or more, one a document.
        qid : array-like of shape (n,)
            The query of each document.
        sample_weight : array-like of shape (n,), optional
            Weights of queries; the same for all documents of one.

        Returns
        -------
        risk : Risk
            A convex function of n scores.
        """
        return self.risk(Queries.of(grades, qid, sample_weight))

    @abstractmethod
    def risk(self, queries: Queries) -> Risk:
        """Return the convex risk of this measure for queries, which may be some of those of a group.

        Parameters
        ----------
        queries : Queries
            Grades, queries and weights.

        Returns
        -------
        risk : Risk
            A convex function of the scores of their documents.
        """

    def score(
        self, grades: ArrayLike, scores: ArrayLike, qid: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mean over queries, as one would report it for these scores. O(n log n).

        Queries that every order suits alike, such as those with documents of one grade only, are left out.

        Parameters
        ----------
        grades : array-like of shape (n,)
            Grades of relevance, 0 or more, one a document.
        scores : array-like of shape (n,)
            Larger for documents that come first.
        qid : array-like of shape (n,)
            The query of each document.
        sample_weight : array-like of shape (n,), optional
            Weights of queries; the same for all documents of one.

        Returns
        -------
        score : float
            Higher is better.
        """
        queries = Queries.of(grades, qid, sample_weight)
        return self.mean_score(queries, vector("scores", scores, length=queries.here_count))

    def mean_score(self, queries: Queries, scores: Array) -> float:
        """Return the same for queries, which may be some of those of a group, and for scores that were checked.

        Parameters
        ----------
        queries : Queries
            Grades, queries and weights.
        scores : ndarray of shape (n,)
            Those of the documents of this process.

        Returns
        -------
        score : float
            The same on all processes.
        """
        values = self.of_queries(queries, scores)
        counted = ~np.isnan(values)
        part = self.weights(queries)[counted]
        gained, weight = queries.total(float(part @ values[counted]), float(part.sum()))
        return gained / checked_weight(weight, self.nothing_counts)

    @property
    def nothing_counts(self) -> str:
        """Words for an error if no query counts."""
        return words_of_nothing(self.name)

    def takes(self, grades: Array) -> bool:
        """Return whether documents of these grades, which may be huge, can be scored by this measure.

        Parameters
        ----------
        grades : ndarray of shape (n,)
            Of documents.

        Returns
        -------
        takes : bool
            Whether no gain is too large.
        """
        return True

    @abstractmethod
    def of_queries(self, queries: Queries, scores: Array) -> Array:
        """Return the measure of each query here; NaN for those that are left out.

        Parameters
        ----------
        queries : Queries
            Grades, queries and weights.
        scores : ndarray of shape (n,)
            Those of the documents of this process.

        Returns
        -------
        values : ndarray
            One for each query of this process.
        """

    def weights(self, queries: Queries) -> Array:
        """Return what each query here counts.

        Parameters
        ----------
        queries : Queries
            Grades, queries and weights.

        Returns
        -------
        weights : ndarray
            One for each query of this process.
        """
        return np.ones(queries.sizes.shape[0]) if queries.query_weights is None else queries.query_weights

    def counted(self, queries: Queries) -> NDArray[np.intp]:
        """Return the numbers of the queries here that count: with a weight, and not left out.

        Parameters
        ----------
        queries : Queries
            Grades, queries and weights.

        Returns
        -------
        numbers : ndarray of int
            In ascending order.
        """
        values = self.of_queries(queries, np.zeros(queries.here_count))
        return np.flatnonzero(~np.isnan(values) & (self.weights(queries) > 0.0))


def words_of_nothing(name: str) -> str:
    """Words for an error if no query counts for a measure."""
    return f"no query counts for {name}: each has weight 0, or documents that the measure takes to be equally good."


def checked_weight(weight: float, nothing_counts: str) -> float:
    """Return the weight of all queries that count, if there is some and it can be divided by."""
    if weight == 0.0:
        raise ValueError(nothing_counts)
    if not 1.0 / HEAVIEST <= weight <= HEAVIEST:
        raise ValueError(
            f"sample_weight adds up to {weight:g} over queries, which is not between {1.0 / HEAVIEST:g} and "
            f"{HEAVIEST:g}; multiply all weights by one constant, which changes nothing else."
        )
    return weight


def quotients(numerators: Array, denominators: Array, counted: NDArray[np.bool_]) -> Array:
    """Quotients for the queries that count, NaN for the others."""
    result = np.full(numerators.shape, np.nan)
    np.divide(numerators, denominators, out=result, where=counted)
    return result
