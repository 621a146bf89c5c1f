"""Lambda is chosen on validation rows, as in the paper, and then fixed for all methods."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

from smoothperf.estimators.path import regularization_path
from smoothperf.measures import Measure

from .datasets import PaperData
from .settings import EPS, Settings


@dataclass(frozen=True)
class TriedAlpha:
    """A line of lambdas.csv: an alpha, its score on the validation rows, and whether it was chosen."""

    dataset: str
    measure: str
    alpha: float
    gap: float
    score: float
    chosen: bool


def choose(data: PaperData, measure: Measure, settings: Settings) -> list[TriedAlpha]:
    """Try the alphas from the largest down; of equally good ones the largest is chosen.

    When the time is up, the path ends; the alpha that was being solved counts only if its gap is within eps.
    """
    deadline = time.monotonic() + settings.path_seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gaps are in the table
        path = regularization_path(
            data.train.X,
            data.train.y,
            measure=measure,
            bound="convex",
            alphas=settings.alphas,
            validation=data.validation,
            tol=EPS,
            callback=lambda row: time.monotonic() > deadline,
        )
    assert path.validation_scores is not None
    rows = list(zip(path.alphas.tolist(), path.gaps.tolist(), path.validation_scores.tolist(), strict=True))
    fit = [row for row in rows if row[1] <= EPS] or rows[:1]
    best = max(fit, key=lambda row: (row[2], row[0]))[0]
    return [TriedAlpha(data.name, measure.name, alpha, gap, score, alpha == best) for alpha, gap, score in rows]


def chosen(candidates: list[TriedAlpha]) -> float:
    """Return the alpha that was chosen."""
    return next(candidate.alpha for candidate in candidates if candidate.chosen)
