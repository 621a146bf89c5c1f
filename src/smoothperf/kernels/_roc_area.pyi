from typing import Any

from numpy.typing import NDArray

def pair_ramps(
    ordered: NDArray[Any],
    ordered_weights: NDArray[Any] | None,
    scores: NDArray[Any],
    weights: NDArray[Any] | None,
    ordered_rows: NDArray[Any],
    other_rows: NDArray[Any],
    sign: float,
    centre: float,
    margin: float,
    kappa: float,
    scale: float,
    gradient: NDArray[Any],
) -> tuple[float, float, float, float, float, float, float]: ...
def huber_sums(
    ordered: NDArray[Any], ordered_weights: NDArray[Any] | None, z: NDArray[Any], kappa: float, out: NDArray[Any]
) -> None: ...
def sorted_hinges(a: NDArray[Any], z: NDArray[Any]) -> float: ...
