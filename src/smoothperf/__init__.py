"""smoothperf: linear models trained for the performance measure itself, with certified gaps."""

from .estimators.classifier import MeasureClassifier
from .measures import PRBEP, ROCArea
from .smoothing import Adaptive, Fixed
from .solvers import BMRM, LBFGS, Nesterov, Newton, Result, Status

__version__ = "0.1.0.dev0"

__all__ = [
    "BMRM",
    "LBFGS",
    "PRBEP",
    "Adaptive",
    "Fixed",
    "MeasureClassifier",
    "Nesterov",
    "Newton",
    "ROCArea",
    "Result",
    "Status",
]
