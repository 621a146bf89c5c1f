"""Monotone effects through the estimators: on grids no step goes the wrong way, and certificates hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracles
from smoothperf import MeasureClassifier, MeasureClassifierCV, MeasureRanker, MeasureRankerCV
from smoothperf.features import Shapes

SIGNS = {"up": 1, "down": -1, "step": 1}


def table(n=400, seed=0):
    """Columns whose effects are not monotone: one rises and falls, one falls and rises, steps go up and down."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=["up", "down", "free", "step"])
    X["step"] = rng.integers(0, 4, n).astype(float)
    effect = (
        np.sin(2.0 * X["up"])
        + np.abs(X["down"])
        - np.abs(X["free"])
        + np.array([0.0, 1.0, 0.5, 1.0])[X["step"].astype(int)]
    )
    X.loc[rng.random(n) < 0.05, "up"] = np.nan
    return X, (effect + 0.5 * rng.normal(size=n) > 0.5).to_numpy()


def worst_step(model, X, name, sign):
    """The step that goes furthest in the wrong direction, as one column moves over a grid."""
    low, high = X[name].min() - 1.0, X[name].max() + 1.0
    rows = pd.concat([X.iloc[[1]]] * 2000, ignore_index=True).assign(**{name: np.linspace(low, high, 2000)})
    return float((sign * np.diff(model.positive_scores(rows))).min())


@pytest.mark.parametrize("pos_label", [True, False])
@pytest.mark.parametrize("measure", ["roc_area", "log_loss", "prbep", "f1"])
def test_no_step_goes_the_wrong_way(measure, pos_label):
    X, y = table()
    shapes = Shapes(6, monotonic_cst=SIGNS)
    model = MeasureClassifier(measure, alpha=1e-3, features=shapes, pos_label=pos_label).fit(X, y)
    assert model.gap_ <= 1e-3
    for name, sign in SIGNS.items():
        assert worst_step(model, X, name, sign) >= -1e-12
    free = MeasureClassifier(measure, alpha=1e-3, features=Shapes(6), pos_label=pos_label).fit(X, y)
    assert min(worst_step(free, X, name, sign) for name, sign in SIGNS.items()) < -1e-4
    assert free.lower_bound_ <= model.objective_  # bounds cannot lower the minimum


def test_monotone_in_a_choice_and_behind_a_scaler():
    X, y = table()
    shapes = Shapes(5, monotonic_cst=[1, -1, 0, 1])
    model = MeasureClassifierCV("roc_area", cv=3, features=make_pipeline(StandardScaler(), shapes)).fit(X, y)
    for name, sign in SIGNS.items():
        assert worst_step(model, X, name, sign) >= -1e-12


@pytest.mark.parametrize("measure", ["roc_area", "log_loss"])
def test_the_certificate_holds_against_a_generic_solver(measure):
    X, y = table(24, seed=1)
    shapes = Shapes(4, monotonic_cst=SIGNS, dtype=np.float64)
    model = MeasureClassifier(measure, alpha=1e-2, features=shapes, fit_intercept=False, tol=1e-6, max_iter=5000).fit(
        X, y
    )
    signs = np.where(y, 1, -1)
    expression = {
        "roc_area": lambda scores: oracles.roc_expression(signs, scores),
        "log_loss": lambda scores: oracles.smooth_expression(signs, scores, "log_loss"),
    }[measure]
    lower, upper = model.features_.coef_bounds_
    assert np.isfinite([lower, upper]).any()
    Z = model.features_.transform(X)
    _, minimum = oracles.penalised_optimum(Z, expression, 0.0, 1e-2, lower, upper)
    assert model.lower_bound_ <= minimum + 1e-7
    assert minimum - 1e-7 <= model.objective_ <= minimum + 1e-6 + 1e-7


@pytest.mark.parametrize("ranker", [MeasureRanker("pairs"), MeasureRankerCV("ndcg@10", cv=2)])
def test_rankers_refuse_what_they_would_not_keep(ranker):
    X, y = table(40)
    ranker.set_params(features=Shapes(monotonic_cst=SIGNS))
    with pytest.raises(ValueError, match="rankers do not have: leave out monotonic_cst"):
        ranker.fit(X, y.astype(int), qid=np.repeat(np.arange(4), 10))
