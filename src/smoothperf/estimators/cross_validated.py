"""Base of the estimators that choose among candidates and strengths on held-out rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from numpy.typing import ArrayLike
from sklearn.base import clone

from .._arrays import Array
from ..optimise import ConvexSolver
from ..tasks.base import C, K, Rows, Task
from ..tasks.features import R, with_transformer
from ..tasks.training import Training
from ..threads import use_threads
from .choice import Choice, Chosen, Step, strengths_for
from .feature_choice import settled, ways_to_make
from .linear import CertifiedModel

M = TypeVar("M", bound=CertifiedModel)
#: Attributes that a model has only if there was a choice.
OF_THE_CHOICE = (
    "best_features_",
    "feature_scores_",
    "cv_results_",
    "best_index_",
    "best_score_",
    "alpha_",
    "l1_ratio_",
)


class CrossValidated(CertifiedModel, Generic[M]):
    """Base of the estimators that choose: the choice, its attributes, and the single model of type M that it leads to.

    Attributes
    ----------
    single : type
        The estimator that the fitted model is one of.
    """

    single: ClassVar[type[Any]]
    alphas: ArrayLike | None
    n_alphas: int
    cv: Any
    features: Any
    feature_scores_: dict[str, Array]
    best_features_: str
    n_jobs: int | None
    progress: Callable[[Step], None] | None
    trained_for_: Any
    alpha_: float
    cv_results_: dict[str, Any]
    best_index_: int
    best_score_: float

    def _with_features(
        self,
        rows: R,
        splits: Sequence[tuple[Any, Any]],
        solver: ConvexSolver,
        task_for: Callable[[R], Task[Any, Any]],
    ) -> tuple[R, R]:
        """The rows with the transformer that makes their features, the best of several, and with these features."""
        ways = ways_to_make(self.features, rows.X)
        for name in ("feature_scores_", "best_features_"):
            self.__dict__.pop(name, None)
        if len(ways) > 1:
            way, self.feature_scores_ = settled(ways, rows, splits, solver, self, task_for)
            self.best_features_ = way.name
            ways = [way]
        rows = with_transformer(rows, ways[0].transformer)
        return rows, self._prepare(rows)

    def _choose(
        self,
        task: Task[K, C],
        candidates: Mapping[C, C],
        rows: Rows[K],
        whole: Rows[K],
        splits: Sequence[tuple[Any, Any]],
        solver: ConvexSolver,
    ) -> tuple[Choice[K, C], Chosen[C]]:
        """Compare candidates, of which the values are what users call them, and fit the best to all rows.

        Splits are of the rows as they were given, so that features are learnt anew in each; ``whole`` has those of all
        rows.
        """
        for candidate in candidates.values():
            Training(task, candidate, whole, solver).check()
        strengths = self._strengths(whole)
        with use_threads(self.n_threads):
            choice = self._choice(task, candidates, strengths, whole, solver)
        choice.compare(rows, splits, solver, self)
        with use_threads(self.n_threads):
            chosen = choice.winner(whole, solver, self._callback())
        self._report(chosen.result, solver.tol, rows.offset)
        return choice, chosen

    def _strengths(self, rows: Rows[Any]) -> Array:
        """Strengths of the regulariser to begin with, for all rows, with their features."""
        return strengths_for(rows.X, rows.known.weights, self.alphas, self.n_alphas)

    def _choice(
        self, task: Task[K, C], candidates: Mapping[C, C], strengths: Array, rows: Rows[K], solver: ConvexSolver
    ) -> Choice[K, C]:
        """Ways that are about to be compared; rows are all, with their features."""
        return Choice(task, candidates, strengths, literal=self.alphas is not None)

    def _keep_choice(self, choice: Choice[K, C], rows: Rows[K], solver: ConvexSolver, chosen: Chosen[C]) -> None:
        """Make what was tried and chosen attributes of the fitted model."""
        tried = choice.results(rows, solver, chosen)
        self.trained_for_ = tried.candidate
        self.cv_results_ = tried.table
        self.best_index_ = tried.best
        self.best_score_ = float(tried.table["mean_test_score"][tried.best])
        self.alpha_ = tried.alpha

    def _as_single(self, **chosen: Any) -> M:
        """The fitted model as a single one."""
        fitted = getattr(self, "features_", None)
        features = None if fitted is None else clone(fitted)
        model: M = self._as(self.single, OF_THE_CHOICE, features=features, **chosen)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model that was chosen to a file that :func:`smoothperf.load` reads, as a single estimator.

        Parameters
        ----------
        path : path-like
            The file; it is written whole or not at all.
        """
        self._as_saved().save(path)

    def _as_saved(self) -> M:
        """The model that is saved."""
        raise NotImplementedError
