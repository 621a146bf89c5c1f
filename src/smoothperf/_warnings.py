"""Warnings that name the line of the user, however deep inside this package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = Path(__file__).parent


def warn(message: str, category: type[Warning]) -> None:
    """Warn of the line outside this package that has led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and PACKAGE in Path(frame.f_code.co_filename).parents:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
