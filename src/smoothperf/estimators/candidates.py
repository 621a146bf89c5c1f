"""What may be trained in order to be good at a measure: its own risk, convex or tight, and others that are safe.

The convex risk of a measure can collapse on noisy data, its tight one can overfit where positives are few. Log loss and
squared hinge do neither, and are what people would use instead. So a choice is offered, and held-out rows decide.
Which candidates earn their time was measured on thirteen data sets (docs/does-it-pay.md): beside the measure's own
tight risk the convex one of the break-even point, which is cheap, and good where it does not collapse. For F1 the tight
break-even point stands in, as F1's own takes five times as long and gains little more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .._validation import choice
from ..io.model_file import kept_in_files
from ..measures import (
    PRBEP,
    FBeta,
    Jaccard,
    LogLoss,
    Measure,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    SquaredHinge,
    get_measure,
)
from ..measures.goals import Goal, RecallAtFPR

BOUNDS = ("convex", "tight")
T = TypeVar("T")


@kept_in_files
@dataclass(frozen=True)
class Candidate:
    """A risk to train with.

    Parameters
    ----------
    measure : Measure
        Whose risk it is.
    bound : {"convex", "tight"}
        Which one.
    l1_ratio : float, default=0.0
        Share of absolute values in the penalty.

    Examples
    --------
    >>> print(Candidate(PRBEP(), "tight"))
    prbep, tight
    """

    measure: Measure
    bound: str = "convex"
    l1_ratio: float = 0.0

    @property
    def safe(self) -> bool:
        """Whether it is one of those that anybody would use, and another must be better than."""
        return isinstance(self.measure, (LogLoss, SquaredHinge))

    def __str__(self) -> str:
        ratio = f", l1_ratio {self.l1_ratio:g}" if self.l1_ratio else ""
        return f"{self.measure.name}, {self.bound}{ratio}"


SAFE = (Candidate(LogLoss()), Candidate(SquaredHinge()))


def candidates_for(measure: Measure, bound: str | Sequence[Any] = "auto") -> tuple[Candidate, ...]:
    """Return what to choose from, safe ones first.

    Parameters
    ----------
    measure : Measure
        What to be good at.
    bound : {"auto", "convex", "tight"} or sequence of (measure, bound)
        "auto" offers what may be worth while, "convex" or "tight" nothing but that risk of the measure; or the
        candidates themselves.

    Examples
    --------
    >>> [str(candidate) for candidate in candidates_for(get_measure("prbep"))]
    ['log_loss, convex', 'squared_hinge, convex', 'prbep, tight', 'prbep, convex']
    >>> [str(candidate) for candidate in candidates_for(get_measure("f1"), [("f1", "tight"), ("roc_area", "convex")])]
    ['f1, tight', 'roc_area, convex']
    """
    if not isinstance(bound, str):
        return given_candidates(bound, Candidate, _named, example="prbep")
    if choice("bound", bound, ("auto", *BOUNDS)) != "auto":
        return (Candidate(measure.trained_with if isinstance(measure, Goal) else measure, bound),)
    if Candidate(measure).safe:
        return (Candidate(measure),)
    others = [candidate for candidate in _others(measure) if candidate not in SAFE]
    return (*SAFE, *dict.fromkeys(others))


def _others(measure: Measure) -> tuple[Candidate, ...]:
    """The candidates that must be better than the safe ones."""
    break_even = Candidate(PRBEP(), "tight"), Candidate(PRBEP())
    if isinstance(measure, ROCArea):
        return (Candidate(measure),)
    if isinstance(measure, (PartialROCArea, PRBEP, PrecisionAtK, RecallAtK)):
        return Candidate(measure, "tight"), Candidate(PRBEP())
    if measure == FBeta() or isinstance(measure, Jaccard):
        return break_even  # whose best cut is near theirs, at a fraction of the time
    if isinstance(measure, RecallAtFPR):
        return Candidate(PartialROCArea(measure.fpr), "tight"), Candidate(PRBEP())
    if isinstance(measure, Goal):
        return break_even
    return Candidate(measure, "tight"), Candidate(measure)


def _named(measure: Any, bound: Any) -> Candidate:
    return Candidate(get_measure(measure), choice("bound", bound, BOUNDS))


def given_candidates(
    bound: Sequence[Any], kind: type[T], named: Callable[[Any, Any], T], *, example: str
) -> tuple[T, ...]:
    """Candidates of a kind as users list them: such as they are, or made of pairs (measure, bound)."""
    if len(bound) == 0:
        raise ValueError(f'bound is an empty list; give pairs such as ("{example}", "tight"), or "auto".')
    return tuple(given if isinstance(given, kind) else named(*_pair(given)) for given in bound)


def _pair(given: Any) -> Sequence[Any]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ValueError(f'bound must be "auto", "convex", "tight" or a list of (measure, bound), got {given!r} in it.')
    return given
