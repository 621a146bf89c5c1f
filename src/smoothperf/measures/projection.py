r"""The projection onto the capped simplex, put together from the passes of :mod:`smoothperf.kernels._top_k`.

    v_i = t_i + (slope f_i - gain [i positive]) / mu
    u_i = clip(v_i - tau, 0, 1)     with tau such that   sum_i c_i u_i = total

From a guess of the root tau, an interval around it leaves few examples undecided, and the root is found among them. The
guess is the root of a small sample; if the root for nearby scores is known, only the change since then is taken from
the sample. If the root lies outside, the interval grows. In the end, it lies between ``level - 1`` and ``level``, the
largest v that the weight ``total`` is not below (:mod:`smoothperf.cuts.threshold_search`): at one end u is 1 for
at least that weight, at the other it is 0 for all but less than that. The same holds for the cut that is looked for on
the way. Cost: two passes over the examples, and a few over the undecided.

A group of processes looks for the root in another way (:mod:`smoothperf.dask.versions.projection`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import threads
from .._arrays import Array
from ..cuts.threshold_search import Ordering
from ..kernels import _top_k
from .examples import Examples

#: Half the width of the first interval around a guess from nearby scores, and of one from a sample alone; in units of
#: u, which goes from 0 to 1 over a ramp.
NEAR_MARGIN = 0.1
FIRST_MARGIN = 0.5
#: Up to this margin an interval grows.
LAST_MARGIN = 50.0
#: Up to this size, numbers are fine enough to tell the u of an interval apart.
RESOLVED = 1e15
#: Size of the sample.
SAMPLE = 1 << 11
#: The cut of the exact risk is found to so many binary digits, in units of u; and in so many cells, as a power of 2, at
#: most: where numbers are so large that an interval has to be long, there is no finer cut anyway.
CUT_DIGITS, MOST_DIGITS = 8, 16
#: Rows for which a thread pays.
LEAST_ROWS = 1 << 13


class Roots(NamedTuple):
    """``mu * tau`` for all examples and for the sample (0 in a group), and ``mu * theta``; they serve any other mu.

    ``moved`` is how far that for all was from the one for nearby scores; infinite if that was not known.
    """

    all: float
    sample: float
    cut: float
    moved: float = math.inf


class Projection(NamedTuple):
    """Results of a projection beside the gradient; sums are over all examples.

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
        A start for nearby scores.
    ceiling : float
        ``mu sum_i c_i (max(0, x_i) - t_i x_i)`` with ``x_i = v_i - t_i - theta``. For any theta it is at least, and
        for the theta that was found almost, the maximum over u of ``sum_i c_i (slope f_i - gain [i positive]) (u_i -
        t_i)`` that is not smoothed: (prbep-ceiling).
    looseness : float
        At most so much, up to rounding, is ``ceiling`` above that maximum.
    along : float
        ``<gradient, direction>``, 0 without a direction.
    """

    missed: float
    excess: float
    inner: float
    prox: float
    roots: Roots
    ceiling: float
    looseness: float
    along: float


class CappedSimplex:
    """``{u in [0, 1]^n : sum_i c_i u_i = total}``, and what is maximised over it.

    Parameters
    ----------
    examples : Examples
        Positives and weights.
    total, slope, gain : float
        See the module.
    targets : tuple of float
        t for positives and for negatives.
    """

    def __init__(self, examples: Examples, total: float, slope: float, gain: float, targets: tuple[float, float]):
        self.examples = examples
        self.positive = examples.positive.view(np.uint8)
        self.weights = examples.weights
        self.mass = examples.weight
        self.step = max(1, examples.count // SAMPLE)
        self.total = total
        self.slope = slope
        self.gain = gain
        self.targets = targets

    def project(
        self, scores: Array, mu: float, nearby: Roots | None, direction: Array | None, gradient: Array
    ) -> Projection:
        """Project, and fill ``gradient = slope c (u - t)``.

        Parameters
        ----------
        nearby : Roots or None
            Those for nearby scores and any mu, if known.
        direction : ndarray or None
            Along which the derivative is wanted.
        """
        on_positives, on_negatives = self.targets
        target_step = on_positives - on_negatives
        values = Affine(self.slope / mu, on_negatives, target_step - self.gain / mu)
        finder = self.examples.version(RootFinder)(self, scores, values, gradient)
        root, sampled = finder.find(mu, nearby)
        sums = _top_k.finish(
            scores, self.positive, self.weights, *values, on_negatives, target_step, self.slope,
            root.tau, root.correction, root.other, root.blend, root.theta, direction, gradient, finder.pieces,
        )  # fmt: skip
        missed, mass, inner, prox, violation, along = self.examples.total(*sums)
        moved = math.inf if nearby is None else abs(mu * root.tau - nearby.all)
        roots = Roots(mu * root.tau, sampled, mu * root.theta, moved)
        return Projection(missed, mass - self.total, inner, prox, roots, mu * violation, mu * root.looseness, along)


class Affine(NamedTuple):
    """``v_i = scale f_i + shift + shift_step [i positive]``."""

    scale: float
    shift: float
    shift_step: float


class Bracket(NamedTuple):
    """An interval in which the root is looked for, and where the search starts."""

    start: float
    low: float
    high: float

    @classmethod
    def around(cls, tau: float, cut: float, margin: float) -> Bracket:
        """Around a guess of the root and one of the cut."""
        return cls(tau, min(tau, cut) - margin, max(tau, cut) + margin)


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


class Root(NamedTuple):
    """Result of a search: see ``_top_k.RootSearch``; and theta with the looseness of its bound."""

    tau: float
    outside: float
    correction: float
    other: float
    blend: float
    theta: float
    looseness: float

    @classmethod
    def of(cls, search: _top_k.RootSearch, cut: tuple[float, float]) -> Root:
        """Of a search that has ended, and the cut that was found beside it."""
        return cls(search.tau, search.outside, search.correction, search.other, search.blend, *cut)


class RootFinder:
    """Search for the root of one projection.

    Parameters
    ----------
    simplex : CappedSimplex
        The set that is projected onto.
    scores : ndarray
        The scores.
    values : Affine
        The v that they make.
    gradient : ndarray
        Memory, overwritten.
    """

    def __init__(self, simplex: CappedSimplex, scores: Array, values: Affine, gradient: Array):
        self.simplex = simplex
        self.pieces = threads.pieces(scores.shape[0], least=LEAST_ROWS)
        self._scores = scores
        self._affine = values
        self._gradient = gradient

    def find(self, mu: float, nearby: Roots | None) -> tuple[Root, float]:
        """Find the root; and ``mu * tau`` for the sample."""
        known = nearby or Roots(0.0, 0.0, 0.0)
        sampled = mu * self.sampled_root(known.sample / mu)
        margin = NEAR_MARGIN if nearby else FIRST_MARGIN
        root = self.root_near(*guesses(known, sampled - known.sample, mu), margin, LAST_MARGIN)
        return root or self.root_at_level(), sampled

    def root_near(self, tau: float, cut: float, margin: float, last: float) -> Root | None:
        """Look for the root around guesses, as far as to the last margin."""
        while abs(tau) < RESOLVED and margin <= last:
            root = self.root_in(Bracket.around(tau, cut, margin))
            if not root.outside:
                return root
            tau = root.tau
            margin *= 6.0
        return None

    def sampled_root(self, start: float) -> float:
        """``tau`` for a sample, one of every ``step`` examples, searched from ``start``."""
        return self.root_of_sample(start, *self._sample())

    def root_of_sample(self, start: float, values: Array, weights: Array | None) -> float:
        """``tau`` for the v of a sample and their weights."""
        simplex = self.simplex
        share = 1.0 / simplex.step if weights is None else float(weights.sum()) / simplex.mass
        search = _top_k.RootSearch(share * simplex.total, start, values.min() - 1.0, values.max(), True)
        search.search(values, weights, 0.0)
        return search.tau

    def root_at_level(self) -> Root:
        """Look for the root where it must be."""
        simplex = self.simplex
        level = simplex.examples.version(Ordering)(self._values(1), simplex.weights).level(simplex.total).at
        rounding = 4.4e-16 * abs(level)
        return self.root_in(Bracket(level - 0.5, level - 1.0 - rounding, level + rounding), certain=True)

    def root_in(self, interval: Bracket, *, certain: bool = False) -> Root:
        """Look for the root in an interval, in which it may lie or is certain to, and for theta there."""
        undecided, weighed = self._inside(interval)
        search = _top_k.RootSearch(self.simplex.total, *interval, certain)
        search.search(*undecided.both(), undecided.above)
        return Root.of(search, self._cut_of(weighed, interval))

    def _inside(self, interval: Bracket) -> tuple[Undecided, Array]:
        """The examples that an interval leaves undecided, and weights to find theta by."""
        _, low, high = interval
        undecided = self._collect(low, high + 1.0)
        return undecided, self._weighed(undecided, low, high)

    def _cut_of(self, weighed: Array, interval: Bracket) -> tuple[float, float]:
        """Theta, and the looseness of its bound."""
        return _top_k.cut_of_cells(weighed[:-1], float(weighed[-1]), self.simplex.total, interval.low, interval.high)

    def _weighed(self, undecided: Undecided, low: float, high: float) -> Array:
        """To find theta by: weights of v - t in cells and above them, and the weight above what is undecided."""
        cells = 1 << min(CUT_DIGITS + math.ceil(math.log2(max(high - low, 1.0))), MOST_DIGITS)
        sums = np.zeros(cells + 2)
        on_positives, on_negatives = self.simplex.targets
        for values, weights, target in (
            (undecided.positives, undecided.positive_weights, on_positives),
            (undecided.negatives, undecided.negative_weights, on_negatives),
        ):
            _top_k.weigh_cells(values, weights, low + target, high + target, sums[:-1])
        sums[-1] = undecided.above
        return sums

    def _sample(self) -> tuple[Array, Array | None]:
        """The v of one of every ``step`` examples, and their weights."""
        weights = self.simplex.weights
        step = self.simplex.step
        return self._values(step), None if weights is None else np.ascontiguousarray(weights[::step])

    def _values(self, step: int) -> Array:
        """The v of examples at equal distances from one another."""
        values = np.empty(-(-self._scores.shape[0] // step))
        _top_k.sample(self._scores, self.simplex.positive, *self._affine, step, values)
        return values

    def _collect(self, low: float, high: float) -> Undecided:
        """The examples between two v. They go where the gradient will be: no memory beyond the result."""
        simplex, n, kept = self.simplex, self._scores.shape[0], self._gradient
        kept_weights = None if simplex.weights is None else np.empty_like(kept)
        found = _top_k.collect(
            self._scores, simplex.positive, simplex.weights, *self._affine, low, high, kept, kept_weights, self.pieces
        )
        front, back = [], []
        for piece, (n_negative, n_positive, _) in enumerate(found):
            begin, end = n * piece // self.pieces, n * (piece + 1) // self.pieces
            front.append(slice(begin, begin + n_negative))
            back.append(slice(end - n_positive, end))
        return Undecided(
            _joined(kept, front),
            _joined(kept, back),
            None if kept_weights is None else _joined(kept_weights, front),
            None if kept_weights is None else _joined(kept_weights, back),
            math.fsum(f[2] for f in found),
        )


def guesses(near: Roots, change: float, mu: float) -> tuple[float, float]:
    """Guesses of root and cut, given those for nearby scores and how far they may have moved."""
    tau, cut = (near.all + change) / mu, (near.cut + change) / mu
    return tau, cut if abs(cut - tau) <= LAST_MARGIN else tau


def _joined(values: Array, pieces: list[slice]) -> Array:
    return values[pieces[0]] if len(pieces) == 1 else np.concatenate([values[piece] for piece in pieces])
