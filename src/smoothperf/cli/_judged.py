"""The end of ``smoothperf demo``: a model for a measure and logistic regression, judged by that measure on new rows.

Both make their choices by five folds of the rows to train on, by the same measure: ours the risk and its strength,
logistic regression its strength. The interval of the difference is that of the same rows drawn again for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from ..estimators.classifier import MeasureClassifier
from ..estimators.classifier_cv import MeasureClassifierCV
from ..evaluation import Ranking, interval, resamples, title_of
from ..measures import get_measure
from ..scorers import get_scorer
from ._screen import table

FOLDS = 5
STRENGTHS = [0.1, 1.0, 10.0, 100.0]
RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Judged:
    """A way of training: what it chose, what it is worth on new rows, and the same for every resample of these."""

    name: str
    choice: str
    value: float
    samples: NDArray[np.float64]
    seconds: float


@dataclass(frozen=True)
class Judgement:
    """Ours and theirs side by side, and our model itself."""

    measure: str
    ours: Judged
    theirs: Judged
    model: MeasureClassifier

    @property
    def title(self) -> str:
        """The measure as people write it."""
        return title_of(self.measure)

    def table(self) -> Table:
        """Return what both are worth."""
        rows = [
            [
                line.name,
                line.choice,
                *map("{:.4f}".format, (line.value, *interval(line.samples))),
                f"{line.seconds:.1f}",
            ]
            for line in (self.ours, self.theirs)
        ]
        headers = ["model", "chosen by rows held out", self.title, "95 % from", "to", "seconds"]
        return table(headers, rows, words=2)

    def verdict(self) -> str:
        """Say in words which is better, if chance in the rows that judge cannot explain it."""
        low, high = interval(self.ours.samples - self.theirs.samples)
        difference = self.ours.value - self.theirs.value
        more = f"{abs(difference):.4f} {'more' if difference >= 0 else 'less'} (95 %: {low:+.4f} to {high:+.4f})"
        meaning = "within noise, a tie" if low <= 0.0 <= high else "more than noise"
        return f"Training for {self.title} has {more} than logistic regression: {meaning}."


def judge(
    X: Any, y: NDArray[Any], X_new: Any, y_new: NDArray[Any], measure: str, tell: Callable[[str], None]
) -> Judgement:
    """Train both, and judge them by the measure on new rows; ``tell`` gets a line before each of the steps."""
    tell(f"Choosing a model for {title_of(measure)} by rows held out")
    begin = time.perf_counter()
    ours = MeasureClassifierCV(measure, cv=FOLDS).fit(X, y)
    middle = time.perf_counter()
    tell("Choosing a logistic regression by rows held out")
    grid = {"C": STRENGTHS}
    theirs = GridSearchCV(LogisticRegression(max_iter=1000), grid, scoring=get_scorer(measure), cv=FOLDS).fit(X, y)
    end = time.perf_counter()
    tell(f"Judging both on {y_new.shape[0]:,} new rows")
    rankings = [Ranking(y_new > 0, model.decision_function(X_new)) for model in (ours, theirs)]
    by = get_measure(measure)
    values = [ranking.score(by) for ranking in rankings]
    draws = resamples(y_new > 0, RESAMPLES, seed=0)
    samples = np.array([[ranking.score(by, multiplicity=draw) for ranking in rankings] for draw in draws])
    return Judgement(
        measure,
        Judged(
            f"for {title_of(measure)}",
            f"{ours.trained_for_}, alpha {ours.alpha_:.2g}",
            values[0],
            samples[:, 0],
            middle - begin,
        ),
        Judged("logistic regression", f"C {theirs.best_params_['C']:g}", values[1], samples[:, 1], end - middle),
        ours.as_classifier(),
    )
