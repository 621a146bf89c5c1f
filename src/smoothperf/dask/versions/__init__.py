"""Algorithms that look for something among all rows, for groups: what their members run in place of those in memory.

Each has the parameters of that in memory, and the communicator. What all rows enter as a sum needs no other version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...communicator import Communicator, P, T
from ...cuts.threshold_search import Ordering
from ...measures.fractional_risk import FractionalRisk
from ...measures.pairs import sorted_scores
from ...measures.projection import RootFinder
from ...optimise.objective import slope_and_square
from ..design import slope_for_first
from . import ordering
from .fractional import FractionalGroupRisk
from .projection import GroupRootFinder

#: By the algorithm in memory.
VERSIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    FractionalRisk: FractionalGroupRisk,
    Ordering: ordering.GroupOrdering,
    RootFinder: GroupRootFinder,
    slope_and_square: slope_for_first,
    sorted_scores: ordering.sorted_scores,
}


def version_for(communicator: Communicator, algorithm: Callable[P, T]) -> Callable[P, T]:
    """Return the version of an algorithm for a group; itself for a group of one."""
    return algorithm if communicator.size == 1 else partial(VERSIONS[algorithm], communicator=communicator)
