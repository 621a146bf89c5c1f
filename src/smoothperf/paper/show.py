"""Showing: figures, claims and page from the CSV files of a folder, and nothing else."""

from __future__ import annotations

from pathlib import Path

from .. import plots
from .._files import written_whole
from . import claims, figures, page, tables
from .results import read

DPI = 90
PAGE = "README.md"


def show(folder: Path) -> list[Path]:
    """Draw and write all that the CSV files of a folder allow; return what was written."""
    results = read(folder)
    written = []
    for measure, (objective, score) in {"prbep": (1, 3), "roc_area": (2, 4)}.items():
        contests = results.contests[measure]
        if contests:
            for number, draw in ((objective, figures.objective_figure), (score, figures.score_figure)):
                written.append(plots.save(draw(contests, number), folder / f"figure{number}.png", dpi=DPI))
    if results.hard_counts:
        written.append(plots.save(figures.rates_figure(results), folder / "rates.png", dpi=DPI))
    verdicts = claims.judge(results)
    written.append(tables.write(folder / "claims.csv", claims.Verdict, verdicts))
    with written_whole(folder / PAGE) as file:
        file.write(page.text(results, verdicts).encode())
    return [*written, folder / PAGE]
