"""A lower bound of the optimum, from the cutting planes that a solver computes anyway.

A plane ``(a_k, b_k)`` says ``R(X w) >= <a_k, w> + b_k`` for every w. So for any weights x on the simplex

    min J  >=  sum_k x_k b_k - |sum_k x_k a_k|^2 / (2 alpha)                                     (bundle-bound)

and the best x is a small quadratic program (:mod:`smoothperf.kernels._simplex_qp`). Cost: K d for the inner products
with a new plane. The planes bound the exact risk whether they came from an exact or a smoothed evaluation, and do not
depend on alpha.

In floating point. ``lower_bound`` is reduced by everything that rounding may have added (docs/maths.md, rounding),
so that it is a true bound of the optimum of the objective of the given arrays. With unit roundoff u, ``g_m = m u /
(1 - m u)``, and a radius ``rho >= |w*|``, the reduction is

    sum_k x_k [ r_k (1 + B rho) + g_n |X|_F |g_k| rho ]    planes: risk kernel, and X^T g
    + g_{2K+8} ( sum_k x_k |b_k| + |a|^2 / alpha )         the sum of offsets, and weights that do not sum to 1
    + E / (2 alpha)                                        the squared norm
    + 2 g_d B |w| max(1, sqrt(J(w))) + g_{2n+16} (1 + 2 B |w| + J(w)) + g_{d+8} J(w)     evaluation of J at the best w

where B is the largest row norm, r_k the risk's own rounding bound and E that of ``|a|^2``, ``a = sum_k x_k a_k``. The
squared norm is ``x.G x`` with the Gram matrix G of the planes, which is at hand: ``E = g_{2d+2n+2K+16} (sum_k x_k
s_k)^2``, where s_k is ``|a_k|`` or, in row space, ``|X|_F |g_k|``. Where that is not good enough, a is formed:
``E = 2 g (|a| + g S) S`` with ``S = sum_k x_k s_k`` and ``g = g_{2K+n+d+8}``, at the cost of K d or a pass over the
data.

Other penalties Omega than the quadratic one have ``Omega*(-sum_k x_k a_k)`` in place of the squared norm, which is
computed from the sum itself (docs/maths.md, penalty-bound), and other weights x (:mod:`.plane_weights`),
which may leave a part of 1 to the plane ``R >= 0``.
The rounding of the sum is that of a plane, ``g_{2K+8} S rho``, and weights that do not sum to 1 cost ``g_{2K+8} J(w)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from .._arrays import Array
from ..communicator import ALONE, Communicator, Shared
from ..design import Design
from ..kernels import maximise_on_simplex
from ..measures import Plane
from .penalties import Penalty, as_penalty, capped
from .plane_weights import weights_of_planes
from .space import Space
from .weight_space import WeightSpace, smaller_space

UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2.0
#: The reductions are themselves computed in floating point; a hundredth more makes up for that.
SURPLUS = 1.01
#: Planes that wait for a solution when the penalty is not quadratic.
LATER = 4


def accumulated(terms: int) -> float:
    """``g_m``: the relative error of a sum of m products, in any order."""
    return terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF)


def evaluation_rounding(
    design: Design, n_rows: int, objective: float, coef_norm: float, extra_rounding: float = 0.0
) -> float:
    """The rounding error of a computed J, at weights of a given norm, at most (docs/maths.md, evaluation-rounding).

    ``n_rows`` are the rows of all machines; ``extra_rounding`` is that of the risk; see
    :class:`~smoothperf.measures.Risk`.
    """
    n, d = n_rows, design.shape[1]
    objective = max(objective, 0.0)  # a difference may be negative by rounding
    largest_score = design.row_norm * coef_norm
    return SURPLUS * (
        2.0 * accumulated(d) * largest_score * max(1.0, math.sqrt(objective))
        + accumulated(2 * n + 16) * (1.0 + 2.0 * largest_score + objective)
        + accumulated(d + 8) * objective
        + extra_rounding * (1.0 + largest_score)
    )


@dataclass
class _KeptBound:
    """One bound of the form (bundle-bound), kept with what its rounding depends on."""

    value: float = -np.inf
    fixed: float = 0.0  # rounding that does not depend on the radius
    per_radius: float = 0.0  # rounding per unit of |w*|
    per_ceiling: float = 0.0  # what the conjugate takes off for each unit of J(w) >= Omega(w*)

    def certified(self, radius: float, ceiling: float) -> float:
        taken = capped(0.0, self.per_ceiling, ceiling)
        return self.value - taken - SURPLUS * (self.fixed + self.per_radius * radius)


@dataclass(frozen=True)
class Planes:
    """Planes to hand from one run to the next on the same design and risk; they hold whatever alpha is.

    Attributes
    ----------
    slopes, offsets : ndarray of shape (K, length) and (K,)
        ``R(X w) >= <slopes[k], w> + offsets[k]``, up to rounding; see :meth:`.space.Space.for_later`.
    fixed, per_radius, sizes : ndarray of shape (K,)
        The rounding of each plane: a constant, what comes with every unit of ``|w|``, and the size of the terms in
        inner products.
    gram : ndarray of shape (K, K)
        Inner products of the slopes.
    weights : ndarray of shape (K,)
        Weights of the planes, heaviest first; they sum to 1.
    """

    slopes: Array
    offsets: Array
    fixed: Array
    per_radius: Array
    sizes: Array
    gram: Array
    weights: Array

    def __len__(self) -> int:
        return int(self.offsets.shape[0])

    def lower_bound(
        self, design: Design, penalty: float | Penalty, objective: float, coef_norm: float, n_rows: int | None = None
    ) -> float:
        """Certified bound of min J for any penalty, from these planes alone; see :meth:`Bundle.lower_bound`.

        ``n_rows`` are those of all machines, if there are others.
        """
        quadratic = as_penalty(penalty).is_quadratic
        tolerance = 1e-12 if quadratic else 1e-6
        bundle = Bundle(
            design,
            penalty,
            max_planes=len(self),
            tolerance=tolerance,
            space=smaller_space(design, design.shape, design.frobenius_norm) if quadratic and n_rows is None else None,
            n_rows=n_rows,
            ceiling=objective,
        )
        bundle.adopt(self)
        bundle.solve()
        return bundle.lower_bound(objective, coef_norm)


class Bundle(Shared):
    """Planes, their weights, and the best lower bound that they have given.

    Parameters
    ----------
    design : Design
        X, for the rounding bounds and the number of weights.
    penalty : float or Penalty
        Omega; a number is the alpha of the quadratic one.
    max_planes : int
        When there are more, planes that carry no weight are forgotten, the one idle for longest first; if all carry
        weight, the two lightest are merged into one (which is a plane again).
    tolerance : float
        Loss of bound that the quadratic program, and rounding, may leave.
    space : Space, optional
        The space of the slopes; weight space by default.
    extra_rounding : float, default=0
        Of values of the risk; see :class:`~smoothperf.measures.Risk`.
    n_rows : int, optional
        Number of rows of X on all machines, if that is more than here.
    communicator : Communicator, optional
        The group that must agree on the bound. Its first member has the planes; the others count them.
    ceiling : float, default=infinity
        A value of J, which :meth:`lower_bound` replaces by lower ones. Without a quadratic part of the penalty it is
        needed.
    carried : int, default=0
        Length of the gradients in scores that planes keep beside their slopes, for :meth:`sum_of_planes`.
    """

    def __init__(
        self,
        design: Design,
        penalty: float | Penalty,
        *,
        max_planes: int,
        tolerance: float,
        space: Space | None = None,
        extra_rounding: float = 0.0,
        n_rows: int | None = None,
        communicator: Communicator = ALONE,
        ceiling: float = math.inf,
        carried: int = 0,
    ):
        self._design = design
        self._penalty = as_penalty(penalty).on(design.shape[1])
        self._ceiling = ceiling
        self._softness = max(ceiling, tolerance) if ceiling < math.inf else 1.0
        self._max_planes = max(2, max_planes)
        self._tolerance = tolerance
        self._extra_rounding = extra_rounding
        self._n_rows = design.shape[0] if n_rows is None else n_rows
        super().__init__(communicator)
        self._space = WeightSpace(design, design.shape[1]) if space is None else space
        size = self._max_planes
        self._count = 0
        self._known = 0  # planes whose inner products are in the Gram matrix
        self._new = 0  # planes since the last solution
        # Memory is taken up only as planes come in.
        self._table = np.empty((size, self._space.length + carried))
        self._slopes, self._gradients = self._table[:, : self._space.length], self._table[:, self._space.length :]
        self._gram = np.empty((size, size))
        # In one table, so that their weighted sums are one product.
        self._numbers = np.empty((5, size))
        self._offsets, self._offset_sizes, self._fixed, self._per_radius, self._sizes = self._numbers
        self._last_used = np.zeros(size, dtype=np.int64)  # number of the solution in which a plane had weight
        self._solutions = 0
        self._weights = np.zeros(size)
        self._highest = -np.inf
        # The bound that was best at the last radius, and those that have come since: a solution that is better before
        # rounding is taken off may be worse afterwards.
        self._bounds = [_KeptBound()]

    def __len__(self) -> int:
        return self._count

    @property
    def waiting(self) -> bool:
        """Whether there are planes that :meth:`solve` has not seen."""
        return self._new > 0

    @property
    def overdue(self) -> bool:
        """Whether planes wait for their inner products that cost less than a quarter of the passes they came with."""
        if not self._penalty.is_quadratic:
            return self._new >= LATER
        waiting = self._count - self._known
        return waiting * self._design.n_entries >= self._count * self._space.terms or self._count == self._max_planes

    @property
    def value(self) -> float:
        """The best bound so far, before rounding is taken off."""
        return self._highest

    @property
    def dual_coef(self) -> Array:
        """The minimiser of ``Omega(w) + max_k <a_k, w> + b_k``: where a cutting-plane method goes next."""
        if not self._penalty.is_quadratic:
            return self._penalty.softened(self._softness, self._ceiling).minimiser(self._aggregate())
        return self._aggregate() / -self._penalty.alpha

    def add(
        self, slope: Array, offset: float, *, rounding: float, gradient_norm: float, gradient: Array | None = None
    ) -> None:
        """Add the plane ``<slope, w> + offset`` with the rounding bound and the norm of the gradient it came from.

        The gradient itself is needed where it is carried.
        """
        if self._count == self._max_planes:
            if self._penalty.is_quadratic:
                self._multiply()
            self._make_room()
        k = self._count
        self._count = k + 1
        self._new += 1
        if not self.leads:
            return
        self._slopes[k] = slope
        if self._gradients.shape[1]:
            self._gradients[k] = gradient
        self._offsets[k] = offset
        self._offset_sizes[k] = abs(offset)
        transpose = accumulated(self._n_rows) * self._design.frobenius_norm * gradient_norm
        self._fixed[k] = rounding
        self._per_radius[k] = rounding * self._design.row_norm + transpose
        self._sizes[k] = self._space.size(slope, gradient_norm)
        self._last_used[k] = self._solutions
        self._weights[k] = 0.0 if k else 1.0

    def adopt(self, planes: Planes | None, count: int | None = None) -> None:
        """Begin with planes of an earlier run, heaviest first and as many as there is room for.

        Members that have none count those of the first one.
        """
        if planes is None:
            self._count = self._known = min(count or 0, self._max_planes)
            return
        if planes.slopes.shape[1] != self._space.plane_length:
            raise ValueError(
                f"planes are for X of another shape ({planes.slopes.shape[1]} numbers each instead of "
                f"{self._space.plane_length}); they may only be reused on the design and risk that they come from."
            )
        if not all(np.isfinite(getattr(planes, part.name)).all() for part in fields(planes)):
            raise ValueError("planes must be finite, got NaN or infinity among their numbers; begin without them.")
        k = min(len(planes), self._max_planes)
        self._slopes[:k] = self._space.from_before(planes.slopes[:k])
        for name in ("offsets", "fixed", "per_radius", "sizes"):
            getattr(self, f"_{name}")[:k] = getattr(planes, name)[:k]
        self._offset_sizes[:k] = np.abs(self._offsets[:k])
        self._gram[:k, :k] = planes.gram[:k, :k]
        self._weights[:k] = planes.weights[:k] / planes.weights[:k].sum()
        self._count = self._known = k

    def forget(self) -> None:
        """Drop all planes. The bounds that they have given stay."""
        self._count = self._known = self._new = 0

    def heaviest(self, limit: int) -> Planes:
        """Return copies of at most ``limit`` planes that make the same bound as all.

        If more carry weight, the lightest are merged into one: a sum of planes with weights that sum to 1 is a plane.
        (That R >= 0, which has the rest of the weight where the penalty is not quadratic, every bundle knows.)
        """
        if not self._weights[: self._count].any():  # no bound is better than R >= 0, but planes may help later
            self._weights[: self._count] = 1.0 / max(1, self._count)
        order = np.argsort(-self._weights[: self._count], kind="stable")
        order = order[self._weights[order] > 0.0]
        kept, rest = (order, order[:0]) if order.size <= limit else (order[: limit - 1], order[limit - 1 :])
        weights, slopes, numbers = self._weights[kept], self._slopes[kept], self._numbers[:, kept]
        quadratic = self._penalty.is_quadratic
        gram = self._gram[np.ix_(kept, kept)] if quadratic else self._space.inners(slopes, slopes)
        if rest.size:
            total = float(self._weights[rest].sum())
            shares = self._weights[rest] / total
            merged = shares @ self._slopes[rest]
            offset, offset_size, fixed, per_radius, size = self._numbers[:, rest] @ shares
            rounding = accumulated(2 * rest.size + 4)
            column = [offset, offset_size, fixed + rounding * offset_size, per_radius + rounding * size, size]
            place = int((weights >= total).sum())  # heaviest first
            weights, slopes = np.insert(weights, place, total), np.insert(slopes, place, merged, axis=0)
            numbers = np.insert(numbers, place, column, axis=1)
            products = self._space.inners(slopes, merged[None])[:, 0]
            gram = np.insert(np.insert(gram, place, 0.0, axis=0), place, 0.0, axis=1)
            gram[place] = gram[:, place] = products
        offsets, _, fixed_parts, per_radii, sizes = map(np.array, numbers)
        return Planes(
            self._space.for_later(slopes), offsets, fixed_parts, per_radii, sizes, gram, weights / weights.sum()
        )

    def solve(self) -> None:
        """Find the best weights of the planes, and with them a bound."""
        if self._penalty.is_quadratic:
            self._multiply()
        self._new = 0
        bound = _KeptBound(*self.agreed(*(self._best_bound() if self.leads else (0.0, 0.0, 0.0, 0.0))))
        self._highest = max(self._highest, bound.certified(0.0, self._ceiling))
        self._bounds.append(bound)

    def _best_bound(self) -> tuple[float, float, float, float]:
        """Find the best weights of the planes; what they bound, as :meth:`_bound` returns it."""
        k = self._count
        if not self._penalty.is_quadratic:
            planes = self._slopes[:k], self._offsets[:k]
            self._weights[:k], self._softness = weights_of_planes(
                *planes, self._penalty, self._weights[:k], self._tolerance, self._ceiling, self._softness
            )
        else:
            self._weights[:k] = maximise_on_simplex(
                self._gram, 1.0 / self._penalty.alpha, self._offsets[:k], self._weights[:k], self._tolerance
            )
        self._solutions += 1
        self._last_used[:k][self._weights[:k] > 0.0] = self._solutions
        return self._bound()

    def _bound(self) -> tuple[float, float, float, float]:
        """The numbers of a :class:`_KeptBound`, of the bound that the weights make."""
        k = self._count
        weights = self._weights[:k]
        n, d = self._n_rows, self._design.shape[1]
        offset, offset_size, fixed, per_radius, sizes = self._numbers[:, :k].dot(weights).tolist()
        if not self._penalty.is_quadratic:
            value, excess = self._penalty.conjugate(-self._aggregate(), self._ceiling)
            rounding = accumulated(2 * k + 8) * (offset_size + self._ceiling)
            rounding += accumulated(d + 16) * (capped(value, excess, self._ceiling))
            return offset - value, fixed + rounding, per_radius + accumulated(2 * k + 8) * sizes, excess
        alpha = self._penalty.alpha
        squared_norm = float(weights.dot(self._gram[:k, :k].dot(weights)))
        rounding = accumulated(2 * (d + n + k) + 16) * sizes**2 / (2.0 * alpha)
        if rounding > self._tolerance:
            aggregate = self._space.weights(self._aggregate())
            squared_norm = float(aggregate @ aggregate)
            error = accumulated(2 * k + n + d + 8) * sizes
            rounding = (math.sqrt(squared_norm) + error) * error / alpha
        rounding += accumulated(2 * k + 8) * (offset_size + squared_norm / alpha)
        return offset - squared_norm / (2.0 * alpha), fixed + rounding, per_radius, 0.0

    def sum_of_planes(self) -> Plane:
        """The planes with their weights, as one plane of the scores; their gradients must have been carried."""
        k = self._count
        weights = self._weights[:k]
        gradients = self._gradients[:k]
        offset, offset_size, fixed, _, _ = self._numbers[:, :k].dot(weights).tolist()
        size = float(weights @ np.abs(gradients).sum(axis=1))
        # Sums are rounded, and weights may not sum to 1; no risk of a minimiser is above the ceiling.
        rounding = accumulated(2 * k + 8) * (offset_size + size + self._ceiling)
        return Plane(weights @ gradients, offset, SURPLUS * (fixed + rounding))

    def _aggregate(self) -> Array:
        """``sum_k x_k a_k``."""
        support = np.flatnonzero(self._weights[: self._count])
        if 2 * support.size < self._count:
            return self._weights[support] @ self._slopes[support]
        return self._weights[: self._count] @ self._slopes[: self._count]

    def _multiply(self) -> None:
        """Complete the Gram matrix, for all new planes at once."""
        k, known = self._count, self._known
        self._known = k
        if known == k or not self.leads:
            return
        products = self._space.inners(self._slopes[:k], self._slopes[known:k])
        self._gram[:k, known:k] = products
        self._gram[known:k, :k] = products.T

    def lower_bound(self, objective: float, coef_norm: float) -> float:
        """Certified bound of min J, given the best objective value known and the norm of its weights."""
        objective = max(objective, 0.0)  # below is rounding, of scores as large as they get
        evaluation = evaluation_rounding(self._design, self._n_rows, objective, coef_norm, self._extra_rounding)
        # Omega(w*) <= J(w*) <= J(w); and, with any bound, (alpha/2) |w - w*|^2 <= J(w) - J(w*). So a radius makes a
        # bound, which makes a smaller radius, until that changes little.
        highest = objective + evaluation
        self._ceiling = min(self._ceiling, highest)
        radius, smaller = math.inf, self._penalty.radius(highest)
        while smaller < 0.9 * radius:
            radius = smaller
            best = max(self._bounds, key=lambda bound: bound.certified(radius, highest))
            least = max(highest - best.certified(radius, highest), 0.0)
            smaller = min(radius, coef_norm + self._penalty.distance(least))
        self._bounds = [best]
        # No risk is negative, so 0 is a lower bound as well.
        zero = -self._extra_rounding * (1.0 + self._design.row_norm * radius)
        return max(zero, best.certified(radius, highest)) - evaluation

    def _make_room(self) -> None:
        """Forget the plane that has been idle for longest, or merge the two lightest."""
        k = self._count
        self._count = self._known = k - 1
        if not self.leads:
            return
        gone = int(self._last_used[:k].argmin())
        if self._last_used[gone] == self._solutions:
            gone, kept = (int(i) for i in np.argsort(self._weights[:k])[:2])
            total = self._weights[gone] + self._weights[kept]
            share = self._weights[gone] / total if total > 0.0 else 0.5
            rounded = 4.0 * UNIT_ROUNDOFF * np.array([share, 1.0 - share])
            self._fixed[kept] += float(rounded @ self._offset_sizes[[gone, kept]])
            self._per_radius[kept] += float(rounded @ self._sizes[[gone, kept]])
            for values in (self._table, *self._numbers):
                values[kept] = share * values[gone] + (1.0 - share) * values[kept]
            self._weights[kept] = total
            if self._penalty.is_quadratic:
                products = self._space.inners(self._slopes[:k], self._slopes[kept : kept + 1])[:, 0]
                self._gram[kept, :k] = products
                self._gram[:k, kept] = products
        last = k - 1
        for values in (self._table, *self._numbers, self._weights, self._last_used):
            values[gone] = values[last]
        self._gram[gone, :k] = self._gram[last, :k]
        self._gram[:k, gone] = self._gram[:k, last]
        self._gram[gone, gone] = self._gram[last, last]
