from typing import Any

from numpy.typing import NDArray

def pair_ramps(
    ordered: NDArray[Any],
    ordered_weights: NDArray[Any] | None,
    scores: NDArray[Any],
    rows: NDArray[Any],
    weights: NDArray[Any] | None,
    sign: float,
    centre: float,
    margin: float,
    kappa: float,
    scale: float,
    ordered_slopes: NDArray[Any],
    gradient: NDArray[Any],
) -> tuple[float, float, float, float, float, float]: ...
