"""Labels of two kinds: rows, and how they are trained on for a measure of them.

A tight bound starts from the minimiser for ROC area of the features alone, with a bias, where one is trained, that
takes as many for positive as there are; that of a sum over examples (error rates) from the measure's own convex risk.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from .._arrays import Array, Indices
from .._validation import positive_number
from ..design import Design
from ..measures import PRBEP, AveragePrecision, Examples, Goal, LogLoss, Measure, Risk, ROCArea
from ..optimise import Result
from ..optimise.objective import RegularizedRisk
from ..optimise.path import Solution
from ..optimise.penalties import Penalty, Quadratic
from .base import Ending, Rows, rows_of
from .bias import Bias
from .label_choice import LabelCandidate, LabelChoice


class LabelRows(Rows[Examples]):
    """Rows with labels of two kinds.

    Parameters
    ----------
    X : matrix or Design
        The features.
    pair : ndarray of shape (2,)
        The negative label and the positive one.
    positive : ndarray of bool
        Which rows have the positive one.
    sample_weight : ndarray, optional
        Weights of rows, in training and in scores.
    class_weight : dict or "balanced", optional
        Weights of classes, in training and where scores are cut.
    offset, features, low_memory
        As in :class:`~smoothperf.tasks.base.Rows`; scores are higher for the positive label.
    """

    def __init__(
        self,
        X: Any,
        pair: NDArray[Any],
        positive: NDArray[np.bool_],
        sample_weight: Array | None = None,
        class_weight: Any = None,
        offset: Array | None = None,
        *,
        features: Any = None,
        low_memory: bool = False,
    ):
        super().__init__(X, offset, features=features, low_memory=low_memory)
        self.pair = pair
        self.positive = positive
        self.sample_weight = sample_weight
        self.class_weight = class_weight
        self.known = Examples.of(positive, example_weights(class_weight, pair, positive, sample_weight))

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of negative and of positive rows, whatever they weigh."""
        return self.positive.size - self.known.positives, self.known.positives

    @property
    def judged(self) -> Examples:
        """The labels, without the weights of classes."""
        return Examples(self.positive, self.sample_weight)

    @property
    def targets(self) -> NDArray[Any]:
        """The labels."""
        return self.pair[self.positive.astype(np.intp)]

    def size_words(self) -> str:
        """Number of rows, in words."""
        return f"{self.positive.size:,} rows"

    def part(self, numbers: Indices) -> Self:
        """Some of the rows; class weights are those of the part."""
        weights = self.sample_weight
        return type(self)(
            rows_of(self.X, numbers),
            self.pair,
            self.positive[numbers],
            None if weights is None else weights[numbers],
            self.class_weight,
            None if self.offset is None else self.offset[numbers],
            features=self.features,
            low_memory=self.low_memory,
        )


def example_weights(
    class_weight: Any, pair: NDArray[Any], positive: NDArray[np.bool_], sample_weight: Array | None
) -> Array | None:
    """Sample weights times class weights; None if there are neither."""
    if class_weight is None:
        return sample_weight
    members = positive.astype(np.intp)
    by_class = compute_class_weight(class_weight, classes=pair, y=pair[members])
    class_weights: Array = by_class[members]
    return class_weights if sample_weight is None else sample_weight * class_weights


@dataclass(frozen=True, kw_only=True)
class LabelTask(LabelChoice):
    """Training for a measure of labels of two kinds.

    Attributes
    ----------
    measure : Measure
        The measure to be good at.
    fit_intercept, intercept_scaling
        Parameters of the intercept; see :class:`~smoothperf.tasks.bias.Bias`.
    penalties : mapping
        Penalties in strength 1, of features alone, by their l1_ratio.
    penalty_for : callable, optional
        Makes such a mapping for rows whose features were made of them; None if all rows have the same features.
    """

    measure: Measure
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    penalties: Mapping[float, Penalty] = field(default_factory=lambda: {0.0: Quadratic(1.0)})
    penalty_for: Callable[[Rows[Any]], Mapping[float, Penalty]] | None = None

    def on(self, rows: Rows[Any]) -> Self:
        """The task with the penalties of these rows' features."""
        return self if self.penalty_for is None else replace(self, penalties=self.penalty_for(rows))

    def finely(self) -> tuple[Self, LabelCandidate]:
        """Average precision, and log loss."""
        return replace(self, measure=AveragePrecision()), LabelCandidate(LogLoss(), l1_ratio=next(iter(self.penalties)))

    def __post_init__(self) -> None:
        positive_number("intercept_scaling", self.intercept_scaling)

    def bias(self, candidate: LabelCandidate) -> Bias:
        """Intercept of the measure of a candidate."""
        return Bias(candidate.measure, self.fit_intercept, self.intercept_scaling)

    def candidate(self, bound: str) -> LabelCandidate:
        """The risk of the measure, or of the one that a goal is trained with; "auto" begins with the convex one."""
        (l1_ratio,) = self.penalties
        return LabelCandidate(self.measure, "convex" if bound == "auto" else bound, l1_ratio)

    def instead(self, candidate: LabelCandidate, risk: Risk) -> LabelCandidate | None:
        """The tight bound; where pairs or single examples are counted, a smaller alpha is what helps."""
        trained = self.measure.trained_with if isinstance(self.measure, Goal) else self.measure
        may_collapse = risk.has_loss_free and not risk.sums_over_examples and not isinstance(trained, ROCArea)
        return replace(candidate, bound="tight") if may_collapse and candidate.bound == "convex" else None

    def risk(self, candidate: LabelCandidate, known: Examples) -> Risk:
        """That of the measure."""
        return candidate.measure.risk(known)

    def design(self, candidate: LabelCandidate, features: Design) -> Design:
        """X, with the constant feature where a bias is trained."""
        return self.bias(candidate).design(features)

    def penalty(self, candidate: LabelCandidate) -> Penalty:
        """The penalty, which knows whether there is a bias."""
        return self.penalties[candidate.l1_ratio].with_bias(self.bias(candidate).trained)

    def first_risk(self, candidate: LabelCandidate, known: Examples, risk: Risk) -> Risk | None:
        """ROC area; the candidate's own for sums over examples."""
        return None if risk.sums_over_examples else ROCArea().risk(known)

    def first_key(self, candidate: LabelCandidate) -> Hashable:
        """The penalty: all start from ROC area."""
        return candidate.l1_ratio

    def first_penalty(self, candidate: LabelCandidate) -> Penalty:
        """That of the features alone."""
        return self.penalties[candidate.l1_ratio]

    def first_strength(self, risk: Risk) -> float:
        """The same."""
        return 1.0

    def first_weights(self, candidate: LabelCandidate, known: Examples, risk: Risk, found: Result | Solution) -> Array:
        """With a bias, where one is trained, that takes as many for positive as there are."""
        bias = self.bias(candidate)
        if not bias.trained:
            return found.coef
        assert found.scores is not None
        threshold = PRBEP().cut(known, found.scores)
        return bias.with_threshold(np.append(found.coef, 0.0), threshold)

    def loss_size(self, known: Examples) -> float:
        """The share of the rarer kind of rows."""
        return min(known.positive_weight, known.negative_weight) / known.weight

    def coef(self, candidate: LabelCandidate, weights: Array) -> Array:
        """All but that of the constant feature."""
        return self.bias(candidate).split(weights)[0]

    def scores(self, candidate: LabelCandidate, X: Any, weights: Array) -> Array:
        """Scores of other rows, bias included."""
        coef, bias = self.bias(candidate).split(weights)
        return super().scores(candidate, X, coef) + bias

    def ending(
        self,
        candidate: LabelCandidate,
        known: Examples,
        objective: RegularizedRisk,
        found: Result | Solution,
        tol: float,
    ) -> Ending:
        """The weights, and the bias less the cut of the training scores."""
        assert found.scores is not None
        bias = self.bias(candidate)
        coef, intercept = bias.cut(found.coef, known, objective.whole_scores(found.scores))
        excess = bias.excess_of_zero(objective, found)
        return Ending(coef, intercept, bias.split(found.coef)[1] - intercept, excess, excess <= tol)
