"""Intercepts: a bias that is trained with the weights, and an operating point that is chosen afterwards.

Measures that compare scores (ROC area, PRBEP, precision@k) do not change when all scores shift. They train no bias;
the operating point alone makes the intercept. Measures that cut at score 0 (``Measure.fits_bias``: error rates, F-beta)
train one, as the weight of a constant feature that is regularised like the others; what its height is decides how much.
The measure then says where the training scores, bias included, are best cut: ``Measure.threshold``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validation import positive_number
from ..design import BiasedDesign, Design
from ..measures import Measure
from ..measures.examples import Examples
from ..optimise import Result
from ..optimise.objective import RegularizedRisk
from ..optimise.path import Solution

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bias:
    """Intercept of a measure: trained, chosen afterwards, or none.

    Parameters
    ----------
    measure : Measure
        The task.
    fit_intercept : bool
        Whether there is an intercept at all.
    height : float
        Value of the constant feature, ``intercept_scaling``.
    """

    measure: Measure
    fit_intercept: bool = True
    height: float = 1.0

    def __post_init__(self) -> None:
        positive_number("intercept_scaling", self.height)

    @property
    def trained(self) -> bool:
        """Whether the weights of a run end with that of the constant feature."""
        return self.fit_intercept and self.measure.fits_bias

    def design(self, features: Design) -> Design:
        """X with the constant feature, if it is needed."""
        return BiasedDesign(features, self.height) if self.trained else features

    def split(self, weights: Array) -> tuple[Array, float]:
        """Weights of the features of X, and what the constant feature adds to every score."""
        return (weights[:-1], self.height * float(weights[-1])) if self.trained else (weights, 0.0)

    def start(self, coef: Array, last_weights: Array) -> Array:
        """Weights to start from, after a run for some measure that ended with ``last_weights``, of which ``coef``."""
        if not self.trained:
            return coef
        return np.append(coef, last_weights[-1] if last_weights.size > coef.size else 0.0)

    def with_threshold(self, weights: Array, threshold: float) -> Array:
        """Weights of a run whose scores have 0 where they had a threshold."""
        moved = weights.copy()
        moved[-1] -= threshold / self.height
        return moved

    def cut(self, weights: Array, examples: Examples, scores: Array) -> tuple[Array, float]:
        """Weights of the features, and the intercept: the trained bias less the cut of the training scores."""
        threshold = self.measure.cut(examples, scores) if self.fit_intercept else 0.0
        return self.cut_at(weights, threshold)

    def cut_at(self, weights: Array, threshold: float) -> tuple[Array, float]:
        """Weights of the features, and the intercept, where the training scores are cut at a threshold."""
        coef, bias = self.split(weights)
        return coef, bias - threshold if self.fit_intercept else 0.0

    def excess_of_zero(self, objective: RegularizedRisk, result: Result | Solution) -> float:
        """Distance of J without any feature above its minimum, at most, for no bias or the one that was found.

        Where there is no bound of the minimum, how far it is above what was found.
        """
        _, bias = self.split(result.coef)
        risk, tight = objective.risk, math.isnan(result.lower_bound)

        def value(shift: float) -> float:
            scores = np.full(objective.design.shape[0], shift)
            free = risk.loss_free(scores).value if tight else 0.0
            weights = np.zeros(objective.design.shape[1])
            if shift:
                weights[-1] = shift / self.height
            penalty = objective.penalty.value(weights, (shift / self.height) ** 2)
            return penalty + risk.exact_value(scores) - free

        return min(value(shift) for shift in {0.0, bias}) - (result.objective if tight else result.lower_bound)
