from typing import Any

from numpy.typing import NDArray

def gather(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None: ...
def scatter(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    g: NDArray[Any],
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None: ...
def largest_row_norm(indptr: NDArray[Any], data: NDArray[Any]) -> float: ...
