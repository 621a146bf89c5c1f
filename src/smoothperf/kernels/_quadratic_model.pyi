from typing import Any

from numpy.typing import NDArray

def minimise_model(
    gradient: NDArray[Any],
    start: NDArray[Any],
    s: NDArray[Any],
    q: NDArray[Any],
    lower: NDArray[Any],
    upper: NDArray[Any],
    sigma: float,
    u: NDArray[Any],
    m: NDArray[Any],
    starts: NDArray[Any],
    rows: NDArray[Any],
    values: NDArray[Any],
    n_rows: int,
    z: NDArray[Any],
    accuracy: float,
    most_sweeps: int = 1000,
) -> int: ...
