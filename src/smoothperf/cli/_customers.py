"""The beginning of ``smoothperf demo``: from a table and a goal to a model, what it promises, and what new rows show.

The table is generated, as people have them: numbers, words, a date, an identifier, empty cells. The model, logistic
regression and boosted trees see the same features of words and dates, and each makes its choices by five folds of the
rows to train on: ours the risk, its strength and whether columns are bent, the others by the same goal among the
strengths and sizes of ``smoothperf compare``. New rows judge; intervals are those of the same rows drawn again for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ..comparison.table import C_GRID, LEARNING_RATE, TREES
from ..estimators.classifier import MeasureClassifier
from ..estimators.classifier_cv import MeasureClassifierCV
from ..evaluation import Ranking, interval, resamples
from ..features import TableEncoder, TableShapes
from ..measures import PrecisionAtK
from ..scorers import get_scorer
from ._screen import table

ID, LABEL = "customer", "answer"
OURS = "smoothperf"
FOLDS = 5
RESAMPLES = 1000
#: Rates that are promised: what people call them, and the side on which they are bounded.
RATES = {"precision": ("low", "at least"), "recall": ("low", "at least"), "fpr": ("high", "at most")}


def make_customers(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return customers and whether they said yes: by age and balance, in curves, by job and town, and by luck."""
    age = rng.integers(18, 91, n)
    jobs = ["clerk", "technician", "manager", "nurse", "teacher", "retired", "student", "unemployed"]
    job = rng.choice(jobs, n, p=[0.2, 0.18, 0.14, 0.12, 0.1, 0.12, 0.08, 0.06])
    town = rng.choice(["Aarhus", "Bergen", "Cork", "Delft", "Espoo", "Faro"], n, p=[0.3, 0.25, 0.2, 0.12, 0.1, 0.03])
    balance = rng.lognormal(7.0, 1.0, n).round(2)
    days = rng.gamma(2.0, 900.0, n).round()
    calls = rng.poisson(1.2, n)
    likes = (
        np.abs(age - 50.0) / 13.0 + np.log(balance / 1100.0) - np.maximum(calls - 1, 0) + 2.0 * np.exp(-days / 700.0)
    )
    likes += 1.2 * np.isin(job, ["retired", "student"]) - 0.8 * (town == "Cork")
    yes = rng.random(n) < 1.0 / (1.0 + np.exp(5.0 - likes))
    return pd.DataFrame(
        {
            ID: [f"C{number}" for number in rng.choice(900_000, n, replace=False) + 100_000],
            "age": age,
            "job": pd.Series(job, dtype=object).where(rng.random(n) >= 0.1),
            "town": town,
            "balance": pd.Series(balance).where(rng.random(n) >= 0.15),
            "since": (pd.Timestamp("2026-01-01") - pd.to_timedelta(days, unit="D")).strftime("%Y-%m-%d"),
            "calls": calls,
            LABEL: np.where(yes, "yes", "no"),
        }
    )


@dataclass(frozen=True)
class Asked:
    """The question: customers of known answers, new ones of the same number, and how many of these can be called."""

    known: pd.DataFrame
    new: pd.DataFrame
    k: int

    @classmethod
    def of_size(cls, n: int, k: int) -> Asked:
        """Make both tables."""
        rng = np.random.default_rng(0)
        return cls(make_customers(n, rng), make_customers(n, rng), k)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both as CSV files."""
        paths = folder / "customers.csv", folder / "new.csv"
        for each, path in zip((self.known, self.new), paths, strict=True):
            each.to_csv(path, index=False)
        return paths

    def models(self) -> dict[str, Any]:
        """Return the models to compare, not fitted."""
        encoder = TableEncoder(id_column=ID)
        scorer = get_scorer(PrecisionAtK(self.k / len(self.known)), pos_label="yes")
        trees = HistGradientBoostingClassifier(learning_rate=LEARNING_RATE, early_stopping=False, random_state=0)
        return {
            OURS: MeasureClassifierCV(
                PrecisionAtK(self.k),
                features=[encoder, TableShapes(encoder)],
                operating_point={"k": self.k},
                cv=FOLDS,
            ),
            "logistic regression": _tuned(LogisticRegression(max_iter=1000), "standard", scorer, C=C_GRID),
            "boosted trees": _tuned(
                trees,
                "none",
                scorer,
                max_leaf_nodes=sorted({leaves for leaves, _ in TREES}),
                max_iter=sorted({count for _, count in TREES}),
            ),
        }

    def preview(self) -> Table:
        """Return the first rows."""
        head = self.known.head(4)
        cells = [["" if pd.isna(cell) else str(cell) for cell in row] for row in head.itertuples(index=False)]
        return table(list(head), cells, words=head.shape[1])


@dataclass(frozen=True, eq=False)
class Judged:
    """A model: what was chosen, how many of those it would call say yes, for each resample too, and the seconds."""

    name: str
    choice: str
    found: int
    samples: NDArray[np.float64]
    seconds: float


@dataclass(frozen=True, eq=False)
class Answered:
    """Our model, what it promises and what new rows show at its threshold, and all models side by side."""

    model: MeasureClassifier
    k: int
    positives: float
    promised: dict[str, Any]
    shown: dict[str, float]
    models: list[Judged]

    def promises(self) -> Table:
        """Return what was promised, and what came."""
        rows = [
            [title, f"{words} {self.promised[name][side]:.3f}", f"{self.shown[name]:.3f}"]
            for (name, (side, words)), title in zip(RATES.items(), ["precision", "recall", "false alarms"], strict=True)
        ]
        sure = f"promised, each with {100 * self.promised['confidence']:g} %"
        return table(["at the model's threshold", sure, "new customers show"], rows)

    def side_by_side(self) -> Table:
        """Return what all models are worth."""
        rows = [
            [
                one.name,
                one.choice,
                str(one.found),
                *(f"{self.k * end:.0f}" for end in interval(one.samples)),
                f"{one.seconds:.1f}",
            ]
            for one in self.models
        ]
        return table(["model", "chosen by rows held out", "say yes", "95 % from", "to", "seconds"], rows, words=2)

    def findings(self) -> list[str]:
        """Say in words which is better, if chance in the rows that judge cannot explain it."""
        ours, *others = self.models
        lines = [f"Called at random, {self.k * self.positives:.0f} of {self.k} would say yes."]
        for other in others:
            low, high = (self.k * end for end in interval(ours.samples - other.samples))
            meaning = "within noise, a tie" if low <= 0.0 <= high else "more than noise"
            difference = f"{ours.found - other.found:+d} (95 %: {low:+.0f} to {high:+.0f})"
            lines.append(f"{ours.name} beside {other.name}: {difference}, {meaning}.")
        return lines


def answer(asked: Asked, tell: Callable[[str], None]) -> Answered:
    """Train all models, and judge them on new customers; ``tell`` gets a line before each of the steps."""
    X_new, said_yes = asked.new.drop(columns=LABEL), (asked.new[LABEL] == "yes").to_numpy()
    models, judged, goal = asked.models(), [], PrecisionAtK(asked.k)
    draws = list(resamples(said_yes, RESAMPLES, seed=0))
    for name, model in models.items():
        tell(f"Training: {name}")
        begin = time.perf_counter()
        with threadpool_limits(1, "openmp"):  # of the trees; on a busy machine more wait for one another than work
            model.fit(asked.known.drop(columns=LABEL), asked.known[LABEL])
        seconds = time.perf_counter() - begin
        tell(f"Judging by {len(said_yes):,} new customers: {name}")
        ranking = Ranking(said_yes, model.decision_function(X_new))
        samples = np.array([ranking.score(goal, multiplicity=draw) for draw in draws])
        judged.append(Judged(name, _choice(model), round(asked.k * ranking.score(goal)), samples, seconds))
    ours = models[OURS]
    called = ours.predict(X_new) == "yes"
    shown = {"precision": said_yes[called].mean(), "recall": called[said_yes].mean(), "fpr": called[~said_yes].mean()}
    return Answered(ours.as_classifier(), asked.k, float(said_yes.mean()), ours.expected_, shown, judged)


def _tuned(model: Any, scale: str, scorer: Any, **grid: Any) -> GridSearchCV:
    """Another's model of the table, with the best of its settings by the same goal."""
    steps = Pipeline([("table", TableEncoder(scale=scale, id_column=ID, sparse_output=False)), ("model", model)])
    return GridSearchCV(steps, {f"model__{name}": values for name, values in grid.items()}, scoring=scorer, cv=FOLDS)


def _choice(model: Any) -> str:
    """Words for what a model has chosen."""
    if isinstance(model, MeasureClassifierCV):
        bent = "curves" if isinstance(model.features_, TableShapes) else "columns as they are"
        return f"{model.trained_for_}, {bent}"
    return ", ".join(f"{name.removeprefix('model__')} {value:g}" for name, value in model.best_params_.items())
