r"""Promises for new rows of a rate that was counted on some: exact binomial tests and bounds.

Of ``trials`` independent rows ``hits`` had a property. The rate on new rows is higher than ``rate`` with confidence
``1 - delta`` if so many hits would be rare, were it not (Clopper and Pearson, 1934):

    P(Bin(trials, rate) >= hits) <= delta         and likewise P(Bin(trials, rate) <= hits) <= delta for "lower".

Both are incomplete beta functions, which do not ask for whole numbers. So rows with weights c count as Kish's effective
number of them, ``(sum c)^2 / sum c^2``: how many equal rows would tell as much. It is the number of rows where all
weights are equal; elsewhere the bounds are approximate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv

from .._arrays import Array
from .._validation import positive_number

#: The confidence of a promise by default.
CONFIDENCE = 0.9


def chance_of_as_many(hits: ArrayLike, trials: ArrayLike, rate: float) -> Array:
    """Return ``P(Bin(trials, rate) >= hits)``.

    Examples
    --------
    >>> round(float(chance_of_as_many(3, 3, 0.5)), 6)
    0.125
    """
    k, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    some = k > 0.0
    return np.where(some, betainc(np.where(some, k, 1.0), np.maximum(n - k, 0.0) + 1.0, rate), 1.0)


def chance_of_as_few(hits: ArrayLike, trials: ArrayLike, rate: float) -> Array:
    """Return ``P(Bin(trials, rate) <= hits)``: as many misses, or more."""
    return chance_of_as_many(np.asarray(trials, dtype=np.float64) - np.asarray(hits), trials, 1.0 - rate)


def bounds(hits: float, trials: float, confidence: float) -> tuple[float, float]:
    """Return what a rate is at least, and what it is at most, each with the given confidence.

    Examples
    --------
    >>> low, high = bounds(9, 10, 0.9)
    >>> round(low, 4), round(high, 4)
    (0.6632, 0.9895)
    """
    delta = 1.0 - confidence
    misses = max(trials - hits, 0.0)
    low = float(betaincinv(hits, misses + 1.0, delta)) if hits > 0.0 else 0.0
    high = float(betaincinv(hits + 1.0, misses, confidence)) if misses > 0.0 else 1.0
    return low, high


def effective_number(weight: ArrayLike, squares: ArrayLike) -> Array:
    """Return ``(sum c)^2 / sum c^2``, 0 for no rows."""
    total, of_squares = np.asarray(weight, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    return np.divide(total**2, of_squares, out=np.zeros(total.shape), where=of_squares > 0.0)


def checked_confidence(confidence: Any) -> float | None:
    """A number between 0 and 1, or None."""
    if confidence is None:
        return None
    if positive_number("confidence", confidence, hint="Use None to ask for no promise.") >= 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}; use None to ask for no promise.")
    return float(confidence)
