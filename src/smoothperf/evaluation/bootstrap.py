"""Bootstrap of scores: rows are drawn again, with replacement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import Array
from .._validation import binary_labels, whole_number


def resamples(y: ArrayLike, n_resamples: int, seed: int) -> Iterator[Array]:
    """Draw rows with replacement, as multiplicities; draws that miss a class are drawn again.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of two kinds.
    n_resamples : int
        Number of draws.
    seed : int
        Seed of the draws.

    Yields
    ------
    ndarray of shape (n,)
        The number of times that each row was drawn.

    Examples
    --------
    >>> [int(draw.sum()) for draw in resamples([0, 1, 1, 0], n_resamples=2, seed=0)]
    [4, 4]
    """
    positive = binary_labels(y)
    n = positive.shape[0]
    ones = positive.astype(np.intp)
    rng = np.random.default_rng(seed)
    for _ in range(whole_number("n_resamples", n_resamples, at_least=1)):
        while True:
            draw = np.bincount(rng.integers(n, size=n), minlength=n)
            chosen = int(draw.dot(ones))
            if 0 < chosen < n:
                break
        yield draw.astype(np.float64)


def multiplicities(n: int, n_resamples: int, seed: int) -> Iterator[Array]:
    """Draw rows, or whole queries, with replacement, as multiplicities.

    Parameters
    ----------
    n : int
        Number of rows or queries.
    n_resamples : int
        Number of draws.
    seed : int
        Seed of the draws.

    Yields
    ------
    ndarray of shape (n,)
        The number of times that each was drawn.

    Examples
    --------
    >>> [int(draw.sum()) for draw in multiplicities(5, n_resamples=2, seed=0)]
    [5, 5]
    """
    rng = np.random.default_rng(seed)
    for _ in range(whole_number("n_resamples", n_resamples, at_least=1)):
        yield np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)


def interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the middle ``level`` of bootstrap values (the percentile interval).

    Parameters
    ----------
    values : array-like
        A value for each resample.
    level : float, default=0.95
        Share of the values within.

    Returns
    -------
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> low, high = interval(range(1001))
    >>> round(low), round(high)
    (25, 975)
    """
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [tail, 1.0 - tail])
    return float(low), float(high)
