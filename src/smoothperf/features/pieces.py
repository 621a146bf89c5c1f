"""Functions of one column that are polynomials between places: what curves, steps and lines all are, once weighted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._arrays import Array


@dataclass(frozen=True, eq=False)
class Pieces:
    """A function of a number that is a polynomial from each break to the next.

    Attributes
    ----------
    breaks : ndarray of shape (m,)
        Where pieces meet, rising; a piece has its left end.
    origins : ndarray of shape (m + 1,)
        The place that each piece is written about.
    coefs : ndarray of shape (m + 1, 4)
        Coefficients of its powers 0 to 3.

    Examples
    --------
    >>> step = Pieces(np.array([2.0]), np.zeros(2), np.array([[1.0, 0, 0, 0], [5.0, 0, 0, 0]]))
    >>> step(np.array([1.0, 2.0]))
    array([1., 5.])
    >>> step.of_scaled(1.0, 10.0)(np.array([20.9, 21.0]))
    array([1., 5.])
    """

    breaks: Array
    origins: Array
    coefs: Array

    @classmethod
    def line(cls, slope: float) -> Pieces:
        """A multiple of the number itself."""
        return cls(np.zeros(0), np.zeros(1), np.array([[0.0, slope, 0.0, 0.0]]))

    def __call__(self, x: Array) -> Array:
        """Return the values at some places, none of them NaN."""
        piece = np.searchsorted(self.breaks, x, side="right")
        t, c = x - self.origins[piece], self.coefs[piece]
        values: Array = c[..., 0] + t * (c[..., 1] + t * (c[..., 2] + t * c[..., 3]))
        return values

    def at(self, x: float) -> float:
        """Return the value at a place."""
        return float(self(np.array([x]))[0])

    def of_scaled(self, shift: float, scale: float) -> Pieces:
        """The same function, of numbers that become its argument by ``(x - shift) / scale``."""
        powers = scale ** -np.arange(4.0)
        breaks = [first_with(partial(_beyond, shift, scale, b), b * scale + shift, shift) for b in self.breaks.tolist()]
        return Pieces(np.array(breaks, dtype=np.float64), self.origins * scale + shift, self.coefs * powers)

    def plus(self, height: float) -> Pieces:
        """The same function, higher by so much."""
        return Pieces(self.breaks, self.origins, self.coefs + np.array([height, 0.0, 0.0, 0.0]))

    def less_line(self, slope: float, zero: float) -> Pieces:
        """The same function less a line of this slope, which is 0 at some place."""
        coefs = self.coefs.copy()
        coefs[:, 0] -= slope * (self.origins - zero)
        coefs[:, 1] -= slope
        return Pieces(self.breaks, self.origins, coefs)

    def over_grid(self, low: float, high: float) -> tuple[Array, Array]:
        """Return places between two ends, both sides of every break among them, and the values there."""
        inside = self.breaks[(self.breaks > low) & (self.breaks < high)]
        places = np.unique(np.concatenate([np.linspace(low, high, 160), inside, np.nextafter(inside, -np.inf)]))
        return places, self(places)

    def over(self, low: float, high: float) -> tuple[float, float, float]:
        """Return the least and the largest value and the mean between two breaks, of which one may be infinite.

        There the function is constant beyond the others.
        """
        if np.isinf(low) or np.isinf(high):
            value = self.at(high - abs(high) - 1.0 if np.isfinite(high) else low if np.isfinite(low) else 0.0)
            return value, value, value
        places = np.linspace(low, high, 65)
        places[-1] = np.nextafter(high, low)
        values = self(places)
        # Simpson's rule, which is exact for cubics.
        mean = float(values[0] + 4.0 * values[1::2].sum() + 2.0 * values[2:-1:2].sum() + values[-1]) / 192.0
        return float(values.min()), float(values.max()), mean


def _beyond(shift: float, scale: float, bound: float, x: float) -> float:
    return (x - shift) / scale - bound


def first_with(sign: Callable[[float], float], near: float, other: float) -> float:
    """The number, near one that is given, from which on a rising function is not negative, as its rounding has it.

    If there is one of few digits among the numbers for which the function is 0, it is that: a step at 3 stays at 3.

    Examples
    --------
    >>> first_with(lambda x: (x - 1.3) / 0.7 - (3.0 - 1.3) / 0.7, (3.0 - 1.3) / 0.7 * 0.7 + 1.3, 1.3)
    3.0
    """
    margin = 16.0 * sys.float_info.epsilon * max(abs(near), abs(other), sys.float_info.min)
    first = _border(lambda x: sign(x) >= 0.0, near - margin, near + margin)
    last = _border(lambda x: sign(x) > 0.0, near - margin, near + margin)
    for digits in range(1, 11):
        for short in (float(f"{near:.{digits}g}"), float(f"{first:.{digits}g}")):
            if first <= short < last:
                return short
    return first


def _border(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The first number for which something holds, between one for which it does not and one for which it does."""
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
