"""The training objective: a risk of the scores plus a penalty of the weights.

    J(w)    = Omega(w) + R(X w)              Omega(w) = (alpha/2) |w|^2 unless said otherwise    (objective)
    J_mu(w) = Omega(w) + R_mu(X w)

X appears in two places only: ``X w`` gives scores, ``X^T g`` turns a gradient in scores into one in weights. Along
a line ``w + t p`` the scores are ``f + t q`` with ``q = X p`` computed once, so a line search never touches X.

:class:`RegularizedRisk` is J itself. A :class:`Run` is J as one run of a solver works with it: as points and lines, in
the space that suits the shape of X, and in memory that is used again; points and lines here are those of the quadratic
penalty, and :mod:`smoothperf.optimise.segments` has those of others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._arrays import Array
from ..communicator import Shared
from ..design import Design
from ..kernels import inner_products
from ..measures import Risk, RiskValue
from .offset import with_offset
from .penalties import BoundPenalty, Penalty, as_penalty
from .space import Buffers, Space, along
from .weight_space import WeightSpace, smaller_space

#: Largest score that a run may meet: the square of it, and sums of such squares, are numbers still.
LARGEST_SCORE = 1e145


class RegularizedRisk(Shared):
    """``J`` for one design matrix, one risk and one penalty. Counts its passes over the data.

    Parameters
    ----------
    design : Design
        X as an operator.
    risk : Risk
        A measure bound to the labels of the rows of X.
    penalty : float or Penalty
        Omega; a number is the alpha of the quadratic one, the paper's lambda.
    offset : ndarray of shape (n,), optional
        Scores f0 to begin with, so that J is ``Omega(w) + R(f0 + X w)``.

    Attributes
    ----------
    risk : Risk
        R, or the same of what is added to the offset.
    penalty : BoundPenalty
        Omega, for as many weights as X has columns.
    alpha : float
        Its strength.
    n_matvec, n_rmatvec : int
        Products with X and with its transpose so far.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> from smoothperf.design import as_design
    >>> J = RegularizedRisk(as_design(np.eye(4)), PRBEP().bind([1, 1, -1, -1]), 0.1)
    >>> J.exact(np.array([2.0, 2.0, 0.0, 0.0]))
    0.4
    """

    def __init__(self, design: Design, risk: Risk, penalty: float | Penalty, offset: Array | None = None):
        if design.shape[0] != risk.examples.here_count:
            raise ValueError(
                f"X has {design.shape[0]} rows but y has {risk.examples.here_count} labels; they must match."
            )
        super().__init__(risk.examples.communicator)
        self.design = design
        self.risk = risk if offset is None else with_offset(risk, offset)
        self.offset = offset
        self.penalty: BoundPenalty = as_penalty(penalty).on(design.shape[1])
        self.alpha = self.penalty.alpha
        _check_magnitude(design.frobenius_norm, self.alpha)
        self.n_matvec = 0
        self.n_rmatvec = 0

    def matvec(self, coef: Array, out: Array | None = None) -> Array:
        """Scores ``X w``; one pass over the data. ``out`` is overwritten if given.

        Parameters
        ----------
        coef : ndarray of shape (d,)
            The weights.
        out : ndarray of shape (n,), optional
            Memory for the result.

        Returns
        -------
        ndarray of shape (n,)
            The scores.
        """
        self.n_matvec += 1
        return self.design.matvec(coef, out=out)

    def rmatvec(self, gradient: Array, out: Array | None = None) -> Array:
        """``X^T g``; one pass over the data. ``out`` is overwritten if given.

        Parameters
        ----------
        gradient : ndarray of shape (n,)
            A gradient in scores.
        out : ndarray of shape (d,), optional
            Memory for the result.

        Returns
        -------
        ndarray of shape (d,)
            The gradient in weights.
        """
        self.n_rmatvec += 1
        return self.design.rmatvec(gradient, out=out)

    def exact(self, coef: Array, scores: Array | None = None) -> float:
        """``J(w)``; free of passes over X if the scores are given.

        Parameters
        ----------
        coef : ndarray of shape (d,)
            The weights.
        scores : ndarray of shape (n,), optional
            ``X w``, if known.

        Returns
        -------
        float
            The objective.
        """
        if scores is None:
            scores = self.matvec(coef)
        (square,) = self.agreed(float(coef @ coef))
        return self.regulariser(coef, square) + self.risk.exact_value(scores)

    def regulariser(self, coef: Array, square: float) -> float:
        """``Omega``, given ``|w|^2``, which all members of a group have in common; so they do the result.

        Parameters
        ----------
        coef : ndarray of shape (d,)
            The weights.
        square : float
            Squared norm of the weights.

        Returns
        -------
        float
            The penalty.
        """
        omega = self.penalty.value(coef, square)
        # The quadratic one looks at the square alone. Others sum up weights: the first member's sum counts.
        return omega if self.penalty.is_quadratic else self.agreed(omega)[0]

    def inner(self, u: Array, v: Array) -> float:
        """``<u, v>`` of vectors with a number for each row.

        Parameters
        ----------
        u, v : ndarray of shape (n,)
            Vectors.

        Returns
        -------
        float
            The product, over all members of a group.
        """
        return self.total(float(u @ v))[0]

    def scores_of_zero(self) -> Array:
        """The scores of w = 0.

        Returns
        -------
        ndarray of shape (n,)
            Zeros.
        """
        return np.zeros(self.design.shape[0])

    def whole_scores(self, scores: Array) -> Array:
        """``f0 + f``: the scores that are ranked or cut.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            ``X w``.

        Returns
        -------
        ndarray of shape (n,)
            The sums.
        """
        return scores if self.offset is None else self.offset + scores


def _check_magnitude(norm: float, alpha: float) -> None:
    """Refuse X if anything between it and the bound cannot be held.

    The sum of the absolute values of a gradient in scores is at most 2 or so. Then weights that solvers visit are no
    longer than ``2 |X| / alpha``, and their scores than ``2 |X|^2 / alpha``. Both are squared on the way.
    """
    if not max(norm, norm / alpha, norm * (norm / alpha)) <= LARGEST_SCORE:
        raise ValueError(
            f"X is too large for alpha={alpha:g}: with |X| = {norm:.3g} the root of the sum of its squares, neither "
            f"|X| / alpha nor |X|^2 / alpha may exceed {LARGEST_SCORE:g}. Scale the columns of X, for instance with "
            "sklearn.preprocessing.MaxAbsScaler, or use a larger alpha."
        )


@dataclass(frozen=True, slots=True)
class Point:
    """The smoothed objective at one weight vector.

    ``slope = X^T g`` is the risk's gradient in weight space, which with ``risk.plane.offset`` makes the cutting plane;
    ``gradient = alpha w + slope`` is that of ``J_mu`` (of the risk alone, if the penalty is not quadratic).
    ``regulariser`` is Omega(w), ``coef_square = |w|^2``, and ``steepness`` the length of the risk's gradient in scores.
    ``J_mu(w)`` is above its minimum by no more than ``excess``.
    """

    coef: Array
    scores: Array
    mu: float
    risk: RiskValue
    slope: Array
    regulariser: float
    value: float
    gradient: Array
    coef_square: float
    excess: float
    steepness: float

    def slack(self, exact: float) -> float:
        """``R(f) - height``: how far the plane stays below the exact risk here, given the exact objective."""
        return exact - self.regulariser - self.risk.height


class Estimate(NamedTuple):
    """``floor <= J(w) <= value``; they are equal where J itself was computed."""

    value: float
    floor: float

    @property
    def is_exact(self) -> bool:
        """Whether it is J itself."""
        return self.value == self.floor


class Run(Shared):
    """One run on an objective: the space that its vectors live in, and memory that it uses again.

    Parameters
    ----------
    objective : RegularizedRisk
        The objective.
    start : ndarray of shape (d,), optional
        The weights that the run starts at; zero by default.
    in_weights : bool, default=False
        Whether vectors must be weights. They are in a group of processes, too, whatever the shape of X.

    Attributes
    ----------
    space : Space
        The space of the vectors.
    penalty, alpha, risk, design
        Those of the objective.
    """

    def __init__(self, objective: RegularizedRisk, start: Array | None = None, *, in_weights: bool = False):
        super().__init__(objective.communicator)
        self.objective = objective
        self.penalty: BoundPenalty = objective.penalty
        self.alpha = objective.alpha
        self.risk, self.design = objective.risk, objective.design
        n, d = self.design.shape
        norm = self.design.frobenius_norm
        largest = 0.0 if start is None else float(np.abs(start).max())
        if not largest * math.sqrt(d) * max(norm, 1.0) <= LARGEST_SCORE:
            raise ValueError(f"start must be finite, and small enough for its scores to be; got a weight of {largest}.")
        self._start = start if start is not None and np.any(start) else None
        self.space: Space = (
            WeightSpace(objective, d)
            if in_weights or not self.alone
            else smaller_space(objective, self.design.shape, norm, self._start)
        )
        self._scores = Buffers(n)

    def starting_vector(self) -> tuple[Array, Array]:
        """The weights that the run starts at as a vector, and their scores; these cost nothing at zero."""
        vector = self.space.vector(self._start)
        return vector, self.objective.scores_of_zero() if self._start is None else self.space.scores(vector)

    def starting_point(self, mu: float) -> Point:
        """``J_mu`` there."""
        vector, scores = self.starting_vector()
        return self.evaluate(vector, mu, scores)

    def evaluate(self, coef: Array, mu: float, scores: Array | None = None) -> Point:
        """``J_mu(w)``, its gradient and the cutting plane; no product with X if the scores are given."""
        if scores is None:
            scores = self.space.scores(coef)
        return self._point(coef, scores, mu, self.risk.smoothed(scores, mu, out=self._scores.take()))

    def slope_and_square(self, gradient: Array) -> tuple[Array, float]:
        """``X^T g`` as a vector, and ``|g|^2``; in a group for the first member, who chooses directions."""
        return self.version(slope_and_square)(self, gradient)

    def square(self, vector: Array) -> float:
        """``|v|^2``."""
        return self.agreed(self.space.square(vector))[0]

    def exact(self, vector: Array, scores: Array) -> float:
        """``J``, given the scores; no product with X."""
        return self.regulariser(vector, self.square(vector)) + self.risk.exact_value(scores)

    def regulariser(self, vector: Array, square: float) -> float:
        """``Omega``, given the square of the length; the same on all members of a group."""
        return self.objective.regulariser(vector, square)

    def exact_at(self, point: Point, *, good_enough: float = -math.inf) -> Estimate:
        """``J`` at a point of ``J_mu``, or a value a little above it that costs nothing; no product with X.

        It is J itself if that may be at most ``good_enough`` while the value that costs nothing is not.
        """
        risk = point.risk
        regulariser = point.regulariser
        if risk.exact is not None:
            ceiling = regulariser + risk.exact.high
            floor = regulariser + max(risk.height, risk.exact.low)
            if not floor <= good_enough < ceiling:
                return Estimate(ceiling, min(floor, ceiling))
        exact = regulariser + self.risk.exact_value(point.scores)
        return Estimate(exact, exact)

    def along(self, point: Point, direction: Array) -> Line:
        """Return the half-line ``w + t p``; one product with X now, none later."""
        return Line(self, point, direction)

    def derivative(self, risk: RiskValue, direction: Array) -> float:
        """That of the risk along a direction in scores, which a risk may have found on its way."""
        if risk.derivative is not None:
            return risk.derivative
        return self.objective.inner(risk.plane.gradient, direction)

    def kept_scores(self, scores: Array) -> Array:
        """A copy of the scores of a point, which stays as it is when the point is given back."""
        result = self._scores.take()
        result[:] = scores
        return result

    def drop_scores(self, scores: Array) -> None:
        """Use the memory of such a copy again."""
        self._scores.give(scores)

    def give_back(self, point: Point, *, but: Point) -> None:
        """Use the memory of the scores of a point again, except what another point shares with it."""
        if point.scores is not but.scores:
            self._scores.give(point.scores)
        if point.risk is not but.risk:
            self._scores.give(point.risk.plane.gradient)

    def _point(self, coef: Array, scores: Array, mu: float, risk: RiskValue) -> Point:
        slope, steepness = self.slope_and_square(risk.plane.gradient)
        gradient, *squares = self.space.combine_and_square(slope, self.alpha, coef)
        coef_square, gradient_square = self.agreed(*squares)
        regulariser = self.alpha / 2.0 * coef_square
        excess = gradient_square / (2.0 * self.alpha)  # as J_mu is alpha-strongly convex
        value = regulariser + risk.value
        return Point(
            coef, scores, mu, risk, slope, regulariser, value, gradient, coef_square, excess, math.sqrt(steepness)
        )


def slope_and_square(run: Run, gradient: Array) -> tuple[Array, float]:
    """``X^T g`` as a vector of a run, and ``|g|^2``; one pass over the data."""
    return run.space.slope(gradient), float(gradient @ gradient)


@dataclass(frozen=True, slots=True)
class Trial:
    """``J_mu`` and its derivative at one step of a line."""

    step: float
    mu: float
    value: float
    derivative: float
    scores: Array
    risk: RiskValue


class Line:
    """``t -> J_mu(w + t p)``, evaluated in score space: O(n) a trial, no pass over X.

    Attributes
    ----------
    direction : ndarray
        p, the same on all members of a group.
    """

    def __init__(self, run: Run, start: Point, direction: Array):
        self._run = run
        self._start = start
        space = run.space
        products = inner_products(start.coef, start.gradient, direction, space.terms, space.shift)
        self._wp, self._gp, self._pp = run.agreed(*products)
        self.direction = direction = run.agreed_vector(direction)
        self._scores = space.scores(direction, run._scores)
        self._trials: list[Trial] = []  # whose vectors are not those of the start

    def origin(self, mu: float) -> Trial:
        """The line at ``t = 0``; nothing is evaluated if mu is that of the starting point."""
        if mu != self._start.mu:
            return self.at(0.0, mu)
        start = self._start
        return Trial(0.0, mu, start.value, self._gp, start.scores, start.risk)

    def scores_at(self, step: float) -> Array:
        """``f + t q``."""
        if step == 0.0:
            return self._start.scores
        result = self._run._scores.take()
        along(self._start.scores, step, self._scores, result)
        return result

    def at(self, step: float, mu: float) -> Trial:
        """The line at ``t = step``."""
        run = self._run
        scores = self.scores_at(step)
        risk = run.risk.smoothed(scores, mu, self._start.risk.hint, self._scores, out=run._scores.take())
        square = max(self._start.coef_square + step * (2.0 * self._wp + step * self._pp), 0.0)
        value = run.alpha / 2.0 * square + risk.value
        derivative = run.alpha * (self._wp + step * self._pp) + run.derivative(risk, self._scores)
        trial = Trial(step, mu, value, derivative, scores, risk)
        self._trials.append(trial)
        return trial

    def forget(self, trial: Trial) -> None:
        """Use the memory of a trial again that will not be the next point."""
        self._trials = [each for each in self._trials if each is not trial]
        self._run._scores.give(trial.risk.plane.gradient)
        if trial.scores is not self._start.scores:
            self._run._scores.give(trial.scores)

    def coef_at(self, step: float) -> Array:
        """``w + t p``."""
        if step == 0.0:
            return self._start.coef
        return self._run.space.combine(self._start.coef, step, self.direction)

    def point(self, trial: Trial) -> Point:
        """The full point that belongs to a trial, one product with the transpose of X; the line ends with it."""
        run = self._run
        for other in self._trials:
            if other is not trial:
                self.forget(other)
        run._scores.give(self._scores)
        coef = self.coef_at(trial.step)
        return run._point(coef, trial.scores, trial.mu, trial.risk)
