"""MeasureClassifier(bound="tight"): the same bound by every way in, and an honest account of it."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import smoothperf
from problems import gaussians
from promises import hold_tight_fit
from smoothperf import (
    BMRM,
    MeasureClassifier,
    Nesterov,
    PartialROCArea,
    PrecisionAtK,
    Status,
    ZeroModelWarning,
)
from smoothperf.measures import get_measure

MEASURES = ["prbep", "precision@10", "recall@30%", "f1", "jaccard", "error_rate@9:1", "balanced_error_rate", "roc_area"]
MEASURES += ["roc_area@0.2"]


@pytest.fixture
def data():
    """Classes that overlap so much that the convex risk of PRBEP is least at zero."""
    return gaussians(40, 360, 4, shift=0.5, seed=2)


def classifier(measure="prbep", **options):
    return MeasureClassifier(measure, **({"alpha": 1e-3, "bound": "tight"} | options))


def recomputed(clf, X, y, weights=None):
    """``J_tight`` of a model from the parts that a user can see."""
    risk = get_measure(clf.measure).bind(y, weights)
    w = clf.result_.coef
    rows = np.column_stack([X, np.full(len(y), clf.intercept_scaling)]) if w.size > X.shape[1] else X
    scores = rows @ w
    return clf.alpha / 2 * w @ w + risk.exact_value(scores) - risk.loss_free(scores).value


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_the_objective_and_what_is_said_of_it(data, measure, weighted):
    X, y = data
    weights = np.random.default_rng(0).integers(1, 4, size=y.size).astype(float) if weighted else None
    clf = classifier(measure, tol=1e-4).fit(X, y, weights)
    hold_tight_fit(clf, X, y, weights)
    assert np.isnan([clf.lower_bound_, clf.gap_]).all()
    # The bound is one of the loss at the cut of the measure's own.
    scores = X @ clf.coef_[0] + (clf.result_.coef[-1] if clf.result_.coef.size > 4 else 0.0)
    loss = 1.0 - get_measure(measure).score(y, scores, weights)
    assert loss <= clf.objective_


def test_it_does_not_collapse(data):
    with pytest.warns(ZeroModelWarning):
        convex = MeasureClassifier("prbep", alpha=1e-3, bound="convex").fit(*data)
    tight = classifier().fit(*data)
    assert not convex.coef_.any()
    assert np.isnan(convex.stationarity_gap_)
    assert tight.score(*data) > 0.2
    assert tight.objective_ < convex.objective_ - 0.1


@pytest.mark.parametrize("measure", ["prbep", "f1"])
def test_weights_are_copies(measure):
    X, y = gaussians(20, 50, 3, seed=3)
    counts = np.random.default_rng(1).integers(1, 4, size=y.size)
    weighted = classifier(measure, tol=1e-6, max_iter=5000).fit(X, y, counts)
    copied = classifier(measure, tol=1e-6, max_iter=5000).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.objective_ == pytest.approx(copied.objective_, abs=1e-5)


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csc_matrix, np.asfortranarray, np.float32])
def test_every_format(data, convert):
    X, y = data
    X = X.astype(np.float32).astype(np.float64)  # so that float32 holds the same numbers
    assert classifier().fit(convert(X), y).objective_ == pytest.approx(classifier().fit(X, y).objective_, abs=1e-6)


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "newton", "bmrm", BMRM(tol=1e-2), Nesterov(tol=1e-3)], ids=str)
def test_solvers(data, solver):
    X, y = data
    # (Newton's method has no second derivatives of ROC area, from which the tight bound starts.)
    hold_tight_fit(classifier(alpha=1e-2, tol=1e-2, solver=solver, max_iter=5000).fit(X, y), X, y)


@pytest.mark.parametrize("measure", ["log_loss", "squared_hinge"], ids=str)
def test_measures_without_a_tight_bound(data, measure):
    with pytest.raises(ValueError, match=r'bound="tight" is for measures whose risk is a maximum over labelings'):
        classifier(measure).fit(*data)


def test_bad_bounds(data):
    with pytest.raises(ValueError, match="bound must be"):
        classifier(bound="loose").fit(*data)


def test_rows_of_start_and_steps_are_one_story(data, capsys):
    rows = []
    clf = classifier(tol=1e-4, callback=rows.append, verbose=2).fit(*data)
    result = clf.result_
    assert result.trace.rows == rows
    assert [row.iteration for row in rows] == list(range(clf.n_iter_ + 1))
    assert np.all(np.diff(result.trace["seconds"]) > 0)
    assert np.all(np.diff(result.trace["passes"]) >= 0)
    assert rows[-1].passes <= result.n_matvec + result.n_rmatvec
    # The rows begin with those of ROC area alone.
    ranking = MeasureClassifier("roc_area", alpha=1e-3, tol=1e-4).fit(*data)
    assert [row.objective for row in rows[: ranking.n_iter_ + 1]] == ranking.result_.trace["objective"].tolist()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(rows) + 1
    assert lines[-1].endswith("The last convex step could lower the tight bound by no more than the tolerance.")


@pytest.mark.parametrize("at", [2, 40])
def test_a_callback_stops_the_start_and_the_steps(data, at):
    clf = classifier(tol=1e-7, max_iter=5000, callback=lambda row: row.iteration == at).fit(*data)
    assert clf.result_.status is Status.STOPPED
    assert at <= clf.n_iter_ <= at + 1
    assert clf.coef_.any()
    assert clf.objective_ == pytest.approx(recomputed(clf, *data), rel=1e-11)


@pytest.mark.filterwarnings("ignore::smoothperf.ZeroModelWarning")
@pytest.mark.parametrize("most", [0, 3, 30])
def test_the_limit_of_iterations_is_that_of_start_and_steps(data, most):
    with pytest.warns(ConvergenceWarning, match="The gap reached is"):
        clf = classifier(tol=1e-6, max_iter=most).fit(*data)
    assert clf.result_.status is Status.ITERATION_LIMIT
    assert clf.n_iter_ <= most + 1  # each of the two runs has a starting point
    assert clf.stationarity_gap_ > 1e-6


def test_warm_start(data):
    X, y = data
    clf = classifier(warm_start=True).fit(X, y)
    first = clf.objective_, clf.n_iter_
    clf.fit(X, y)
    assert clf.objective_ <= first[0] + 1e-12
    assert clf.n_iter_ < first[1]
    # From a model of zeros there is nothing to go on from.
    with pytest.warns(ZeroModelWarning):
        clf.set_params(bound="convex").fit(X, y)
    clf.set_params(bound="tight", warm_start=True)
    clf.coef_ = np.zeros((1, 4))
    assert clf.fit(X, y).coef_.any()


@pytest.mark.parametrize("measure", ["prbep", "f1"])
def test_models_go_to_files_and_back(data, measure, tmp_path):
    X, y = data
    clf = classifier(measure).fit(X, y)
    clf.save(tmp_path / "model")
    for other in (smoothperf.load(tmp_path / "model"), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        assert other.get_params()["bound"] == "tight"
        assert other.objective_ == clf.objective_
        assert other.stationarity_gap_ == clf.stationarity_gap_
        assert np.isnan([other.lower_bound_, other.gap_]).all()
    assert clone(clf).fit(X, y).objective_ == clf.objective_


@pytest.mark.parametrize("measure", [PrecisionAtK(0.1), PartialROCArea(0.1)], ids=str)
def test_rows_that_tell_nothing(measure):
    """A constant feature: every direction is as bad as none."""
    with pytest.warns(ZeroModelWarning, match="w = 0 is as good as what was found, within tol=0.001"):
        clf = classifier(measure).fit(np.ones((30, 2)), np.repeat([0, 1], [20, 10]))
    assert clf.result_.status is Status.STATIONARY
