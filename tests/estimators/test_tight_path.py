"""Paths of the tight bound: stationary points, as good as those of separate fits, whatever the penalty and the rows."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from problems import gaussians
from smoothperf import MeasureClassifier, MeasureClassifierCV, Status, ZeroModelWarning, regularization_path
from smoothperf.design import as_design
from smoothperf.io import convert
from smoothperf.measures import PRBEP, ROCArea, get_measure
from smoothperf.optimise import LBFGS
from smoothperf.optimise.elastic_net import ElasticNet
from smoothperf.optimise.path import TightPath, convex_path, relative_strength
from smoothperf.optimise.penalties import Quadratic

RANKING = ["prbep", "precision@20", "recall@10%", "roc_area", "roc_area@0.2"]
WITH_BIAS = ["f1", "jaccard", "error_rate", "balanced_error_rate"]
X, Y = gaussians(60, 240, 6, seed=3)
NOISE = np.random.default_rng(1).normal(size=X.shape[0])


def tight_value(measure, X, y, coef, alpha, *, l1_ratio=0.0, factors=1.0, weights=None, base=0.0):
    """``Omega(w) + R(Xw) - R0(Xw)``."""
    risk = get_measure(measure).bind(y, weights)
    scores = base + X @ coef
    penalty = alpha * (l1_ratio * factors * np.abs(coef) + (1.0 - l1_ratio) / 2.0 * factors * coef**2).sum()
    return penalty + risk.exact_value(scores) - risk.loss_free(scores).value


def hold_path(path, measure, X, y, **details):
    """Check the promises of a path without a bias: stationary points, whose objectives are as said and never rise."""
    assert set(path.statuses) == {Status.STATIONARY}
    assert (path.reached <= 1e-3).all()
    assert (np.diff(path.objectives) <= 1e-12).all()
    for alpha, coef, objective in zip(path.alphas, path.coefs, path.objectives, strict=True):
        assert objective == pytest.approx(tight_value(measure, X, y, coef, alpha, **details), abs=1e-9)


@pytest.mark.parametrize("measure", [*RANKING, *WITH_BIAS])
def test_solutions_are_stationary_points_and_objectives_never_rise(measure):
    options = {"measure": measure, "bound": "tight", "fit_intercept": measure in RANKING}
    held_out = slice(1, None, 2)
    path = regularization_path(X[::2], Y[::2], n_alphas=6, validation=(X[held_out], Y[held_out]), **options)
    assert path.coefs.shape == (6, 6)
    assert not path.certified
    assert np.isnan(path.lower_bounds).all()
    assert np.isnan(path.gaps).all()
    assert (path.stationarity_gaps <= 1e-3).all()
    np.testing.assert_array_equal(path.reached, path.stationarity_gaps)
    assert set(path.statuses) == {Status.STATIONARY}
    assert path.n_passes.min() > 0
    assert path.seconds.min() > 0.0
    assert (np.diff(path.objectives) <= 1e-12).all()
    at_zero = tight_value(measure, X[::2], Y[::2], np.zeros(6), 1.0)
    for i, alpha in enumerate(path.alphas):
        coef = path.coefs[i]
        assert path.objectives[i] == pytest.approx(tight_value(measure, X[::2], Y[::2], coef, alpha), abs=1e-9)
        assert path.zero_is_best[i] == (at_zero - path.objectives[i] <= 1e-3)
        if i:  # a run from the weights before would have ended no higher than there
            before = tight_value(measure, X[::2], Y[::2], path.coefs[i - 1], alpha)
            assert path.objectives[i] <= before + 1e-12
        score = get_measure(measure).score(Y[held_out], X[held_out] @ coef + path.intercepts[i])
        assert path.validation_scores[i] == pytest.approx(score, abs=1e-12)
    assert not path.zero_is_best[-1]


@pytest.mark.parametrize("measure", ["prbep", "f1", "roc_area@0.2", "error_rate"])
def test_as_good_as_separate_fits(measure):
    """On noisy data, where there are many stationary points."""
    rows = X + np.random.default_rng(0).normal(size=X.shape)
    path = regularization_path(rows, Y, measure=measure, bound="tight", n_alphas=8)
    with warnings.catch_warnings(action="ignore", category=ZeroModelWarning):
        alone = [MeasureClassifier(measure, alpha, bound="tight").fit(rows, Y).result_ for alpha in path.alphas]
    assert np.mean(path.objectives - [result.objective for result in alone]) <= 2e-4
    if measure in ("roc_area@0.2", "error_rate"):  # the others find lower points at second looks, which take passes
        assert path.n_passes.sum() < sum(result.n_matvec + result.n_rmatvec for result in alone)


@pytest.mark.parametrize("measure", ["prbep", "roc_area@0.2", "error_rate"])
@pytest.mark.parametrize(
    ("penalty", "l1_ratio", "factors", "lower", "upper"),
    [
        ({"l1_ratio": 1.0}, 1.0, 1.0, -np.inf, np.inf),
        ({"l1_ratio": 0.4, "positive": True}, 0.4, 1.0, 0.0, np.inf),
        ({"coef_bounds": (-0.1, 0.2)}, 0.0, 1.0, -0.1, 0.2),
        (
            {"l1_ratio": 0.5, "penalty_factors": [1, 2, 0.5, 1, 3, 1]},
            0.5,
            np.array([1, 2, 0.5, 1, 3, 1]),
            -np.inf,
            np.inf,
        ),
    ],
)
def test_penalties(measure, penalty, l1_ratio, factors, lower, upper):
    weights = np.random.default_rng(0).integers(1, 4, size=Y.size).astype(float)
    base = 0.3 * NOISE
    path = regularization_path(
        X,
        Y,
        measure=measure,
        bound="tight",
        n_alphas=5,
        fit_intercept=False,
        sample_weight=weights,
        base_scores=base,
        **penalty,
    )
    hold_path(path, measure, X, Y, l1_ratio=l1_ratio, factors=factors, weights=weights, base=base)
    assert (path.coefs >= lower).all()
    assert (path.coefs <= upper).all()
    assert path.n_features_in_model[-1] > 0
    if l1_ratio > 0.0:
        assert path.n_features_in_model[0] == 0
        assert path.zero_is_best[0]


def test_weights_are_copies():
    counts = np.random.default_rng(2).integers(1, 4, size=Y.size)
    options = {"measure": "prbep", "bound": "tight", "alphas": [1.0, 0.1], "tol": 1e-5}
    weighted = regularization_path(X, Y, sample_weight=counts, **options)
    copied = regularization_path(np.repeat(X, counts, axis=0), np.repeat(Y, counts), **options)
    np.testing.assert_allclose(weighted.objectives, copied.objectives, atol=1e-4)


def test_stores_and_sparse_rows(tmp_path):
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x.tolist()))
        for x, label in zip(X, Y, strict=True)
    ]
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    convert(tmp_path / "rows.svm", tmp_path / "rows.store")
    options = {"measure": "f1", "bound": "tight", "n_alphas": 4, "fit_intercept": False}
    expected = regularization_path(X, Y, **options)
    for path in (
        regularization_path(tmp_path / "rows.store", **options),
        regularization_path(sp.csr_matrix(X), Y, **options),
    ):
        np.testing.assert_allclose(path.alphas, expected.alphas)
        hold_path(path, "f1", X, Y)


@pytest.mark.parametrize("solver", ["nesterov", "newton", "bmrm"])
@pytest.mark.parametrize("measure", ["prbep", "error_rate"])
def test_other_solvers(measure, solver):
    options = {"measure": measure, "bound": "tight", "alphas": [1.0, 1e-2], "fit_intercept": False}
    hold_path(regularization_path(X, Y, solver=solver, max_iter=5000, **options), measure, X, Y)


def test_a_choice_by_newtons_method_starts_from_roc_area_too():
    clf = MeasureClassifierCV("prbep", bound="tight", solver="newton", alphas=[1e-1, 1e-2], cv=2).fit(X, Y)
    assert clf.stationarity_gap_ <= clf.tol


@pytest.mark.parametrize("calls", [1, 2, 30])
def test_a_callback_ends_the_path_wherever_it_is(calls):
    seen = []

    def once(row):
        seen.append(row)
        return len(seen) == calls

    path = regularization_path(X, Y, measure="f1", bound="tight", n_alphas=20, tol=1e-5, callback=once)
    assert path.statuses[-1] is Status.STOPPED or calls == 30
    assert len(path.alphas) < 20
    assert len(seen) < calls + 5


def test_the_strength_of_a_start_is_that_of_scores_of_its_size():
    """With scores, and weights, that are s times as large, penalties are equal; absolute values decide if there are."""
    risk, w = PRBEP().bind(Y), np.array([1.0, -2.0, 0.5])
    s = risk.score_scale
    assert s != 1.0
    for penalty in (Quadratic(0.3), ElasticNet(0.3, 1.0)):
        start = penalty.with_alpha(0.3 * relative_strength(risk, penalty)).on(3)
        assert penalty.on(3).value(s * w, s**2 * (w @ w)) == pytest.approx(start.value(w, w @ w))


def test_where_a_path_begins():
    design, solver = as_design(X), LBFGS()
    risk = PRBEP().bind(Y)
    convex = convex_path(design, ROCArea().bind(Y), solver)
    along = TightPath(design, risk, solver, None, convex)
    assert along.begin(1e-3) == pytest.approx(convex.largest_alpha(1e-3) / risk.score_scale**2)
    path = regularization_path(X, Y, measure="prbep", bound="tight", n_alphas=2)
    assert path.alphas[0] == along.begin(1e-3)


def test_the_default_is_convex():
    path = regularization_path(X, Y, measure="prbep", n_alphas=3)
    assert path.certified
    np.testing.assert_array_equal(
        path.objectives, regularization_path(X, Y, measure="prbep", bound="convex", n_alphas=3).objectives
    )


def test_errors():
    for measure in ("log_loss", "squared_hinge"):
        options = {"measure": measure, "bound": "tight"}
        for fit in (MeasureClassifier(**options).fit, functools.partial(regularization_path, **options)):
            with pytest.raises(ValueError, match=f"is a maximum over labelings, which that of '{measure}' is not"):
                fit(X, Y)
    with pytest.raises(ValueError, match="bound must be"):
        regularization_path(X, Y, bound="loose")
