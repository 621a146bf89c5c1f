"""Checks of what users give to choose from, and to choose by, whichever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


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


def checked_splits(splits: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Splits, of which there must be some."""
    found = list(splits)
    if not found:
        raise ValueError("cv has no splits: give a number of folds, a splitter, or pairs of (train, test) row numbers.")
    return found


def checked_share(cv: Any) -> float:
    """A share of rows to hold out."""
    if not 0.0 < cv < 1.0:
        raise ValueError(f"cv must be a number of folds, a share between 0 and 1 or a splitter, got {cv!r}.")
    return float(cv)
