"""Performance measures: what to be good at, as data-free values that bind to labels."""

from __future__ import annotations

import re

from .base import Curvature, Measure, Risk, RiskValue
from .contingency import Contingency
from .fractional import FBeta, Jaccard
from .roc_area import ROCArea
from .top_k import PRBEP

__all__ = [
    "PRBEP",
    "Contingency",
    "Curvature",
    "FBeta",
    "Jaccard",
    "Measure",
    "ROCArea",
    "Risk",
    "RiskValue",
    "get_measure",
]

_BY_NAME: dict[str, Measure] = {measure.name: measure for measure in (FBeta(), Jaccard(), PRBEP(), ROCArea())}
#: f1, f2, f0.5, ...
_F_BETA = re.compile(r"f(\d+\.?\d*|\.\d+)")


def get_measure(measure: str | Measure) -> Measure:
    """Return the measure of a given name; a Measure is passed through.

    Examples
    --------
    >>> get_measure("prbep")
    PRBEP()
    >>> get_measure("f0.5")
    FBeta(beta=0.5)
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str):
        if measure in _BY_NAME:
            return _BY_NAME[measure]
        beta = _F_BETA.fullmatch(measure)
        if beta is not None and float(beta[1]) > 0.0:
            return FBeta(float(beta[1]))
    known = ", ".join(map(repr, sorted(_BY_NAME)))
    raise ValueError(f"measure must be one of {known} or a Measure object, got {measure!r}.")
