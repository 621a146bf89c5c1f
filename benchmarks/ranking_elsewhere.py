"""Rankings of data by which nothing was decided: generated problems, and classes in made-up queries.

Every problem is drawn three times: queries to train on, to choose the strength by, and up to 300 to test on. Then once
more with folds: MeasureRankerCV makes its own of the first two parts, and every other method chooses its strength by
folds of the same number of queries, drawn as often, and is fitted to both parts. Generated
grades are a linear score and noise, so that regression is the right model of them, but for the last two, where features
interact. Those of classes are 1 for positives; a query is rows that are neighbours in a random direction, plus chance.
A row of the file is a draw, with how far MeasureRanker for NDCG@10, or MeasureRankerCV, is ahead of a method over its
test queries. One thread.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from smoothperf import MeasureRankerCV
from smoothperf._arrays import Array
from smoothperf.measures import Queries
from smoothperf.tasks.query_choice import query_splits

from .common import arguments, load, write_csv
from .ranking import JUDGE, METHODS, OURS, Documents, ahead, chosen, joined

DRAWS, TRAIN_SHARE, TEST_QUERIES, FOLDS = 3, 0.75, 300, 5
OTHERS = ("pairs", "squared loss", "Ridge on grades", "LogisticRegression on grade > 0")
#: Queries to train on and to choose by, and documents of each.
CLASSES = {"a9a": (150, 20), "campaign": (160, 30), "ijcnn1": (120, 40), "mammography": (130, 30), "w8a": (120, 60)}
#: What ``generated`` takes.
PROBLEMS: dict[str, dict[str, Any]] = {
    "short queries": {"queries": 300, "sizes": (6, 25), "features": 40, "noise": 1.0, "shares": (0.8, 0.93)},
    "short queries, noisy": {"queries": 300, "sizes": (6, 25), "features": 40, "noise": 2.5, "shares": (0.8, 0.93)},
    "long queries": {"queries": 80, "sizes": (50, 150), "features": 40, "noise": 1.5, "shares": (0.7, 0.87)},
    "long queries, noisy": {"queries": 80, "sizes": (50, 150), "features": 40, "noise": 3.0, "shares": (0.7, 0.87)},
    "five grades": {"queries": 200, "sizes": (5, 25), "features": 100, "noise": 1.0, "shares": (0.2, 0.6, 0.88, 0.97)},
    "few relevant": {"queries": 200, "sizes": (30, 80), "features": 30, "noise": 1.0, "shares": (0.97,)},
    "features interact": {
        "queries": 200,
        "sizes": (10, 40),
        "features": 20,
        "noise": 0.7,
        "shares": (0.6, 0.8, 0.9, 0.97),
        "interaction": 0.8,
    },
    "features interact, few relevant": {
        "queries": 200,
        "sizes": (10, 40),
        "features": 20,
        "noise": 0.7,
        "shares": (0.9, 0.97),
        "interaction": 1.5,
    },
}


def generated(
    rng: np.random.Generator,
    *,
    queries: int,
    sizes: tuple[int, int],
    features: int,
    noise: float,
    shares: tuple[float, ...],
    interaction: float = 0.0,
) -> Documents:
    """Documents whose grade is the number of ``shares`` that have a lower hidden score; features are correlated."""
    lengths = rng.integers(sizes[0], sizes[1] + 1, queries + TEST_QUERIES)
    qid = np.repeat(np.arange(lengths.size), lengths)
    X: Array = 0.8 * rng.normal(size=(qid.size, features)) + 0.6 * rng.normal(size=(qid.size, 1))
    weights = rng.normal(size=features) * (np.arange(features) < features // 3)
    hidden = X @ weights / np.linalg.norm(weights) + interaction * X[:, 0] * X[:, 1]
    hidden += noise * rng.standard_t(4, qid.size)
    return Documents(X, np.digitize(hidden, np.quantile(hidden, shares)).astype(np.float64), qid)


def classes(rng: np.random.Generator, folder: Path, name: str) -> Documents:
    """Rows of two classes in queries."""
    queries, length = CLASSES[name]
    X, y = load(folder, name)
    count = min((queries + TEST_QUERIES) * length, X.shape[0] // length * length)
    rows = rng.permutation(X.shape[0])[:count]
    along = X[rows] @ rng.normal(size=X.shape[1])
    rows = rows[np.argsort(along / along.std() + rng.normal(size=count))]
    qid = np.repeat(rng.permutation(count // length), length)
    return Documents(X[rows], (y[rows] > 0.0).astype(np.float64), qid)


def compared(name: str, draw: int, documents: Documents, queries: int) -> Iterator[dict[str, Any]]:
    """A row for every other method."""
    ends = [int(TRAIN_SHARE * queries), queries]
    part_of = np.searchsorted(ends, documents.qid, "right")
    parts = [documents[part_of == part] for part in range(3)]
    ours = chosen(METHODS[OURS], parts)[2]
    for method in OTHERS:
        other = chosen(METHODS[method], parts)[2]
        scores = {"ndcg@10": f"{ours.mean():.4f}", "test": f"{other.mean():.4f}"}
        yield {"data": name, "draw": draw, "ours": "MeasureRanker", "method": method, **scores, **ahead(ours, other)}
    yield from compared_by_folds(name, draw, joined(parts[:2]), parts[2])


def by_folds(method: str, data: Documents, test: Documents) -> Array:
    """NDCG@10 of each test query, by the strength that is best on queries held out in folds."""
    train = METHODS[method]
    queries = Queries.of(data.y, data.qid)
    held_out = [
        [part.of_queries(score(part.X)) for _, score in train(data[rows])]
        for rows, others in query_splits(FOLDS, queries.numbers, JUDGE.counted(queries))
        for part in [data[others]]
    ]
    means = [np.concatenate(scores).mean() for scores in zip(*held_out, strict=True)]
    return test.of_queries(list(train(data))[int(np.argmax(means))][1](test.X))


def compared_by_folds(name: str, draw: int, data: Documents, test: Documents) -> Iterator[dict[str, Any]]:
    """A row for every method beside MeasureRankerCV."""
    ranker = MeasureRankerCV(JUDGE, cv=FOLDS, n_threads=1).fit(data.X, data.y, qid=data.qid)
    ours = test.of_queries(ranker.predict(test.X))
    winner = test.of_queries(test.X @ ranker.result_.coef)
    for method in ("its winner", OURS, *OTHERS):
        other = winner if method == "its winner" else by_folds(method, data, test)
        scores = {"ndcg@10": f"{ours.mean():.4f}", "test": f"{other.mean():.4f}"}
        yield {"data": name, "draw": draw, "ours": "MeasureRankerCV", "method": method, **scores, **ahead(ours, other)}


def main() -> int:
    """Run everything, print it, write ranking_elsewhere.csv."""
    options = arguments(__doc__)
    sources: dict[str, tuple[Callable[[np.random.Generator], Documents], int]] = {
        **{name: (partial(generated, **given), given["queries"]) for name, given in PROBLEMS.items()},
        **{name: (partial(classes, folder=options.data, name=name), CLASSES[name][0]) for name in CLASSES},
    }
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant models, which validation sorts out
        for draw in range(DRAWS):
            for name, (make, queries) in sources.items():
                for row in compared(name, draw, make(np.random.default_rng(draw)), queries):
                    rows.append(row)
                    print("  ".join(map(str, row.values())), flush=True)
    places = {name: place for place, name in enumerate(sources)}
    write_csv(options.output / "ranking_elsewhere.csv", sorted(rows, key=lambda row: places[row["data"]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
