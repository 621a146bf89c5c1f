"""Minimising J: solvers are frozen hyper-parameters with ``run(objective, start=None, callback=None) -> Result``."""

from .base import ConvexSolver, Solver
from .bmrm import BMRM
from .lbfgs import LBFGS
from .monitor import Callback, Observer
from .nesterov import Nesterov
from .newton import Newton
from .objective import RegularizedRisk
from .result import Result, Start, Status, Trace, TraceRow
from .retargeting import Retargeting

__all__ = [
    "BMRM",
    "LBFGS",
    "Callback",
    "ConvexSolver",
    "Nesterov",
    "Newton",
    "Observer",
    "RegularizedRisk",
    "Result",
    "Retargeting",
    "Solver",
    "Start",
    "Status",
    "Trace",
    "TraceRow",
]
