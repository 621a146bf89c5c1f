"""A report on a model as one HTML page: :func:`gather` the numbers, :func:`render_report` them.

:func:`gather_ranking` and :func:`render_ranking_report` do the same for rankers.
"""

from __future__ import annotations

from .contents import ReportContents, gather
from .page import render_report
from .queries.contents import RankingContents, gather_ranking
from .queries.page import render_ranking_report

__all__ = [
    "RankingContents",
    "ReportContents",
    "gather",
    "gather_ranking",
    "render_ranking_report",
    "render_report",
]
