"""Documents of queries: grades, which documents belong together, and what every query counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._arrays import Array, Indices
from ..._validation import vector
from ...communicator import ALONE, Communicator, Shared
from ...kernels import sort_documents
from ...threads import pieces

#: Documents for which a thread pays.
LEAST_DOCUMENTS = 1 << 13


class Queries(Shared):
    """The documents of this process by query, and totals over those of all processes.

    *Rows* are documents in the order in which they came, as score vectors have them. *Documents* are numbered query by
    query. All documents of a query must be in one process.

    Parameters
    ----------
    grades : ndarray of float64
        Grades of relevance of documents, query by query; checked. In a group there may be none here.
    starts : ndarray of intp
        Starts of the queries, and the number of documents in the end; no query is empty.
    rows : ndarray of intp or None
        The row of every document; None if rows are query by query.
    query_weights : ndarray or None
        Weights of queries, checked; None for ones, and then on all members.
    communicator : Communicator
        The communicator of the group; alone by default.

    Attributes
    ----------
    sizes : ndarray of intp
        Number of documents of each query here.
    places : ndarray of intp
        The number of each document within its query, from 0 on.
    count, query_count : int
        Numbers of documents and of queries; of all members.

    Examples
    --------
    >>> queries = Queries.of([2, 0, 1, 0], ["b", "a", "b", "a"])
    >>> queries.rows.tolist(), queries.starts.tolist(), queries.grades.tolist()
    ([0, 2, 1, 3], [0, 2, 4], [2.0, 1.0, 0.0, 0.0])
    """

    def __init__(
        self,
        grades: Array,
        starts: Indices,
        rows: Indices | None = None,
        query_weights: Array | None = None,
        communicator: Communicator = ALONE,
    ):
        super().__init__(communicator)
        self.grades = grades
        self.starts = starts
        self.rows = rows
        self.query_weights = query_weights
        self.sizes: Indices = np.diff(starts)
        self.places: Indices = np.arange(grades.shape[0]) - np.repeat(starts[:-1], self.sizes)
        lowest, highest = self.reduced(np.minimum, grades), self.reduced(np.maximum, grades)
        graded = float(np.count_nonzero(highest > lowest))
        count, query_count, graded = self.total(grades.shape[0], self.sizes.shape[0], graded)
        self.count, self.query_count = int(count), int(query_count)
        if not graded:
            raise ValueError(
                f"no query has documents of two grades, of {self.query_count} queries with {self.count} documents: "
                "nothing can be learnt about their order. Check y, and that qid says which documents belong together."
            )

    @classmethod
    def of(
        cls,
        grades: ArrayLike,
        qid: ArrayLike,
        sample_weight: ArrayLike | None = None,
        communicator: Communicator = ALONE,
    ) -> Queries:
        """Queries of what users have, checked.

        Parameters
        ----------
        grades : array-like of shape (n,)
            Grades of relevance, 0 or more, one a document.
        qid : array-like of shape (n,)
            The query of each document: numbers, words, anything that can be compared.
        sample_weight : array-like of shape (n,), optional
            Weights of queries; the same for all documents of one. An integer c stands for c copies of the query.
        communicator : Communicator
            The communicator of the group; alone by default.

        Returns
        -------
        queries : Queries
            Those of this process.
        """
        y = vector("y", grades)
        if y.size and y.min() < 0.0:
            at = int(y.argmin())
            raise ValueError(f"y must hold grades of relevance, 0 or more; got {y[at]:g} at position {at}.")
        if y.size == 0 and communicator.size == 1:
            raise ValueError("y is empty: documents of two different grades are needed.")
        rows, starts = grouped(qid, y.shape[0])
        weights = None if sample_weight is None else query_weights(sample_weight, y.shape[0], rows, starts)
        return cls(y if rows is None else y[rows], starts, rows, weights, communicator)

    @property
    def here_count(self) -> int:
        """Number of documents in this process: the length of score vectors."""
        return int(self.grades.shape[0])

    @property
    def weights(self) -> Array | None:
        """Weight of the query of each row; None for ones."""
        return None if self.query_weights is None else self.by_row(np.repeat(self.query_weights, self.sizes))

    @property
    def numbers(self) -> Indices:
        """The number of the query of each row, from 0 on."""
        result = np.empty(self.here_count, dtype=np.intp)
        result[slice(None) if self.rows is None else self.rows] = np.repeat(np.arange(self.sizes.size), self.sizes)
        return result

    def mean(self, scores: Array) -> Array:
        """For each row the mean score of its query: what a risk that compares documents of a query does not see.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Scores of the rows.

        Returns
        -------
        ndarray of shape (n,)
            The means.
        """
        return self.by_row(self._means(self.by_document(scores)))

    def centred(self, values: Array) -> Array:
        """A vector that is by document, less the mean of each query.

        Parameters
        ----------
        values : ndarray of shape (n,)
            A number for each document.

        Returns
        -------
        ndarray of shape (n,)
            The numbers less the means.
        """
        return values - self._means(values)

    def less_the_first(self, values: Array) -> Array:
        """A vector that is by document, less its first entry for each query: what all share then costs no digits.

        Parameters
        ----------
        values : ndarray of shape (n,)
            A number for each document.

        Returns
        -------
        ndarray of shape (n,)
            The differences.
        """
        return values - np.repeat(values[self.starts[:-1]], self.sizes)

    def _means(self, values: Array) -> Array:
        """For each document the mean of a value over its query."""
        return np.repeat(self.sums(values) / np.maximum(self.sizes, 1), self.sizes)

    def by_document(self, values: Array) -> Array:
        """A vector that is by row, by document.

        Parameters
        ----------
        values : ndarray of shape (n,)
            A number for each row.

        Returns
        -------
        ndarray of shape (n,)
            The numbers, by document.
        """
        return values if self.rows is None else values[self.rows]

    def by_row(self, values: Array) -> Array:
        """A vector that is by document, by row.

        Parameters
        ----------
        values : ndarray of shape (n,)
            A number for each document.

        Returns
        -------
        ndarray of shape (n,)
            The numbers, by row.
        """
        if self.rows is None:
            return values
        result = np.empty_like(values)
        result[self.rows] = values
        return result

    def sums(self, values: Array) -> Array:
        """Sums over the documents of each query.

        Parameters
        ----------
        values : ndarray of shape (n,)
            A number for each document.

        Returns
        -------
        ndarray of shape (n_queries,)
            The sums.
        """
        return self.reduced(np.add, values)

    def reduced(self, function: np.ufunc, values: Array) -> Array:
        """Sums or extremes over the documents of each query.

        Parameters
        ----------
        function : ufunc
            A function of two numbers, such as ``numpy.maximum``.
        values : ndarray of shape (n,)
            A number for each document.

        Returns
        -------
        ndarray of shape (n_queries,)
            A number for each query.
        """
        result: Array = function.reduceat(values, self.starts[:-1]) if values.size else np.zeros(0)
        return result

    def weighted(self, values: Array) -> float:
        """Weighted sum of a number for each query here.

        Parameters
        ----------
        values : ndarray of shape (n_queries,)
            A number for each query.

        Returns
        -------
        float
            The sum.
        """
        return float(values.sum() if self.query_weights is None else self.query_weights @ values)

    def sorted_by(self, keys: Array) -> Indices:
        """The documents of each query by a key that they have, the highest first; of equal ones the first.

        Parameters
        ----------
        keys : ndarray of shape (n,)
            A number for each document.

        Returns
        -------
        ndarray of shape (n,)
            Numbers of the documents, in order.
        """
        result = np.empty(self.here_count, dtype=np.intp)
        sort_documents(keys, self.starts, result, self.pieces())
        return result

    def ties(self, ordered: Array) -> Indices:
        """First documents of groups of the same query with equal keys, and their end; keys are sorted.

        Parameters
        ----------
        ordered : ndarray of shape (n,)
            Keys, sorted query by query.

        Returns
        -------
        ndarray of int
            The first documents, and the end.
        """
        new = np.empty(ordered.shape[0] + 1, dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:-1])
        new[self.starts] = True
        return np.flatnonzero(new)

    def pieces(self) -> int:
        """Into how many pieces to cut the queries here.

        Returns
        -------
        int
            Number of pieces.
        """
        return pieces(self.here_count, least=LEAST_DOCUMENTS)


def grouped(qid: ArrayLike, length: int) -> tuple[Indices | None, Indices]:
    """The rows query by query, None if they are so already, and where queries begin. Queries come as they first do."""
    ids = np.asarray(qid)
    if ids.ndim != 1:
        raise ValueError(f"qid must be one-dimensional, got shape {ids.shape}; use .ravel() if that is meant.")
    if ids.shape[0] != length:
        raise ValueError(f"qid has {ids.shape[0]} entries but there are {length} documents; they must match.")
    missing = missing_entries(ids)
    if missing.any():
        at = int(missing.argmax())
        raise ValueError(f"qid must say for each document which query it belongs to, got {ids[at]} at position {at}.")
    if length == 0:
        return None, np.zeros(1, dtype=np.intp)
    heads = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    numbers: dict[object, int] = {}
    try:
        runs = np.array([numbers.setdefault(each, len(numbers)) for each in ids[heads].tolist()])
    except TypeError as error:
        raise ValueError(f"qid must hold numbers or words: {error}.") from error
    lengths = np.diff(heads, append=length)
    if len(numbers) == heads.shape[0]:
        return None, np.append(heads, length).astype(np.intp)
    query = np.repeat(runs, lengths)
    starts = np.append(0, np.cumsum(np.bincount(query))).astype(np.intp)
    return np.argsort(query, kind="stable"), starts


def query_weights(sample_weight: ArrayLike, length: int, rows: Indices | None, starts: Indices) -> Array:
    """One weight for each query, of weights that documents have."""
    c = vector("sample_weight", sample_weight, length=length)
    if c.size and c.min() < 0.0:
        at = int(c.argmin())
        raise ValueError(f"sample_weight must not be negative, got {c[at]} at position {at}.")
    by_document = c if rows is None else c[rows]
    weights: Array = by_document[starts[:-1]]
    unequal = by_document != np.repeat(weights, np.diff(starts))
    if unequal.any():
        document = int(np.flatnonzero(unequal)[0])
        first = int(starts[np.searchsorted(starts, document, "right") - 1])
        here, there = (document, first) if rows is None else (int(rows[document]), int(rows[first]))
        raise ValueError(
            "sample_weight must be the same for all documents of a query, as queries are what is weighted; got "
            f"{c[here]:g} at position {here} and {c[there]:g} at position {there}, which have the same qid."
        )
    return weights


def missing_entries(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Flags of entries that are none: not finite, not a time, None, or what pandas has in their place.

    Examples
    --------
    >>> missing_entries(np.array([1.0, np.nan])).tolist(), missing_entries(np.array(["a", None], dtype=object)).tolist()
    ([False, True], [False, True])
    """
    kind = values.dtype.kind
    missing = np.zeros(values.shape, dtype=bool)
    if kind in "fmM":
        missing[...] = np.isnat(values) if kind in "mM" else ~np.isfinite(values)
    elif kind == "O":
        missing[...] = [_is_missing(value) for value in values.tolist()]
    return missing


def _is_missing(value: Any) -> bool:
    """Whether a value is None, or does not equal itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA does not say what it equals
        return True
    except ValueError:  # of an array; it is none of these
        return False
