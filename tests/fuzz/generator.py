"""Generated training problems: measures x solvers x formats of X x weights x scales of columns, each from a number.

A problem brings its exact objective in long double, by :mod:`oracles`: nothing of the library is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import oracles
from problems import random_rows
from smoothperf import Contingency
from smoothperf.io import StoreWriter

FORMATS = ("C", "F", "C float32", "F float32", "csr", "csr float32", "csr twice", "csc", "csc float32", "store")
#: Measures that cut at score 0, for which a bias is trained.
BIASED = ("error_rate", "error_rate@5:1", "balanced_error_rate", "f1", "f2", "f0.3", "jaccard", "contingency")
MEASURES = ("prbep", "precision", "recall", "roc_area", "roc_area@0.3", *BIASED)
WITH_CURVATURE = ("prbep", "precision", "recall")


@dataclass
class Problem:
    """One of them.

    Attributes
    ----------
    measure : str or Measure
        As an estimator takes it.
    solver : str
        What is asked to solve it; all others that can are asked as well.
    X, y, weights
        As an estimator takes them; X is a path for a store.
    dense : ndarray of long double
        All of X, with the constant feature if a bias is trained.
    risk : callable
        Of scores in long double.
    settings : dict
        For the estimator: alpha, tol, max_iter, fit_intercept, intercept_scaling.
    described : str
        What it is, for messages.
    """

    measure: Any
    solver: str
    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    dense: np.ndarray = field(repr=False)
    risk: Callable[[np.ndarray], np.longdouble] = field(repr=False)
    settings: dict[str, Any]
    described: str

    @property
    def alpha(self) -> float:
        """Strength of the regulariser."""
        return self.settings["alpha"]

    def objective(self, w: np.ndarray) -> np.longdouble:
        """J, exact but for the rounding of long double."""
        w = np.asarray(w, dtype=np.longdouble)
        return np.longdouble(self.alpha) / 2 * (w @ w) + self.risk(self.dense @ w)

    @property
    def solvers(self) -> list[str]:
        """All that can solve it."""
        return _solvers(self.described.split()[1])


def _solvers(kind: str) -> list[str]:
    return ["lbfgs", "nesterov", "bmrm", *(["newton"] if kind in WITH_CURVATURE else [])]


def generate(seed: int, folder: Path) -> Problem:
    """Return the problem of a number; a store is written to the folder."""
    rng = np.random.default_rng(seed)
    # Formats and measures are gone through in turn, the rest is left to chance.
    kind, layout = MEASURES[seed % len(MEASURES)], FORMATS[seed // len(MEASURES) % len(FORMATS)]
    n, d = int(rng.integers(2, 60)), int(rng.choice([1, 2, 5, 20, 80]))
    y = rng.permutation(np.repeat([1, -1], (positives := int(rng.integers(1, n)), n - positives)))
    X = random_rows(rng, y, d)
    if "float32" in layout:
        X = X.astype(np.float32)
    weights, weighing = _weights(rng, y, whole=kind == "contingency")
    c = np.ones(n, dtype=np.longdouble) if weights is None else weights.astype(np.longdouble)
    measure, risk = _measure(rng, kind, y, c, weights is not None)
    settings = {
        "alpha": float(10.0 ** rng.uniform(-9, 2)),
        "tol": float(10.0 ** rng.uniform(-12, -1)),
        "max_iter": int(rng.choice([0, 3, 30, 300])),
        "fit_intercept": bool(rng.random() < 0.7),
        "intercept_scaling": float(10.0 ** rng.uniform(-1, 2)),
    }
    stored, dense = _laid_out(rng, layout, X, y, folder / f"{seed}.store")
    if kind in BIASED and settings["fit_intercept"]:
        dense = np.column_stack([dense, np.full(n, settings["intercept_scaling"], dtype=np.longdouble)])
    solver = str(rng.choice(_solvers(kind)))
    described = f"{seed}: {kind} by {solver}, {n} x {d} {layout}, {weighing}, {settings}"
    return Problem(measure, solver, stored, y, weights, dense, risk, settings, described)


def _weights(rng: np.random.Generator, y: np.ndarray, *, whole: bool) -> tuple[np.ndarray | None, str]:
    """None, whole numbers with zeros among them, or numbers of very different sizes; and which."""
    kind = str(rng.choice(["no weights", "no weights", "whole weights", "real weights"]))
    if kind == "no weights" or (whole and kind == "real weights"):
        return None, "no weights"
    if kind == "real weights":
        return 10.0 ** rng.uniform(-3, 3, size=y.size), kind
    weights = rng.integers(0, 5, size=y.size).astype(float)
    for label in (1, -1):
        weights[np.flatnonzero(y == label)[0]] += 1.0
    return weights, kind


def _table_loss(missed: float, false: float) -> float:
    """A loss of the contingency table that is neither convex nor concave."""
    return 1.0 - 1.0 / (1.0 + missed + 0.5 * false)


def _measure(
    rng: np.random.Generator, kind: str, y: np.ndarray, c: np.ndarray, weighted: bool
) -> tuple[Any, Callable[[np.ndarray], np.longdouble]]:
    """The measure as an estimator takes it, and its risk."""
    if kind in ("precision", "recall"):
        if not weighted and rng.random() < 0.5:
            k: Any = int(rng.integers(1, y.size))
            places = np.longdouble(k)
        else:
            k = float(rng.uniform(0.05, 0.95))
            places = np.longdouble(k) * c.sum()
        return f"{kind}@{k!r}", lambda f: oracles.long_top_k(y, f, c, places, per_place=kind == "precision")
    if kind == "contingency":
        copies = np.repeat(y, c.astype(int))
        return Contingency(_table_loss), lambda f: oracles.long_contingency(
            copies, np.repeat(f, c.astype(int)), _table_loss
        )
    risks: dict[str, Callable[..., np.longdouble]] = {
        "prbep": oracles.long_top_k,
        "roc_area": oracles.long_roc,
        "roc_area@0.3": partial(oracles.long_roc, max_fpr=np.longdouble(0.3)),
        "error_rate": oracles.long_pointwise,
        "error_rate@5:1": partial(oracles.long_pointwise, costs=(5, 1)),
        "balanced_error_rate": oracles.long_balanced,
        "f1": partial(oracles.long_fractional, p=1, r=1),
        "f2": partial(oracles.long_fractional, p=4, r=1),
        "f0.3": partial(oracles.long_fractional, p=np.longdouble(0.3**2), r=1),
        "jaccard": partial(oracles.long_fractional, p=1, r=0),
    }
    return kind, lambda f: risks[kind](y, f, c)


def _laid_out(rng: np.random.Generator, layout: str, X: np.ndarray, y: np.ndarray, path: Path) -> tuple[Any, Any]:
    """X in a format, and what it holds in long double."""
    dense = X.astype(np.longdouble)
    form = layout.split()[0]
    if form in "CF":
        return np.array(X, order=form), dense
    if form == "store":
        with StoreWriter(path) as writer:
            writer.add(sp.csr_array(X), y)
            writer.n_features = X.shape[1]
        return path, dense
    stored = sp.csc_array(X) if form == "csc" else sp.csr_array(X)
    if layout == "csr twice":
        # Every entry in two parts, the sum of which is what counts; it need not be a double.
        parts = np.repeat(stored.data, 2) * np.tile([0.7, 0.3], stored.nnz)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(stored.indptr))
        dense = np.zeros(X.shape, dtype=np.longdouble)
        np.add.at(dense, (np.repeat(rows, 2), np.repeat(stored.indices, 2)), parts.astype(np.longdouble))
        stored = sp.csr_array((parts, np.repeat(stored.indices, 2), 2 * stored.indptr), shape=X.shape)
    return stored, dense
