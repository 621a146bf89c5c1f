from typing import Any

from numpy.typing import NDArray

def rank_queries(
    scores: NDArray[Any],
    rows: NDArray[Any] | None,
    starts: NDArray[Any],
    first_places: NDArray[Any] | None,
    relevance: NDArray[Any],
    target: NDArray[Any],
    discount: NDArray[Any],
    coefficients: NDArray[Any],
    scale: float,
    loss: float,
    mu: float,
    direction: NDArray[Any] | None,
    gradient: NDArray[Any] | None,
    pieces: int,
) -> tuple[float, float, float, float, float]: ...
def sort_documents(keys: NDArray[Any], starts: NDArray[Any], out: NDArray[Any], pieces: int) -> None: ...
