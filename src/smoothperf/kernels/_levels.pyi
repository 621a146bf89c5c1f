from typing import Any

from numpy.typing import NDArray

def level_sets(
    positives: tuple[Any, ...],
    negatives: tuple[Any, ...],
    fractional_loss: tuple[float, float, float],
    slope: float,
    w: float,
    nu: float,
    count: int,
) -> tuple[float, float, float, NDArray[Any], int]: ...
def ramp_masses(side: tuple[Any, ...], z: NDArray[Any], w: float) -> NDArray[Any]: ...
