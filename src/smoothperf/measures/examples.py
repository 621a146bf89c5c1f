"""Labels and weights that a risk is bound to, and what is known of them all."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import Array
from .._validation import binary_labels, check_mass, weights_of
from ..communicator import ALONE, Communicator, Shared


class Supervision(Protocol):
    """The rows that a risk is bound to, as solvers and files see them: :class:`Examples`, or documents of queries."""

    @property
    def communicator(self) -> Communicator:
        """The group that the rows are shared with."""

    @property
    def alone(self) -> bool:
        """Whether all of them are here, which is the plain case."""

    @property
    def leads(self) -> bool:
        """Whether this is the process that decides."""

    def total(self, *numbers: float) -> tuple[float, ...]:
        """Sums of numbers over all processes."""

    def agreed(self, *numbers: float) -> tuple[float, ...]:
        """The numbers of the process that decides."""

    def extremes(self, lowest: float, highest: float) -> tuple[float, float]:
        """The lowest and the highest number of all processes."""

    @property
    def count(self) -> int:
        """Number of rows, of all processes."""

    @property
    def here_count(self) -> int:
        """Number of those in this process: the length of score vectors."""

    @property
    def weights(self) -> Array | None:
        """Their weights; None for ones."""

    def mean(self, scores: Array) -> float | Array:
        """The part of scores that a shift-invariant risk does not see."""


class Examples(Shared):
    """The examples of this process, and totals over those of all.

    Parameters
    ----------
    positive : ndarray of bool
        The positives among the examples here; in a group there may be none, or nothing else.
    weights : ndarray or None
        Their weights, checked; None for ones, and then on all members.
    communicator : Communicator
        The communicator of the group; alone by default.
    both : bool, default=True
        Whether both classes must occur, with some weight, among those of a group.

    Attributes
    ----------
    count, positives : int
        Numbers of examples, and of positives; of all members.
    weight, positive_weight, negative_weight : float
        Their weights.

    Examples
    --------
    >>> examples = Examples.of([1, 0, 0], [2.0, 1.0, 3.0])
    >>> examples.count, examples.positives, examples.positive_weight, examples.weight
    (3, 1, 2.0, 6.0)
    """

    def __init__(
        self,
        positive: NDArray[np.bool_],
        weights: Array | None = None,
        communicator: Communicator = ALONE,
        *,
        both: bool = True,
    ):
        super().__init__(communicator)
        self.positive = positive
        self.weights = weights
        counts = positive.shape[0], int(np.count_nonzero(positive))
        if weights is None:
            masses = [float(counts[1]), float(counts[0] - counts[1])]
        else:
            masses = [self.here(positive), self.here(~positive)]
        count, positives, *masses = self.total(*counts, *masses)
        self.count, self.positives = int(count), int(positives)
        self.positive_weight, self.negative_weight = masses
        self.weight = self.positive_weight + self.negative_weight
        if both and not self.alone:
            self._check()

    @classmethod
    def of(cls, y: ArrayLike, sample_weight: ArrayLike | None = None, communicator: Communicator = ALONE) -> Examples:
        """Examples of labels in {-1, +1}, {0, 1} or {False, True}, checked.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of the examples of this process.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.
        communicator : Communicator
            The group that shares the examples.

        Returns
        -------
        examples : Examples
            Those of this process.
        """
        positive = binary_labels(y)
        return cls(positive, weights_of(sample_weight, positive), communicator)

    def others(self, positive: NDArray[np.bool_], weights: Array | None) -> Examples:
        """Return other examples of the same processes, of which all may be of one class.

        Parameters
        ----------
        positive : ndarray of bool
            The positives among them.
        weights : ndarray or None
            Their weights; None for ones.

        Returns
        -------
        examples : Examples
            Those of this process.
        """
        return Examples(positive, weights, self.communicator, both=False)

    @property
    def here_count(self) -> int:
        """Number of examples in this process: the length of score vectors."""
        return int(self.positive.shape[0])

    def here(self, chosen: NDArray[np.bool_]) -> float:
        """Weight of some examples of this process.

        Parameters
        ----------
        chosen : ndarray of bool
            Which ones.

        Returns
        -------
        weight : float
            Their number, if there are no weights.
        """
        return float(np.count_nonzero(chosen) if self.weights is None else self.weights[chosen].sum())

    def mean(self, scores: Array) -> float:
        """Weighted mean of the scores of all.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Those of the examples of this process.

        Returns
        -------
        mean : float
            The same on all processes.
        """
        here = float(scores.sum() if self.weights is None else self.weights @ scores)
        return self.total(here)[0] / self.weight

    def _check(self) -> None:
        """Both classes must occur, with some weight; of a group this is known only now."""
        if not 0 < self.positives < self.count:
            raise ValueError(
                f"y has {self.positives} positive examples among {self.count}: a measure needs positive and negative "
                "examples."
            )
        for name, mass in (("positive", self.positive_weight), ("negative", self.negative_weight)):
            if not mass > 0.0:
                raise ValueError(f"sample_weight is 0 for every {name} example; each class needs some weight.")
            check_mass(name, mass)
