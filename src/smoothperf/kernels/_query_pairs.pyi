from typing import Any

from numpy.typing import NDArray

def query_hinges(
    scores: NDArray[Any],
    rows: NDArray[Any] | None,
    starts: NDArray[Any],
    levels: NDArray[Any],
    coefficients: NDArray[Any],
    margin: float,
    kappa: float,
    direction: NDArray[Any] | None,
    gradient: NDArray[Any] | None,
    by_query: NDArray[Any] | None,
    pieces: int,
) -> tuple[float, float, float, float, float]: ...
