"""The total cost of errors, where every row has its own: that of calling it wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._screen import Screen, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Decisions that the model is held against: that of the model itself, and two that need none.
TITLES = {"model": "at the model's threshold", "none": "nothing positive", "all": "everything positive"}


def total_costs(
    costs: NDArray[Any], positive: NDArray[Any], predicted: NDArray[Any], draws: Iterable[NDArray[Any]]
) -> dict[str, dict[str, float]]:
    """Return the total with the ends of its interval, for the model and for decisions that need none.

    Examples
    --------
    >>> import numpy as np
    >>> found = total_costs(np.array([9.0, 1.0]), np.array([True, False]), np.array([False, False]), [np.array([2, 0])])
    >>> {name: total["value"] for name, total in found.items()}, found["model"]["low"]
    ({'model': 9.0, 'none': 9.0, 'all': 1.0}, 18.0)
    """
    import numpy as np

    from ..evaluation import interval

    wrong = np.stack([positive != predicted, positive, ~positive])
    paid = wrong * costs
    drawn = np.array([paid @ draw for draw in draws])
    totals = zip(TITLES, paid.sum(axis=1).tolist(), map(interval, drawn.T), strict=True)
    return {name: {"value": value, "low": low, "high": high} for name, value, (low, high) in totals}


def show_costs(screen: Screen, column: str, found: dict[str, dict[str, float]]) -> None:
    """Show totals as a table."""
    rows = [[TITLES[name], *(f"{value:,.2f}" for value in total.values())] for name, total in found.items()]
    screen.result("", table([f"cost of errors, {column}", "total", "95 % from", "to"], rows))
