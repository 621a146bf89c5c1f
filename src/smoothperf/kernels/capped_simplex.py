"""The projection onto the capped simplex, put together from the passes of :mod:`smoothperf.kernels._top_k`.

From a guess of the root, an interval around it leaves few examples undecided, and the root is found among them. If it
lies outside, the interval grows. The guess is the root of a small sample; if the root for nearby scores is known, only
the change since then is taken from the sample. Cost: two passes over the examples, and a few over the undecided ones.

Rows may be in blocks (:mod:`smoothperf.blocks`). Undecided examples that are few are sent to where the root is looked
for; if they are many, they stay, and each step of the root finder is a round of a few numbers.
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

#: Half the width of the first interval around a guess from nearby scores, and of one from a sample alone; in units of
#: u, which goes from 0 to 1 over a ramp.
NEAR_MARGIN = 0.1
FIRST_MARGIN = 0.5
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


class Roots(NamedTuple):
    """``mu * tau`` for all examples and for the sample, and ``mu * theta``; these carry over when mu changes."""

    all: float
    sample: float
    cut: float


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
    step = max(1, blocks.vectors.length // SAMPLE)
    samples = blocks.each("sample", scores, line, step)
    most = most_from_each(blocks, len(samples))

    def collect(low: float, high: float) -> Undecided | _FarUndecided:
        replies = blocks.each("collect", scores, line, low, high, gradient, most)
        above = math.fsum(weight for weight, _ in replies)
        parts = [part for _, part in replies if part is not None]
        return _together(parts, above) if len(parts) == len(replies) else _FarUndecided(blocks, above)

    sampled = mu * _sampled_root(*joined(samples), step, rows, total, 0.0 if nearby is None else nearby.sample / mu)
    if nearby is None:
        nearby = Roots(sampled, sampled, sampled)
        margin = FIRST_MARGIN
    else:
        margin = NEAR_MARGIN
    tau, cut = ((near + (sampled - nearby.sample)) / mu for near in (nearby.all, nearby.cut))
    if not abs(tau) < BEYOND:
        tau, margin = 0.0, BEYOND
    if not abs(cut - tau) <= LAST_MARGIN:
        cut = tau
    while True:
        certain = margin > LAST_MARGIN
        if certain:
            undecided = collect(-BEYOND, BEYOND)
            # Everything is capped below v_min - 1 and zero above v_max.
            low, high = undecided.range()
            low -= 1.0 + 4.4e-16 * abs(low)
        else:
            low, high = min(tau, cut) - margin, max(tau, cut) + margin
            undecided = collect(low, high + 1.0)
        search = _top_k.RootSearch(total, tau, low, high, certain)
        undecided.root(search)
        tau = search.tau
        if not search.outside:
            break
        margin *= 6.0

    if certain:
        low, high = tau - FIRST_MARGIN, tau + FIRST_MARGIN
        undecided = collect(low, high + 1.0)
    cells = 1 << (CUT_DIGITS + math.ceil(math.log2(max(high - low, 1.0))))
    weights = undecided.cells(targets, low, high, cells)
    theta, looseness = _top_k.cut_of_cells(weights, undecided.above, total, low, high)
    root = tau, search.correction, search.other, search.blend
    sums = blocks.each("finish", scores, line, targets, slope, root, theta, direction, gradient)
    missed, mass, inner, prox, violation, along, squares = added(sums)
    roots = Roots(mu * tau, sampled, mu * theta)
    return Projection(missed, mass - total, inner, prox, roots, mu * violation, mu * looseness, along, squares)


def _sampled_root(values: Array, weights: Array | None, step: int, rows: float, total: float, start: float) -> float:
    """The root for the sample, given where to begin."""
    share = 1.0 / step if weights is None else float(weights.sum()) / rows
    search = _top_k.RootSearch(share * total, start, float(values.min()) - 1.0, float(values.max()), True)
    search.search(values, weights, 0.0)
    return search.tau


def _pieces(values: Array, pieces: list[slice]) -> Array:
    return values[pieces[0]] if len(pieces) == 1 else np.concatenate([values[piece] for piece in pieces])


def _together(parts: list[Undecided], above: float) -> Undecided:
    """The undecided of all blocks."""
    if len(parts) == 1:
        return parts[0]
    negatives, negative_weights = joined([(part.negatives, part.negative_weights) for part in parts])
    positives, positive_weights = joined([(part.positives, part.positive_weights) for part in parts])
    return Undecided(negatives, positives, negative_weights, positive_weights, above)
