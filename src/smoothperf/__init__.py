"""smoothperf: linear models trained for the performance measure itself, with certified gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .estimators.classifier import MeasureClassifier
from .measures import PRBEP, ROCArea
from .smoothing import Adaptive, Fixed
from .solvers import BMRM, LBFGS, Nesterov, Result, Status

if TYPE_CHECKING:
    from os import PathLike

__version__ = "0.1.0.dev0"

__all__ = [
    "BMRM",
    "LBFGS",
    "PRBEP",
    "Adaptive",
    "Fixed",
    "MeasureClassifier",
    "Nesterov",
    "ROCArea",
    "Result",
    "Status",
    "load",
]


def load(path: str | PathLike[str]) -> Any:
    """Read a fitted model from a file; see :func:`smoothperf.model_file.load_model`."""
    from .model_file import load_model

    return load_model(path)
