from typing import Any

import numpy as np
from numpy.typing import NDArray

_Arrays = tuple[
    NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64] | None
]
LARGEST_INDEX: int
OUTCOMES: dict[int, str]

class SvmlightParser:
    line: int
    problem: str | None
    problem_at: int
    n_rows: int
    n_entries: int
    def __init__(self, one_based: bool) -> None: ...
    def feed(self, text: Any) -> int: ...
    def take(self) -> _Arrays: ...
    def arrays(self) -> _Arrays: ...
