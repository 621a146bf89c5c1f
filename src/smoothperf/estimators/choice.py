"""The choice among candidates and strengths of the regulariser, by a measure on held-out rows.

Candidates are trained on the training part of every split along falling *strengths*, each model from where the last one
ended, and scored on the part that is held out. The first two splits look at all of them, and go on beyond the last
strength while their own score still rises. In the other splits baselines are followed as far as in these, as they cost
little, and each of the rest to one strength beyond its best mean; those that were behind the best baseline in both of
the first splits are dropped. No split leaves out strengths on the way, as the minimum that a tight bound ends in
depends on where it came from.

With scores that are s times as large where loss and margins balance (``Risk.score_scale``), the same strength of the
regulariser is ``alpha = strength / s^2``. Where the penalty has absolute values, what matters is how far alpha is below
the one at which all weights are zero, and weights come in within a few powers of ten: there
``alpha = strongest * largest alpha * sqrt(strength / first strength)``.

The rule is cautious. Differences between good candidates are small, and positives that decide on them are often few.
So the best *baseline* (log loss or squared hinge) is taken, unless another is better by more than the standard error of
the differences over the splits:

    mean(d) > std(d) / sqrt(K),      d_k = score of the other - score of the baseline in split k          (cautious)

K is the number of splits. Where folds are repeated it is that of one repetition: the same rows again are no new
evidence. For rankings the best mean wins (:class:`~smoothperf.tasks.queries.QueryTask`).

Where the measure cannot tell strengths apart, as precision at few places often cannot, a finer score does.

Measures of decisions (F-beta, error rates) need a cut: the one that is best for the scores of all held-out rows
together, the same for all splits. A row that was held out several times counts each time, which makes the cut
steadier. Where something is promised for new rows, it counts once, with its first score: it is evidence of one row.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._arrays import Array
from .._validation import whole_number
from .._warnings import warn
from ..evaluation import is_constant
from ..optimise import Callback, ConvexSolver, Result
from ..tasks.base import C, HeldOut, K, Rows, Task
from ..tasks.features import split_rows
from ..tasks.path import PathTraining
from ..threads import use_threads
from .messages import ZeroModelWarning
from .path import checked_alphas

#: Factor from one strength to the next, how many there are at first, and how many more at most.
STEP: float = 0.1
N_STRENGTHS: int = 6
MORE: int = 4
#: Splits that look at everything.
FIRST = 2
#: A column whose squares exceed so many times those of all smaller ones together is left out of the size of X.
DOMINANT = 10.0
#: Scores that differ by less are equally good; a finer score tells them apart.
ALIKE = 1e-3
#: Tolerance and most iterations while candidates are compared: their scores on new rows change little beyond.
LOOSE_TOL, FEW_ITERATIONS = 5e-3, 200


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


@dataclass(frozen=True)
class Step:
    """A model that is about to be trained while candidates are compared.

    Examples
    --------
    >>> from smoothperf import PRBEP
    >>> from smoothperf.tasks.labels import LabelCandidate
    >>> print(Step(2, 5, LabelCandidate(PRBEP(), "tight"), 0.001))
    split 2 of 5: prbep, tight, alpha 0.001
    """

    split: int
    n_splits: int
    candidate: Any
    alpha: float
    features: str = ""

    def __str__(self) -> str:
        features = f"{self.features} features, " if self.features else ""
        return f"split {self.split} of {self.n_splits}: {features}{self.candidate}, alpha {self.alpha:.3g}"


class Chosen(NamedTuple, Generic[C]):
    """The winner, the place of its strength among all, and its fit to all rows."""

    candidate: C
    place: int
    training: Any
    result: Result


class Tried(NamedTuple):
    """All that was tried.

    Attributes
    ----------
    candidate : Candidate
        The chosen one, as users call it.
    alpha : float
        Its alpha.
    table : dict
        ``cv_results_``.
    best : int
        The place of the chosen one in the table.
    """

    candidate: Any
    alpha: float
    table: dict[str, Any]
    best: int


class Choice(Generic[K, C]):
    """The candidates that have been tried so far, with their scores.

    Parameters
    ----------
    task : Task
        The task; its measure judges.
    candidates : iterable or mapping
        The candidates to compare; the values of a mapping are what users call them.
    strengths : ndarray
        Strengths to begin with, descending.
    literal : bool
        Whether strengths are alphas, as a user has given them, whatever the candidate; else smaller ones may be added.

    Attributes
    ----------
    splits : list of HeldOut
        The rows held out, with scores.
    last : dict
        The last strength of each candidate to try once the first splits have been looked at; -1 if it is out.
    """

    #: The first alpha for a penalty with absolute values, as a share of the one at which all weights are zero.
    strongest: ClassVar[float] = 0.3
    #: Strengths in a row without a better score after which a candidate is not followed further, unless it is a
    #: baseline, or they were given: those may begin where scores stay as they are for long.
    patience: ClassVar[int] = 2

    def __init__(
        self, task: Task[K, C], candidates: Iterable[C] | Mapping[C, C], strengths: Array, *, literal: bool = False
    ):
        self.task = task
        self.candidates = list(candidates)
        self.named = candidates if isinstance(candidates, Mapping) else {one: one for one in candidates}
        self.strengths = strengths
        self.literal = literal
        self.splits: list[HeldOut[K, C]] = []
        self.last: dict[C, int] = {}
        self._known: dict[tuple[C, int, int], Array] = {}  # by candidate, strength and number of splits

    def alpha(self, training: PathTraining[K, C], index: int) -> float:
        """The alpha of a strength for a candidate."""
        strength = strength_at(self.strengths, index)
        if self.literal:
            return strength
        if not training.penalty.has_absolute_values:
            return strength / training.risk.score_scale**2
        return self.strongest * training.largest_convex_alpha * math.sqrt(strength / float(self.strengths[0]))

    def compare(
        self,
        rows: Rows[K],
        splits: Sequence[tuple[Any, Any]],
        solver: ConvexSolver,
        estimator: Any,
        *,
        features: str = "",
    ) -> None:
        """Train candidates on the training part of every split, and score the part that is held out.

        Parameters
        ----------
        rows : Rows
            Rows to split.
        splits : sequence of (train, test)
            Numbers of the rows of each.
        solver : ConvexSolver
            The solver of the fit to all rows.
        estimator : estimator
            Says how: ``n_jobs``, ``n_threads``, ``verbose`` and ``progress``.
        features : str
            What to call the features, where they are chosen.
        """
        loose = loosened(solver)
        tell = estimator.progress or (lambda step: None)

        def look(number: int, train: Any, test: Any) -> HeldOut[K, C]:
            # A split may run in a thread of its own, which knows nothing of the context that fit runs in.
            with use_threads(estimator.n_threads):
                held_out = self.train_and_score(
                    rows,
                    train,
                    test,
                    loose,
                    lambda candidate, alpha: tell(Step(number, len(splits), self.named[candidate], alpha, features)),
                )
            if estimator.verbose:
                print(f"split {number} of {len(splits)}", file=sys.stderr, flush=True)
            return held_out

        tasks = [delayed(look)(number, *split) for number, split in enumerate(splits, start=1)]
        at_once = Parallel(n_jobs=estimator.n_jobs, prefer="threads")
        self.splits.extend(at_once(tasks[:FIRST]))
        self.narrow()
        self.splits.extend(at_once(tasks[FIRST:]))

    def train_and_score(
        self, rows: Rows[K], train: Any, test: Any, solver: ConvexSolver, tell: Callable[[C, float], None]
    ) -> HeldOut[K, C]:
        """Train all candidates on the training part of a split, and score the part that is held out."""
        before, after = split_rows(rows, train, test)
        task = self.task.on(before)
        every_row = np.arange(rows.targets.shape[0])  # a split may be a mask
        held_out: HeldOut[K, C] = HeldOut(every_row[test], after.known, after.judged)
        offset = 0.0 if after.offset is None else after.offset
        for candidate in self.candidates:
            self.follow(
                PathTraining(task, candidate, before, solver, choosing=True),
                held_out,
                lambda weights: offset + task.scores(candidate, after.X, weights),  # noqa: B023 (called here)
                lambda alpha: tell(candidate, alpha),  # noqa: B023 (called here)
            )
        return held_out

    def follow(
        self,
        training: PathTraining[K, C],
        held_out: HeldOut[K, C],
        score: Callable[[Array], Array],
        tell: Callable[[float], None],
    ) -> None:
        """Train a candidate for all its strengths in a split; ``tell`` hears every alpha.

        ``score`` makes scores of the rows held out from the weights of a model.
        """
        candidate = training.candidate
        worth: list[float] = []
        for index in itertools.count():
            if not self.is_allowed(candidate, index) or (self.splits and index > self.last[candidate]):
                return
            alpha = self.alpha(training, index)
            tell(alpha)
            scores = held_out.scores[candidate, index] = score(training.path.solve(alpha).coef)
            if not self.splits:
                # A convex risk that has collapsed may not have done so with a smaller alpha.
                worth.append(-math.inf if is_constant(scores) else self.task.judge_alone(held_out, scores))
                if self._is_enough(candidate, worth):
                    return

    def is_allowed(self, candidate: C, index: int) -> bool:
        """Whether a candidate may be followed to a strength."""
        return True

    def _is_enough(self, candidate: C, worth: list[float]) -> bool:
        """Whether one of the first splits has gone far enough, given what its models were worth so far."""
        beyond = len(worth) - self.strengths.size
        if self.literal:
            return beyond == 0
        before, newest = max(worth[: -self.patience], default=-math.inf), max(worth[-self.patience :])
        if not candidate.baseline and before > -math.inf and newest <= before + ALIKE:
            return True
        if beyond < 0:
            return False
        return beyond == MORE or worth[-1] <= max(worth[:-1], default=math.inf) + ALIKE

    def narrow(self) -> None:
        """Keep only what may still win, after the first splits."""
        baseline = self._best([one for one in self.candidates if one.baseline])
        for candidate in self.candidates:
            furthest = self.tried(candidate)[-1]
            best = self._best([candidate])
            assert best is not None
            if candidate.baseline or baseline is None:
                self.last[candidate] = furthest
            elif np.all(self.split_scores(*best) < self.split_scores(*baseline)):
                self.last[candidate] = -1
            else:
                self.last[candidate] = min(best[1] + 1, furthest)

    def tried(self, candidate: C) -> list[int]:
        """Strengths that all splits so far have tried."""
        tried = ({index for one, index in split.scores if one == candidate} for split in self.splits)
        return sorted(set.intersection(*tried))

    def tried_anywhere(self, candidate: C) -> set[int]:
        """Strengths that some split has tried."""
        return {index for split in self.splits for one, index in split.scores if one == candidate}

    def at_the_end(self, candidate: C, index: int) -> bool:
        """Whether a strength is the last that may be tried, and better than the one before."""
        furthest = self.strengths.size - 1 + (0 if self.literal else MORE)
        return index == furthest > 0 and self.mean((candidate, index)) > self.mean((candidate, index - 1)) + ALIKE

    def split_scores(self, candidate: C, index: int) -> Array:
        """The measure in every split; NaN where a split has not tried this."""
        key = candidate, index, len(self.splits)
        if key not in self._known:
            self._known[key] = self.task.judge_together(self.splits, (candidate, index))
        return self._known[key]

    def ranked(self) -> list[tuple[C, int]]:
        """The best strength of each candidate that is left: the winner by the rule, then by mean score."""
        left = [one for one in self.candidates if self.last[one] >= 0]
        best = {one: self._best([one]) for one in left}
        pairs = sorted((pair for pair in best.values() if pair is not None), key=self.mean, reverse=True)
        baseline = self._best([one for one in left if one.baseline])
        if self.task.cautious and baseline is not None and pairs[0] != baseline and not pairs[0][0].baseline:
            better = [pair for pair in pairs if not pair[0].baseline and self._is_better(pair, baseline)]
            first = better[0] if better else baseline
            pairs = [first, *(pair for pair in pairs if pair != first)]
        return pairs

    def mean(self, pair: tuple[C, int]) -> float:
        """The mean score."""
        return float(self.split_scores(*pair).mean())

    def _best(self, among: Iterable[C]) -> tuple[C, int] | None:
        """Candidate and strength with the best mean; of those that are alike the one with the best finer score."""
        means = {(one, index): self.mean((one, index)) for one in among for index in self.tried(one)}
        if not means:
            return None
        alike = [pair for pair, mean in means.items() if mean >= max(means.values()) - ALIKE]
        return alike[0] if len(alike) == 1 else max(alike, key=self._mean_finer_score)

    def _mean_finer_score(self, pair: tuple[C, int]) -> float:
        """The finer score, as a mean over the splits."""
        return float(np.mean([self.task.judge_finely(split.judged, split.scores[pair]) for split in self.splits]))

    def _is_better(self, pair: tuple[C, int], baseline: tuple[C, int]) -> bool:
        """(cautious)."""
        return clearly_better(self.split_scores(*pair) - self.split_scores(*baseline), self.times_held_out())

    def times_held_out(self) -> float:
        """Number of times that a row was held out, on average over those that were at all."""
        rows = np.concatenate([split.numbers for split in self.splits])
        return float(rows.size / np.unique(rows).size)

    def winner(self, rows: Rows[K], solver: ConvexSolver, callback: Callback | None) -> Chosen[C]:
        """Fit the winner to all rows; if it gives all one score, the next best; the winner if no other is left."""
        fits = []
        for candidate, index in self.ranked():
            fits.append(self.fit_to_all(rows, candidate, index, solver, callback))
            scores = fits[-1].result.scores
            assert scores is not None
            if not is_constant(scores):
                return fits[-1]
        remedy = "Perhaps the features have nothing to do with the labels, or all of them are constant."
        if all(one.bound == "convex" and not one.baseline for one in self.candidates):
            remedy = 'The convex bound is least there, on noisy data whatever alpha is: use bound="auto" or "tight".'
        warn(
            "Whatever was trained with, and however little it was regularised, all rows have the same score: the model "
            f"is constant. {remedy}",
            ZeroModelWarning,
        )
        return fits[0]

    def fit_to_all(
        self, rows: Rows[K], candidate: C, index: int, solver: ConvexSolver, callback: Callback | None
    ) -> Chosen[C]:
        """The model of a candidate at a strength, from those at the strengths before."""
        training, alpha, weights = self.followed(rows, candidate, index, solver)
        return Chosen(candidate, index, training, training.finish(alpha, weights, solver, callback))

    def followed(
        self, rows: Rows[K], candidate: C, index: int, solver: ConvexSolver
    ) -> tuple[PathTraining[K, C], float, Array]:
        """Training of a candidate on some rows that has come to a strength, the alpha there, and the weights."""
        training = PathTraining(self.task, candidate, rows, loosened(solver), choosing=True)
        for place in range(index + 1):
            alpha = self.alpha(training, place)
            weights = training.path.solve(alpha).coef
        return training, alpha, weights

    def results(self, rows: Rows[K], solver: ConvexSolver, chosen: Chosen[C]) -> Tried:
        """All that was tried, in the form of scikit-learn's searches; warns if the best lies at the edge."""
        tried = [(one, place) for one in self.candidates for place in sorted(self.tried_anywhere(one))]
        trainings = {
            one: PathTraining(self.task, one, rows, loosened(solver), choosing=True) for one in self.candidates
        }
        params = [{**self.named[one].words(), "alpha": self.alpha(trainings[one], place)} for one, place in tried]
        best = tried.index((chosen.candidate, chosen.place))
        table = self._table(tried, params)
        alpha = params[best]["alpha"]
        if self.at_the_end(chosen.candidate, chosen.place):
            remedy = "Give smaller alphas" if self.literal else "Scale the features, or give alphas"
            warn(
                f"The best alpha, {alpha:.3g}, is the smallest that was tried for {chosen.candidate}. {remedy}.",
                GridEdgeWarning,
            )
        return Tried(self.named[chosen.candidate], alpha, table, best)

    def _table(self, tried: list[tuple[C, int]], params: list[dict[str, Any]]) -> dict[str, Any]:
        scores = np.array([self.split_scores(*pair) for pair in tried])
        means = scores.mean(axis=1)
        order = np.where(np.isnan(means), -np.inf, means)
        return {
            "params": params,
            **{f"param_{name}": np.array([each[name] for each in params]) for name in params[0]},
            **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": (1 + (order[:, None] < order).sum(axis=1)).astype(np.int32),
        }


def clearly_better(difference: Array, times_held_out: float) -> bool:
    """(cautious), for differences in every split; with a single split any advantage counts."""
    return float(difference.mean()) > max(standard_error(difference, times_held_out), ALIKE)


def standard_error(scores: Array, times_held_out: float) -> float:
    """Standard error of the mean of scores in every split, of which each row is held out so often; 0 for one split."""
    if scores.size < 2:
        return 0.0
    return float(scores.std(ddof=1)) / math.sqrt(scores.size / times_held_out)


def loosened(solver: ConvexSolver) -> ConvexSolver:
    """The solver to compare candidates with."""
    return replace(solver, tol=max(solver.tol, LOOSE_TOL), max_iter=min(solver.max_iter, FEW_ITERATIONS))


def strength_at(strengths: Array, index: int) -> float:
    """Return the strength with an index, which may lie beyond those to begin with.

    Examples
    --------
    >>> [round(strength_at(np.array([1.0, 0.5]), index), 6) for index in range(4)]
    [1.0, 0.5, 0.05, 0.005]
    """
    last = strengths.size - 1
    return float(strengths[min(index, last)] * STEP ** max(0, index - last))


def strengths_for(X: Any, weights: Array | None, alphas: ArrayLike | None, n_alphas: int) -> Array:
    """Strengths of the regulariser to begin with: given alphas, or such as follow from the size of the features."""
    return strengths_from(lambda: _mean_squares(X, weights), alphas, n_alphas)


def strengths_from(mean_squares: Callable[[], Array], alphas: ArrayLike | None, n_alphas: int) -> Array:
    """Strengths to begin with, given what makes the mean squares of the columns of X, if they are needed."""
    if alphas is not None:
        return checked_alphas(alphas)
    count = whole_number("n_alphas", n_alphas, at_least=1)
    return np.asarray(typical_size(mean_squares()) * STEP ** np.arange(count), dtype=np.float64)


def typical_size(mean_squares: Array) -> float:
    """Mean square of a row's length, without columns that are so large that the regulariser does not reach them.

    Examples
    --------
    >>> typical_size(np.array([1.0, 2.0, 1.0])), typical_size(np.array([1.0, 1e10, 1.0]))
    (4.0, 2.0)
    """
    ascending = np.sort(mean_squares[mean_squares > 0.0])
    if ascending.size == 0:
        return 1.0
    sums = np.cumsum(ascending)
    kept = ascending.size
    while kept > 1 and ascending[kept - 1] > DOMINANT * sums[kept - 2]:
        kept -= 1
    return float(sums[kept - 1])


def _mean_squares(X: Any, weights: Array | None) -> Array:
    """Mean of the squares of each column, without a copy of X."""
    if issparse(X):
        means, variances = mean_variance_axis(X, axis=0, weights=weights)
        return np.asarray(variances + means**2, dtype=np.float64)
    shares = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
    return np.asarray(np.einsum("i,ij,ij->j", shares, X, X, dtype=np.float64))
