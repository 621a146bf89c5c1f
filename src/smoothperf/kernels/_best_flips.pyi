from typing import Any

from numpy.typing import NDArray

def prefix_sums(
    x: NDArray[Any],
    weights: NDArray[Any] | None,
    mass: NDArray[Any] | None,
    first: NDArray[Any],
    second: NDArray[Any],
) -> None: ...
def best_flips(
    positives: tuple[Any, ...], negatives: tuple[Any, ...], fractional_loss: tuple[float, float, float], slope: float
) -> tuple[float, float, float, int]: ...
