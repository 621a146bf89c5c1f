r"""Any loss of the contingency table: a function of the numbers of missed and of false positives, given by the user.

This is the general door, and the slow one: for n+ positives and n- negatives all ``(n+ + 1)(n- + 1)`` tables are looked
at in every evaluation. F-beta, Jaccard, precision@k and others have measures of their own, which are far faster.

With margins ``x = y f``, ``A(b) = -(2/n)`` times the sum of the b smallest margins of the positives, and ``C(c)`` the
same for the c smallest of the negatives,

    R(f)    = max over b, c of  delta(b, c) + A(b) + C(c)                                     (contingency-risk)
    R_mu(f) = nu log mean over b, c of exp((delta(b, c) + A_mu(b) + C_mu(c)) / nu)            (contingency-smoothed)

where ``A_mu(b) = max sum_P (-(2/n) x beta - (mu/2)(beta - 1/2)^2)`` over ``beta`` in [0, 1]^P that sum to b, and
likewise C_mu. The first is the maximum over all labelings.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import vector
from ..kernels._flips import flip_exact, flip_smoothed, ramp_table
from .base import EPS, LONG_EPS, Array, Interval, Measure, Plane, Risk, RiskValue, only_in_memory
from .examples import Examples
from .flips import largest_knot
from .threshold_search import Cuts

#: Tables with more cells than this make evaluations so slow that a warning is due.
MANY_CELLS = 10**7
#: Cells that are worked on at a time, which bounds the memory beside the table.
CELLS_AT_A_TIME = 1 << 20
#: What the soft maximum over the table may cost of ``mu D``, relative to what the squares cost.
TABLE_SHARE = 0.5
#: Cells whose share of the soft maximum is below exp(-this) times that of the best are left out.
NEGLIGIBLE = 40.0


class _Side:
    """One class: its margins sorted, every example as often as its weight says, and prefix sums."""

    def __init__(self, margins: Array, counts: NDArray[np.int64] | None):
        self.x = np.sort(margins if counts is None else np.repeat(margins, counts))
        self.sums = _prefixes(self.x)
        self._squares = _prefixes(self.x**2)

    def cut(self, count: int) -> tuple[float, float]:
        """The margin up to which examples are flipped, and which share of those that have it."""
        if count == 0:
            return -np.inf, 0.0
        at = float(self.x[count - 1])
        begin, end = (int(np.searchsorted(self.x, at, side)) for side in ("left", "right"))
        return at, (count - begin) / (end - begin)

    def smoothed(self, slope: float, width: float) -> tuple[Array, Array, Array]:
        """``A_mu`` for all counts, the middle z of the ramp that flips as many, and the rounding error of the count."""
        n = self.x.shape[0]
        knots = np.sort(np.concatenate([self.x - width / 2.0, self.x + width / 2.0]))
        counts = np.arange(n + 1.0)
        z = np.interp(counts, np.maximum.accumulate(self._flipped(knots, width)[0]), knots)
        beyond = width + 8.0 * EPS * np.abs(self.x[[0, -1]])
        z[0], z[-1] = self.x[0] - beyond[0], self.x[-1] + beyond[1]
        mass, huber, wobble = self._flipped(z, width)
        return slope * (huber - z * counts - width / 8.0 * n), z, np.abs(mass - counts) + wobble

    def _flipped(self, z: Array, width: float) -> tuple[Array, Array, Array]:
        """``sum beta``, ``sum (z - x) beta + (w/2) beta (1 - beta)`` and the rounding of the first, at ramps."""
        z = z + width / 2.0
        full, reached = (np.searchsorted(self.x, edge, side="right") for edge in (z - width, z))
        active = (reached - full).astype(np.float64)
        first = self.sums[reached] - self.sums[full]
        ramp = np.clip(z * active - first, 0.0, width * active)
        square = z * (z * active - 2.0 * first) + self._squares[reached] - self._squares[full]
        square = np.clip(square, 0.0, width * ramp)
        huber = (z - width / 2.0) * full - self.sums[full] + square / (2.0 * width)
        sizes = np.abs(z) * active + np.abs(self.sums[reached]) + np.abs(self.sums[full])
        # Sums of |x| exceed those of x by no more than twice the lowest of these.
        drift = 4.0 * self.x.size * LONG_EPS * (sizes + 4.0 * abs(self.sums.min()))
        return full + ramp / width, huber, np.minimum((2.0 * EPS * sizes + drift) / width, active)


class ContingencyRisk(Risk):
    """The risk (contingency-risk) for given labels; made by :meth:`Contingency.risk`.

    Parameters
    ----------
    examples : Examples
        Labels and weights, all in memory. Weights are whole numbers.
    table : ndarray
        The losses for all numbers of missed and of false positives.
    """

    examples: Examples
    shift_invariant: ClassVar[bool] = False

    def __init__(self, examples: Examples, table: Array):
        super().__init__(examples)
        self._rows = np.flatnonzero(examples.positive), np.flatnonzero(~examples.positive)
        self._counts = None if examples.weights is None else examples.weights.astype(np.int64)
        self._table = table
        self._total = float(table.shape[0] + table.shape[1] - 2)
        self._slope = 2.0 / self._total
        self.diameter = (1.0 + TABLE_SHARE) * self._total / 8.0
        self._rounding = (64 * EPS + 4 * examples.count * LONG_EPS) * (1.0 + float(table.max()))

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: two sorts, and one look at every cell of the table."""
        sides = self._sides(scores)
        b, c, _ = self._best(*(-self._slope * side.sums for side in sides))
        cuts, shares = np.array([sides[1].cut(c), sides[0].cut(b)]).T.copy()
        return self._flipped(scores, cuts, shares, float(self._table[b, c]))

    def loss_free(self, scores: Array) -> RiskValue:
        """``R0`` and its gradient: examples on the wrong side of 0 are flipped. One pass."""
        return self._flipped(scores, np.zeros(2), np.zeros(2), 0.0)

    def exact_value(self, scores: Array) -> float:
        """``R``: two sorts, and one look at every cell of the table."""
        return self._best(*(-self._slope * side.sums for side in self._sides(scores)))[2]

    def smoothed(
        self, scores: Array, mu: float, hint: Any = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient: two looks at every cell of the table. ``hint`` is not used."""
        gradient = np.empty_like(scores) if out is None else out
        sides = self._sides(scores)
        width, nu = mu * self._total / 2.0, self._nu(mu)
        (gain_b, z_b, wobble_b), (gain_c, z_c, wobble_c) = (side.smoothed(self._slope, width) for side in sides)
        value, offset, share_b, share_c = self._soft_best(gain_b, gain_c, nu)
        tables = ramp_table(z_c, share_c, width), ramp_table(z_b, share_b, width)
        inner = flip_smoothed(*self._arguments(scores), *tables, self._slope, gradient)
        exact = self._best(*(-self._slope * side.sums for side in sides))[2]
        # Flips that sum to b but for an error: those that do so exactly differ by as much in the 1-norm.
        wobble = self._slope * (float(share_b @ wobble_b) + float(share_c @ wobble_c))
        ramps = (16 * EPS + 16 * self._total * LONG_EPS) * (1.0 + largest_knot(*tables) / width)
        plane = Plane(gradient, offset, self._rounding + wobble + ramps)
        return RiskValue(plane, value, offset - self._slope * inner, exact=Interval(exact, exact))

    def lipschitz(self, mu: float) -> float:
        """``(4/n^2) (1/mu + n/(4 nu))``: of the flips for given counts, and of the shares of the cells."""
        return self._slope**2 * (1.0 / mu + self._total / (4.0 * self._nu(mu)))

    def _flipped(self, scores: Array, cuts: Array, shares: Array, offset: float) -> RiskValue:
        """The plane of the labels that are flipped up to cuts, for negatives and positives, and of shares at these."""
        gradient = np.empty_like(scores)
        inner = flip_exact(*self._arguments(scores), cuts, shares, self._slope, gradient)
        value = offset - self._slope * inner
        return RiskValue(Plane(gradient, offset, self._rounding), value, value)

    def _arguments(self, scores: Array) -> tuple[Array, NDArray[np.uint8], Array | None]:
        """What the loops begin with."""
        return scores, self.examples.positive.view(np.uint8), self.examples.weights

    def _nu(self, mu: float) -> float:
        return TABLE_SHARE * mu * self._total / 8.0 / float(np.log(self._table.size))

    def _sides(self, scores: Array) -> tuple[_Side, _Side]:
        p, n = self._rows
        counts = (None, None) if self._counts is None else (self._counts[p], self._counts[n])
        return _Side(scores[p], counts[0]), _Side(-scores[n], counts[1])

    def _blocks(self) -> list[slice]:
        rows, columns = self._table.shape
        step = max(1, CELLS_AT_A_TIME // columns)
        return [slice(begin, min(begin + step, rows)) for begin in range(0, rows, step)]

    def _row_maxima(self, gain_b: Array, gain_c: Array) -> Array:
        best: Array = np.concatenate([(self._table[rows] + gain_c).max(axis=1) for rows in self._blocks()])
        return gain_b + best

    def _best(self, gain_b: Array, gain_c: Array) -> tuple[int, int, float]:
        """The best cell and its value."""
        maxima = self._row_maxima(gain_b, gain_c)
        b = int(maxima.argmax())
        return b, int((self._table[b] + gain_c).argmax()), float(maxima[b])

    def _soft_best(self, gain_b: Array, gain_c: Array, nu: float) -> tuple[float, float, Array, Array]:
        """``nu log mean exp(./nu)`` over the cells, the mean of delta, and the shares of rows and of columns."""
        maxima = self._row_maxima(gain_b, gain_c)
        best = float(maxima.max())
        chosen = np.flatnonzero(maxima >= best - nu * (NEGLIGIBLE + np.log(self._table.size)))
        share_b, share_c, offset = np.zeros_like(gain_b), np.zeros_like(gain_c), 0.0
        step = max(1, CELLS_AT_A_TIME // self._table.shape[1])
        for begin in range(0, chosen.size, step):
            rows = chosen[begin : begin + step]
            losses = self._table[rows]
            shares = np.exp((losses + gain_c + (gain_b[rows] - best)[:, None]) / nu)
            share_b[rows] = shares.sum(axis=1)
            share_c += shares.sum(axis=0)
            offset += float(np.vdot(losses, shares))
        total = float(share_b.sum())
        return best + nu * float(np.log(total / self._table.size)), offset / total, share_b / total, share_c / total


@dataclass(frozen=True)
class Contingency(Measure):
    """One less any loss of the numbers of missed positives and false positives, of the examples with a score above 0.

    The general door, and the slow one: the loss is tabulated for all numbers, and every evaluation looks at the whole
    table. For F-beta and the Jaccard index use :class:`FBeta` and :class:`Jaccard`.

    Parameters
    ----------
    delta : callable
        ``delta(b, c)`` is the loss with b missed positives and c false positives: finite, not negative, 0 for b = c =
        0. It is called with arrays if it can take them, else number by number. A model is pickled with it, so a
        function of a module is better than a lambda.

    Examples
    --------
    >>> from smoothperf import Contingency
    >>> def twice_as_bad(b, c):
    ...     return (2 * b + c) / 7
    >>> measure = Contingency(twice_as_bad)
    >>> measure.score([1, 1, -1, -1, -1], [0.9, -0.2, 0.7, -0.1, -0.5])
    0.5714285714285714
    """

    delta: Callable[[Any, Any], Any]
    fits_bias: ClassVar[bool] = True
    works_in_groups: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.delta):
            raise ValueError(f"delta must be a function of two numbers, got {self.delta!r}.")

    @property
    def name(self) -> str:
        """``contingency``."""
        return "contingency"

    def risk(self, examples: Examples) -> ContingencyRisk:
        """Return the convex risk (contingency-risk); weights must be whole numbers."""
        only_in_memory(self, examples)
        _check_whole(examples.weights)
        n_positive, n_negative = int(examples.positive_weight), int(examples.negative_weight)
        _check_size(n_positive, n_negative)
        table = np.empty((n_positive + 1, n_negative + 1))
        c = np.arange(n_negative + 1.0)
        step = max(1, CELLS_AT_A_TIME // c.size)
        for begin in range(0, n_positive + 1, step):
            b = np.arange(begin, min(begin + step, n_positive + 1), dtype=np.float64)
            table[begin : begin + step] = self._losses(b[:, None], c[None, :])
        return ContingencyRisk(examples, table)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return ``1 - delta`` of the predictions ``scores > 0``."""
        examples = Examples.of(y, sample_weight)
        predicted = vector("scores", scores, length=examples.count) > 0.0
        _check_whole(examples.weights)
        b, c = examples.here(examples.positive & ~predicted), examples.here(~examples.positive & predicted)
        return 1.0 - float(self._losses(np.array([b]), np.array([c]))[0])

    def cut(self, examples: Examples, scores: Array) -> float:
        """Return where to cut these scores so that delta is lowest; of equally good cuts the lowest."""
        only_in_memory(self, examples)
        _check_whole(examples.weights)
        cuts = Cuts(scores)
        c = np.ones(examples.count) if examples.weights is None else examples.weights
        hits = cuts.above(c * examples.positive)
        return cuts.threshold(int(self._losses(hits[0] - hits, cuts.above(c * ~examples.positive)).argmin()))

    def _losses(self, b: Array, c: Array) -> Array:
        """``delta`` of arrays of numbers that go together, checked."""
        shape = np.broadcast_shapes(b.shape, c.shape)
        losses = None
        with np.errstate(all="ignore"):
            try:
                losses = np.asarray(self.delta(b, c), dtype=np.float64)
            except (TypeError, ValueError):  # not written for arrays
                losses = None
        if losses is None or losses.shape != shape:
            pairs = zip(np.broadcast_to(b, shape).flat, np.broadcast_to(c, shape).flat, strict=True)
            losses = np.array([self._one_loss(int(p), int(n)) for p, n in pairs]).reshape(shape)
        bad = ~(losses >= 0.0) | (losses == np.inf) | ((b == 0.0) & (c == 0.0) & (losses != 0.0))
        if bad.any():
            at = tuple(int(k[0]) for k in np.nonzero(bad))
            p, n = (int(np.broadcast_to(counts, shape)[at]) for counts in (b, c))
            wanted = "0" if p == n == 0 else "a finite number that is not negative"
            raise ValueError(
                f"delta must be {wanted} for {p} missed positives and {n} false positives, got {losses[at]}; "
                "it is a loss, which is 0 when nothing is wrong."
            )
        return losses

    def _one_loss(self, b: int, c: int) -> float:
        try:
            return float(self.delta(b, c))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(
                f"delta fails for {b} missed positives and {c} false positives ({error}); it must return a number."
            ) from error


def _check_whole(weights: Array | None) -> None:
    """Refuse weights that do not count copies."""
    if weights is not None and (weights != np.floor(weights)).any():
        at = int(np.flatnonzero(weights != np.floor(weights))[0])
        raise ValueError(
            f"sample_weight must be whole numbers, got {weights[at]} at position {at}: Contingency counts examples; "
            "use copies, or a measure such as FBeta that takes any weights."
        )


def _prefixes(values: Array) -> Array:
    return np.append(0.0, np.cumsum(values, dtype=np.longdouble).astype(np.float64))


def _check_size(n_positive: int, n_negative: int) -> None:
    """Warn of tables that make everything slow, and refuse those that do not fit into memory."""
    cells = (n_positive + 1) * (n_negative + 1)
    what = f"{n_positive} positives and {n_negative} negatives make a table of {cells:.2g} losses"
    advice = "train on a sample, or use FBeta, Jaccard or another measure that needs no table"
    if 2 * 8 * cells > _memory():
        raise ValueError(f"{what}, which does not fit into memory; {advice}.")
    if cells > MANY_CELLS:
        warnings.warn(f"{what}, which every evaluation looks at: slow. Better {advice}.", stacklevel=4)


def _memory() -> float:
    """Bytes of the machine's memory; infinity where that is not known."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
