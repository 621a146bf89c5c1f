"""Types of arrays that signatures speak of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Scores, weights, gradients: numbers of double precision.
Array = NDArray[np.float64]
Indices = NDArray[np.intp]
