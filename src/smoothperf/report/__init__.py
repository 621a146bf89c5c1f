"""A report on a model as one HTML page: :func:`gather` the numbers, :func:`render_report` them."""

from __future__ import annotations

from .contents import ReportContents, gather
from .page import render_report

__all__ = ["ReportContents", "gather", "render_report"]
