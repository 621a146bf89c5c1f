"""The projection onto the capped simplex, put together from the passes of :mod:`smoothperf.kernels._top_k`.

From a guess of the root, an interval around it leaves few examples undecided, and the root is found among them. If it
lies outside, the interval grows. The guess is the root of a small sample; if the root for nearby scores is known, only
the change since then is taken from the sample. Cost: two passes over the examples, and a few over the undecided ones.

Rows may be in blocks (:mod:`smoothperf.blocks`). Undecided examples that are few are sent to where the root is looked
for; if they are many, they stay, and each step of the root finder is a round of a few numbers. Where a round costs
something, the root for nearby scores is the guess as it is, with a wider interval around it: the sample comes with the
undecided, for the case that the root lies elsewhere, or that they are too many to be sent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import threads
from . import _top_k
from .selection import added, joined, most_from_each

if TYPE_CHECKING:
    from ..blocks import Blocks, Vector

Array = NDArray[np.float64]

#: Half the width of the first interval around a guess from nearby scores, of one from a sample alone, and of one from
#: nearby scores without a sample; in units of u, which goes from 0 to 1 over a ramp.
NEAR_MARGIN = 0.1
FIRST_MARGIN = 0.5
FAR_MARGIN = 1.5
#: From this margin on, all examples are undecided.
LAST_MARGIN = 50.0
#: Larger than any v, but finite: the kernels know no infinity.
BEYOND = 1e308
#: Size of the sample.
SAMPLE = 1 << 11
#: The cut of the exact risk is found to so many binary digits, in units of u.
CUT_DIGITS = 8
#: Rows for which a thread pays.
LEAST_ROWS = 1 << 13


class Line(NamedTuple):
    """``v_i = scale f_i + shift + shift_step [i positive]``."""

    scale: float
    shift: float
    shift_step: float


class Sample(NamedTuple):
    """Values and weights of some examples, of so many rows, or of such a weight, in all; one of ``step`` is in it."""

    parts: Sequence[tuple[Array, Array | None]]
    step: int
    rows: float
    total: float
    mu: float

    def root(self, start: float = 0.0) -> float:
        """``mu * tau`` for the sample, given where it may be."""
        values, weights = joined(self.parts)
        share = 1.0 / self.step if weights is None else float(weights.sum()) / self.rows
        search = _top_k.RootSearch(share * self.total, start / self.mu, values.min() - 1.0, values.max(), True)
        search.search(values, weights, 0.0)
        return self.mu * search.tau


class Roots(NamedTuple):
    """``mu * tau`` for all examples and for the sample, and ``mu * theta``; these carry over when mu changes.

    Where nobody has needed that of the sample, it is the sample itself.
    """

    all: float
    sample: float | Sample
    cut: float

    def of_sample(self) -> float:
        """``mu * tau`` for the sample."""
        return self.sample.root() if isinstance(self.sample, Sample) else self.sample


class Projection(NamedTuple):
    """What comes out of a projection beside the gradient.

    Attributes
    ----------
    missed : float
        ``sum_i c_i (t_i - u_i)`` over the positives: what is missed of them beyond what the target misses.
    excess : float
        ``sum_i c_i u_i - total``: what the root finder and rounding left.
    inner : float
        ``sum_i c_i f_i (u_i - t_i)``.
    prox : float
        ``sum_i c_i (u_i - t_i)^2 / 2``.
    roots : Roots
        Where to start for nearby scores.
    ceiling : float
        ``mu sum_i c_i (max(0, x_i) - t_i x_i)`` with ``x_i = v_i - t_i - theta``. For any theta it is at least, and
        for the theta that was found almost, the maximum over u of ``sum_i c_i (slope f_i - gain [i positive]) (u_i -
        t_i)`` that is not smoothed: (prbep-ceiling).
    looseness : float
        At most so much, up to rounding, is ``ceiling`` above that maximum.
    along, squares : float
        ``<gradient, direction>``, 0 without a direction, and ``|gradient|^2``.
    """

    missed: float
    excess: float
    inner: float
    prox: float
    roots: Roots
    ceiling: float
    looseness: float
    along: float
    squares: float


class Undecided(NamedTuple):
    """The v of the examples inside an interval, their weights by class, and the weight above the interval."""

    negatives: Array
    positives: Array
    negative_weights: Array | None
    positive_weights: Array | None
    above: float

    def both(self) -> tuple[Array, Array | None]:
        """The v and weights of both classes."""
        values = np.concatenate((self.negatives, self.positives))
        if self.negative_weights is None or self.positive_weights is None:
            return values, None
        return values, np.concatenate((self.negative_weights, self.positive_weights))

    def root(self, search: _top_k.RootSearch) -> None:
        """Let the search find the root."""
        search.search(*self.both(), self.above)

    def range(self) -> tuple[float, float]:
        """The lowest and the highest v, if there are any."""
        values = self.both()[0]
        return float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))

    def cells(self, targets: tuple[float, float], low: float, high: float, count: int) -> Array:
        """Weights of ``v_i - t_i`` in so many cells between low and high, and above."""
        cells = np.zeros(count + 1)
        for values, weights, target in (
            (self.positives, self.positive_weights, targets[0]),
            (self.negatives, self.negative_weights, targets[1]),
        ):
            _top_k.weigh_cells(values, weights, low + target, high + target, cells)
        return cells


class ProjectionBlock:
    """The part of a projection that has rows.

    Parameters
    ----------
    positive : ndarray of bool or uint8
        The positives.
    weights : array or None
        ``c``; None for ones.
    """

    positive: NDArray[np.bool_]
    weights: Array | None
    _undecided: Undecided

    def __init__(self, positive: NDArray[np.bool_], weights: Array | None):
        self.positive = positive
        self.weights = weights

    def sample(self, scores: Array, line: Line, step: int) -> tuple[Array, Array | None]:
        """Values and weights of every so manieth example."""
        values = np.empty(-(-scores.shape[0] // step))
        _top_k.sample(scores, self.positive.view(np.uint8), *line, step, values)
        return values, None if self.weights is None else np.ascontiguousarray(self.weights[::step])

    def sample_and_collect(
        self, scores: Array, line: Line, step: int, low: float, high: float, gradient: Array, most: float
    ) -> tuple[tuple[Array, Array | None], tuple[float, Undecided | None]]:
        """Both at once."""
        return self.sample(scores, line, step), self.collect(scores, line, low, high, gradient, most)

    def collect(
        self, scores: Array, line: Line, low: float, high: float, gradient: Array, most: float
    ) -> tuple[float, Undecided | None]:
        """Keep what lies between, until the gradient is filled; what is no more than ``most`` is part of the reply."""
        n = scores.shape[0]
        pieces = threads.pieces(n, least=LEAST_ROWS)
        kept_weights = None if self.weights is None else np.empty_like(gradient)
        # The undecided go where the gradient will be: no memory beyond the result.
        found = _top_k.collect(
            scores, self.positive.view(np.uint8), self.weights, *line, low, high, gradient, kept_weights, pieces
        )
        front, back = [], []
        for piece, (n_negative, n_positive, _) in enumerate(found):
            begin, end = n * piece // pieces, n * (piece + 1) // pieces
            front.append(slice(begin, begin + n_negative))
            back.append(slice(end - n_positive, end))
        above = math.fsum(f[2] for f in found)
        self._undecided = Undecided(
            _pieces(gradient, front),
            _pieces(gradient, back),
            None if kept_weights is None else _pieces(kept_weights, front),
            None if kept_weights is None else _pieces(kept_weights, back),
            above,
        )
        few = sum(f[0] + f[1] for f in found) <= most
        return above, self._undecided if few else None

    def sums_at(self, tau: float) -> tuple[float, float, float]:
        """Sum of ``c u`` over the undecided, what a double loses of it, and the active weight."""
        return _top_k.sums_at(tau, *self._undecided.both())

    def range(self) -> tuple[float, float]:
        """The lowest and the highest v of the undecided."""
        return self._undecided.range()

    def cut_cells(self, targets: tuple[float, float], low: float, high: float, count: int) -> Array:
        """See :meth:`Undecided.cells`."""
        return self._undecided.cells(targets, low, high, count)

    def finish(
        self,
        scores: Array,
        line: Line,
        targets: tuple[float, float],
        slope: float,
        root: tuple[float, float, float, float],
        theta: float,
        direction: Array | None,
        gradient: Array,
    ) -> Sequence[float]:
        """Fill the gradient, and return the sums of ``_top_k.finish``."""
        return _top_k.finish(
            scores, self.positive.view(np.uint8), self.weights, *line, targets[1], targets[0] - targets[1], slope,
            *root, theta, direction, gradient, threads.pieces(scores.shape[0], least=LEAST_ROWS),
        )  # fmt: skip


class _FarUndecided:
    """Undecided examples that stay in their blocks; see :class:`Undecided`."""

    def __init__(self, blocks: Blocks, above: float):
        self._blocks = blocks
        self.above = above

    def root(self, search: _top_k.RootSearch) -> None:
        go_on = True
        while go_on:
            masses, lost, active = zip(*self._blocks.each("sums_at", search.tau), strict=True)
            go_on = search.tell(math.fsum([*masses, *lost, self.above, -search.total]), math.fsum(active))

    def range(self) -> tuple[float, float]:
        lowest, highest = zip(*self._blocks.each("range"), strict=True)
        return min(lowest), max(highest)

    def cells(self, targets: tuple[float, float], low: float, high: float, count: int) -> Array:
        cells: Array = np.sum(self._blocks.each("cut_cells", targets, low, high, count), axis=0)
        return cells


def project(
    blocks: Blocks,
    n_blocks: int,
    rows: float,
    scores: Vector,
    total: float,
    slope: float,
    gain: float,
    targets: tuple[float, float],
    mu: float,
    nearby: Roots | None,
    direction: Vector | None,
    gradient: Vector,
) -> Projection:
    """Project, and fill ``gradient = slope c (u - t)``.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`ProjectionBlock`.
    n_blocks : int
        How many.
    rows : int or float
        How many rows there are in all blocks, or their weight if they have weights.
    targets : tuple of float
        t for positives and for negatives.
    nearby : Roots or None
        Those for nearby scores and any mu, if known.
    direction : Vector or None
        Along which the derivative is wanted.
    """
    target_positive, target_negative = targets
    line = Line(slope / mu, target_negative, target_positive - target_negative - gain / mu)
    asked = _Asked(blocks, n_blocks, scores, line, gradient)
    found: _Found | None = None
    if blocks.far and nearby is not None and abs(nearby.all) < BEYOND * mu:
        around = _Interval.around(*_guesses(nearby, 0.0, mu), FAR_MARGIN)
        samples, undecided = asked.sample_and_collect(around)
        if isinstance(undecided, Undecided):  # and not too many to be sent
            found = _searched(undecided, around, total)
    else:
        samples = asked.sample()
    sample = Sample(samples, asked.step, rows, total, mu)
    sampled: float | Sample = sample
    if found is None or found.search.outside:
        before = 0.0 if nearby is None else nearby.of_sample()
        sampled = sample.root(before)
        guesses = _guesses(nearby or Roots(0.0, 0.0, 0.0), sampled - before, mu)
        # Where a round costs something, better look a little farther at once, if that is not too much to send.
        margin = FIRST_MARGIN if nearby is None or found is not None else NEAR_MARGIN
        found = _widening(asked, *guesses, margin, total)

    search, undecided, (_, low, high) = found
    tau = search.tau
    cells = 1 << (CUT_DIGITS + math.ceil(math.log2(max(high - low, 1.0))))
    weights = undecided.cells(targets, low, high, cells)
    theta, looseness = _top_k.cut_of_cells(weights, undecided.above, total, low, high)
    root = tau, search.correction, search.other, search.blend
    sums = blocks.complete("finish", scores, line, targets, slope, root, theta, direction, gradient)
    missed, mass, inner, prox, violation, along, squares = added(sums)
    roots = Roots(mu * tau, sampled, mu * theta)
    return Projection(missed, mass - total, inner, prox, roots, mu * violation, mu * looseness, along, squares)


class _Interval(NamedTuple):
    """Where the root is looked for, and from where on."""

    start: float
    low: float
    high: float

    @classmethod
    def around(cls, tau: float, cut: float, margin: float) -> _Interval:
        """Around a guess of the root and one of the cut."""
        return cls(tau, min(tau, cut) - margin, max(tau, cut) + margin)


class _Found(NamedTuple):
    """What came of a search in an interval."""

    search: _top_k.RootSearch
    undecided: Undecided | _FarUndecided
    interval: _Interval


class _Asked:
    """The blocks, and what they are asked about the scores of one projection."""

    def __init__(self, blocks: Blocks, n_blocks: int, scores: Vector, line: Line, gradient: Vector):
        self.step = max(1, blocks.vectors.length // SAMPLE)
        self._blocks = blocks
        self._most = most_from_each(blocks, n_blocks)
        self._scores = scores
        self._line = line
        self._gradient = gradient

    def sample(self) -> list[tuple[Array, Array | None]]:
        """Values and weights of some examples."""
        return self._blocks.each("sample", self._scores, self._line, self.step)

    def collect(self, low: float, high: float) -> Undecided | _FarUndecided:
        """What lies between."""
        return self._together(
            self._blocks.each("collect", self._scores, self._line, low, high, self._gradient, self._most)
        )

    def sample_and_collect(
        self, interval: _Interval
    ) -> tuple[list[tuple[Array, Array | None]], Undecided | _FarUndecided]:
        """The sample, and what is undecided if the root is in an interval, in one round."""
        low, high = interval.low, interval.high + 1.0
        what = self._scores, self._line, self.step, low, high, self._gradient, self._most
        samples, kept = zip(*self._blocks.each("sample_and_collect", *what), strict=True)
        return list(samples), self._together(kept)

    def _together(self, replies: Sequence[tuple[float, Undecided | None]]) -> Undecided | _FarUndecided:
        above = math.fsum(weight for weight, _ in replies)
        parts = [part for _, part in replies if part is not None]
        return _together(parts, above) if len(parts) == len(replies) else _FarUndecided(self._blocks, above)


def _searched(
    undecided: Undecided | _FarUndecided, interval: _Interval, total: float, *, certain: bool = False
) -> _Found:
    """Look for the root in an interval."""
    search = _top_k.RootSearch(total, *interval, certain)
    undecided.root(search)
    return _Found(search, undecided, interval)


def _widening(asked: _Asked, tau: float, cut: float, margin: float, total: float) -> _Found:
    """Look for the root around guesses, and farther and farther away from them."""
    while abs(tau) < BEYOND and margin <= LAST_MARGIN:
        interval = _Interval.around(tau, cut, margin)
        found = _searched(asked.collect(interval.low, interval.high + 1.0), interval, total)
        if not found.search.outside:
            return found
        tau = found.search.tau
        margin *= 6.0
    # Among all. Everything is capped below v_min - 1 and zero above v_max.
    undecided = asked.collect(-BEYOND, BEYOND)
    lowest, highest = undecided.range()
    everything = _Interval(tau, lowest - 1.0 - 4.4e-16 * abs(lowest), highest)
    search = _searched(undecided, everything, total, certain=True).search
    near = _Interval.around(search.tau, search.tau, FIRST_MARGIN)
    return _Found(search, asked.collect(near.low, near.high + 1.0), near)


def _guesses(near: Roots, change: float, mu: float) -> tuple[float, float]:
    """Where root and cut may be, given those for nearby scores and how far they may have moved."""
    tau, cut = (near.all + change) / mu, (near.cut + change) / mu
    return tau, cut if abs(cut - tau) <= LAST_MARGIN else tau


def _pieces(values: Array, pieces: list[slice]) -> Array:
    return values[pieces[0]] if len(pieces) == 1 else np.concatenate([values[piece] for piece in pieces])


def _together(parts: list[Undecided], above: float) -> Undecided:
    """The undecided of all blocks."""
    if len(parts) == 1:
        return parts[0]
    negatives, negative_weights = joined([(part.negatives, part.negative_weights) for part in parts])
    positives, positive_weights = joined([(part.positives, part.positive_weights) for part in parts])
    return Undecided(negatives, positives, negative_weights, positive_weights, above)
