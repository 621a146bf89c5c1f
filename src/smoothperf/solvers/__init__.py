"""Solvers: frozen hyper-parameters with ``run(objective, start=None, callback=None) -> Result``."""

from .base import Solver
from .bmrm import BMRM
from .lbfgs import LBFGS
from .monitor import Callback
from .nesterov import Nesterov
from .result import Result, Status, Trace, TraceRow

__all__ = ["BMRM", "LBFGS", "Callback", "Nesterov", "Result", "Solver", "Status", "Trace", "TraceRow"]
