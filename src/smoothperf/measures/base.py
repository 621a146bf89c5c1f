"""The contract of measures: a score to report, where to cut scores, and a convex risk to train with.

A :class:`Measure` knows no data. Bound to labels it becomes a :class:`~.risk.Risk`, a convex function of the scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from numpy.typing import ArrayLike

from .._arrays import Array
from .._validation import vector
from ..cuts.threshold_search import Ordering
from .examples import Examples
from .risk import Risk


class Measure(ABC):
    """Something to be good at; higher is better. Immutable, comparable and hashable.

    Attributes
    ----------
    fits_bias : bool
        Whether the measure cuts at score 0, so that a bias is fitted with the weights. The others only compare scores.
    works_in_groups : bool
        Whether its risk works for rows on several machines, of which it must add up sums.

    Examples
    --------
    >>> from smoothperf import PrecisionAtK
    >>> y, scores = [1, -1, 1, -1], [4.0, 3.0, 2.0, 1.0]
    >>> PrecisionAtK(2).score(y, scores), PrecisionAtK(2).threshold(y, scores)
    (0.5, 2.5)
    >>> PrecisionAtK(2) == PrecisionAtK(2), PrecisionAtK(2).name, PrecisionAtK(2).fits_bias
    (True, 'precision@2', False)
    """

    fits_bias: ClassVar[bool] = False
    works_in_groups: ClassVar[bool] = True

    @property
    def judges_decisions(self) -> bool:
        """Whether the score depends on which scores are above 0, and on nothing else."""
        return self.fits_bias

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that :func:`~smoothperf.measures.get_measure` knows it by."""

    def bind(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Risk:
        """Return the convex risk of this measure for given labels.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels in {-1, +1} or {0, 1}; both classes must occur.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; an integer weight c stands for c copies of an example.

        Returns
        -------
        risk : Risk
            A convex function of n scores.
        """
        return self.risk(Examples.of(y, sample_weight))

    @abstractmethod
    def risk(self, examples: Examples) -> Risk:
        """Return the convex risk of this measure for examples, which may be some of those of a group.

        Parameters
        ----------
        examples : Examples
            Labels and weights.

        Returns
        -------
        risk : Risk
            A convex function of their scores.
        """

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure itself, as one would report it for these scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels in {-1, +1} or {0, 1}; both classes must occur.
        scores : array-like of shape (n,)
            Larger for what is more likely positive.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        score : float
            Higher is better.
        """
        return self.score_of(*_checked(y, scores, sample_weight))

    @abstractmethod
    def score_of(self, examples: Examples, scores: Array) -> float:
        """Return the same for examples in memory, and for scores that were checked.

        Parameters
        ----------
        examples : Examples
            Labels and weights.
        scores : ndarray of shape (n,)
            One for each.

        Returns
        -------
        score : float
            Higher is better.
        """

    def predicted_positive(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the weight of examples that the measure wants predicted positive: here, as much as is positive.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        weight : float
            Their number, if there are no weights.
        """
        return self.places(Examples.of(y, sample_weight))

    def places(self, examples: Examples) -> float:
        """Return the same for examples.

        Parameters
        ----------
        examples : Examples
            Labels and weights.

        Returns
        -------
        weight : float
            Of all processes.
        """
        return examples.positive_weight

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return where the measure wants these scores cut.

        That is 0 if a bias was fitted, else where :meth:`predicted_positive` lies above; some measures know better.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        scores : array-like of shape (n,)
            Larger for what is more likely positive.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        threshold : float
            Scores above it are predicted positive.
        """
        return self.cut(*_checked(y, scores, sample_weight))

    def cut(self, examples: Examples, scores: Array) -> float:
        """Return the same for examples, which may be some of those of a group, and for scores that were checked.

        Parameters
        ----------
        examples : Examples
            Labels and weights.
        scores : ndarray of shape (n,)
            Those of the examples of this process.

        Returns
        -------
        threshold : float
            The same on all processes.
        """
        if self.fits_bias:
            return 0.0
        return examples.version(Ordering)(scores, examples.weights).threshold(self.places(examples))

    def tuned_threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return where scores of rows that were not trained on are best cut, whatever they were trained for.

        Parameters
        ----------
        y, scores, sample_weight
            As in :meth:`threshold`.

        Returns
        -------
        threshold : float
            Scores above it are predicted positive.
        """
        return self.tuned_cut(*_checked(y, scores, sample_weight))

    def tuned_cut(self, examples: Examples, scores: Array) -> float:
        """Return the same for examples in memory, and for scores that were checked.

        Parameters
        ----------
        examples : Examples
            Labels and weights.
        scores : ndarray of shape (n,)
            One for each.

        Returns
        -------
        threshold : float
            Scores above it are predicted positive.
        """
        return self.cut(examples, scores)

    def as_share(self, total: float) -> Measure:
        """Return the measure for parts of data with a given weight: a count becomes a share. Most have none.

        Parameters
        ----------
        total : float
            The weight of the data that a count is of.

        Returns
        -------
        measure : Measure
            The same, but for counts.
        """
        return self


def _checked(y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Examples, Array]:
    """Labels, weights and scores of users, checked."""
    examples = Examples.of(y, sample_weight)
    return examples, vector("scores", scores, length=examples.here_count)
