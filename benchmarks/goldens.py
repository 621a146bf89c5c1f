"""Goldens: bytes of results, which a change that only moves code must leave as they are.

    python -m benchmarks.goldens record FILE                          before
    python -m benchmarks.goldens compare FILE [--only TEXT] [--without FIELD ...]     after, on the same machine

Weights, intercepts, objectives, bounds, iterations and passes of fits, paths and choices on generated data: all
measures x bounds x penalties x formats x threads x solvers; what models predict that an earlier version wrote; and what
the commands print with ``--json``. ``compare`` runs everything again, lists what differs, and exits with 1 if anything
does. The last bits hang on the processor and on the libraries, so a record is for the machine that made it.

Only public names are used, so that the same file runs before and after. Left out are pairs of rankings with Newton's
method, Nesterov's method with penalties other than the quadratic one, checkpoints, and measures of contingency tables.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import itertools
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import smoothperf
from smoothperf import NDCG, MeasureClassifier, MeasureClassifierCV, MeasureRanker, MeasureRankerCV, regularization_path
from smoothperf._arrays import Array
from smoothperf.cli import app
from smoothperf.io import convert

from .common import machine

#: Of labels, all of them; and of queries.
MEASURES = (
    "roc_area",
    "roc_area@0.1",
    "prbep",
    "precision@40",
    "recall@5%",
    "f1",
    "f2",
    "f0.5",
    "jaccard",
    "error_rate",
    "error_rate@10:1",
    "balanced_error_rate",
    "log_loss",
    "squared_hinge",
    "average_precision",
    "recall@precision=0.9",
    "precision@recall=0.8",
    "recall@fpr=0.01",
)
QUERY_MEASURES = (
    "pairs",
    "ndcg",
    "ndcg@5",
    "map",
    "mrr",
    "precision@3",
    "recall@3",
    "squared_loss",
    "pooled_squared_loss",
)
BOUNDS = ("convex", "tight")
#: What has a bias, a chosen cut, a tight bound and a loss, one of each.
FEW = ("roc_area", "prbep", "f1", "log_loss")
SOLVERS = ("lbfgs", "nesterov", "newton", "bmrm")
#: Entries of an array that are kept for reading; the checksum is of all.
SHOWN = 40
#: What is of the day, not of the data.
PASSING = ("seconds", "date", "version", "smoothperf", "mean_fit_time", "std_fit_time")

#: What is recorded, by a name that says how it came about.
Cases = Iterator[tuple[str, Callable[[], Any]]]


# --- data -----------------------------------------------------------------------------------------------------------


class Labelled(NamedTuple):
    """Rows with labels in {0, 1}, weights, and scores of another model."""

    X: Array
    y: NDArray[np.int64]
    weights: Array
    base: Array


class Graded(NamedTuple):
    """Documents with grades 0 to 2, the query of each, and weights of queries, by row."""

    X: Array
    y: NDArray[np.int64]
    qid: NDArray[np.int64]
    weights: Array


@cache
def labelled(n: int, d: int, *, noise: float = 0.5, seed: int = 0) -> Labelled:
    """A fifth is positive; three decimals, so that text holds the very numbers. Half of the entries are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(3) * (rng.random((n, d)) < 0.5)
    scores = X @ (rng.normal(size=d) / np.sqrt(d)) + noise * rng.normal(size=n)
    y = (scores > np.quantile(scores, 0.8)).astype(np.int64)
    return Labelled(X, y, rng.integers(0, 4, size=n) / 2.0, (X[:, 0] - X[:, 1] + rng.normal(size=n)) / 4.0)


@cache
def graded(n_queries: int, size: int, d: int, *, noise: float = 0.5, seed: int = 0) -> Graded:
    """Queries of the same size, whose scores differ in level; half of the entries are zero."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    qid = np.repeat(np.arange(n_queries), size)
    X = rng.normal(size=(n, d)).round(3) * (rng.random((n, d)) < 0.5)
    scores = X @ (rng.normal(size=d) / np.sqrt(d)) + noise * rng.normal(size=n)
    y = np.digitize(scores, np.quantile(scores, [0.6, 0.85])).astype(np.int64)
    return Graded(X, y, qid, np.repeat(rng.integers(1, 4, size=n_queries) / 2.0, size))


FORMATS: dict[str, Callable[[Array], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "C float32": lambda X: X.astype(np.float32),
    "CSR": sp.csr_matrix,
    "CSC": sp.csc_matrix,
    "CSR float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}


# --- what is recorded -----------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON has it; of an array its checksum and its first entries."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return {
            "sha256": hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest(),
            "kind": f"{value.dtype.str}{list(value.shape)}",
            "values": plain(value.ravel()[:SHOWN].tolist()),
        }
    if isinstance(value, Mapping):
        return {str(key): plain(child) for key, child in value.items() if key not in PASSING}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(child) for child in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def fitted(model: Any) -> dict[str, Any]:
    """Results of a fit, and its costs."""
    names = ("coef_", "intercept_", "objective_", "lower_bound_", "stationarity_gap_", "n_iter_")
    result = model.result_
    return {name: getattr(model, name) for name in names} | {
        "n_matvec": result.n_matvec,
        "n_rmatvec": result.n_rmatvec,
        "status": result.status,
    }


def chosen(model: Any) -> dict[str, Any]:
    """The same of a choice, and what was tried."""
    names = ("trained_for_", "alpha_", "best_index_", "cv_results_", "averaged_", "expected_")
    return fitted(model) | {name: getattr(model, name) for name in names if hasattr(model, name)}


def fit(make: type[Any], X: Any, *data: Any, found: Any = fitted, more: Any = None, **given: Any) -> Any:
    """Fit a model, and say what came out; the method is given ``more``, too."""
    return found(make(**given).fit(X, *data, **(more or {})))


def path(X: Any, y: Any, **given: Any) -> dict[str, Any]:
    """All arrays of a path."""
    found = regularization_path(X, y, **given)
    names = ("alphas", "coefs", "intercepts", "objectives", "lower_bounds", "stationarity_gaps", "n_passes")
    scores = ("train_scores", "validation_scores", "statuses", "zero_is_best")
    return {name: getattr(found, name) for name in names + scores}


# --- fits to labels -------------------------------------------------------------------------------------------------


def penalties(d: int) -> dict[str, dict[str, Any]]:
    """Those other than the quadratic one."""
    lower = np.where(np.arange(d) % 3 == 0, 0.0, -0.5)
    factors = np.linspace(0.0, 2.0, d)  # the first feature is free
    return {
        "l1_ratio 0.5": {"l1_ratio": 0.5},
        "l1_ratio 1, nonnegative": {"l1_ratio": 1.0, "positive": True},
        "bounds": {"coef_bounds": (lower, 0.4)},
        "factors": {"penalty_factors": factors},
        "l1_ratio 0.2, bounds, factors": {"l1_ratio": 0.2, "coef_bounds": (lower, None), "penalty_factors": factors},
    }


def labels() -> Cases:
    """Every measure and bound, in all formats, with all solvers and penalties; then the other arguments of fits."""
    classifier = partial(fit, MeasureClassifier)
    X, y, weights, base = labelled(500, 10)
    sparse = sp.csr_matrix(X)
    kinds = list(itertools.product(MEASURES, BOUNDS))
    for (measure, bound), (name, convert_to) in itertools.product(kinds, FORMATS.items()):
        given = {"measure": measure, "bound": bound, "alpha": 1e-3}
        yield f"labels, {measure}, {bound}, {name}", partial(classifier, convert_to(X), y, n_threads=1, **given)
    for (measure, bound), solver in itertools.product(kinds, SOLVERS[1:]):
        given = {"measure": measure, "bound": bound, "alpha": 1e-2, "solver": solver}
        yield f"labels, {measure}, {bound}, {solver}", partial(classifier, sparse, y, n_threads=1, **given)
    for (measure, bound), (name, penalty) in itertools.product(kinds, penalties(10).items()):
        for format in ("C", "CSR"):
            given = {"measure": measure, "bound": bound, "alpha": 1e-2, "n_threads": 1, **penalty}
            yield f"labels, {measure}, {bound}, {name}, {format}", partial(classifier, FORMATS[format](X), y, **given)
    for measure, bound, (name, penalty) in itertools.product(FEW, BOUNDS, penalties(10).items()):
        given = {"measure": measure, "bound": bound, "alpha": 1e-2, "n_threads": 1, "solver": "bmrm", **penalty}
        yield f"labels, {measure}, {bound}, {name}, bmrm", partial(classifier, sparse, y, **given)
    for (measure, bound), (name, more) in itertools.product(kinds, {"quadratic": {}, "l1": {"l1_ratio": 0.5}}.items()):
        wide = labelled(120, 600)
        given = {"measure": measure.replace("@40", "@20"), "bound": bound, "alpha": 1e-2, "n_threads": 1, **more}
        yield f"labels, {measure}, {bound}, wide, {name}", partial(classifier, sp.csr_matrix(wide.X), wide.y, **given)
    for (measure, bound), alpha in itertools.product(kinds, (1e-2, 1e-5)):
        hard = labelled(800, 25, noise=2.0)
        ties = np.sign(hard.X)
        given = {"measure": measure, "bound": bound, "alpha": alpha, "tol": 1e-4, "n_threads": 1}
        yield f"labels, {measure}, {bound}, noise, alpha {alpha}", partial(classifier, hard.X, hard.y, **given)
        yield f"labels, {measure}, {bound}, ties, alpha {alpha}", partial(classifier, ties, hard.y, **given)
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "weights": ({}, {"sample_weight": weights}),
        "base scores": ({}, {"base_scores": base}),
        "base scores, weights": ({"pos_label": 0}, {"base_scores": base, "sample_weight": weights}),
        "base scores, l1": ({"l1_ratio": 0.5}, {"base_scores": base}),
        "balanced": ({"class_weight": "balanced"}, {}),
        "tol 1e-6": ({"tol": 1e-6}, {}),
    }
    for (measure, bound), (name, (given, data)) in itertools.product(kinds, ways.items()):
        given = {"measure": measure, "bound": bound, "alpha": 1e-2, "n_threads": 1, **given}
        yield f"labels, {measure}, {bound}, {name}", partial(classifier, sparse, y, more=data, **given)
    settings: dict[str, dict[str, Any]] = {
        "no intercept": {"fit_intercept": False},
        "intercept_scaling": {"intercept_scaling": 10.0},
        "pos_label": {"pos_label": 0},
        "smoothing 0.01": {"smoothing": 0.01},
        "three iterations": {"max_iter": 3},
        "low_memory": {"low_memory": True},
        "alpha 1": {"alpha": 1.0},
        "alpha 1e-6": {"alpha": 1e-6},
    }
    for measure, bound, (name, given) in itertools.product(FEW, BOUNDS, settings.items()):
        given = {"measure": measure, "bound": bound, "alpha": 1e-3, "n_threads": 1, **given}
        yield f"labels, {measure}, {bound}, {name}", partial(classifier, sparse, y, **given)
    for measure, bound, solver in itertools.product(FEW, BOUNDS, SOLVERS[:2]):
        given = {"measure": measure, "bound": bound, "solver": solver}
        yield f"labels, {measure}, {bound}, {solver}, warm start", partial(warm, MeasureClassifier, sparse, y, **given)


def warm(make: type[Any], X: Any, *data: Any, **given: Any) -> dict[str, Any]:
    """Fit, and once more with another alpha from there."""
    model = make(alpha=1e-1, warm_start=True, n_threads=1, **given).fit(X, *data)
    return fitted(model.set_params(alpha=1e-2).fit(X, *data))


def threads() -> Cases:
    """So many rows that two threads share them, for labels and queries."""
    X, y, _, base = labelled(17_000, 10)
    formats = {name: FORMATS[name](X) for name in ("C", "CSR", "CSC")}
    for measure, bound, n in itertools.product(MEASURES, BOUNDS, (1, 2)):
        given = {"measure": measure.replace("@40", "@2000"), "bound": bound, "alpha": 1e-2, "n_threads": n}
        for format in formats if measure in FEW else ("CSR",):
            run = partial(fit, MeasureClassifier, formats[format], y, **given)
            yield f"many rows, {measure}, {bound}, {format}, {n} threads", run
        if measure in FEW:
            run = partial(fit, MeasureClassifier, formats["CSR"], y, more={"base_scores": base}, **given)
            yield f"many rows, {measure}, {bound}, base scores, {n} threads", run
    tall = labelled(1 << 17, 3)
    for measure, n in itertools.product(("error_rate", "log_loss", "squared_hinge"), (1, 2)):
        run = partial(fit, MeasureClassifier, tall.X, tall.y, measure=measure, alpha=1e-2, n_threads=n)
        yield f"very many rows, {measure}, {n} threads", run
    documents = graded(1_700, 10, 10)
    rows = sp.csr_matrix(documents.X)
    for measure, bound, n in itertools.product(QUERY_MEASURES, BOUNDS, (1, 2)):
        given = {"measure": measure, "bound": bound, "alpha": 1e-2, "n_threads": n, "solver": "lbfgs"}
        run = partial(fit, MeasureRanker, rows, documents.y, documents.qid, **given)
        yield f"many queries, {measure}, {bound}, {n} threads", run


# --- fits to queries ------------------------------------------------------------------------------------------------


def queries() -> Cases:
    """The same for rankings; Newton's method is left out."""
    ranker = partial(fit, MeasureRanker)
    X, y, qid, weights = graded(50, 8, 10)
    sparse = sp.csr_matrix(X)
    kinds = list(itertools.product(QUERY_MEASURES, BOUNDS))
    for (measure, bound), (name, convert_to) in itertools.product(kinds, FORMATS.items()):
        given = {"measure": measure, "bound": bound, "alpha": 1e-3, "n_threads": 1, "solver": "lbfgs"}
        yield f"queries, {measure}, {bound}, {name}", partial(ranker, convert_to(X), y, qid, **given)
    for (measure, bound), solver in itertools.product(kinds, ("nesterov", "bmrm")):
        given = {"measure": measure, "bound": bound, "alpha": 1e-2, "n_threads": 1, "solver": solver}
        yield f"queries, {measure}, {bound}, {solver}", partial(ranker, sparse, y, qid, **given)
    settings: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "weights": ({}, {"sample_weight": weights}),
        "tol 1e-6": ({"tol": 1e-6}, {}),
        "alpha 1": ({"alpha": 1.0}, {}),
        "alpha 1e-6": ({"alpha": 1e-6}, {}),
        "three iterations": ({"max_iter": 3}, {}),
        "smoothing 0.01": ({"smoothing": 0.01}, {}),
        "bound auto": ({"bound": "auto"}, {}),
    }
    for (measure, bound), (name, (given, data)) in itertools.product(kinds, settings.items()):
        given = {"measure": measure, "bound": bound, "alpha": 1e-2, "n_threads": 1, "solver": "lbfgs", **given}
        yield f"queries, {measure}, {bound}, {name}", partial(ranker, sparse, y, qid, more=data, **given)
    for (measure, bound), alpha in itertools.product(kinds, (1e-2, 1e-5)):
        hard = graded(100, 12, 25, noise=2.0)
        given = {"measure": measure, "bound": bound, "alpha": alpha, "tol": 1e-4, "n_threads": 1, "solver": "lbfgs"}
        for name, rows in (("noise", hard.X), ("ties", np.sign(hard.X))):
            run = partial(ranker, rows, hard.y, hard.qid, **given)
            yield f"queries, {measure}, {bound}, {name}, alpha {alpha}", run
    for measure, bound in kinds:
        wide = graded(20, 6, 400)
        given = {"measure": measure, "bound": bound, "alpha": 1e-2, "n_threads": 1, "solver": "lbfgs"}
        run = partial(ranker, sp.csr_matrix(wide.X), wide.y, wide.qid, **given)
        yield f"queries, {measure}, {bound}, wide", run
        given = {"measure": measure, "bound": bound, "solver": "lbfgs"}
        yield f"queries, {measure}, {bound}, warm start", partial(warm, MeasureRanker, sparse, y, qid, **given)
    for gain, target in itertools.product(("exponential", "linear"), ("best", "order")):
        given = {"measure": NDCG(5, gain=gain, tight_target=target), "alpha": 1e-3, "n_threads": 1, "solver": "lbfgs"}
        yield f"queries, ndcg@5, tight, {gain}, {target}", partial(ranker, sparse, y, qid, **given)


# --- paths and choices ----------------------------------------------------------------------------------------------


def paths() -> Cases:
    """Falling alphas, of labels and queries."""
    X, y, weights, base = labelled(400, 10, noise=1.0, seed=1)
    sparse = sp.csr_matrix(X)
    held_out = labelled(200, 10, noise=1.0, seed=2)
    shared: dict[str, Any] = {"n_threads": 1, "validation": (held_out.X, held_out.y)}
    for measure, bound in itertools.product(MEASURES, BOUNDS):
        given = {"measure": measure, "bound": bound, "n_alphas": 5, **shared}
        yield f"path, {measure}, {bound}", partial(path, sparse, y, **given)
    for measure, (name, penalty) in itertools.product(MEASURES, penalties(10).items()):
        if measure in FEW or "l1_ratio" in penalty:
            yield f"path, {measure}, {name}", partial(path, X, y, measure=measure, n_alphas=5, **penalty, **shared)
    wide = labelled(120, 600)
    for measure, l1_ratio in itertools.product(FEW, (0.0, 0.5, 1.0)):
        given = {"measure": measure, "l1_ratio": l1_ratio, "n_alphas": 6, "n_threads": 1}
        yield f"path, {measure}, wide, l1_ratio {l1_ratio}", partial(path, sp.csr_matrix(wide.X), wide.y, **given)
    ways: dict[str, dict[str, Any]] = {
        "weights": {"sample_weight": weights, "class_weight": "balanced"},
        "base scores": {"base_scores": base, "validation": (held_out.X, held_out.y, None, held_out.base)},
        "alphas": {"alphas": [1e-1, 1e-4, 1e-2], "pos_label": 0},
        "nesterov": {"solver": "nesterov", "alphas": [1e-1, 1e-2]},
        "bmrm": {"solver": "bmrm", "alphas": [1e-1, 1e-2]},
        "no intercept": {"fit_intercept": False},
    }
    for measure, bound, (name, given) in itertools.product(FEW, BOUNDS, ways.items()):
        given = {"measure": measure, "bound": bound, "n_alphas": 4, **shared, **given}
        yield f"path, {measure}, {bound}, {name}", partial(path, sparse, y, **given)
    documents, others = graded(40, 8, 10, seed=1), graded(20, 8, 10, seed=2)
    for measure, bound in itertools.product(QUERY_MEASURES, BOUNDS):
        given = {"measure": measure, "bound": bound, "n_alphas": 5, "n_threads": 1}
        judged = {"validation": (others.X, others.y, others.qid), "sample_weight": documents.weights}
        run = partial(path, documents.X, documents.y, qid=documents.qid, **given, **judged)
        yield f"path of rankings, {measure}, {bound}", run


def choices() -> Cases:
    """Cross-validation, of labels and queries."""
    X, y, weights, base = labelled(500, 12, noise=0.3, seed=3)
    sparse = sp.csr_matrix(X)
    classifier = partial(fit, MeasureClassifierCV, sparse, y, found=chosen, n_threads=1)
    for measure in MEASURES:
        yield f"choice, {measure}", partial(classifier, measure=measure, cv=0.4)
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "three folds": ({"cv": 3}, {}),
        "five folds": ({"cv": 5}, {}),
        "weights": ({"class_weight": "balanced"}, {"sample_weight": weights}),
        "base scores": ({}, {"base_scores": base}),
        "convex": ({"bound": "convex"}, {}),
        "l1_ratio": ({"l1_ratio": [0.0, 0.5]}, {}),
        "factors": ({"penalty_factors": {0: 0.0}, "positive": True}, {}),
        "alphas": ({"alphas": [1e-1, 1e-3], "pos_label": 0}, {}),
        "candidates": ({"bound": [("log_loss", "convex"), ("prbep", "tight"), ("f1", "tight")]}, {}),
        "recall 0.8": ({"operating_point": {"recall": 0.8}}, {}),
        "two jobs": ({"n_jobs": 2}, {}),
    }
    for measure, (name, (given, data)) in itertools.product(FEW, ways.items()):
        given = {"measure": measure, "cv": 0.4, **given}
        yield f"choice, {measure}, {name}", partial(classifier, more=data, **given)
    X, y, qid, weights = graded(80, 8, 12, noise=1.0, seed=3)
    ranker = partial(fit, MeasureRankerCV, sp.csr_matrix(X), y, qid, found=chosen, n_threads=1)
    for measure in QUERY_MEASURES:
        yield f"choice of rankings, {measure}", partial(ranker, measure=measure, cv=0.4)
    ways = {
        "three folds": ({"cv": 3}, {}),
        "five folds": ({"cv": 5}, {}),
        "weights": ({}, {"sample_weight": weights}),
        "not averaged": ({"average": False}, {}),
        "alphas": ({"alphas": [1e-1, 1e-3]}, {}),
        "tight": ({"bound": "tight"}, {}),
    }
    for measure, (name, (given, data)) in itertools.product(("ndcg@5", "map"), ways.items()):
        yield (
            f"choice of rankings, {measure}, {name}",
            partial(ranker, measure=measure, more=data, **{"cv": 0.4, **given}),
        )


# --- files ----------------------------------------------------------------------------------------------------------


def write_data(folder: Path) -> None:
    """The files that commands and stores are made of."""
    for name, n, seed in (("train", 300, 0), ("test", 200, 1)):
        X, y, _, _ = labelled(n, 6, seed=seed)
        dump_svmlight_file(X, 2 * y - 1, str(folder / f"{name}.svm"), zero_based=False)
        kinds = np.where(X[:, 5] > 0, "red", "blue")
        words = [
            ",".join([f"row{at}", *map(str, row[:5]), kinds[at], "spam" if y[at] else "ham"])
            for at, row in enumerate(X)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["id,a,b,c,d,e,colour,kind", *words]) + "\n")
        documents = graded(n // 8, 8, 6, seed=seed)
        file = str(folder / f"{name}.ranked.svm")
        dump_svmlight_file(documents.X, documents.y, file, zero_based=False, query_id=documents.qid)


def stores(folder: Path) -> Cases:
    """Fits to files that are not read into memory."""

    def of_store(name: str, make: type[Any], **given: Any) -> Any:
        target = folder / f"{name}.store"
        if not target.exists():
            convert(folder / f"{name}.svm", target)
        return fit(make, target, n_threads=1, alpha=1e-3, **given)

    for measure, bound in itertools.product(MEASURES, BOUNDS):
        yield f"store, {measure}, {bound}", partial(of_store, "train", MeasureClassifier, measure=measure, bound=bound)
    for measure in FEW:
        given = {"measure": measure, "l1_ratio": 0.5}
        yield f"store, {measure}, l1_ratio 0.5", partial(of_store, "train", MeasureClassifier, **given)
    for measure, bound in itertools.product(QUERY_MEASURES, BOUNDS):
        given = {"measure": measure, "bound": bound, "solver": "lbfgs"}
        yield f"store, rankings, {measure}, {bound}", partial(of_store, "train.ranked", MeasureRanker, **given)


def in_memory(folder: Path) -> Cases:
    """The same as :func:`stores`, by the same names, of rows in memory."""
    X, y, _, _ = labelled(300, 6)
    documents = graded(300 // 8, 8, 6)
    for name, run in stores(folder):
        made, given = run.args[1], run.keywords  # type: ignore[attr-defined]
        data = (X, y) if made is MeasureClassifier else (documents.X, documents.y, documents.qid)
        yield name, partial(fit, made, sp.csr_matrix(data[0]), *data[1:], n_threads=1, alpha=1e-3, **given)


COMMANDS: dict[str, str] = {
    "train, a choice": "train train.svm -o chosen.model --folds 2",
    "train, prbep": "train train.svm -o prbep.model -m prbep -a 1e-3 --scale none",
    "train, f1, tight": "train train.svm -o f1.model -m f1 --bound tight -a 1e-2 --balanced",
    "train, validation": "train train.svm -o target.model -m recall@precision=0.6 -a 1e-2 --validation test.svm",
    "train, target": "train train.svm -o point.model --folds 2 --at precision=0.6 --l1-ratio 0 --l1-ratio 0.5",
    "train, l1": "train train.svm -o sparse.model -m roc_area -a 1e-2 --l1-ratio 0.8 --nonnegative",
    "train, table": "train train.csv -o table.model --label kind -m prbep -a 1e-3",
    "train, table, a choice": "train train.csv -o table2.model --label kind -m f1 --folds 2 --scale maxabs",
    "train, bmrm": "train train.svm -o bmrm.model -m roc_area -a 1e-2 --solver bmrm --pos-label -1",
    "train, rankings": "train train.ranked.svm -o ranker.model -m ndcg@5 -a 1e-3",
    "train, rankings, pairs": "train train.ranked.svm -o pairs.model -m pairs -a 1e-3 --solver lbfgs",
    "train, rankings, a choice": "train train.ranked.svm -o ranker2.model --folds 2",
    "convert": "convert train.svm made.store",
    "convert, rankings": "convert train.ranked.svm made2.store --float32",
    "train, store": "train made.store -o stored.model -m prbep -a 1e-3 --scale none",
    "predict": "predict prbep.model test.svm",
    "predict, scores": "predict chosen.model test.svm --scores",
    "predict, at": "predict prbep.model test.svm --at k=20",
    "predict, table": "predict table.model test.csv --id id --scores",
    "predict, rankings": "predict ranker.model test.ranked.svm --ranks",
    "evaluate": "evaluate prbep.model test.svm --bootstrap 50",
    "evaluate, target": "evaluate target.model test.svm --bootstrap 50",
    "evaluate, table": "evaluate table2.model test.csv --bootstrap 50 --label kind",
    "evaluate, rankings": "evaluate ranker.model test.ranked.svm --bootstrap 50",
    "evaluate, rankings, averaged": "evaluate ranker2.model test.ranked.svm --bootstrap 50",
    "weights": "weights chosen.model --top 3",
    "weights, table": "weights table2.model",
    "weights, rankings": "weights ranker.model",
    "path": "path train.svm -m prbep --n-alphas 5",
    "path, l1": "path train.svm -m roc_area --n-alphas 5 --l1-ratio 0.5 --validation test.svm",
    "path, rankings": "path train.ranked.svm --n-alphas 4",
    "report": "report prbep.model test.svm -o report.html --bootstrap 20",
    "report, target": "report target.model test.svm -o report2.html --bootstrap 20",
    "report, rankings": "report ranker.model test.ranked.svm -o report3.html --bootstrap 20",
    "compare": "compare train.svm --folds 2 --bootstrap 50",
    "compare, test": "compare train.csv --test test.csv --label kind -m f1 --bootstrap 50",
    "compare, rankings": "compare train.ranked.svm --folds 2 --bootstrap 50 -m ndcg@5",
}


def commands(folder: Path) -> Cases:
    """Output of every command for machines; the later ones read files of the earlier ones."""

    def run(line: str) -> dict[str, Any]:
        words = [*line.split(), *(["--threads", "1"] if line.split()[0] in ("train", "path", "compare") else [])]
        before = os.getcwd()
        os.chdir(folder)
        try:
            result = CliRunner().invoke(app, [*words, "--json"], prog_name="smoothperf")
        finally:
            os.chdir(before)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return {
            "exit code": result.exit_code,
            "printed": json.loads(result.stdout.replace(str(folder), "FOLDER")) if result.stdout else result.stderr,
        }

    for name, line in COMMANDS.items():
        yield f"command, {name}", partial(run, line)


# --- model files ----------------------------------------------------------------------------------------------------


def models() -> Iterator[tuple[str, Any]]:
    """Models to keep as files, of every kind."""
    X, y, weights, base = labelled(300, 6)
    words = np.where(y, "spam", "ham")
    yield "roc_area", MeasureClassifier(alpha=1e-3).fit(X, y)
    yield "prbep, words", MeasureClassifier("prbep", 1e-3, bound="tight", pos_label="ham").fit(X, words, weights)
    yield "f1, sparse weights", MeasureClassifier("f1", 1e-2, l1_ratio=0.8).fit(X, y)
    yield "log_loss, base scores", MeasureClassifier("log_loss", 1e-2).fit(X, y, base_scores=base)
    yield "error rate, solver", MeasureClassifier("error_rate", 1e-2, solver=smoothperf.BMRM(tol=1e-2)).fit(X, y)
    goal = MeasureClassifier("recall@precision=0.6", 1e-2).fit(X, y)
    yield "goal", goal.set_operating_point(X, y, precision=0.7)
    for calibration in ("sigmoid", "isotonic"):
        model = MeasureClassifierCV("prbep", cv=3, calibration=calibration).fit(X, y)
        yield f"choice, {calibration}", model.as_classifier()
    documents = graded(40, 8, 6)
    for measure in ("pairs", "ndcg@5", "map"):
        yield f"rankings, {measure}", MeasureRanker(measure, 1e-3).fit(documents.X, documents.y, documents.qid)
    yield "rankings, a choice", MeasureRankerCV(cv=3).fit(documents.X, documents.y, documents.qid).as_ranker()


def write_models() -> dict[str, str]:
    """Their files, as text."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, model in models():
            file = Path(folder, "a.model")
            model.save(file)
            files[name] = base64.b64encode(file.read_bytes()).decode()
    return files


def predictions(files: Mapping[str, str], folder: Path) -> Cases:
    """Answers of models that were read from files, and whether they are saved as they were."""

    def members(file: Path) -> dict[str, Any]:
        with zipfile.ZipFile(file) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        header = json.loads(contents.pop("smoothperf-model.json"))
        del header["smoothperf"]
        checked = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        return {"header": hashlib.sha256(json.dumps(header).encode()).hexdigest(), **checked}

    def read(content: str) -> dict[str, Any]:
        file, again = folder / "old.model", folder / "again.model"
        file.write_bytes(base64.b64decode(content))
        model = smoothperf.load(file)
        model.save(again)
        found: dict[str, Any] = {"saved again": members(again), **fitted(model)}
        if isinstance(model, MeasureRanker):
            documents = graded(30, 8, 6, seed=5)
            score = model.score(documents.X, documents.y, documents.qid)
            return found | {"predict": model.predict(documents.X), "score": score}
        X, y, _, base = labelled(250, 6, seed=5)
        labels = np.where(y, "spam", "ham") if model.classes_.dtype.kind == "U" else y
        more = {"base_scores": base} if model.has_base_scores_ else {}
        found |= {name: getattr(model, name)(X, **more) for name in ("predict", "decision_function", "positive_scores")}
        if hasattr(model, "calibration_"):
            found["predict_proba"] = model.predict_proba(X, **more)
        return found | {"score": model.score(X, labels, **more)}

    for name, content in files.items():
        yield f"model file, {name}", partial(read, content)


# --- record and compare ---------------------------------------------------------------------------------------------


def cases(files: Mapping[str, str], folder: Path) -> Cases:
    """Everything, one after another."""
    write_data(folder)
    for group in (labels(), queries(), threads(), paths(), choices(), stores(folder), commands(folder)):
        yield from group
    yield from predictions(files, folder)


def outcome(run: Callable[[], Any]) -> Any:
    """Result, with the names of warnings; or that it was refused, or went wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = run()
        except ValueError:  # the words are not compared
            return {"refused": "ValueError"}
        except Exception as error:
            return {"error": traceback.format_exception_only(error)[-1].strip()}
    return plain({**found, "warnings": sorted({each.category.__name__ for each in caught})})


def outcomes(cases: Cases, only: Sequence[str] = ("",)) -> dict[str, Any]:
    """Run the cases whose names have one of some words in them."""
    found: dict[str, Any] = {}
    for name, run in cases:
        if any(word in name for word in only):
            assert name not in found, name
            found[name] = outcome(run)
    return found


def differences(before: Any, after: Any, without: Sequence[str] = (), where: str = "") -> Iterator[tuple[str, str]]:
    """Name what differs, and say how."""
    if isinstance(before, dict) and isinstance(after, dict):
        if "sha256" in before and "sha256" in after:
            if before != after:
                yield where, _array_difference(before, after)
            return
        for key in [*before, *(key for key in after if key not in before)]:
            if key in without:
                continue
            place = f"{where}.{key}" if where else key
            if key not in before or key not in after:
                yield place, "is gone" if key in before else "is new"
            else:
                yield from differences(before[key], after[key], without, place)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, without, f"{where}[{at}]")
    elif json.dumps(before) != json.dumps(after):  # by which NaN is NaN, and 1 is not 1.0
        yield where, f"{_shortened(before)} -> {_shortened(after)}"


def _shortened(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _array_difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    if before["kind"] != after["kind"]:
        return f"{before['kind']} -> {after['kind']}"
    try:
        old, new = np.array(before["values"], dtype=float), np.array(after["values"], dtype=float)
    except ValueError:
        return "other values"
    most = float(np.nanmax(np.abs(old - new), initial=0.0))
    return f"differs by up to {most:.2g}, values are up to {float(np.nanmax(np.abs(old), initial=0.0)):.2g}"


def compared(before: Mapping[str, Any], after: Mapping[str, Any], without: Sequence[str] = ()) -> int:
    """Print what differs case by case, then how often each field does; return the number of cases that do."""
    fields: Counter[str] = Counter()
    differing = 0
    for name, found in after.items():
        listed = list(differences(before.get(name), found, without))
        differing += bool(listed)
        fields.update({place.partition(".")[0].partition("[")[0] for place, _ in listed})
        for place, words in listed:
            print(f"{name}: {place} {words}")
    print(f"{differing} of {len(after)} cases differ" + "".join(f"; {name}: {n}" for name, n in fields.most_common()))
    return differing


def record(file: Path) -> int:
    """Write all outcomes to a file; 1 if something went wrong."""
    begin = time.process_time()
    files = write_models()
    with tempfile.TemporaryDirectory() as folder:
        found = outcomes(cases(files, Path(folder)))
        memory = outcomes(in_memory(Path(folder)))
    wrong = {name: one["error"] for name, one in found.items() if "error" in one}
    for name, error in wrong.items():
        print(f"{name}: {error}")
    seconds = time.process_time() - begin
    content = {"machine": machine(), "seconds": seconds, "models": files, "outcomes": found, "memory": memory}
    file.write_text(json.dumps(content, indent=1))
    refused = sum("refused" in one for one in found.values())
    print(f"written: {file}; {len(found)} cases, {refused} of them refused, {seconds:.0f} s of processor time")
    return int(bool(wrong))


def compare(file: Path, only: Sequence[str], without: Sequence[str]) -> int:
    """Run everything again; 1 if something differs."""
    begin = time.process_time()
    recorded = json.loads(file.read_text())
    if recorded["machine"] != machine():
        print(f"The record is of another machine: {recorded['machine']}; this one is {machine()}.")
    with tempfile.TemporaryDirectory() as folder:
        found = json.loads(json.dumps(outcomes(cases(recorded["models"], Path(folder)), only)))
    before = {name: one for name, one in recorded["outcomes"].items() if any(word in name for word in only)}
    # A store may also be as good as memory where it was not.
    before |= {name: one for name, one in recorded["memory"].items() if found.get(name) == one}
    gone = [name for name in before if name not in found]
    for name in gone:
        print(f"{name}: is gone")
    differing = compared(before, found, without)
    print(f"{time.process_time() - begin:.0f} s of processor time; all of the record took {recorded['seconds']:.0f} s")
    return int(bool(differing or gone))


def main(arguments: Iterable[str] | None = None) -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--only",
        nargs="+",
        default=("",),
        help="cases with one of these in their names; later commands need earlier ones",
    )
    parser.add_argument("--without", nargs="+", default=(), help="fields that may differ, such as intercept_")
    given = parser.parse_args(None if arguments is None else list(arguments))
    with threadpool_limits(1):
        return record(given.file) if given.what == "record" else compare(given.file, given.only, given.without)


if __name__ == "__main__":
    sys.exit(main())
