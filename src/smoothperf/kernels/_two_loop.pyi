from typing import Any

from numpy.typing import NDArray

def along(start: NDArray[Any], step: float, direction: NDArray[Any], out: NDArray[Any]) -> None: ...
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
