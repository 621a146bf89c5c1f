r"""The step of a quadratic model, in units in which no column of X is far larger than the others.

    z = argmin  <a, z - w> + (1/2) <z - w, B (z - w)> + Omega(z)                                     (proximal-step)

Coordinate descent does it (:mod:`smoothperf.kernels._quadratic_model`). Where columns are few and all of B is at hand,
a few sweeps tell which weights are not zero, and a linear system says where those go. (Sweeps that gain little say
nothing about it where columns resemble each other, so there is always one.)

What is added to the diagonal of B to hold steps back, sigma, is the same for all weights. So a feature in millimetres,
whose weight has to be a thousandth of that in metres, would be held back a million times less. Weights are measured in
units, ``v_i = c_i w_i``: for columns whose entries are ten times as large as is typical, or a tenth, c_i is how many
times it is, and 1 for all others. Omega is taken along, so that the minimum is the same. (Measured on the breast cancer
data as they come, whose columns differ by a factor of 1e5: of 42 fits, with 7 measures, 2 l1_ratios and 3 alphas, 18
ended at 1000 iterations without units and linear systems, and one with both. Units for columns of about one size make
a third more iterations on data with shares of 0 to 1, and for columns with few entries up to twice as many on text. The
rules, and which columns have units at all, were picked on these very data, so the numbers may flatter.)
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .._arrays import Array
from ..design.base import Design
from ..kernels import minimise_model
from .elastic_net import Separable

#: Columns have a unit of their own from this ratio to the typical size on.
FAR = 10.0
#: Sweeps between linear systems, and how many of these there are at most.
SWEEPS, SYSTEMS = 8, 20
#: Sweeps where there are none.
ALL_SWEEPS = 1000

#: V of (quadratic-model), column by column: starts, rows, values, and how many rows there are.
Compressed = tuple[NDArray[np.int32], NDArray[np.int32], Array, int]


def units_of(design: Design) -> Array:
    """Return c for each column.

    Examples
    --------
    >>> from smoothperf.design import as_design
    >>> units_of(as_design(np.array([[1.0, 2.0, 0.0, 3e6], [1.0, 0.0, 1.0, 3e6]])))
    array([1.e+00, 1.e+00, 1.e+00, 2.e+06])
    """
    sizes = design.column_sizes()
    known = ~np.isnan(sizes)
    ratios = sizes / np.median(sizes[known]) if known.any() else sizes
    return np.where((ratios <= 1.0 / FAR) | (ratios >= FAR), ratios, 1.0)


def no_columns(d: int) -> Compressed:
    """Those of a model without V."""
    return np.zeros(d + 1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0), 0


def proximal_step(
    coef: Array,
    penalty: Separable,
    units: Array,
    slope: Array,
    sigma: float,
    low_rank: tuple[Array, Array],
    columns: Compressed,
    accuracy: float,
) -> Array:
    """Return z, about.

    Parameters
    ----------
    coef, penalty
        w and Omega, as they are.
    units : ndarray of shape (d,)
        c.
    slope, sigma, low_rank, columns
        ``a`` and B of (quadratic-model), both in units: those of ``X / c``. Where U has d columns, M is the identity.
    accuracy : float
        See :func:`smoothperf.kernels.minimise_model`.
    """
    there = penalty.in_units(units)
    start = units * coef
    z = start.copy()
    u, m = low_rank
    is_whole = u.shape[1] == z.size and columns[-1] == 0
    most_sweeps = SWEEPS if is_whole else ALL_SWEEPS
    before = 0.0

    def decrease() -> float:
        """The decrease of the model from the start."""
        move = z - start
        curved = move @ (u @ move) + sigma * (move @ move) + there.q @ (z * z - start * start)
        return -float(slope @ move + there.s @ (np.abs(z) - np.abs(start)) + 0.5 * curved)

    for _ in range(SYSTEMS):
        sweeps = minimise_model(
            slope, start, there.s, there.q, there.lower, there.upper, sigma, u, m, columns[0], columns[1], columns[2],
            columns[3], z, accuracy, most_sweeps,
        )  # fmt: skip
        if not is_whole:
            break
        by_sweeps = decrease()
        _minimise_without_zeros(z, start, slope, sigma, u, there)
        by_system = decrease()
        little = accuracy * by_system
        # Sweeps after a system go on as long as they gain anything beside each other, which may be next to nothing.
        if by_system - by_sweeps <= little and (sweeps < SWEEPS or by_sweeps - before <= little):
            break
        before = by_system
    return penalty.clip(z / units)


def _minimise_without_zeros(z: Array, start: Array, slope: Array, sigma: float, B: Array, penalty: Separable) -> None:
    """Move weights that are neither zero nor on a bound to where the model would be least if their signs stayed.

    Of those whose sign would not, all may change it, end at zero, or all weights stop where the first one is zero:
    whatever makes the model least. Bounds are kept.
    """
    free = np.flatnonzero((z != 0.0) & (z > penalty.lower) & (z < penalty.upper))
    if free.size == 0:  # SciPy before 1.14 refuses an empty system
        return
    here, s, q = z[free], penalty.s[free], penalty.q[free]
    gradient = slope[free] + B[free] @ (z - start) + sigma * (here - start[free]) + q * here
    matrix = B[np.ix_(free, free)]
    matrix[np.diag_indices(free.size)] += sigma + q
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:  # rounding made it indefinite: sweeps go on
        return
    move: Array = -scipy.linalg.cho_solve(factor, gradient + s * np.sign(here), check_finite=False)
    low, high = penalty.lower[free], penalty.upper[free]
    signed = np.where(here > 0.0, 0.0, low), np.where(here > 0.0, high, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = np.where(move == 0.0, np.inf, (np.where(move > 0.0, signed[1], signed[0]) - here) / move)
    first = min(1.0, float(steps.min(initial=1.0)))

    def value(there: Array) -> float:
        change = there - here
        return float(gradient @ change + 0.5 * (change @ (matrix @ change)) + s @ np.abs(there))

    ways = (np.clip(here + move, low, high), np.clip(here + move, *signed), np.clip(here + first * move, *signed), here)
    z[free] = min(ways, key=value)
