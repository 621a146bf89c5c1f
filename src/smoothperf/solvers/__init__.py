"""Solvers: frozen hyper-parameters with ``run(objective, start=None, callback=None) -> Result``."""

from .base import Solver
from .bmrm import BMRM
from .lbfgs import LBFGS
from .monitor import Callback, Observer
from .nesterov import Nesterov
from .newton import Newton
from .result import Result, Status, Trace, TraceRow

__all__ = [
    "BMRM",
    "LBFGS",
    "Callback",
    "Nesterov",
    "Newton",
    "Observer",
    "Result",
    "Solver",
    "Status",
    "Trace",
    "TraceRow",
]
