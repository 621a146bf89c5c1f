"""A candidate on some rows along falling alphas, as paths and choices train it.

A convex risk hands on its planes from one alpha to the next, a tight one its weights (:mod:`smoothperf.optimise.path`),
with starts that all candidates on the same rows share.
"""

from __future__ import annotations

from dataclasses import replace

from .._arrays import Array
from ..optimise import Callback, ConvexSolver, Result, Retargeting, Solver
from ..optimise.path import ConvexPath, Solution, TightPath, convex_path
from ..threads import cached_property
from .base import C, K, Rows, Task
from .tight import first_solver
from .training import Training

#: Tolerance for risks that are sums over examples, as a share of that for others, or of the size of their values, which
#: are small where positives are rare. (Measured on nine topics of Reuters-21578, of 5 to 40 rows of 6,402: F1 on new
#: rows is .751, and .723 without regard to the size, average precision .801 and .762, with 9 % more time.)
FINER = 0.2


class PathTraining(Training[K, C]):
    """A candidate on some rows, for one alpha after another.

    Parameters
    ----------
    task, candidate, rows, solver
        As in :class:`~smoothperf.tasks.training.Training`.
    choosing : bool, default=False
        Whether candidates are compared: tolerances suit the size of the risks, and starts their strengths.
    """

    def __init__(self, task: Task[K, C], candidate: C, rows: Rows[K], solver: ConvexSolver, *, choosing: bool = False):
        super().__init__(task, candidate, rows, solver)
        if choosing and self.risk.sums_over_examples:
            self.solver = replace(solver, tol=FINER * min(solver.tol, task.loss_size(rows.known)))
        self._first_solver = first_solver(solver)
        self._choosing = choosing

    def finish(self, alpha: float, start: Array, solver: ConvexSolver, callback: Callback | None) -> Result:
        """The model at an alpha of a path, solved further: with the iterations of a solver, and its tolerance if finer.

        Its scores are whole ones.
        """
        method: Solver = Retargeting.with_steps_of(self.solver) if self.tight else self.solver
        method = replace(method, tol=min(solver.tol, self.solver.tol), max_iter=solver.max_iter)
        objective = self.objective(alpha)
        result = method.run(objective, start, callback)
        assert result.scores is not None
        return replace(result, scores=objective.whole_scores(result.scores))

    @cached_property
    def convex_path(self) -> ConvexPath:
        """The convex risk along falling alphas."""
        return convex_path(self.design, self.risk, self.solver, self.penalty, self.rows.offset)

    @cached_property
    def largest_convex_alpha(self) -> float:
        """Largest alpha of the path of the convex risk (alpha_max); found before anything is solved on it, and kept."""
        return self.convex_path.largest_alpha(self.solver.tol)

    @cached_property
    def path(self) -> ConvexPath | TightPath:
        """Path of the risk that is minimised."""
        return self._tight_path() if self.tight else self.convex_path

    def largest_alpha(self, tolerance: float) -> float:
        """Largest alpha of a path (alpha_max), given by how much a model must be better than w = 0 to count."""
        return self.path.begin(tolerance)

    def _tight_path(self) -> TightPath:
        task, candidate, known = self.task, self.candidate, self.rows.known

        def weights(found: Result | Solution) -> Array:
            assert found.scores is not None
            found = replace(found, scores=self.rows.whole_scores(found.scores))
            return task.first_weights(candidate, known, self.risk, found)

        return TightPath(
            self.design,
            self.risk,
            self.solver,
            self.penalty,
            self._own_start() if self.risk.sums_over_examples else self._shared_start(),
            None if self.risk.sums_over_examples else weights,
            offset=self.rows.offset,
            strength=self.risk.score_scale**2 if self._choosing else task.first_strength(self.risk),
            thorough=not self._choosing,
        )

    def _own_start(self) -> ConvexPath:
        """Minimisers of the candidate's own convex risk, bias included."""
        return convex_path(self.design, self.risk, self.solver, self.penalty, self.rows.offset)

    def _shared_start(self) -> ConvexPath:
        """Minimisers of the convex risk that the tight bound starts from, of the features alone."""
        task, candidate, rows = self.task, self.candidate, self.rows

        def make() -> ConvexPath:
            risk = task.first_risk(candidate, rows.known, self.risk)
            assert risk is not None
            return convex_path(rows.design, risk, self._first_solver, task.first_penalty(candidate), rows.offset)

        return rows.start(task.first_key(candidate), make)
