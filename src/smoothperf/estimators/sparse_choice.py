"""The choice of a model of few features: at most so many, or the sparsest that may be as good as the best.

Strengths are closer to each other than in other choices (:mod:`.choice`), and begin where the first features come in.
With ``max_features``, a candidate is followed as far as its model of all rows has no more features than that. With
``sparsest``, the winner of the usual rule sets the standard, and the model with the fewest features is taken of all
whose score on held-out rows is at most a standard error below:

    mean(s) >= mean(s_best) - std(s_best) / sqrt(K)

where K is the number of splits, or of folds of one repetition, as in (cautious). Models of all rows are solved to a
finer tolerance than others, as what is within a coarse one can have some features more than the optimum. (Measured on
the breast cancer data, ROC area at 0.9 times the largest alpha: 5 features with tol 5e-3, 2 with 1e-3 and below.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from .._arrays import Array
from ..measures import Examples
from ..optimise import Callback, ConvexSolver
from ..tasks.base import Rows
from ..tasks.label_choice import LabelCandidate
from ..tasks.labels import LabelRows, LabelTask
from ..tasks.path import PathTraining
from .choice import MORE, Choice, Chosen, standard_error

#: Strengths in place of one, as a number of features wants to be met more closely than a score.
FINER = 2.5
#: The coarsest tolerance of models whose features are counted.
TOL = 1e-4


class SparseChoice(Choice[Examples, LabelCandidate]):
    """A choice among models of few features.

    Parameters
    ----------
    task, candidates, strengths, literal
        As in :class:`~smoothperf.estimators.choice.Choice`.
    rows : Rows
        All rows, with their features: their models count.
    solver : ConvexSolver
        The solver of the fit to all rows.
    max_features : int or None
        The most features of a model.
    sparsest : bool
        Whether to take the sparsest within a standard error of the best.
    """

    strongest: ClassVar[float] = 0.98
    patience: ClassVar[int] = 4
    task: LabelTask

    def __init__(
        self,
        task: LabelTask,
        candidates: Mapping[LabelCandidate, LabelCandidate],
        strengths: Array,
        *,
        literal: bool,
        rows: LabelRows,
        solver: ConvexSolver,
        max_features: int | None,
        sparsest: bool,
    ):
        if not literal:
            strengths = np.geomspace(strengths[0], strengths[-1], round(FINER * strengths.size))
        super().__init__(task, candidates, strengths, literal=literal)
        self.max_features, self.sparsest = max_features, sparsest
        finer = _finer(solver)
        self._trainings = {one: PathTraining(task, one, rows, finer, choosing=True) for one in candidates}
        self._counts: dict[LabelCandidate, list[int]] = {one: [] for one in candidates}
        if max_features is None:
            return
        for one in self.candidates:
            while len(self._counts[one]) < self.strengths.size + MORE and self.is_allowed(one, len(self._counts[one])):
                pass
        self.candidates = [one for one in self.candidates if self.is_allowed(one, 0)]
        if not self.candidates:
            raise ValueError(
                f"no model has only max_features={max_features} features; give more, larger alphas if you give some, "
                "an l1_ratio nearer to 1, or leave out columns that say the same."
            )

    def count(self, candidate: LabelCandidate, index: int) -> int:
        """Return the number of features in the model of all rows at a strength."""
        training, counts = self._trainings[candidate], self._counts[candidate]
        while len(counts) <= index:
            weights = training.path.solve(self.alpha(training, len(counts))).coef
            counts.append(self._in_model(candidate, weights))
        return counts[index]

    def is_allowed(self, candidate: LabelCandidate, index: int) -> bool:
        """Whether the models of all rows up to a strength have no more features than they may."""
        return self.max_features is None or all(
            self.count(candidate, place) <= self.max_features for place in range(index + 1)
        )

    def ranked(self) -> list[tuple[LabelCandidate, int]]:
        """The sparsest that may be as good as the winner by the usual rule, if it is wanted, before the others."""
        pairs = super().ranked()
        if not self.sparsest:
            return pairs
        least = self.mean(pairs[0]) - standard_error(self.split_scores(*pairs[0]), self.times_held_out())
        tried = [(one, index) for one, _ in pairs for index in self.tried(one)]
        near = [pair for pair in tried if self.mean(pair) >= least and self.count(*pair)]
        return [min(near, key=lambda pair: (self.count(*pair), -self.mean(pair))), *pairs] if near else pairs

    def fit_to_all(
        self,
        rows: Rows[Examples],
        candidate: LabelCandidate,
        index: int,
        solver: ConvexSolver,
        callback: Callback | None,
    ) -> Chosen[LabelCandidate]:
        """The model of a candidate at a strength, or before it, where a finer solution has too many features."""
        chosen = super().fit_to_all(rows, candidate, index, _finer(solver), callback)
        count = self._in_model(candidate, chosen.result.coef)
        if self.max_features is None or count <= self.max_features or index == 0:
            return chosen
        return self.fit_to_all(rows, candidate, index - 1, solver, callback)

    def _in_model(self, candidate: LabelCandidate, weights: Array) -> int:
        return int(np.count_nonzero(self.task.bias(candidate).split(weights)[0]))


def _finer(solver: ConvexSolver) -> ConvexSolver:
    return replace(solver, tol=min(solver.tol, TOL))
