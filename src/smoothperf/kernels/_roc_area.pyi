from typing import Any

from numpy.typing import NDArray

def pair_ramps(
    ordered: NDArray[Any],
    ordered_weights: NDArray[Any] | None,
    others: NDArray[Any],
    other_weights: NDArray[Any] | None,
    kappa: float,
    ordered_slopes: NDArray[Any],
    other_slopes: NDArray[Any],
) -> tuple[float, float, float]: ...
