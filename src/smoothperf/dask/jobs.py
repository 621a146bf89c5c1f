"""What the members of a group minimise, and how: for labels of two kinds, or for documents of queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..collective import extremes
from ..design import Design
from ..design.base import Array
from ..estimators.bias import Bias
from ..estimators.problem import check_suits
from ..estimators.ranker import start_objective
from ..estimators.tight import convex_start
from ..evaluation import tells_nothing
from ..measures import Examples, Queries, QueryMeasure, Risk
from ..measures.examples import Supervision
from ..objective import RegularizedRisk
from ..penalties import Penalty
from ..solvers import ConvexSolver, Result


@dataclass(frozen=True, kw_only=True)
class Job(ABC):
    """What is minimised, and how.

    Attributes
    ----------
    penalty : Penalty
        Of the weights.
    solver : ConvexSolver
        Of the convex bound.
    tight : bool
        Whether it is the tight bound.
    """

    penalty: Penalty
    solver: ConvexSolver
    tight: bool

    @abstractmethod
    def risk(self, examples: Supervision) -> Risk:
        """The risk on the rows of all members."""

    def design(self, rows: Design) -> Design:
        """X as it is trained with."""
        return rows

    @abstractmethod
    def convex_start(
        self, examples: Supervision, objective: RegularizedRisk, solver: ConvexSolver
    ) -> tuple[Result, Array]:
        """The run that a tight bound begins with, and the weights that it starts from."""

    @abstractmethod
    def ending(self, examples: Supervision, objective: RegularizedRisk, result: Result) -> Any:
        """What the client needs to know of the scores that were found, which are with the rows."""


@dataclass(frozen=True, kw_only=True)
class LabelJob(Job):
    """For labels of two kinds.

    Attributes
    ----------
    bias : Bias
        The measure, and how it wants the intercept to come about.
    """

    bias: Bias

    def risk(self, examples: Supervision) -> Risk:
        """That of the measure."""
        risk = self.bias.measure.risk(cast(Examples, examples))
        check_suits(self.solver, self.bias.measure, risk, self.penalty, tight=self.tight)
        return risk

    def design(self, rows: Design) -> Design:
        """X, with the constant feature where a bias is trained."""
        return self.bias.design(rows, low_memory=False)

    def convex_start(
        self, examples: Supervision, objective: RegularizedRisk, solver: ConvexSolver
    ) -> tuple[Result, Array]:
        """ROC area, for most."""
        return convex_start(self.bias, cast(Examples, examples), objective, solver, None)

    def ending(self, examples: Supervision, objective: RegularizedRisk, result: Result) -> tuple[float, float]:
        """Where scores are cut, and how far w = 0 is above the result at most."""
        assert result.scores is not None
        bias = self.bias
        scores = objective.risk.whole_scores(result.scores)
        threshold = bias.measure.cut(cast(Examples, examples), scores) if bias.fit_intercept else 0.0
        return threshold, bias.excess_of_zero(objective, result)


@dataclass(frozen=True, kw_only=True)
class QueryJob(Job):
    """For documents of queries.

    Attributes
    ----------
    measure : QueryMeasure
        What to train with.
    """

    measure: QueryMeasure

    def risk(self, examples: Supervision) -> Risk:
        """That of the measure."""
        return self.measure.risk(cast(Queries, examples))

    def convex_start(
        self, examples: Supervision, objective: RegularizedRisk, solver: ConvexSolver
    ) -> tuple[Result, Array]:
        """Squared loss for NDCG, pairs for others."""
        first = solver.run(start_objective(objective, self.measure, cast(Queries, examples)))
        return first, first.coef

    def ending(self, examples: Supervision, objective: RegularizedRisk, result: Result) -> bool:
        """Whether all documents have the same score."""
        assert result.scores is not None
        scores = result.scores
        ends = extremes(examples.together, scores.min(initial=np.inf), scores.max(initial=-np.inf))
        return tells_nothing(np.array(ends))
