from typing import Any

from numpy.typing import NDArray

class RampTable:
    def __init__(self, ordered: NDArray[Any], ordered_weights: NDArray[Any] | None) -> None: ...
    def ramps(
        self,
        scores: NDArray[Any],
        weights: NDArray[Any] | None,
        other_rows: NDArray[Any],
        sign: float,
        centre: float,
        margin: float,
        kappa: float,
        scale: float,
        gradient: NDArray[Any],
        bins: NDArray[Any],
    ) -> tuple[float, float, float, float, float, float]: ...
    def look_up(
        self,
        scores: NDArray[Any],
        weights: NDArray[Any] | None,
        rows: NDArray[Any],
        sign: float,
        centre: float,
        scale: float,
        slopes: NDArray[Any],
        gradient: NDArray[Any],
    ) -> None: ...

def sweep_bins(
    ordered: NDArray[Any], bins: NDArray[Any], kappa: float, slopes: NDArray[Any]
) -> tuple[float, float]: ...
def huber_sums(
    ordered: NDArray[Any], ordered_weights: NDArray[Any] | None, z: NDArray[Any], kappa: float, out: NDArray[Any]
) -> None: ...
def sorted_hinges(a: NDArray[Any], z: NDArray[Any]) -> float: ...
