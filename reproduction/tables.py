"""CSV files of rows that are dataclasses: written whole, read back as they were.

Numbers have six digits, which is more than the figures and the claims need. An empty cell is NaN.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from smoothperf._files import written_whole

R = TypeVar("R")
_READERS: dict[Any, Any] = {
    str: str,
    int: int,
    float: lambda text: float(text) if text else math.nan,
    bool: lambda text: text == "yes",
}


def write(path: Path, kind: type[R], rows: Iterable[R]) -> Path:
    """Write rows of one kind."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_shown(getattr(row, name)) for name in names] for row in rows)
    with written_whole(path) as file:
        file.write(text.getvalue().encode())
    return path


def read(path: Path, kind: type[R]) -> list[R]:
    """Read rows of one kind; [] if there is no such file."""
    if not path.exists():
        return []
    types = get_type_hints(kind)
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != list(types):
            raise ValueError(f"{path} has the columns {reader.fieldnames}, not {list(types)}; measure again.")
        return [kind(**{name: _READERS[types[name]](text) for name, text in row.items()}) for row in reader]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)
