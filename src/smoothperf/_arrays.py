"""Types of arrays that signatures speak of."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

#: Scores, weights, gradients: numbers of double precision.
Array = NDArray[np.float64]
Indices = NDArray[np.intp]
#: A number, or an array of them, of which arithmetic makes the same.
Numbers = TypeVar("Numbers", float, Array)
