"""What users pass to fit, turned into what the solvers need: labels, weights, a solver, a callback; and a report."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._validation import choice, positive_number, shown, vector
from ..measures import Measure, Risk
from ..solvers import BMRM, LBFGS, Callback, ConvexSolver, Nesterov, Newton, Result, Solver, Status, TraceRow
from ..solvers.smoothing import Adaptive, Fixed, Smoothing

Array = NDArray[np.float64]


def check_lengths(X: Any, y: Any) -> None:
    """Say which of X and y is longer; scikit-learn's own message names neither."""
    rows, labels = _length(X), _length(y)
    if rows is not None and labels is not None and rows != labels:
        raise ValueError(
            f"X has {rows} rows but y has {labels} labels; they must match "
            f"(inconsistent numbers of samples: [{rows}, {labels}])."
        )


def _length(values: Any) -> int | None:
    """Number of rows of an array, a matrix, a frame or a list; None for anything else."""
    if hasattr(values, "shape"):
        return int(values.shape[0]) if len(values.shape) else None
    return len(values) if hasattr(values, "__len__") else None


def encode_labels(y: NDArray[Any], pos_label: Any = None) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the negative and the positive label, and the mask of the positives; by default the larger is positive."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            "y must hold two kinds of labels; wrap the classifier in OneVsRestClassifier for more."
        )
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(
            f"y has one class only, all {shown(classes[0])}: a measure needs positive and negative examples. "
            "The number of classes has to be greater than one; got 1 class."
        )
    if pos_label is not None:
        found = np.flatnonzero(classes == pos_label)
        if found.size != 1:
            raise ValueError(
                f"pos_label must be one of the labels, {shown(classes[0])} or {shown(classes[1])}, "
                f"got {shown(pos_label)}."
            )
        if found[0] == 0:
            classes = classes[::-1].copy()
    return classes, y == classes[1]


def known_labels(y: ArrayLike, classes: NDArray[Any], *, length: int) -> NDArray[np.bool_]:
    """Mask of the positives of labels that a fitted model knows, the second of two; any others are an error."""
    labels = np.asarray(y)
    if labels.shape != (length,):
        raise ValueError(f"X has {length} rows but y has shape {labels.shape}; they must match.")
    positive: NDArray[np.bool_] = labels == classes[1]
    unknown = np.flatnonzero(~(positive | (labels == classes[0])))
    if unknown.size:
        raise ValueError(
            f"y must hold the labels of fit, {shown(classes[0])} and {shown(classes[1])}, "
            f"got {shown(labels[unknown[0]])} at position {unknown[0]}."
        )
    return positive


def example_weights(
    class_weight: Any, classes: NDArray[Any], positive: NDArray[np.bool_], sample_weight: ArrayLike | None
) -> Array | None:
    """Sample weights times class weights; None if there are neither."""
    weights = None if sample_weight is None else vector("sample_weight", sample_weight, length=positive.shape[0])
    if class_weight is None:
        return weights
    members = positive.astype(np.intp)
    by_class = compute_class_weight(class_weight, classes=classes, y=classes[members])
    class_weights: Array = by_class[members]
    return class_weights if weights is None else weights * class_weights


def make_solver(solver: str | Solver, *, tol: float, max_iter: int, smoothing: str | float | Smoothing) -> ConvexSolver:
    """The solver of a given name with these settings; a solver object brings its own."""
    if isinstance(solver, ConvexSolver):
        return solver
    name = choice("solver", solver, ("lbfgs", "nesterov", "newton", "bmrm"))
    if name == "bmrm":
        return BMRM(tol=tol, max_iter=max_iter)
    if name == "newton" and smoothing == "adaptive":
        return Newton(tol=tol, max_iter=max_iter)  # which adapts in steps of its own
    kinds: dict[str, type[LBFGS | Nesterov | Newton]] = {"lbfgs": LBFGS, "nesterov": Nesterov, "newton": Newton}
    return kinds[name](tol=tol, max_iter=max_iter, smoothing=_make_smoothing(smoothing))


def check_suits(solver: Solver, measure: Measure, risk: Risk, *, tight: bool = False) -> None:
    """Say before the work begins that a solver or a bound cannot train for a measure."""
    if tight and not risk.has_loss_free:
        raise ValueError(
            f'bound="tight" is for measures whose risk is a maximum over labelings, which that of {measure.name!r} is '
            'not; use bound="convex".'
        )
    if isinstance(solver, Newton) and not risk.has_curvature:
        raise ValueError(
            f'solver "newton" needs second derivatives of a form that {measure.name!r} lacks and that "prbep", '
            '"precision@k", "recall@k", "log_loss" and "squared_hinge" have; use "lbfgs".'
        )


def _make_smoothing(smoothing: str | float | Smoothing) -> Smoothing:
    if isinstance(smoothing, (Adaptive, Fixed)):
        return smoothing
    if smoothing == "adaptive":
        return Adaptive()
    if isinstance(smoothing, str):
        raise ValueError(f'smoothing must be "adaptive", a number or a Smoothing object, got {smoothing!r}.')
    return Fixed(mu=positive_number("smoothing", smoothing))


def make_callback(verbose: int, callback: Callback | None) -> Callback | None:
    """The user's callback, with lines of progress on standard error before it: one a second, or all of them."""
    if not verbose:
        return callback
    last = -np.inf

    def report(row: TraceRow) -> bool | None:
        nonlocal last
        # The clock starts again with every run, of which a path has many.
        if verbose > 1 or row.seconds - last >= 1.0 or row.seconds < last:
            last = row.seconds
            print(_progress(row), file=sys.stderr, flush=True)
        return callback(row) if callback is not None else None

    return report


def report_end(result: Result, tol: float, verbose: int) -> None:
    """Say how a fit ended: on standard error if asked to, and as a warning if it did not end well."""
    if verbose:
        print(f"{_progress(result.trace.rows[-1])}  {result.status.value}", file=sys.stderr, flush=True)
    if result.status not in (Status.CONVERGED, Status.STOPPED, Status.STATIONARY):
        warnings.warn(
            f"{result.status.value} The gap reached is {result.reached:.3g}, tol is {tol:.3g}. "
            "Increase max_iter or tol, or scale the features.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _progress(row: TraceRow) -> str:
    """One iteration in a line."""
    return (
        f"iteration {row.iteration:5d}  {row.seconds:7.1f} s  {row.passes:6d} passes  "
        f"objective {row.objective:.6f}  gap {row.gap:.2e}"
    )
