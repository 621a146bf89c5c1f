from typing import Any

from numpy.typing import NDArray

def top_k_smoothed(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    total: float,
    slope: float,
    gain: float,
    target_positive: float,
    target_negative: float,
    mu: float,
    start: float,
    gradient: NDArray[Any],
) -> tuple[float, float, float, float, float, int]: ...
