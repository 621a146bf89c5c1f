"""The one contract between "labels or queries" and everything that fits, chooses, commands or reports.

A :class:`Task` knows what depends on which of the two rows are: what may be trained, the risk on some rows, where a
tight bound starts, how rows are split, what held-out scores are worth, and how a run becomes a model. It has no data,
so it can be sent to the workers of a cluster. :class:`Rows` are the data. A fit, a path, a choice, a command and a
report are written once, against these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array, Indices
from ..design import Design, as_design
from ..measures import Risk
from ..measures.examples import Supervision
from ..optimise import Result
from ..optimise.objective import RegularizedRisk
from ..optimise.path import ConvexPath, Solution
from ..optimise.penalties import Penalty, Quadratic
from ..threads import cached_property

#: Upper bounds of a measure's loss: the convex one, and a closer one that is not convex.
BOUNDS = ("convex", "tight")


class Candidate(Protocol):
    """A risk to train with; it can be hashed."""

    @property
    def measure(self) -> Any:
        """The measure whose risk it is."""

    @property
    def bound(self) -> str:
        """The bound: "convex" or "tight"."""

    @property
    def baseline(self) -> bool:
        """Whether it is a baseline, so that others must be better."""

    def words(self) -> dict[str, Any]:
        """Its names in ``cv_results_``."""


C = TypeVar("C", bound=Candidate)
K = TypeVar("K", bound=Supervision)


def rows_of(X: Any, numbers: Indices) -> Any:
    """Some rows of a matrix, a table or a data frame, by number or as a mask, which those of Polars do not take."""
    if hasattr(X, "columns") and numbers.dtype == bool:
        numbers = np.flatnonzero(numbers)
    return X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]


class Rows(ABC, Generic[K]):
    """Rows to train on.

    Parameters
    ----------
    X : matrix or Design
        The features.
    offset : ndarray, optional
        Scores f0 to which those of the model are added.
    features : transformer, optional
        Not fitted; it makes features of X (:mod:`.features`). None if X has them.
    low_memory : bool
        Whether to do without a copy of column indices.

    Attributes
    ----------
    columns : Columns or None
        The columns, as the transformer that made X says.
    known : Supervision
        Labels or grades, with the weights that count in training.
    judged : Supervision
        The same, with the weights that count in scores.
    """

    known: K

    columns: Any = None

    def __init__(self, X: Any, offset: Array | None = None, *, features: Any = None, low_memory: bool = False):
        self.X = X
        self.offset = offset
        self.features = features
        self.low_memory = low_memory
        self._starts: dict[Hashable, ConvexPath] = {}

    @cached_property
    def design(self) -> Design:
        """X as an operator."""
        return as_design(self.X, low_memory=self.low_memory)

    def start(self, key: Hashable, make: Callable[[], ConvexPath]) -> ConvexPath:
        """Start of the tight bounds of some candidates; made once for all that have the same key."""
        if key not in self._starts:
            self._starts[key] = make()
        return self._starts[key]

    def whole_scores(self, scores: Array) -> Array:
        """The scores that are ranked or cut: those of a run, added to the offset."""
        return scores if self.offset is None else self.offset + scores

    @property
    def judged(self) -> K:
        """Those of training, unless a kind of rows knows others."""
        return self.known

    @property
    @abstractmethod
    def targets(self) -> NDArray[Any]:
        """Labels or grades, from which features may learn."""

    @abstractmethod
    def size_words(self) -> str:
        """Number of rows or queries, in words."""

    @abstractmethod
    def part(self, numbers: Indices) -> Self:
        """Some of the rows, by number or as a mask."""


@dataclass(frozen=True)
class HeldOut(Generic[K, C]):
    """Rows of one split that are held out, and their scores for each candidate and strength that was tried there.

    Attributes
    ----------
    numbers : ndarray
        Their numbers among all rows.
    known, judged : Supervision
        As in :class:`Rows`.
    """

    numbers: Indices
    known: K
    judged: K
    scores: dict[tuple[C, int], Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Ending:
    """Model that a run has led to.

    Attributes
    ----------
    coef : ndarray
        Weights of the features.
    intercept : float
        Number that is added to their scores: the bias less the threshold.
    threshold : float
        Threshold of the scores of the run.
    excess : float
        Distance by which J at w = 0 can be above its minimum; of a tight bound, above what was found.
    empty : bool
        Whether no weights would be as good, within a tolerance.
    """

    coef: Array
    intercept: float
    threshold: float
    excess: float
    empty: bool


class Task(ABC, Generic[K, C]):
    """Training for a measure, on rows of one kind.

    Attributes
    ----------
    measure : Measure or QueryMeasure
        The measure to be good at.
    cautious : bool
        Whether the choice prefers baselines unless another candidate is clearly better.
    baseline_names : frozenset of str
        Names of the measures that baselines are trained with.
    """

    measure: Any
    cautious: ClassVar[bool]
    baseline_names: ClassVar[frozenset[str]]

    @abstractmethod
    def candidate(self, bound: str) -> C:
        """The candidate of a single fit."""

    def instead(self, candidate: C, risk: Risk) -> C | None:
        """The candidate to go on with where w = 0 is the minimiser of a risk that may collapse; None for others."""
        return None

    @abstractmethod
    def candidates(self, bound: str | Sequence[Any]) -> tuple[C, ...]:
        """Candidates to choose from, baselines first; "auto" offers what may be worth while."""

    @abstractmethod
    def risk(self, candidate: C, known: K) -> Risk:
        """The risk of a candidate on rows."""

    def on(self, rows: Rows[K]) -> Self:
        """The task for rows, whose features may have been made of them."""
        return self

    def design(self, candidate: C, features: Design) -> Design:
        """X as a candidate is trained with."""
        return features

    def penalty(self, candidate: C) -> Penalty:
        """The penalty of a candidate's weights, in strength 1."""
        return Quadratic(1.0)

    @abstractmethod
    def first_risk(self, candidate: C, known: K, risk: Risk) -> Risk | None:
        """The convex risk from whose minimiser the tight bound starts; None for the candidate's own."""

    @abstractmethod
    def first_key(self, candidate: C) -> Hashable:
        """Equal for candidates whose tight bounds start from the same minimisers on the same rows."""

    def first_penalty(self, candidate: C) -> Penalty:
        """The penalty of the weights there, in strength 1."""
        return Quadratic(1.0)

    def first_strength(self, risk: Risk) -> float:
        """Alpha there, as a multiple of that of the tight bound, for weights that count as much."""
        return risk.score_scale**2

    def first_weights(self, candidate: C, known: K, risk: Risk, found: Result | Solution) -> Array:
        """Weights to start the tight bound from, given the minimiser there, of the features alone.

        Its scores are those that are ranked or cut, offset included.
        """
        return found.coef

    def loss_size(self, known: K) -> float:
        """Size of mean losses on rows, at most 1: about that of the best constant model, to suit tolerances to."""
        return 1.0

    def coef(self, candidate: C, weights: Array) -> Array:
        """Those of the weights of a run that are of features."""
        return weights

    def scores(self, candidate: C, X: Any, weights: Array) -> Array:
        """Scores of other rows for the weights of a run."""
        return scores_of(X, weights)

    @abstractmethod
    def ending(
        self, candidate: C, known: K, objective: RegularizedRisk, found: Result | Solution, tol: float
    ) -> Ending:
        """The model that a run has led to; on the rows of all members of a group."""

    @abstractmethod
    def splits(self, cv: Any, rows: Any) -> list[tuple[Any, Any]]:
        """Numbers of the rows to train on and of those to hold out, for every split."""

    @abstractmethod
    def judge(self, judged: K, scores: Array) -> float:
        """The measure of scores, cut where they are 0."""

    def judge_alone(self, held_out: HeldOut[K, C], scores: Array) -> float:
        """The measure in one split, by itself."""
        return self.judge(held_out.judged, scores)

    def judge_together(self, splits: Sequence[HeldOut[K, C]], key: tuple[C, int]) -> Array:
        """The measure in every split; NaN where a split has not tried a candidate at a strength."""
        found = [self.judge(split.judged, split.scores[key]) if key in split.scores else np.nan for split in splits]
        return np.array(found)

    @abstractmethod
    def finely(self) -> tuple[Self, C]:
        """The same for a measure that tells apart what this one cannot, and the cheapest baseline."""

    @abstractmethod
    def judge_finely(self, judged: K, scores: Array) -> float:
        """A score that tells apart what the measure cannot."""


def scores_of(X: Any, coef: Array) -> Array:
    """``X w`` in float64 without a float64 copy of X."""
    scores: Array = X @ coef if X.dtype == np.float64 else as_design(X).matvec(coef)
    return scores
