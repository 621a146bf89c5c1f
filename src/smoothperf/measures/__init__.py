"""Performance measures: what to be good at, as data-free values that bind to labels."""

from __future__ import annotations

from .base import Curvature, Measure, Risk, RiskValue
from .roc_area import ROCArea
from .top_k import PRBEP

__all__ = ["PRBEP", "Curvature", "Measure", "ROCArea", "Risk", "RiskValue", "get_measure"]

_BY_NAME: dict[str, type[Measure]] = {measure.name: measure for measure in (PRBEP, ROCArea)}


def get_measure(measure: str | Measure) -> Measure:
    """Return the measure of a given name; a Measure is passed through.

    Examples
    --------
    >>> get_measure("prbep")
    PRBEP()
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str) and measure in _BY_NAME:
        return _BY_NAME[measure]()
    known = ", ".join(map(repr, sorted(_BY_NAME)))
    raise ValueError(f"measure must be one of {known} or a Measure object, got {measure!r}.")
