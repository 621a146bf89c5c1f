"""Regularisation paths: every solution certified, each as good as one found alone, and cheaper."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import gaussians, problem, searching
from smoothperf import LBFGS, PRBEP, FBeta, MeasureClassifier, ROCArea, Status, regularization_path
from smoothperf.datasets import make_rare_positives
from smoothperf.design import as_design
from smoothperf.optimise.path import QuadraticPath

MEASURES = [PRBEP(), ROCArea()]
X, Y = gaussians(60, 140, 6, seed=3)


@searching(15)
@given(seed=st.integers(0, 10_000), prbep=st.booleans(), n_alphas=st.integers(1, 6), log_scale=st.floats(-2, 2))
def test_bounds_along_the_path_are_bounds(seed, prbep, n_alphas, log_scale):
    X, y = gaussians(3, 5, 2, seed=seed, scale=10.0**log_scale)
    measure = PRBEP() if prbep else ROCArea()
    path = regularization_path(X, y, measure=measure, bound="convex", n_alphas=n_alphas, tol=1e-4, max_iter=5000)
    assert path.alphas.shape == (n_alphas,)
    for alpha, objective, bound in zip(path.alphas, path.objectives, path.lower_bounds, strict=True):
        _, minimum = oracles.prbep_optimum(X, y, alpha) if prbep else oracles.roc_optimum(X, y, alpha)
        assert bound <= minimum + 1e-7
        assert minimum - 1e-7 <= objective <= minimum + 1e-4 + 1e-7


@pytest.mark.parametrize("measure", ["prbep", "f1"])
def test_where_no_weights_are_best_is_known(measure):
    path = regularization_path(X, Y, measure=measure, n_alphas=8, tol=1e-2)
    for alpha, bound, zero in zip(path.alphas, path.lower_bounds, path.zero_is_best, strict=True):
        objective = problem(PRBEP() if measure == "prbep" else FBeta(), X, Y, alpha)
        # A bias may be trained; of all constants that it can be, some are tried here, and none is better by much.
        biases = [0.0] if measure == "prbep" else np.linspace(-2.0, 2.0, 401)
        at_zero = min(objective.risk.exact_value(np.full(200, b)) + alpha / 2 * b**2 for b in biases)
        if zero:
            assert at_zero - bound <= 1e-2 + 1e-9
        elif measure == "prbep":
            assert at_zero - bound > 1e-2
    assert path.zero_is_best[0]
    assert not path.zero_is_best[-1]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix, np.float32])
def test_what_a_path_holds(measure, make):
    train, held_out = (make(X[::2]), Y[::2]), (make(X[1::2]), Y[1::2])
    path = regularization_path(*train, measure=measure, n_alphas=8, validation=held_out)
    assert path.coefs.shape == (8, 6)
    assert (np.diff(path.alphas) < 0).all()
    np.testing.assert_allclose(path.alphas[-1], 1e-6 * path.alphas[0])
    np.testing.assert_array_equal(path.gaps, path.objectives - path.lower_bounds)
    assert (path.gaps <= 1e-3).all()
    assert set(path.statuses) == {Status.CONVERGED}
    assert path.seconds.min() > 0.0
    objective = problem(measure, *train, 1.0)
    for i, alpha in enumerate(path.alphas):
        coef = path.coefs[i]
        scores = X[::2] @ coef
        assert path.objectives[i] == pytest.approx(
            alpha / 2 * coef @ coef + objective.risk.exact_value(scores), abs=1e-5
        )
        assert path.train_scores[i] == pytest.approx(measure.score(Y[::2], scores), abs=0.02)
        assert path.validation_scores[i] == pytest.approx(measure.score(Y[1::2], X[1::2] @ coef), abs=0.02)
        if len(np.unique(scores)) > 1:
            assert (scores + path.intercepts[i] > 0).sum() == (Y[::2] == 1).sum()
    assert path.validation_scores[path.best] == path.validation_scores.max()


def test_the_path_is_made_of_the_solutions_of_the_classifier():
    path = regularization_path(X, Y, alphas=[1e-3, 1e-1, 1e-2, 1e-2], tol=1e-7)
    np.testing.assert_array_equal(path.alphas, [1e-1, 1e-2, 1e-3])
    assert path.validation_scores is None
    for alpha, coef, intercept in zip(path.alphas, path.coefs, path.intercepts, strict=True):
        alone = MeasureClassifier(alpha=alpha, tol=1e-7).fit(X, Y)
        np.testing.assert_allclose(coef, alone.coef_[0], atol=2 * np.sqrt(2e-7 / alpha))
        np.testing.assert_allclose(intercept, alone.intercept_[0], atol=0.05)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])
def test_the_largest_alpha_is_the_smallest_at_which_the_first_plane_leaves_nothing_to_gain(measure, tol):
    risk = measure.bind(Y)
    continuation = QuadraticPath(as_design(X), risk, LBFGS(tol=tol))
    largest = continuation.largest_alpha(1e-3)
    reached = max(tol, 1e-3)
    at_zero = risk.exact_value(np.zeros(Y.size))
    optimum = LBFGS(tol=1e-8).run(problem(measure, X, Y, largest))
    assert at_zero - optimum.lower_bound <= reached + 1e-7
    # That is what one plane can tell; the true gain is of its order.
    assert at_zero - LBFGS(tol=1e-8).run(problem(measure, X, Y, largest / 30)).objective > reached / 2


def test_large_alphas_cost_no_passes_and_the_path_less_than_its_parts():
    X, y = make_rare_positives(3000, 400, positive_rate=0.1)
    path = regularization_path(X, y, n_alphas=12)
    assert path.n_passes[:4].tolist() == [2, 0, 0, 0]
    alone = [LBFGS().run(problem(ROCArea(), X, y, alpha)) for alpha in path.alphas]
    assert path.n_passes.sum() < 0.8 * sum(result.n_matvec + result.n_rmatvec for result in alone)


def test_fewer_passes_with_planes_and_starts_than_without():
    """Handing nothing on must cost passes; otherwise the machinery is for nothing."""
    X, y = make_rare_positives(3000, 400, positive_rate=0.1)
    alphas = np.geomspace(1e-2, 1e-4, 8)
    together = regularization_path(X, y, measure="prbep", alphas=alphas).n_passes[1:].sum()
    apart = sum(int(regularization_path(X, y, measure="prbep", alphas=[a]).n_passes[0]) for a in alphas[1:])
    assert together < 0.8 * apart


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_solutions_without_a_pass_have_true_bounds_all_the_same(measure):
    """Alphas so close, and a tol so coarse, that the certificate of one does for many that follow."""
    path = regularization_path(X, Y, measure=measure, alphas=np.geomspace(1e-2, 5e-3, 15), tol=1e-2)
    free = np.flatnonzero(path.n_passes == 0)
    assert free.size >= 5
    for i in free:
        best = LBFGS(tol=1e-7).run(problem(measure, X, Y, path.alphas[i]))
        assert path.lower_bounds[i] <= best.objective
        assert best.lower_bound <= path.objectives[i]
        assert 0.0 < path.gaps[i] <= 1e-2
    assert (path.objectives[free] - path.lower_bounds[free]).max() > 1e-4  # so the bound is not the objective


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_start_is_never_worse_than_the_solution_before(measure):
    continuation = QuadraticPath(as_design(X), measure.bind(Y), LBFGS())
    before = np.zeros(X.shape[1])
    for alpha in (1e3, 3.0, 1e-1, 1e-2, 1e-5):
        objective = problem(measure, X, Y, alpha)
        start = objective.exact(continuation.start(alpha))
        assert start <= objective.exact(before) + 1e-12
        before = continuation.solve(alpha).coef
        assert objective.exact(before) <= start + 1e-12


def test_every_run_has_the_planes_and_the_curvature_of_the_one_before(monkeypatch):
    run = LBFGS.run
    handed = []

    def recording(self, objective, start=None, callback=None, **carried):
        result = run(self, objective, start, callback, **carried)
        handed.append((start, result))
        return result

    monkeypatch.setattr(LBFGS, "run", recording)
    regularization_path(X, Y, alphas=np.geomspace(1.0, 1e-4, 5), tol=1e-5)
    assert len(handed) == 5
    assert len(handed[0][0].planes) == 1  # the plane at w = 0
    assert handed[0][0].pairs is None
    for (_, left), (received, _) in itertools.pairwise(handed):
        assert received.planes is left.planes
        assert received.pairs is left.pairs
    assert max(len(left.planes) for _, left in handed) <= 20
    assert max(len(left.pairs.order) for _, left in handed) > 3


def test_weights_are_copies():
    counts = np.random.default_rng(0).integers(1, 4, Y.size)
    weighted = regularization_path(X, Y, alphas=[1e-1, 1e-2], sample_weight=counts, tol=1e-6)
    copied = regularization_path(np.repeat(X, counts, axis=0), np.repeat(Y, counts), alphas=[1e-1, 1e-2], tol=1e-6)
    np.testing.assert_allclose(weighted.objectives, copied.objectives, atol=1e-6)
    balanced = regularization_path(X, Y, measure="prbep", alphas=[1e-2], class_weight="balanced")
    by_hand = regularization_path(
        X, Y, measure="prbep", alphas=[1e-2], sample_weight=np.where(Y > 0, 200 / 120, 200 / 280)
    )
    np.testing.assert_allclose(balanced.coefs, by_hand.coefs)
    held_out = np.random.default_rng(1).uniform(0.1, 3.0, Y.size)
    path = regularization_path(X, Y, alphas=[1e-2], validation=(X, Y, held_out))
    assert path.validation_scores[0] == ROCArea().score(Y, X @ path.coefs[0], held_out)


def test_labels_of_any_kind():
    words = np.where(Y > 0, "yes", "no")
    path = regularization_path(X, words, alphas=[1e-2], validation=(X, words))
    assert list(path.classes) == ["no", "yes"]
    assert path.validation_scores[0] == path.train_scores[0]


def test_callback_stops_the_path_and_verbose_prints(capsys):
    seen = []

    def stop(row):
        seen.append(row)
        return len(seen) == 4

    path = regularization_path(X, Y, alphas=np.geomspace(1.0, 1e-5, 10), tol=1e-8, callback=stop, verbose=2)
    assert len(seen) == 4 == len(capsys.readouterr().err.splitlines())
    assert len(path.alphas) < 10
    assert path.statuses[-1] is Status.STOPPED
    assert len(path.coefs) == len(path.alphas)


def test_features_that_tell_nothing():
    path = regularization_path(np.ones((20, 2)), np.repeat([0, 1], 10), n_alphas=3)
    np.testing.assert_array_equal(path.alphas, [1.0, 1e-3, 1e-6])
    np.testing.assert_allclose(path.objectives, 1.0)
    assert np.abs(path.coefs).max() < 1e-6
    assert (path.gaps <= 1e-3).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alphas": []}, "alphas are empty; give at least one"),
        ({"alphas": [1.0, 0.0]}, r"alphas must be above 0, got 0.0 at position 1"),
        ({"alphas": [1.0, np.nan]}, r"alphas must be finite, got nan at position 1"),
        ({"n_alphas": 0}, "n_alphas must be a whole number of at least 1, got 0"),
        ({"alpha_ratio": 1.0}, "alpha_ratio must lie between 0 and 1, got 1.0"),
        ({"alpha_ratio": -1.0}, "alpha_ratio must be a finite number above 0, got -1.0"),
        ({"validation": X}, r"validation must be \(X, y\), \(X, y, sample_weight\) or .*, got ndarray"),
        ({"validation": (X[:, :2], Y)}, "validation X has 2 features but X has 6; they must match"),
        ({"validation": (X, Y[1:])}, r"validation: X has 200 rows but y has shape \(199,\)"),
        ({"validation": (X, np.where(Y > 0, "a", "b"))}, "validation: y must hold the labels of fit"),
        ({"measure": "brier"}, "measure must be one of"),
        ({"solver": "adam"}, "solver must be one of"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        regularization_path(X, Y, **arguments)


def test_bad_data():
    with pytest.raises(ValueError, match="X has 200 rows but y has 199 labels"):
        regularization_path(X, Y[1:])
    with pytest.raises(ValueError, match="y has one class only"):
        regularization_path(X, np.ones(200))
    with pytest.raises(ValueError, match="best needs validation scores: pass validation"):
        _ = regularization_path(X, Y, alphas=[1.0]).best
