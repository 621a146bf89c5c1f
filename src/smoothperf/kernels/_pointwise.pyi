from typing import Any

from numpy.typing import NDArray

def pointwise_hinges(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    positive_cost: float,
    negative_cost: float,
    kappa: float,
    scale: float,
    gradient: NDArray[Any],
    pieces: int,
) -> tuple[float, float, float, float]: ...
def logistic_losses(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    logs: NDArray[Any] | None,
    scale: float,
    direction: NDArray[Any] | None,
    gradient: NDArray[Any],
    pieces: int,
) -> tuple[float, float, float]: ...
def squared_hinges(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    scale: float,
    direction: NDArray[Any] | None,
    gradient: NDArray[Any],
    pieces: int,
) -> tuple[float, float, float]: ...
