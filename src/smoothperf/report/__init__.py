"""A report on a model as one HTML page: :func:`gather` the numbers, :func:`render_report` them.

:func:`gather_ranking` gathers those of rankers.
"""

from __future__ import annotations

from .contents import ReportContents
from .labels import LabelContents, gather
from .page import render_report
from .rankings import RankingContents, gather_ranking

__all__ = [
    "LabelContents",
    "RankingContents",
    "ReportContents",
    "gather",
    "gather_ranking",
    "render_report",
]
