"""What choices of classifiers and of rankers share: candidates compared on splits, strengths, what is kept and said.

Candidates are trained on the training part of every split along falling strengths, and scored on the held-out part
(:mod:`smoothperf.estimators.choice` has the rule). The first splits look at everything, the others at what may still
win.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._validation import whole_number
from ..evaluation import tells_nothing
from ..solvers import ConvexSolver, Result
from ..threads import use_threads
from .choice import FIRST, STEP, E, Race, Step, typical_size
from .classifier import ZeroModelWarning
from .trail import Trail

Array = NDArray[np.float64]
#: Tolerance and most iterations while candidates are compared: their scores on new rows change little beyond.
LOOSE_TOL, FEW_ITERATIONS = 5e-3, 200
#: Attributes that a model has only if there was a choice.
OF_THE_CHOICE = ("cv_results_", "best_index_", "best_score_", "alpha_", "l1_ratio_")


class GridEdgeWarning(UserWarning):
    """The best strength of the regulariser lies at the end of those that were tried.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf import MeasureClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     clf = MeasureClassifierCV(bound="convex", alphas=[100.0, 10.0], cv=0.5).fit(scale(X), y)
    >>> {warning.category.__name__ for warning in caught}
    {'GridEdgeWarning'}
    """


def warn_of_the_edge(race: Race[Any, E, Any], winner: E, index: int, alpha: float) -> None:
    """Say so if the best strength lies at the end of those that may be tried."""
    if race.at_the_end(winner, index):
        remedy = "Scale the features, or give alphas" if race.open_end else "Give smaller alphas"
        warnings.warn(
            f"The best alpha, {alpha:.3g}, is the smallest that was tried for {winner}. {remedy}.",
            GridEdgeWarning,
            stacklevel=4,
        )


def warn_if_nothing_is_told(result: Result) -> None:
    """Say so if the model that was chosen gives all rows the same score."""
    assert result.scores is not None
    if tells_nothing(result.scores):
        warnings.warn(
            "Whatever was trained with, and however little it was regularised, all rows have the same score: the model "
            "tells nothing. Perhaps the features have nothing to do with the labels, or all of them are constant.",
            ZeroModelWarning,
            stacklevel=4,
        )


class Part(NamedTuple):
    """A split: how candidates are trained on one part, and the other, which is held out.

    What is trained is added to ``base_scores`` of the rows that are held out.
    """

    trail: Callable[[Any], Trail]
    held_out: Any
    X: Any
    base_scores: Array | float = 0.0


def compare(
    estimator: Any, race: Race[Any, Any, Any], splits: Sequence[tuple[Any, Any]], part: Callable[[Any, Any], Part]
) -> None:
    """Train candidates on the training part of every split, and score the held-out part."""
    tell = estimator.progress or (lambda step: None)

    def look(number: int, train: Any, test: Any) -> Any:
        # A split may run in a thread of its own, which knows nothing of the context that fit runs in.
        with use_threads(estimator.n_threads):
            here = part(train, test)
            for candidate in race.candidates:
                trail = here.trail(candidate)
                race.follow(
                    candidate,
                    trail,
                    here.held_out,
                    lambda weights: here.base_scores + trail.scores(here.X, weights),  # noqa: B023 (called here)
                    lambda alpha: tell(Step(number, len(splits), candidate, alpha)),  # noqa: B023 (called here)
                )
        if estimator.verbose:
            print(f"split {number} of {len(splits)}", file=sys.stderr, flush=True)
        return here.held_out

    tasks = [delayed(look)(number, *split) for number, split in enumerate(splits, start=1)]
    at_once = Parallel(n_jobs=estimator.n_jobs, prefer="threads")
    race.splits.extend(at_once(tasks[:FIRST]))
    race.narrow()
    race.splits.extend(at_once(tasks[FIRST:]))


def keep_choice(
    estimator: Any,
    race: Race[Any, E, Any],
    trails: Mapping[E, Trail],
    words: Mapping[E, dict[str, Any]],
    winner: E,
    index: int,
) -> None:
    """Set what was tried, in the form of scikit-learn's searches, and the alpha that was chosen."""
    tried = race.everything_tried()
    results = race.results([{**words[one], "alpha": trails[one].alpha(race.level(level))} for one, level in tried])
    estimator.cv_results_ = results
    estimator.best_index_ = tried.index((winner, index))
    estimator.best_score_ = float(results["mean_test_score"][estimator.best_index_])
    estimator.alpha_ = trails[winner].alpha(race.level(index))
    warn_of_the_edge(race, winner, index, estimator.alpha_)


def loosened(solver: ConvexSolver) -> ConvexSolver:
    """The solver to compare candidates with."""
    return replace(solver, tol=max(solver.tol, LOOSE_TOL), max_iter=min(solver.max_iter, FEW_ITERATIONS))


def levels_for(X: Any, weights: Array | None, n_alphas: int) -> Array:
    """Strengths of the regulariser to begin with, which follow from the size of the features."""
    count = whole_number("n_alphas", n_alphas, at_least=1)
    return np.asarray(typical_size(_mean_squares(X, weights)) * STEP ** np.arange(count), dtype=np.float64)


def _mean_squares(X: Any, weights: Array | None) -> Array:
    """Mean of the squares of each column, without a copy of X."""
    if issparse(X):
        means, variances = mean_variance_axis(X, axis=0, weights=weights)
        return np.asarray(variances + means**2, dtype=np.float64)
    shares = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
    return np.asarray(np.einsum("i,ij,ij->j", shares, X, X, dtype=np.float64))
