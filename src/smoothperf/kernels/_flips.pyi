from typing import Any

from numpy.typing import NDArray

def flip_along(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    neg_table: NDArray[Any],
    pos_table: NDArray[Any],
    slope: float,
    gradient: NDArray[Any],
) -> float: ...
def ramp_table(z: NDArray[Any], shares: NDArray[Any], w: float) -> NDArray[Any]: ...
