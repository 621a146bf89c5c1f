"""Promises of the tight bound, whichever of its stationary points a run ends in.

Its objective has many of them, and the last digit of one product may decide between two: another processor, or another
order of sums, takes another road. So tests that come to one by two roads do not compare where these end, but hold both
to what is promised: stationary to tol, and no worse than the start.
"""

import numpy as np
import pytest

from smoothperf import Status
from smoothperf.design import as_design
from smoothperf.design.biased import BiasedDesign
from smoothperf.measures import NDCG, get_measure, get_query_measure
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.objective import RegularizedRisk


def tight_value(objective, coef):
    """``J_tight`` without any of the solver's code."""
    scores = objective.design.matvec(coef)
    return (
        objective.regulariser(coef, coef @ coef)
        + objective.risk.exact_value(scores)
        - objective.risk.loss_free(scores).value
    )


def hold_tight(result, objective, start, tol=1e-3):
    """A run that started from these weights is stationary to tol, no worse than them, and says what J is."""
    assert result.status is Status.STATIONARY
    assert 0.0 <= result.stationarity_gap <= tol
    assert np.isnan([result.lower_bound, result.gap]).all()
    assert result.objective == pytest.approx(tight_value(objective, result.coef), rel=1e-10)
    assert result.objective <= tight_value(objective, start) + 1e-12


def hold_tight_fit(clf, X, y, weights=None, base_scores=None, *, given=None):
    """The same of a classifier of these rows, which were ``given`` to it in another form, or as they are."""
    measure = get_measure(clf.measure)
    risk = measure.bind(y == clf.pos_label_, weights)
    # The start is the minimiser of a convex risk; where a bias is trained, with one that takes as many as there are.
    convex = {"bound": "convex", "callback": None, "checkpoint": None}
    if not risk.sums_over_examples:
        convex |= {"measure": "roc_area", "solver": "lbfgs" if clf.solver == "newton" else clf.solver}
    first = type(clf)(**clf.get_params() | convex)
    start = (first.fit(X, y, weights, base_scores=base_scores) if given is None else first.fit(*given)).result_.coef
    if clf.result_.coef.size > start.size:
        start = np.append(start, -get_measure("prbep").threshold(y == clf.pos_label_, X @ start, weights))
    design = as_design(X) if start.size == X.shape[1] else BiasedDesign(as_design(X), clf.intercept_scaling)
    penalty = ElasticNet(clf.alpha, clf.l1_ratio) if clf.l1_ratio else clf.alpha
    tol = getattr(clf.solver, "tol", clf.tol)  # objects bring their own
    hold_tight(clf.result_, RegularizedRisk(design, risk, penalty, base_scores), start, tol)


def hold_tight_ranker(ranker, X, y, qid, *, given=None):
    """The same of a ranker of these documents."""
    measure = get_query_measure(ranker.measure)
    risk = measure.bind(y, qid)
    convex = {"measure": "squared_loss" if isinstance(measure, NDCG) else "roc_area", "bound": "convex"}
    convex |= {"alpha": ranker.alpha * risk.score_scale**2, "callback": None}
    first = type(ranker)(**ranker.get_params() | convex)
    start = (first.fit(X, y, qid=qid) if given is None else first.fit(*given)).coef_
    hold_tight(ranker.result_, RegularizedRisk(as_design(X), risk, ranker.alpha), start, ranker.tol)
