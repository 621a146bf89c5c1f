"""Rankings: NDCG@10 on test queries of linear models and LightGBM, and the speed of pairs against cutting planes.

Every data set is in five parts of whole queries, which are rotated: three to train on, one to choose the strength (or
the size of the trees) by, one to test on. The first rotation is the one that the data come with. MeasureRankerCV has
the first four parts and chooses by itself. LightGBM takes part where it is installed. One thread. Beside the mean over
the test queries there is how far MeasureRanker for NDCG@10 is ahead, and the standard error of that difference: both
over the queries, whose scores by two models are paired.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from smoothperf import NDCG, MeasureRanker, MeasureRankerCV
from smoothperf._arrays import Array
from smoothperf.measures import Queries

from .common import OPENERS, arguments, geometric_mean, write_csv

#: Features, and the last queries of the first two parts of the training file (or None: parts at random).
DATA_SETS: dict[str, tuple[int, tuple[int, int] | None]] = {
    "ltr-mq2008": (46, (11893, 14013)),
    "ltr-ohsumed": (45, (21, 42)),
    "ltr-lgbm": (300, None),
}
JUDGE = NDCG(10)
#: Strengths, as multiples of the mean square of a row's length.
STRENGTHS = 10.0 ** np.arange(0, -8, -1)
C_GRID = 10.0 ** np.arange(-4, 4)
LEAVES, TREES = (4, 8, 16, 31), range(10, 201, 10)
SPEED_ALPHAS, TOL, REPETITIONS = (1e-2, 1e-4), 1e-3, 7


@dataclass(frozen=True)
class Documents:
    """Rows of some queries."""

    X: Any
    y: Array
    qid: NDArray[np.int64]

    def __getitem__(self, rows: Any) -> Documents:
        return Documents(self.X[rows], self.y[rows], self.qid[rows])

    def of_queries(self, scores: Array) -> Array:
        """NDCG@10 of each query whose order makes a difference."""
        found = JUDGE.of_queries(Queries.of(self.y, self.qid), scores)
        return found[~np.isnan(found)]

    def worth(self, scores: Array) -> float:
        """NDCG@10."""
        return float(self.of_queries(scores).mean())


#: A name for what was chosen among, and a function that scores rows.
Model = tuple[str, Callable[[Any], Any]]


def parts_of(folder: Path, name: str) -> list[Documents]:
    """Five parts of a data set, the test part last."""
    features, ends = DATA_SETS[name]
    found = {suffix: _read(folder, name + suffix, features) for suffix in ("", ".v", ".t")}
    train, validation, test = found[""], found[".v"], found[".t"]
    assert train is not None
    assert test is not None
    if ends is not None:
        assert validation is not None
        return [*(train[np.searchsorted(ends, train.qid) == part] for part in range(3)), validation, test]
    queries = np.random.default_rng(0).permutation(np.unique(train.qid))
    return [*(train[np.isin(train.qid, part)] for part in np.array_split(queries, 4)), test]


def present(folder: Path) -> list[str]:
    """The data sets that a folder has; says which are missing."""
    names = [name for name in DATA_SETS if any(path.suffix in OPENERS for path in folder.glob(f"{name}.svm*"))]
    for name in DATA_SETS:
        if name not in names:
            print(f"missing: {name}")
    if not names:
        raise SystemExit(f"{folder} has none of the data sets {', '.join(DATA_SETS)}")
    return names


def _read(folder: Path, name: str, features: int) -> Documents | None:
    paths = [path for path in sorted(folder.glob(f"{name}.svm*")) if path.suffix in OPENERS]
    if not paths:
        return None
    X, y, qid = load_svmlight_file(str(paths[0]), n_features=features, query_id=True)
    dense = X.nnz > 0.3 * np.prod(X.shape)
    return Documents(X.toarray() if dense else X, y, qid)


def joined(parts: list[Documents]) -> Documents:
    """Several parts as one."""
    sparse = sp.issparse(parts[0].X)
    X = sp.vstack([part.X for part in parts], format="csr") if sparse else np.vstack([part.X for part in parts])
    return Documents(X, np.concatenate([part.y for part in parts]), np.concatenate([part.qid for part in parts]))


def of_measure(*measures: Any) -> Callable[[Documents], Iterator[Model]]:
    """Our models, for all strengths."""

    def train(data: Documents) -> Iterator[Model]:
        size = float(sp.csr_matrix(data.X).power(2).sum()) / data.X.shape[0]
        for measure in measures:
            for strength in STRENGTHS:
                ranker = MeasureRanker(measure, size * strength, tol=TOL, n_threads=1)
                ranker.fit(data.X, data.y, qid=data.qid)
                target = f"{measure.tight_target}, " if isinstance(measure, NDCG) else ""
                yield f"{target}alpha {ranker.alpha:.2g}", ranker.predict

    return train


def of_ridge(data: Documents) -> Iterator[Model]:
    """Least squares on grades."""
    for alpha in 1.0 / C_GRID:
        yield f"alpha {alpha:.2g}", Ridge(alpha=alpha).fit(data.X, data.y).predict


def of_logistic(data: Documents) -> Iterator[Model]:
    """Chances of a grade above 0."""
    for C in C_GRID:
        model = LogisticRegression(C=C, max_iter=1000).fit(data.X, data.y > 0)
        yield f"C {C:.2g}", model.decision_function


def of_trees(data: Documents) -> Iterator[Model]:
    """LightGBM's lambdarank."""
    lightgbm = importlib.import_module("lightgbm")
    order = np.argsort(data.qid, kind="stable")
    data = data[order]
    group = np.unique(data.qid, return_counts=True)[1]
    for leaves in LEAVES:
        model = lightgbm.LGBMRanker(
            num_leaves=leaves, learning_rate=0.05, n_estimators=max(TREES), n_jobs=1, verbose=-1
        )
        model.fit(data.X, data.y.astype(int), group=group)
        for trees in TREES:
            yield f"{leaves} leaves, {trees} trees", partial(model.predict, num_iteration=trees)


#: The method that others are compared with.
OURS = "ndcg@10, target by itself"
METHODS: dict[str, Callable[[Documents], Iterator[Model]]] = {
    "ndcg@10": of_measure(NDCG(10, tight_target="best"), NDCG(10, tight_target="order")),
    OURS: of_measure(NDCG(10)),
    "pairs": of_measure("pairs"),
    "squared loss": of_measure("squared_loss"),
    "Ridge on grades": of_ridge,
    "LogisticRegression on grade > 0": of_logistic,
}
if importlib.util.find_spec("lightgbm") is not None:
    METHODS["LightGBM lambdarank"] = of_trees


def chosen(train: Callable[[Documents], Iterator[Model]], parts: list[Documents]) -> tuple[str, float, Array]:
    """Choice, and NDCG@10 on the validation part and of each query of the test part."""
    *first, validation, test = parts
    name, score = "", None
    best = -np.inf
    for name_, score_ in train(joined(first)):
        worth = validation.worth(score_(validation.X))
        if worth > best:
            name, score, best = name_, score_, worth
    assert score is not None
    return name, best, test.of_queries(score(test.X))


def by_itself(parts: list[Documents]) -> tuple[str, float, Array]:
    """The same for MeasureRankerCV, which makes its own folds."""
    *first, test = parts
    data = joined(first)
    ranker = MeasureRankerCV(JUDGE, n_threads=1).fit(data.X, data.y, qid=data.qid)
    what = f"{ranker.trained_for_}, alpha {ranker.alpha_:.2g}"
    return what, ranker.best_score_, test.of_queries(ranker.predict(test.X))


def ahead(ours: Array, other: Array) -> dict[str, str]:
    """Number of queries, mean of our lead over the others, and its standard error."""
    difference = ours - other
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    return {"queries": f"{ours.size}", "ahead": f"{difference.mean():.4f}", "standard error": f"{error:.4f}"}


def quality(name: str, parts: list[Documents]) -> Iterator[dict[str, Any]]:
    """A row for every method and rotation."""
    for rotation in range(len(parts)):
        rotated = [*parts[rotation:], *parts[:rotation]]
        tests: dict[str, Array] = {}
        rows: list[dict[str, Any]] = []
        for method in [*METHODS, "MeasureRankerCV"]:
            begin = time.perf_counter()
            what, validation, tests[method] = (
                by_itself(rotated) if method == "MeasureRankerCV" else chosen(METHODS[method], rotated)
            )
            rows.append(
                {
                    "data": name,
                    "rotation": rotation,
                    "method": method,
                    "chosen": what,
                    "validation": f"{validation:.4f}",
                    "test": f"{tests[method].mean():.4f}",
                    "seconds": f"{time.perf_counter() - begin:.1f}",
                }
            )
        for row in rows:
            yield row | ahead(tests[OURS], tests[row["method"]])


def speed(name: str, data: Documents) -> Iterator[dict[str, Any]]:
    """Pairs, certified to 1e-3, by L-BFGS and cutting planes."""
    for alpha in SPEED_ALPHAS:
        taken: dict[str, list[float]] = {"lbfgs": [], "bmrm": []}
        found = {}
        for _ in range(REPETITIONS):
            for solver, seconds in taken.items():
                ranker = MeasureRanker("pairs", alpha, solver=solver, tol=TOL, max_iter=20_000, n_threads=1)
                begin = time.perf_counter()
                found[solver] = ranker.fit(data.X, data.y, qid=data.qid)
                seconds.append(time.perf_counter() - begin)
        yield {
            "data": name,
            "alpha": f"{alpha:g}",
            **{
                f"{solver} {column}": value
                for solver, ranker in found.items()
                for column, value in (
                    ("seconds", f"{np.median(taken[solver]):.3f}"),
                    ("iterations", ranker.n_iter_),
                    ("gap", f"{ranker.gap_:.1e}"),
                )
            },
            "bmrm / lbfgs": f"{np.median(taken['bmrm']) / np.median(taken['lbfgs']):.1f}",
        }


def main() -> int:
    """Run everything, print it, write ranking.csv and ranking_speed.csv."""
    options = arguments(__doc__)
    rows: list[dict[str, Any]] = []
    fast: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant models, which validation sorts out
        for name in present(options.data):
            parts = parts_of(options.data, name)
            for row in quality(name, parts):
                rows.append(row)
                print("  ".join(map(str, row.values())), flush=True)
            for row in speed(name, joined(parts[:3])):
                fast.append(row)
                print("  ".join(map(str, row.values())), flush=True)
    ratio = geometric_mean(float(row["bmrm / lbfgs"]) for row in fast)
    print(f"cutting planes take {ratio:.1f} times as long")
    for method in dict.fromkeys(row["method"] for row in rows):
        for name in dict.fromkeys(row["data"] for row in rows):
            own = [float(row["test"]) for row in rows if (row["method"], row["data"]) == (method, name)]
            print(f"{method:32} {name:12} first {own[0]:.4f}  mean of {len(own)} {np.mean(own):.4f}")
    write_csv(options.output / "ranking.csv", rows)
    write_csv(options.output / "ranking_speed.csv", fast)
    return 0


if __name__ == "__main__":
    sys.exit(main())
