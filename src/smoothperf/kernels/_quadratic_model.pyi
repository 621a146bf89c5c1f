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
    z: NDArray[Any],
    accuracy: float,
    most_sweeps: int = 1000,
) -> int: ...
