"""Regularisation paths of rankers: each solution as good as one found alone, convex ones certified."""

import numpy as np
import pytest
import scipy.sparse as sp

from problems import graded
from smoothperf import BMRM, NDCG, MeasureRanker, Status, regularization_path
from smoothperf.measures import get_query_measure


@pytest.fixture(scope="module")
def data():
    return graded(40, 8, shares=(0.5, 0.65, 0.85), noise=0.7, spread=1.0)


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
@pytest.mark.parametrize("measure", ["pairs", "squared_loss", "ndcg", "ndcg@3", "precision@3", "recall@3"])
def test_convex_bounds_are_certified(data, measure, solver):
    X, y, qid = data
    weights = 1.0 + qid % 3
    path = regularization_path(
        X, y, qid=qid, measure=measure, bound="convex", sample_weight=weights, n_alphas=5, tol=1e-2, solver=solver
    )
    assert path.coefs.shape == (5, 4)
    assert path.classes is None
    assert not path.intercepts.any()
    assert set(path.statuses) == {Status.CONVERGED}
    assert (path.gaps <= 1e-2).all()
    assert np.isnan(path.stationarity_gaps).all()
    np.testing.assert_array_equal(path.reached, path.gaps)
    risk = get_query_measure(measure).bind(y, qid, weights)
    for alpha, coef, objective, bound in zip(path.alphas, path.coefs, path.objectives, path.lower_bounds, strict=True):
        assert objective == pytest.approx(alpha / 2 * coef @ coef + risk.exact_value(X @ coef), rel=1e-9)
        alone = MeasureRanker(measure, alpha=alpha, bound="convex", tol=1e-3)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("smoothperf.estimators.ranker.warn_of_zero_ranker", lambda *_, **__: None)
            alone.fit(X, y, qid=qid, sample_weight=weights)
        assert bound <= alone.objective_
        assert alone.lower_bound_ <= objective


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("measure", ["ndcg@3", NDCG(5, tight_target="order"), "precision@3", "mrr"], ids=repr)
def test_tight_bounds_end_at_stationary_points(data, measure, make):
    X, y, qid = data
    train, test = qid < 25, qid >= 25
    X = make(X)
    path = regularization_path(
        X[train], y[train], qid=qid[train], measure=measure, n_alphas=5, validation=(X[test], y[test], qid[test])
    )
    assert (path.stationarity_gaps <= 1e-3).all()
    assert np.isnan(path.gaps).all()
    assert np.isnan(path.lower_bounds).all()
    np.testing.assert_array_equal(path.reached, path.stationarity_gaps)
    assert (np.diff(path.objectives) <= 1e-9).all()  # the smaller alpha is, the less the weights cost
    assert path.n_passes.min() > 2
    score = get_query_measure(measure)
    for coef, in_train, in_test in zip(path.coefs, path.train_scores, path.validation_scores, strict=True):
        assert in_train == pytest.approx(score.score(y[train], X[train] @ coef, qid[train]), abs=0.01)
        assert in_test == pytest.approx(score.score(y[test], X[test] @ coef, qid[test]), abs=0.01)
    assert path.train_scores[-1] > 0.6
    assert path.validation_scores[path.best] == path.validation_scores.max()


def test_the_path_is_made_of_the_solutions_of_the_ranker(data):
    X, y, qid = data
    path = regularization_path(X, y, group=[8] * 40, measure="pairs", alphas=[1e-2, 1e-1], tol=1e-6)
    np.testing.assert_array_equal(path.alphas, [1e-1, 1e-2])
    for alpha, coef in zip(path.alphas, path.coefs, strict=True):
        alone = MeasureRanker("pairs", alpha=alpha, tol=1e-6).fit(X, y, qid=qid)
        np.testing.assert_allclose(coef, alone.coef_, atol=2 * np.sqrt(2e-6 / alpha))


@pytest.mark.parametrize("measure", ["pairs", "ndcg@3"])
def test_a_callback_ends_it(data, measure):
    X, y, qid = data
    path = regularization_path(X, y, qid=qid, measure=measure, n_alphas=8, tol=1e-5, callback=lambda row: True)
    assert len(path.alphas) < 8
    assert path.statuses[-1] is Status.STOPPED


def test_errors(data):
    X, y, qid = data
    with pytest.raises(ValueError, match=r"class_weight is for labels of two kinds, not for grades .* 'balanced'"):
        regularization_path(X, y, qid=qid, class_weight="balanced")
    with pytest.raises(ValueError, match=r"pos_label is for labels .* got 1"):
        regularization_path(X, y, qid=qid, pos_label=1)
    with pytest.raises(ValueError, match="measure must be one of 'ndcg'"):
        regularization_path(X, y, qid=qid, measure="prbep")
    with pytest.raises(ValueError, match="got both"):
        regularization_path(X, y, qid=qid, group=[8] * 40)
    with pytest.raises(ValueError, match=r"validation must be \(X, y, qid\) or"):
        regularization_path(X, y, qid=qid, validation=(X, y))
    with pytest.raises(ValueError, match="validation X has 3 features but X has 4"):
        regularization_path(X, y, qid=qid, validation=(X[:, :3], y, qid))
    with pytest.raises(ValueError, match="validation: qid has 3 entries"):
        regularization_path(X, y, qid=qid, validation=(X, y, qid[:3]))
    with pytest.raises(ValueError, match='"newton"'):
        regularization_path(X, y, qid=qid, measure="ndcg@3", solver="newton")
    assert (regularization_path(X, y, qid=qid, n_alphas=2, solver=BMRM(tol=1e-2)).gaps <= 1e-2).all()
