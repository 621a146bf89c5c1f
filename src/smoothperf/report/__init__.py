"""A report on a model as one HTML page: :func:`gather` the numbers, :func:`render_report` them.

:func:`gather_ranking` gathers those of rankers, :func:`gather_many` those of classifiers for many labels.
"""

from __future__ import annotations

from .contents import ReportContents
from .labels import LabelContents, gather
from .many import ManyContents, gather_many
from .page import render_report
from .rankings import RankingContents, gather_ranking

__all__ = [
    "LabelContents",
    "ManyContents",
    "RankingContents",
    "ReportContents",
    "gather",
    "gather_many",
    "gather_ranking",
    "render_report",
]
