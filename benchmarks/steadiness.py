"""Movement of models on new rows when nothing that matters changes: a spread of scores, and a drift of predictions.

The spread is the highest score on new rows less the lowest; the drift is how many more new rows are predicted positive
where they are most than where they are fewest, as a share of these.

The cut: up to 5,000 rows of a set train, up to 20,000 others judge. Scores are cut for F1 where ``FBeta().threshold``
says, where F1 is highest on the rows at hand, which hangs on single examples, and where it is highest on the new rows:
no cut can know that, and what moves then are the scores of the new rows, with the model. What changes ten times is

    rounding   every number of X times 1 - 2^-52, 1 or 1 + 2^-52; MeasureClassifier("f1", alpha=1e-4), training scores
    noise      scores of held-out rows, by a hundredth of their standard deviation; log loss, alpha 1e-3, five folds
    order      rows trade places, and thus folds; held-out scores as above

The choice: MeasureClassifierCV("f1") as it is, four times with X rounded otherwise and eight times with rows in another
order; MeasureRankerCV("ndcg@10") likewise, with queries in another order. Columns of dense sets are standardised, but
for the cuts of "rounding".
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from smoothperf import FBeta, MeasureClassifier, MeasureClassifierCV, MeasureRankerCV
from smoothperf._arrays import Array
from smoothperf.evaluation import Ranking, is_constant
from smoothperf.io import read_data

from .common import arguments, load, write_csv

TRAIN, NEW = 5_000, 20_000
REPETITIONS = 10
ROUNDINGS, ORDERS = 4, 8
CUTS = (
    "campaign",
    "mammography",
    "imb-satimage",
    "imb-wine-quality",
    "imb-thyroid-sick",
    "spambase",
    "r21578-crude",
    "rcv1-ccat",
    "rcv1-c11",
    "kdd99-10pct.t",
    "arxiv-astro",
    "worm100k",
    "news20-bigram",
    "digits",
    "generated",
)
CHOICES = ("mammography", "campaign", "imb-us-crime", "imb-wine-quality", "german-numer")
RANKINGS = ("ltr-mq2008", "ltr-ohsumed")
NOISE = 0.01
MEASURE = FBeta()
COLUMNS = ("best", "best_spread", "best_drift", "score", "spread", "drift", "ideal", "ideal_spread", "ideal_drift")


def main() -> int:
    """Measure everything, print it, write steadiness.csv."""
    options = arguments(__doc__)
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models that are constant, and of alphas at the end of a grid
        for results in (cuts(options.data), choices(options.data), rankings(options.data)):
            for row in results:
                rows.append(row)
                print("  ".join(f"{value}" for value in row.values()), flush=True)
    for change in ("rounding", "noise", "order"):
        here = [row for row in rows if row["what"] == "cut" and row["change"] == change]
        means = {name: np.mean([float(row[name]) for row in here]) for name in COLUMNS}
        print(change, len(here), {name: round(float(mean), 4) for name, mean in means.items()})
    write_csv(options.output / "steadiness.csv", rows)
    return 0


def parts(folder: Path, name: str, *, scaled: bool) -> tuple[Any, Array, Any, Array]:
    """Rows that train, and rows that judge."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        y = np.where(y == 3, 1.0, -1.0)
    elif name == "generated":
        X, y = make_classification(25_000, 30, n_informative=8, weights=[0.93], flip_y=0.04, random_state=11)
        y = np.where(y > 0, 1.0, -1.0)
    else:
        X, y = load(folder, name)
    order = np.random.default_rng(0).permutation(y.size)
    size = min(TRAIN, int(0.6 * y.size))
    train, new = order[:size], order[size : size + NEW]
    A, B = X[train], X[new]
    if X.shape[1] <= 400:
        A, B = (sp.csr_matrix(part).toarray() for part in (A, B))
        if scaled:
            scaler = StandardScaler().fit(A)
            A, B = scaler.transform(A), scaler.transform(B)
    return A, y[train], B, y[new]


def rounded_otherwise(X: Any, rng: np.random.Generator) -> Any:
    """The same numbers but for their last bit."""
    X = X.copy()
    values = X.data if isinstance(X, sp.csr_matrix | sp.csr_array) else X
    values *= 1.0 + np.finfo(float).eps * rng.integers(-1, 2, size=values.shape)
    return X


def best_threshold(y: Array, scores: Array) -> float:
    """Cut with the highest F1, of equally good ones the lowest."""
    ranking = Ranking(y, scores)
    f1 = ranking.cuts().f1
    return ranking.threshold_at(f1.size - 1 - int(f1[::-1].argmax()))


def log_loss() -> MeasureClassifier:
    """The model whose held-out scores are cut."""
    return MeasureClassifier("log_loss", alpha=1e-3, n_threads=1)


def held_out(X: Any, y: Array) -> Array:
    """Scores from five folds."""
    scores = np.empty(y.size)
    for train, rest in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(y.size), y):
        scores[rest] = log_loss().fit(X[train], y[train]).decision_function(X[rest])
    return scores


def scored(folder: Path, name: str, change: str) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Labels and scores of the rows that are cut, and of the new ones, ten times."""
    X, y, new, y_new = parts(folder, name, scaled=change != "rounding")
    rng = np.random.default_rng(1)
    if change == "rounding":
        for _ in range(REPETITIONS):
            A, B = rounded_otherwise(X, rng), rounded_otherwise(new, rng)
            model = MeasureClassifier("f1", alpha=1e-4, bound="convex", n_threads=1).fit(A, y)
            yield y, model.decision_function(A), y_new, model.decision_function(B)
        return
    scores, of_new = held_out(X, y), log_loss().fit(X, y).decision_function(new)
    for _ in range(REPETITIONS):
        if change == "noise":
            yield y, scores + NOISE * scores.std() * rng.standard_normal(y.size), y_new, of_new
        else:
            order = rng.permutation(y.size)
            yield y[order], held_out(X[order], y[order]), y_new, of_new


def cuts(folder: Path) -> Iterator[dict[str, Any]]:
    """The cut: F1 on new rows, its spread, and the drift, of the best cut, the steady one and the ideal one."""
    for name in CUTS:
        for change in ("rounding", "noise", "order"):
            scores, predicted = [], []
            for y, known, y_new, new in scored(folder, name, change):
                if is_constant(known):
                    break
                found = best_threshold(y, known), MEASURE.threshold(y, known), best_threshold(y_new, new)
                scores.append([MEASURE.score(y_new, new - threshold) for threshold in found])
                predicted.append([np.count_nonzero(new > threshold) for threshold in found])
            if scores:
                drift = np.ptp(predicted, axis=0) / np.maximum(np.min(predicted, axis=0), 1)
                measured = np.mean(scores, axis=0), np.ptp(scores, axis=0), drift
                numbers = np.array(measured).T.ravel()
                yield row("cut", name, change, dict(zip(COLUMNS, numbers.tolist(), strict=True)))


def choices(folder: Path) -> Iterator[dict[str, Any]]:
    """Choice of MeasureClassifierCV, and its F1 on new rows."""
    for name in CHOICES:
        X, y, new, y_new = parts(folder, name, scaled=True)
        for change in ("rounding", "order"):
            rng, scores, chosen = np.random.default_rng(2), [], []
            for _ in range(ORDERS if change == "order" else ROUNDINGS):
                order = rng.permutation(y.size) if change == "order" else np.arange(y.size)
                A = X[order] if change == "order" else rounded_otherwise(X, rng)
                model = MeasureClassifierCV("f1", n_threads=1).fit(A, y[order])
                scores.append(MEASURE.score(y_new, model.decision_function(new)))
                chosen.append(f"{model.trained_for_} {model.alpha_:.0e}")
            yield row("choice", name, change, {"score": np.mean(scores), "spread": np.ptp(scores)}, chosen)


def rankings(folder: Path) -> Iterator[dict[str, Any]]:
    """Choice of MeasureRankerCV, and its NDCG@10 on new queries."""
    for name in RANKINGS:
        data, new = (read_data(next(folder.glob(f"{name}{part}.svm*"))) for part in ("", ".t"))
        for change in ("rounding", "order"):
            rng, scores, chosen = np.random.default_rng(3), [], []
            queries = np.unique(data.qid)
            for _ in range(ORDERS if change == "order" else ROUNDINGS):
                order = rng.permutation(queries) if change == "order" else queries
                taken = np.concatenate([np.flatnonzero(data.qid == query) for query in order])
                A = data.X[taken] if change == "order" else rounded_otherwise(data.X[taken], rng)
                model = MeasureRankerCV("ndcg@10", n_threads=1).fit(A, data.y[taken], qid=data.qid[taken])
                scores.append(model.score(new.X, new.y, qid=new.qid))
                chosen.append(f"{model.trained_for_} {model.alpha_:.0e}")
            yield row("choice", name, change, {"score": np.mean(scores), "spread": np.ptp(scores)}, chosen)


def row(what: str, name: str, change: str, numbers: dict[str, Any], chosen: list[str] | None = None) -> dict[str, Any]:
    """A line of the table."""
    columns = dict.fromkeys(COLUMNS, "")
    counted = "; ".join(f"{times} x {each}" for each, times in Counter(chosen or []).most_common())
    return {
        "what": what,
        "data": name,
        "change": change,
        **columns,
        **{column: f"{number:.4f}" for column, number in numbers.items()},
        "chosen": counted,
    }


if __name__ == "__main__":
    sys.exit(main())
