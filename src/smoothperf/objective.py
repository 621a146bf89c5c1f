"""The training objective: a risk of the scores plus a quadratic regulariser of the weights.

    J(w)    = (alpha/2) |w|^2 + R(X w)                                       (objective)
    J_mu(w) = (alpha/2) |w|^2 + R_mu(X w)

X appears in two places only: ``X w`` gives scores, ``X^T g`` turns a gradient in scores into one in weights. Along
a line ``w + t p`` the scores are ``f + t q`` with ``q = X p`` computed once, so a line search never touches X. Scores
and gradients in scores have a number for each row, and may be far away: nothing here looks into them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._validation import positive_number
from .blocks import LocalVectors, Vector
from .design import Design
from .design.base import Array
from .kernels import inner_products
from .measures import Risk, RiskValue
from .space import Space, WeightSpace, smaller_space

#: Largest score that a run may meet: the square of it, and sums of such squares, are numbers still.
LARGEST_SCORE = 1e145


@dataclass(frozen=True, slots=True)
class Point:
    """The smoothed objective at one weight vector.

    ``slope = X^T g`` is the risk's gradient in weight space, which with ``risk.offset`` makes the cutting plane;
    ``gradient = alpha w + slope`` is that of ``J_mu``. The squares are those of the lengths of ``coef``
    and ``gradient``.
    """

    coef: Array
    scores: Vector
    mu: float
    risk: RiskValue
    slope: Array
    value: float
    gradient: Array
    coef_square: float
    gradient_square: float

    def slack(self, exact: float) -> float:
        """``R(f) - height``: how far the plane stays below the exact risk here, given the exact objective."""
        return exact - (self.value - self.risk.value) - self.risk.height


class Estimate(NamedTuple):
    """``floor <= J(w) <= value``; they are equal where J itself was computed."""

    value: float
    floor: float

    @property
    def is_exact(self) -> bool:
        """Whether it is J itself."""
        return self.value == self.floor


class RegularizedRisk:
    """``J`` for one design matrix, one risk and one alpha. Counts its passes over the data.

    Parameters
    ----------
    design : Design
        X as an operator.
    risk : Risk
        A measure bound to the labels of the rows of X.
    alpha : float
        Strength of the regulariser, the paper's lambda; above 0.

    Attributes
    ----------
    n_matvec, n_rmatvec : int
        Products with X and with its transpose so far.
    vectors : Vectors
        What can be done with scores, and with gradients in scores.
    space : Space
        Where the vectors of a run live; a vector is an array of weights unless a solver has chosen otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import PRBEP
    >>> from smoothperf.design import as_design
    >>> J = RegularizedRisk(as_design(np.eye(4)), PRBEP().bind([1, 1, -1, -1]), alpha=0.1)
    >>> J.exact(np.array([2.0, 2.0, 0.0, 0.0]))
    0.4
    """

    def __init__(self, design: Design, risk: Risk, alpha: float):
        if design.shape[0] != risk.n_examples:
            raise ValueError(f"X has {design.shape[0]} rows but y has {risk.n_examples} labels; they must match.")
        self.design = design
        self.risk = risk
        self.alpha = positive_number("alpha", alpha, hint="It is the strength of the regulariser; try 1e-4.")
        _check_magnitude(design.frobenius_norm, self.alpha)
        self.n_matvec = 0
        self.n_rmatvec = 0
        self.vectors = design.vectors
        self.space: Space = WeightSpace(self, design.shape[1])

    def matvec(self, coef: Array) -> Vector:
        """Scores ``X w``; one pass over the data."""
        self.n_matvec += 1
        return self.design.matvec(coef, out=self.vectors.take())

    def rmatvec(self, gradient: Vector, out: Array | None = None) -> Array:
        """``X^T g``; one pass over the data. ``out`` is overwritten if given."""
        self.n_rmatvec += 1
        return self.design.rmatvec(gradient, out=out)

    def exact(self, coef: Array, scores: Vector | None = None) -> float:
        """``J(w)``; free of passes over X if the scores are given."""
        if scores is None:
            scores = self.space.scores(coef)
        return self.alpha / 2.0 * self.space.square(coef) + self.risk.exact_value(scores)

    def exact_at(self, point: Point, *, good_enough: float = -math.inf) -> Estimate:
        """``J`` at a point of ``J_mu``, or a value a little above it that costs nothing; no pass over X.

        It is J itself if that may be at most ``good_enough`` while the value that costs nothing is not.
        """
        risk = point.risk
        regulariser = self.alpha / 2.0 * point.coef_square
        ceiling = regulariser + risk.ceiling
        floor = regulariser + max(risk.height, risk.ceiling - risk.looseness)
        if math.isnan(ceiling) or floor <= good_enough < ceiling:
            exact = regulariser + self.risk.exact_value(point.scores)
            return Estimate(exact, exact)
        return Estimate(ceiling, min(floor, ceiling))

    def evaluate(self, coef: Array, mu: float, scores: Vector | None = None) -> Point:
        """``J_mu(w)``, its gradient and the cutting plane; no product with X if the scores are given."""
        if scores is None:
            scores = self.space.scores(coef)
        return self._point(coef, scores, mu, self.risk.smoothed(scores, mu))

    def starting_point(self, start: Array | None, mu: float) -> Point:
        """``evaluate(start, mu)``, or at zero if None; there the scores are zero and X w is not computed."""
        vector, scores = self.starting_vector(start)
        return self.evaluate(vector, mu, scores)

    def starting_vector(self, start: Array | None) -> tuple[Array, Vector]:
        """The weights that a run starts at as a vector, and their scores."""
        if start is None or not np.any(start):
            return self.space.vector(None), self.vectors.constant(0.0)
        vector = self.space.vector(start)
        return vector, self.space.scores(vector)

    @property
    def far(self) -> bool:
        """Whether rows are somewhere else, so that they can be at a product while this process does something else."""
        return not isinstance(self.vectors, LocalVectors)

    def is_solved(self, point: Point, accuracy: float) -> bool:
        """Whether ``J_mu(w) - min J_mu <= accuracy`` for sure: it is at most ``|grad|^2 / (2 alpha)``."""
        return point.gradient_square <= 2.0 * self.alpha * accuracy

    def along(self, point: Point, direction: Array) -> Line:
        """Return the half-line ``w + t p``; one product with X now, none later."""
        return Line(self, point, direction, self.space.scores(direction))

    @contextmanager
    def run_from(self, start: Array | None, *, in_weights: bool = False) -> Iterator[None]:
        """Choose the space for a run that starts at given weights; afterwards vectors are weights again.

        With ``in_weights`` vectors are weights during the run as well; so they are where rows are not in this process.
        """
        largest = 0.0 if start is None else float(np.abs(start).max())
        if not largest * math.sqrt(self.design.shape[1]) * max(self.design.frobenius_norm, 1.0) <= LARGEST_SCORE:
            raise ValueError(f"start must be finite, and small enough for its scores to be; got a weight of {largest}.")
        if not in_weights and not self.far:
            self.space = smaller_space(self, self.design.shape, self.design.frobenius_norm, start)
        try:
            yield
        finally:
            self.space = WeightSpace(self, self.design.shape[1])

    def _point(self, coef: Array, scores: Vector, mu: float, risk: RiskValue) -> Point:
        slope = self.space.slope(risk.gradient)
        gradient, coef_square, gradient_square = self.space.combine_and_square(slope, self.alpha, coef)
        value = self.alpha / 2.0 * coef_square + risk.value
        return Point(coef, scores, mu, risk, slope, value, gradient, coef_square, gradient_square)


class StartingWithScores(RegularizedRisk):
    """J that knows the scores of the weights that a run starts from, which saves a product with X."""

    def __init__(self, design: Design, risk: Risk, alpha: float, coef: Array, scores: Vector):
        super().__init__(design, risk, alpha)
        self._start: tuple[Array, Vector] | None = (coef, scores)

    def matvec(self, coef: Array) -> Vector:
        """``X w``, from memory the first time that w is the start."""
        if self._start is not None and np.array_equal(coef, self._start[0]):
            scores = self._start[1]
            self._start = None
            return scores
        return super().matvec(coef)


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
class Trial:
    """``J_mu`` and its derivative at one step of a line."""

    step: float
    mu: float
    value: float
    derivative: float
    scores: Vector
    risk: RiskValue


class Line:
    """``t -> J_mu(w + t p)``, evaluated in score space: O(n) a trial, no pass over X."""

    def __init__(self, objective: RegularizedRisk, start: Point, direction: Array, direction_scores: Vector):
        self._objective = objective
        self._start = start
        self._direction = direction
        self._direction_scores = direction_scores
        space = objective.space
        self._wp, self._gp, self._pp = inner_products(start.coef, start.gradient, direction, space.terms, space.shift)

    def origin(self, mu: float) -> Trial:
        """The line at ``t = 0``; nothing is evaluated if mu is that of the starting point."""
        if mu != self._start.mu:
            return self.at(0.0, mu)
        start = self._start
        return Trial(0.0, mu, start.value, self._gp, start.scores, start.risk)

    def scores_at(self, step: float) -> Vector:
        """``f + t q``."""
        if step == 0.0:
            return self._start.scores
        return self._objective.vectors.along(self._start.scores, step, self._direction_scores)

    def at(self, step: float, mu: float) -> Trial:
        """The line at ``t = step``."""
        scores = self.scores_at(step)
        risk = self._objective.risk.smoothed(scores, mu, self._start.risk.hint, self._direction_scores)
        return self._trial(step, mu, scores, risk)

    def point(self, trial: Trial) -> Point:
        """The full point that belongs to a trial; one product with the transpose of X."""
        coef = self._objective.space.combine(self._start.coef, trial.step, self._direction)
        return self._objective._point(coef, trial.scores, trial.mu, trial.risk)

    def _trial(self, step: float, mu: float, scores: Vector, risk: RiskValue) -> Trial:
        alpha = self._objective.alpha
        squared_norm = max(self._start.coef_square + step * (2.0 * self._wp + step * self._pp), 0.0)
        value = alpha / 2.0 * squared_norm + risk.value
        steepness = risk.derivative
        if math.isnan(steepness):
            steepness = self._objective.vectors.inner(risk.gradient, self._direction_scores)
        derivative = alpha * (self._wp + step * self._pp) + steepness
        return Trial(step, mu, value, derivative, scores, risk)
