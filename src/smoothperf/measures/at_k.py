"""Measures of a fixed number of predicted positives: precision@k and recall@k. See :mod:`.top_k` for their risk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from .._arrays import Array
from .._validation import whole_number
from .base import Measure
from .examples import Examples
from .top_k import TopKRisk, hits_of_top


@dataclass(frozen=True)
class _AtK(Measure):
    """Base of precision@k and recall@k: k, a count or a share of the examples.

    A share is taken as it is: 5 % of 30 examples are one and a half places, of which the second is a half one.
    """

    k: int | float

    def __post_init__(self) -> None:
        count_or_share("k", self.k)

    def places(self, examples: Examples) -> float:
        """Return k as a weight: the count itself, or the share of the total weight."""
        if not isinstance(self.k, (int, np.integer)):
            return float(self.k) * examples.weight
        if self.k > examples.weight:
            what = "examples are there" if examples.weights is None else "is the weight of all examples"
            raise ValueError(
                f"{self.name} needs at least {self.k} examples, but {examples.weight:g} {what}; "
                f"use a smaller k, or a share such as {type(self).__name__}(0.05)."
            )
        return float(self.k)

    def as_share(self, total: float) -> Measure:
        """Return the measure with k as a share."""
        if not isinstance(self.k, (int, np.integer)):
            return self
        self._check_some_are_left(self.k, total)
        return replace(self, k=self.k / total)

    def _risk(self, examples: Examples, *, per_place: bool) -> TopKRisk:
        places = self.places(examples)
        self._check_some_are_left(places, examples.weight)
        return TopKRisk(examples, places, per_place=per_place)

    def _check_some_are_left(self, places: float, total: float) -> None:
        """Refuse to choose as many as there are, or more."""
        if places >= total:
            raise ValueError(
                f"{self.name} of {total:g} examples leaves nothing to choose, as all are predicted positive; "
                "use a smaller k."
            )


@dataclass(frozen=True)
class PrecisionAtK(_AtK):
    """Precision of the k examples with the highest scores.

    Parameters
    ----------
    k : int or float
        The number of examples: an int is a count (with sample weights, a weight), a float between 0 and 1 a share of
        all examples. A count means the same on other data; where they have more or fewer examples a share is what you
        want.

    Examples
    --------
    >>> from smoothperf import PrecisionAtK
    >>> y, scores = [1, 1, -1, -1, 1], [0.9, 0.2, 0.7, 0.1, 0.8]
    >>> PrecisionAtK(2).score(y, scores), round(PrecisionAtK(0.6).score(y, scores), 4)
    (1.0, 0.6667)
    >>> PrecisionAtK(2).name
    'precision@2'
    """

    @property
    def name(self) -> str:
        """``precision@100`` or ``precision@0.05``."""
        return f"precision@{self.k}"

    def risk(self, examples: Examples) -> TopKRisk:
        """Return the convex risk (top-k-risk) for examples."""
        return self._risk(examples, per_place=True)

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Precision of the top k; examples tied at the threshold share the places that are left."""
        places = self.places(examples)
        return hits_of_top(examples, scores, places) / places


@dataclass(frozen=True)
class RecallAtK(_AtK):
    """Share of all positives that are among the k examples with the highest scores.

    Parameters
    ----------
    k : int or float
        As in :class:`PrecisionAtK`.

    Examples
    --------
    >>> from smoothperf import RecallAtK
    >>> y, scores = [1, 1, -1, -1, 1], [0.9, 0.2, 0.7, 0.1, 0.8]
    >>> round(RecallAtK(2).score(y, scores), 4)
    0.6667
    """

    @property
    def name(self) -> str:
        """``recall@100`` or ``recall@0.05``."""
        return f"recall@{self.k}"

    def risk(self, examples: Examples) -> TopKRisk:
        """Return the convex risk (top-k-risk) for examples."""
        return self._risk(examples, per_place=False)

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Recall of the top k; examples tied at the threshold share the places that are left."""
        return hits_of_top(examples, scores, self.places(examples)) / examples.positive_weight


def count_or_share(name: str, value: Any) -> int | float:
    """A count of at least 1, or a share above 0 and below 1."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return whole_number(name, value, at_least=1)
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(
            f"{name} must be a count of at least 1 (an int) or a share between 0 and 1 (a float), got {value!r}."
        )
    return float(value)
