from typing import Any

from numpy.typing import NDArray

def collect(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    scale: float,
    shift: float,
    shift_step: float,
    low: float,
    high: float,
    kept: NDArray[Any],
    kept_weights: NDArray[Any] | None,
    pieces: int,
) -> list[tuple[int, int, float]]: ...
def sample(
    scores: NDArray[Any],
    positive: NDArray[Any],
    scale: float,
    shift: float,
    shift_step: float,
    step: int,
    out: NDArray[Any],
) -> None: ...

class RootSearch:
    total: float
    tau: float
    outside: int
    correction: float
    other: float
    blend: float
    def __init__(self, total: float, start: float, low: float, high: float, certain: bool) -> None: ...
    def search(self, values: NDArray[Any], weights: NDArray[Any] | None, above: float) -> None: ...
    def tell(self, excess: float, active: float) -> bool: ...

def sums_at(tau: float, values: NDArray[Any], weights: NDArray[Any] | None) -> tuple[float, float, float]: ...
def weigh_cells(
    values: NDArray[Any], weights: NDArray[Any] | None, low: float, high: float, cells: NDArray[Any]
) -> None: ...
def sum_cells(
    values: NDArray[Any], weights: NDArray[Any] | None, low: float, per_unit: float, table: NDArray[Any]
) -> None: ...
def pick_cells(
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    low: float,
    per_unit: float,
    size: int,
    one: int,
    other: int,
    kept: NDArray[Any],
    kept_weights: NDArray[Any],
) -> int: ...
def cut_of_cells(cells: NDArray[Any], above: float, total: float, low: float, high: float) -> tuple[float, float]: ...
def finish(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    scale: float,
    shift: float,
    shift_step: float,
    target_negative: float,
    target_step: float,
    slope: float,
    tau: float,
    correction: float,
    other: float,
    blend: float,
    theta: float,
    direction: NDArray[Any] | None,
    gradient: NDArray[Any],
    pieces: int,
) -> tuple[float, float, float, float, float, float]: ...
