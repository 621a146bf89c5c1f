from typing import Any

from numpy.typing import NDArray

def two_loop(
    steps: NDArray[Any],
    changes: NDArray[Any],
    curvatures: NDArray[Any],
    order: NDArray[Any],
    scale: float,
    terms: int,
    shift: int,
    p: NDArray[Any],
) -> None: ...
