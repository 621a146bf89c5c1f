"""Console output and warnings of fits."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._arrays import Array
from .._warnings import warn
from ..optimise import Callback, Result, Status, TraceRow
from ..optimise.elastic_net import UNPENALISED
from ..tasks.bias import Bias
from .penalty import Features

#: An offset that is larger is blamed if rounding ends a fit.
LARGE_OFFSET = 100.0
ENDED_WELL = (Status.CONVERGED, Status.STOPPED, Status.STATIONARY)
#: What to do about a convex risk that is least at w = 0; "auto" has tried the tight one where that may help.
ZERO_MODEL_REMEDIES = {
    "convex": "The model may be constant. Use a smaller alpha; if that does not help, the convex risk of this measure "
    'is too loose for these data: use bound="auto" or "tight" if the measure has that, or train with '
    'measure="roc_area", and choose the threshold with set_operating_point.',
    "auto": "The model may be constant. Use a smaller alpha; if that does not help, the features may tell nothing, or "
    'too little for this measure: train with measure="roc_area", and choose the threshold with set_operating_point.',
}


class ZeroModelWarning(UserWarning):
    """At this alpha no weights are better than none by more than tol, or none were by the convex bound.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from smoothperf import MeasureClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 4 == 0   # y has nothing to do with X
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     clf = MeasureClassifier("prbep", alpha=0.1, bound="convex").fit(X, y)
    >>> caught[0].category.__name__
    'ZeroModelWarning'
    """


def make_callback(verbose: int, callback: Callback | None) -> Callback:
    """The user's callback, with lines of progress on standard error before it: one a second, or all of them."""
    last = -np.inf

    def report(row: TraceRow) -> bool | None:
        nonlocal last
        # The clock starts again with every run, of which a path has many.
        if verbose > 1 or row.seconds - last >= 1.0 or row.seconds < last:
            last = row.seconds
            print(_progress(row), file=sys.stderr, flush=True)
        return callback(row) if callback is not None else None

    return report


def report_end(result: Result, tol: float, verbose: int, offset: Array | None = None) -> None:
    """Say how a fit ended: on standard error if asked to, and as a warning if it did not end well.

    The offset is that of the scores of the rows.
    """
    if verbose:
        print(f"{_progress(result.trace.rows[-1])}  {result.status.value}", file=sys.stderr, flush=True)
    if result.status not in ENDED_WELL:
        remedy = "Increase max_iter or tol, or scale the features."
        largest = 0.0 if offset is None else float(np.abs(offset).max())
        if result.status is Status.PRECISION_LIMIT and largest > LARGE_OFFSET:
            remedy = (
                f"base_scores are as large as {largest:.3g}, and all scores are rounded as these are: divide them "
                "by a constant, as margins that matter are about 1, or increase tol."
            )
        warn(
            f"{result.status.value} The gap reached is {result.reached:.3g}, tol is {tol:.3g}. {remedy}",
            ConvergenceWarning,
        )


def _progress(row: TraceRow) -> str:
    """One iteration in a line."""
    return (
        f"iteration {row.iteration:5d}  {row.seconds:7.1f} s  {row.passes:6d} passes  "
        f"objective {row.objective:.6f}  gap {row.gap:.2e}"
    )


def warn_of_zero_model(bias: Bias, excess: float, alpha: float, tol: float, *, bound: str, based: bool = False) -> None:
    """Say so if the weights that ``fit`` has found are no better than none; the objective of these is known."""
    zero = "w = 0 with a bias" if bias.trained else "w = 0"
    if based:
        message = (
            f"At alpha={alpha:g} {zero} is as good as what was found, within tol={tol:.3g}: nothing is worth adding to "
            "base_scores. Use a smaller alpha, or the base scores alone."
        )
    elif bound == "tight":
        message = (
            f"At alpha={alpha:g} {zero} is as good as what was found, within tol={tol:.3g}. The scores may tell "
            'nothing. Use a smaller alpha, or train with measure="roc_area" and choose the threshold with '
            "set_operating_point."
        )
    else:
        message = (
            f"At alpha={alpha:g} the optimum is {zero} within tol: the objective of {zero} is at most "
            f"{excess:.3g} above the minimum, tol is {tol:.3g}. {ZERO_MODEL_REMEDIES[bound]}"
        )
    warn(message, ZeroModelWarning)


@cache
def say_tight(measure: str) -> None:
    """Say that the tight bound has taken the place of the convex one; once, not in every fit of a search."""
    warn(
        f'The convex bound of {measure} is least at w = 0 here, so that bound="auto" has minimised the tight one '
        '(bound_ is "tight"), of which no lower bound is known; bound="convex" or "tight" asks for one of them.',
        ZeroModelWarning,
    )


def warn_of_limits(feature: int, n_features: int, names: Any) -> None:
    """Say that the weight of a feature that costs nothing has grown as large as it may without bounds of its own."""
    warn(
        f"The weight of {Features(n_features, names).named(feature)}, which has no penalty, is on the limit of "
        f"{UNPENALISED:g} that the certificate needs. Scale the feature, or give coef_bounds for it.",
        UserWarning,
    )


def warn_of_zero_ranker(alpha: float, *, tight: bool) -> None:
    """Say that no document is ranked before another."""
    remedy = 'train with measure="pairs" or "squared_loss"' if tight else 'use bound="tight" or "auto"'
    warn(
        f"At alpha={alpha:g} all documents have the same score. Use a smaller alpha; if that does not help, the bound "
        f"asks for more than these data have: {remedy}.",
        ZeroModelWarning,
    )
