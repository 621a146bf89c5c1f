"""What has rows: the labels and weights of a block, and what others may know about them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._validation import check_mass
from ..kernels.selection import Candidates, SelectingBlock, added

Array = NDArray[np.float64]


class Totals(NamedTuple):
    """What is known about all rows, or about those of a block.

    Attributes
    ----------
    rows, positives : int
        How many there are.
    weight, positive_weight, negative_weight : float
        Their weights.
    weighted : bool
        Whether there are sample weights.
    """

    rows: int
    positives: int
    weight: float
    positive_weight: float
    negative_weight: float
    weighted: bool

    @classmethod
    def of(cls, parts: list[Totals]) -> Totals:
        """Return those of all blocks; both classes must occur, with some weight."""
        rows, positives = sum(part.rows for part in parts), sum(part.positives for part in parts)
        if not 0 < positives < rows:
            raise ValueError(
                f"y has {positives} positive examples among {rows}: a measure needs positive and negative examples."
            )
        weight, *masses = added([(part.weight, part.positive_weight, part.negative_weight) for part in parts])
        for name, mass in zip(("positive", "negative"), masses, strict=True):
            if not mass > 0.0:
                raise ValueError(f"sample_weight is 0 for every {name} example; each class needs some weight.")
            check_mass(name, mass)
        return cls(rows, positives, weight, masses[0], masses[1], any(part.weighted for part in parts))


class RiskBlock(SelectingBlock):
    """The part of a risk that has rows.

    Parameters
    ----------
    positive : ndarray of bool
        The positives among these rows; any number of them.
    weights : ndarray or None
        The sample weights, checked; None for ones, and then in all blocks.
    """

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None):
        self.positive = positive
        self.weights = weights

    def totals(self) -> Totals:
        """Return what others may know."""
        n = self.positive.shape[0]
        positives = int(np.count_nonzero(self.positive))
        if self.weights is None:
            return Totals(n, positives, float(n), float(positives), float(n - positives), weighted=False)
        masses = self.weights[self.positive].sum(), self.weights[~self.positive].sum()
        return Totals(n, positives, float(self.weights.sum()), float(masses[0]), float(masses[1]), weighted=True)

    def begin_threshold(self, scores: Array, most: float) -> Candidates:
        """Begin to select a score; see :func:`smoothperf.operating_point.threshold_of_blocks`."""
        return self.begin_selection(scores, most)

    def neighbours(self, scores: Array, at: float) -> tuple[float, float, float, float]:
        """The next score below with some weight, the next one above with any, and the lowest and highest of all."""
        below = scores < at if self.weights is None else (scores < at) & (self.weights > 0.0)
        return (
            float(scores.max(where=below, initial=-math.inf)),
            float(scores.min(where=scores > at, initial=math.inf)),
            float(scores.min(initial=math.inf)),
            float(scores.max(initial=-math.inf)),
        )

    def labelled_scores(self, scores: Array) -> tuple[NDArray[np.bool_], Array, Array | None]:
        """Labels, scores and weights, for what needs those of all rows in one place."""
        return self.positive, np.asarray(scores), self.weights

    def weighted_sum(self, scores: Array) -> float:
        """``sum_i c_i f_i``."""
        return float(scores.sum() if self.weights is None else (scores * self.weights).sum())

    def weigh(self, scores: Array, centre: float, out: Array) -> None:
        """Fill ``out_i = c_i (f_i - centre)``."""
        np.subtract(scores, centre, out=out)
        if self.weights is not None:
            out *= self.weights
