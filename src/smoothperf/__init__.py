"""smoothperf: linear models trained for the performance measure itself, with certified gaps."""

from .estimators.classifier import MeasureClassifier, ZeroModelWarning
from .estimators.cross_validation import MeasureClassifierCV
from .estimators.path import RegularizationPath, regularization_path
from .measures import PRBEP, ROCArea
from .smoothing import Adaptive, Fixed
from .solvers import BMRM, LBFGS, Nesterov, Result, Status

__version__ = "0.1.0.dev0"

__all__ = [
    "BMRM",
    "LBFGS",
    "PRBEP",
    "Adaptive",
    "Fixed",
    "MeasureClassifier",
    "MeasureClassifierCV",
    "Nesterov",
    "ROCArea",
    "RegularizationPath",
    "Result",
    "Status",
    "ZeroModelWarning",
    "regularization_path",
]
