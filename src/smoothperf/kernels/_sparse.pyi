from typing import Any

from numpy.typing import NDArray

def gather(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    ones: bool,
    levels: NDArray[Any] | None,
    x: NDArray[Any],
    out: NDArray[Any],
    pieces: int,
) -> None: ...
def scatter(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    ones: bool,
    levels: NDArray[Any] | None,
    g: NDArray[Any],
    out: NDArray[Any],
    clear: bool,
    pieces: int,
    room: NDArray[Any],
) -> None: ...
def room_for_sums(n_columns: int, pieces: int) -> int: ...
def half_gram(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    rows: NDArray[Any],
    weights: NDArray[Any],
    out: NDArray[Any],
) -> None: ...
def row_norms(indptr: NDArray[Any], data: NDArray[Any], distinct: bool) -> tuple[float, float, bool, bool]: ...
