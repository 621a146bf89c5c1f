"""Showing: figures, claims and page from the CSV files of a folder, and nothing else."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from smoothperf._files import written_whole

from . import claims, figures, page, tables
from .results import read

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Dots per inch, and colours: few are enough for lines, and make small files.
DPI = 100
SHADES = 64
PAGE = "README.md"


def show(folder: Path) -> list[Path]:
    """Draw and write all that the CSV files of a folder allow; return what was written."""
    results = read(folder)
    written = []
    for measure, (objective, score) in {"prbep": (1, 3), "roc_area": (2, 4)}.items():
        comparisons = results.comparisons[measure]
        if comparisons:
            for number, draw in ((objective, figures.objective_figure), (score, figures.score_figure)):
                written.append(_save(draw(comparisons, number), folder / f"figure{number}.png"))
    if results.hard_counts:
        written.append(_save(figures.rates_figure(results), folder / "rates.png"))
    verdicts = claims.judge(results)
    written.append(tables.write(folder / "claims.csv", claims.Verdict, verdicts))
    with written_whole(folder / PAGE) as file:
        file.write(page.text(results, verdicts).encode())
    return [*written, folder / PAGE]


def _save(figure: Figure, path: Path) -> Path:
    """Write a PNG file of few colours."""
    from PIL import Image  # which matplotlib brings along

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    image = Image.open(drawn).convert("RGB").quantize(SHADES)
    with written_whole(path) as file:
        image.save(file, format="png", optimize=True)
    return path
