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
def half_gram(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    rows: NDArray[Any],
    weights: NDArray[Any],
    out: NDArray[Any],
) -> None: ...
def row_norms(indptr: NDArray[Any], data: NDArray[Any], distinct: bool) -> tuple[float, float]: ...
