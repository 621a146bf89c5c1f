from typing import Any

from numpy.typing import NDArray

def bin_moments(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    shift: float,
    shift_step: float,
    width: float,
    lowest: float,
    highest: float,
    moments: NDArray[Any],
) -> tuple[float, float]: ...
def bin_lines(
    moments: NDArray[Any], width: float, r: int, lines: NDArray[Any]
) -> tuple[float, float, float, float]: ...
def bin_gradient(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    shift: float,
    shift_step: float,
    width: float,
    lines: NDArray[Any],
    scale: float,
    direction: NDArray[Any] | None,
    gradient: NDArray[Any],
    pieces: int,
) -> tuple[float, float, float]: ...
