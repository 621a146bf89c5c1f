r"""The best weights of cutting planes under a penalty that is not quadratic.

    maximise   D(x) = b.x - Omega*(-A^T x)      subject to   x >= 0,  sum x = 1                    (penalty-dual)

with the K slopes as rows of A. Omega* is piecewise quadratic and differentiable where the penalty has curvature q: with
``v = -A^T x``, its gradient is ``w = argmin Omega - <v, .>``, and its second derivative 1/q_i for the weights that are
*free*, neither zero nor on a bound. So

    dD/dx = b + A w,            -d^2D/dx^2 = A_f diag(1/q_f) A_f^T

and Newton's method repeats the small quadratic program of the quadratic penalty (:mod:`smoothperf.kernels._simplex_qp`)
on the columns of the free weights, with a search for the highest point on the way to its solution. By concavity no x is
better by more than ``max_k (dD/dx)_k - <x, dD/dx>``, which ends it. Any x makes a true bound, so nothing depends on how
well it is solved. Cost of a step: K d for the sums, K^2 for each free weight. A weight whose ``|a_i|`` no plane has
above s_i is zero for all x, and left out from the beginning: where most are, K d is spent once and not in every step.

No risk is negative: that is a plane, too, with slope and offset 0, and has the weight that the others leave. Without
curvature in the penalty it is worth a lot far from the optimum, where no mixture of the other planes has its slope
within the box ``|a_i| <= s_i``: a part of one has. (Measured with F1 on 100 columns that resemble each other,
l1_ratio=1 and alpha=1e-4: after 300 iterations the bound was below 0 without it and is 0.276 with it, which is that of
the linear program of the same planes; J is 0.725.)

Where the penalty has no curvature, it is given a little for the search. What the bound loses by that is known
afterwards: if it is much, less curvature must do. (From much to little, because with next to none the program is hard
to solve from afar.)
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from ..kernels import maximise_on_simplex
from .elastic_net import Separable
from .penalties import capped

#: Most steps of Newton's method, and most trials on the way of one.
MOST_STEPS, MOST_TRIALS = 30, 20
#: A step is over where the slope on the way has fallen to this share of the first one.
FLAT = 0.1
#: Loss of the bound by added curvature, in units of the tolerance of the program. If it is less than the first
#: number, more may be added next time; if it is more than the second, there is another try with less; so many at most.
LITTLE_LOST, MOST_SOFTNESSES = (5.0, 50.0), 20


def weights_of_planes(
    slopes: Array, offsets: Array, penalty: Separable, start: Array, tolerance: float, ceiling: float, softness: float
) -> tuple[Array, float]:
    """Weights with a good bound, whatever curvature the penalty has; and the softness to go on with.

    They sum to 1 at most; the rest is the weight of R >= 0.

    Parameters
    ----------
    slopes, offsets, penalty, start, tolerance
        See :func:`best_weights`; the penalty need not have curvature.
    ceiling : float
        A value of J.
    softness : float
        The cost allowed for curvature that is added; see :meth:`Separable.softened`.
    """
    matters = np.flatnonzero((slopes.max(axis=0) > penalty.s) | (slopes.min(axis=0) < -penalty.s))
    if 2 * matters.size < penalty.s.size:
        slopes, penalty = slopes[:, matters], penalty.some(matters)
    slopes, offsets = np.vstack([np.zeros(slopes.shape[1]), slopes]), np.append(0.0, offsets)  # R >= 0 comes first
    # Close to a minimiser of the smoothed objective the last plane is good by itself.
    best: Array = np.eye(1, offsets.size, offsets.size - 1)[0]
    highest = float(offsets[-1]) - capped(*penalty.conjugate(-slopes[-1], ceiling), ceiling)
    before, x = -math.inf, np.append(max(0.0, 1.0 - float(start.sum())), start)
    for _ in range(MOST_SOFTNESSES):
        soft = penalty.softened(softness, ceiling)
        x = best_weights(slopes, offsets, soft, x, tolerance)
        v = -(x @ slopes)
        taken = capped(*penalty.conjugate(v, ceiling), ceiling)
        lost = taken - soft.conjugate(v, ceiling).value
        bound = float(x @ offsets) - taken
        if bound > highest:
            best, highest = x, bound
        if lost < LITTLE_LOST[0] * tolerance:
            softness *= 4.0
        # At the solution no more than about twice the softness is lost; else rounding has taken over.
        if lost <= LITTLE_LOST[1] * tolerance or bound < before or softness < tolerance:
            break
        before = bound
        softness /= 8.0
    return best[1:], softness


def best_weights(slopes: Array, offsets: Array, penalty: Separable, start: Array, tolerance: float) -> Array:
    """Weights on the simplex whose D is within a tolerance of the best one, or as close as a few steps come.

    Parameters
    ----------
    slopes, offsets : ndarray of shape (K, d) and (K,)
        The planes.
    penalty : Separable
        Omega, with curvature in every weight.
    start : ndarray of shape (K,)
        Weights to begin with.
    tolerance : float
        Of D.
    """
    x: Array = start / start.sum()
    v = -(x @ slopes)
    inverse = 1.0 / penalty.q
    for _ in range(MOST_STEPS):
        w = penalty.proximal(v, 0.0)
        support = np.flatnonzero(w)
        gradient = offsets + slopes[:, support] @ w[support]
        if gradient.max() - gradient @ x <= tolerance:
            break
        free = support[(w[support] > penalty.lower[support]) & (w[support] < penalty.upper[support])]
        columns = slopes[:, free]
        hessian = (columns * inverse[free]) @ columns.T
        target = maximise_on_simplex(hessian, 1.0, gradient + hessian @ x, x, 0.1 * tolerance)
        change = target - x
        first = float(gradient @ change)
        if not first > 0.0:
            break
        move = -(change @ slopes)
        step = _highest(penalty, v, move, float(offsets @ change), first)
        x = np.maximum(x + step * change, 0.0)
        x /= x.sum()
        v = -(x @ slopes)
    return x


def _highest(penalty: Separable, v: Array, move: Array, offset: float, first: float) -> float:
    """The step between 0 and 1 at which D is about highest: its slope, ``offset - <w(v + t move), move>``, falls."""

    def slope(step: float) -> float:
        return offset - float(penalty.proximal(v + step * move, 0.0) @ move)

    low, low_slope, high, high_slope = 0.0, first, 1.0, slope(1.0)
    if high_slope >= -FLAT * first:
        return 1.0
    for trial in range(MOST_TRIALS):
        width = high - low
        step = low + width * (low_slope / (low_slope - high_slope) if trial % 3 < 2 else 0.5)
        step = min(max(step, low + 0.05 * width), high - 0.05 * width)
        here = slope(step)
        if abs(here) <= FLAT * first:
            return step
        if here > 0.0:
            low, low_slope = step, here
        else:
            high, high_slope = step, here
    return low or high
