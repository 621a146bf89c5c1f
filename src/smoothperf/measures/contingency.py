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
from numpy.typing import NDArray

from ..kernels._flips import ramp_table
from .base import EPS, LONG_EPS, Array, Interval, Measure, Plane, RiskValue, only_in_memory
from .examples import Examples
from .flips import SOFT_SHARE, FlipRisk, Side, largest_knot, sorted_side
from .threshold_search import steady_cut

#: Tables with more cells than this make evaluations so slow that a warning is due.
MANY_CELLS = 10**7
#: Cells that are worked on at a time, which bounds the memory beside the table.
CELLS_AT_A_TIME = 1 << 20
#: Cells whose share of the soft maximum is below exp(-this) times that of the best are left out.
NEGLIGIBLE = 40.0


def _side(margins: Array, counts: NDArray[np.int64] | None) -> Side:
    """One class: its margins sorted, every example as often as its weight says."""
    x = margins if counts is None else np.repeat(margins, counts)
    return sorted_side(x, None, np.empty(x.size + 1), np.empty(x.size + 1))


def _smoothed(side: Side, slope: float, width: float) -> tuple[Array, Array, Array]:
    """``A_mu`` for all counts, the middle z of the ramp that flips as many, and the rounding error of the count."""
    x, n = side.x, side.x.shape[0]
    knots = np.sort(np.concatenate([x - width / 2.0, x + width / 2.0]))
    counts = np.arange(n + 1.0)
    z = np.interp(counts, np.maximum.accumulate(_ramped(side, knots, width)[0]), knots)
    beyond = width + 8.0 * EPS * np.abs(x[[0, -1]])
    z[0], z[-1] = x[0] - beyond[0], x[-1] + beyond[1]
    mass, huber, wobble = _ramped(side, z, width)
    return slope * (huber - z * counts - width / 8.0 * n), z, np.abs(mass - counts) + wobble


def _ramped(side: Side, z: Array, width: float) -> tuple[Array, Array, Array]:
    """``sum beta``, ``sum (z - x) beta + (w/2) beta (1 - beta)`` and the rounding of the first, at ramps."""
    z = z + width / 2.0
    full, reached = (np.searchsorted(side.x, edge, side="right") for edge in (z - width, z))
    active = (reached - full).astype(np.float64)
    first = side.first[reached] - side.first[full]
    ramp = np.clip(z * active - first, 0.0, width * active)
    square = z * (z * active - 2.0 * first) + side.second[reached] - side.second[full]
    square = np.clip(square, 0.0, width * ramp)
    huber = (z - width / 2.0) * full - side.first[full] + square / (2.0 * width)
    sizes = np.abs(z) * active + np.abs(side.first[reached]) + np.abs(side.first[full])
    # Sums of |x| exceed those of x by no more than twice the lowest of these.
    doubt = 2.0 * EPS * sizes + 2.0 * side.drift * (sizes + 4.0 * abs(side.lowest))
    return full + ramp / width, huber, np.minimum(doubt / width, active)


class ContingencyRisk(FlipRisk):
    """The risk (contingency-risk) for given labels; made by :meth:`Contingency.risk`.

    Parameters
    ----------
    examples : Examples
        Labels and weights, all in memory. Weights are whole numbers.
    table : ndarray
        The losses for all numbers of missed and of false positives.
    """

    def __init__(self, examples: Examples, table: Array):
        super().__init__(examples, (64 * EPS + 4 * examples.count * LONG_EPS) * (1.0 + float(table.max())))
        self._counts = None if examples.weights is None else examples.weights.astype(np.int64)
        self._table = table

    def exact(self, scores: Array) -> RiskValue:
        """``R`` and a subgradient: two sorts, and one look at every cell of the table."""
        sides = self._sides(scores)
        b, c, _ = self._best(*(-self._slope * side.first for side in sides))
        return self._flipped(scores, sides[1].threshold(c), sides[0].threshold(b), float(self._table[b, c]))

    def exact_value(self, scores: Array) -> float:
        """``R``: two sorts, and one look at every cell of the table."""
        return self._best(*(-self._slope * side.first for side in self._sides(scores)))[2]

    def smoothed(
        self, scores: Array, mu: float, hint: object = None, direction: Array | None = None, out: Array | None = None
    ) -> RiskValue:
        """``R_mu`` and its gradient: two looks at every cell of the table. ``hint`` is not used."""
        gradient = np.empty_like(scores) if out is None else out
        sides = self._sides(scores)
        width, nu = mu * self._total / 2.0, self._nu(mu)
        (gain_b, z_b, wobble_b), (gain_c, z_c, wobble_c) = (_smoothed(side, self._slope, width) for side in sides)
        value, offset, share_b, share_c = self._soft_best(gain_b, gain_c, nu)
        tables = ramp_table(z_c, share_c, width), ramp_table(z_b, share_b, width)
        inner = self._flip_along(tables, scores, gradient)
        exact = self._best(*(-self._slope * side.first for side in sides))[2]
        # Flips that sum to b but for an error: those that do so exactly differ by as much in the 1-norm.
        wobble = self._slope * (float(share_b @ wobble_b) + float(share_c @ wobble_c))
        ramps = (16 * EPS + 16 * self._total * LONG_EPS) * (1.0 + largest_knot(*tables) / width)
        plane = Plane(gradient, offset, self._rounding + wobble + ramps)
        return RiskValue(plane, value, offset - self._slope * inner, exact=Interval(exact, exact))

    def _nu(self, mu: float) -> float:
        return SOFT_SHARE * mu * self._total / 8.0 / float(np.log(self._table.size))

    def _sides(self, scores: Array) -> tuple[Side, Side]:
        p, n = self._rows
        counts = (None, None) if self._counts is None else (self._counts[p], self._counts[n])
        return _side(scores[p], counts[0]), _side(-scores[n], counts[1])

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

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Return ``1 - delta`` of the predictions ``scores > 0``."""
        _check_whole(examples.weights)
        predicted = scores > 0.0
        b, c = examples.here(examples.positive & ~predicted), examples.here(~examples.positive & predicted)
        return 1.0 - float(self._losses(np.array([b]), np.array([c]))[0])

    def cut(self, examples: Examples, scores: Array) -> float:
        """Return where to cut these scores: amid the cuts for which delta is almost lowest."""
        only_in_memory(self, examples)
        _check_whole(examples.weights)

        def loss(hits: Array, false: Array) -> Array:
            return self._losses(examples.positive_weight - hits, false)

        return steady_cut(scores, examples.positive, examples.weights, loss)

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
