from typing import Any

from numpy.typing import NDArray

def maximise_on_simplex(
    gram: NDArray[Any],
    scale: float,
    linear: NDArray[Any],
    start: NDArray[Any],
    tolerance: float = 1e-12,
    max_changes: int = 1000,
) -> NDArray[Any]: ...
