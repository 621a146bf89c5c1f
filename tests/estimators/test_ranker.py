"""MeasureRanker and MeasureRankerCV: what they minimise, what they take, and their life among scikit-learn's tools."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import smoothperf
from problems import graded
from promises import hold_tight_ranker
from smoothperf import (
    BMRM,
    LBFGS,
    NDCG,
    MeasureRanker,
    MeasureRankerCV,
    Newton,
    QueryROCArea,
    QuerySquaredLoss,
    Status,
    ZeroModelWarning,
)
from smoothperf.design import as_design
from smoothperf.estimators.choice import Choice
from smoothperf.estimators.ranker_cv import LEAST_SHARE, shares_of
from smoothperf.io.model_file import ModelFileError
from smoothperf.measures import Queries, get_query_measure
from smoothperf.optimise.objective import RegularizedRisk
from smoothperf.tasks.base import HeldOut
from smoothperf.tasks.queries import QueryTask
from smoothperf.tasks.query_choice import FEW_QUERIES, REPEATS, candidate_for, candidates_for, query_splits


@pytest.fixture(scope="module")
def data():
    return graded(shares=(0.65, 0.9), spread=1.0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class OneQuery(MeasureRanker):
    """All rows are of one query, so that scikit-learn's checks, which know nothing of queries, can be run."""

    def fit(self, X, y):
        """Fit."""
        grades = np.asarray(y)
        grades = grades - grades.min() if grades.dtype.kind in "iuf" and grades.size else grades
        return super().fit(X, grades, qid=np.zeros(len(y)))

    def score(self, X, y):
        """Score."""
        return super().score(X, y, qid=np.zeros(len(y)))


def failing(estimator):
    """Checks that cannot hold, and why."""
    return {"check_fit2d_1sample": "the message speaks of documents and queries, not of samples"}


@pytest.mark.filterwarnings("ignore::smoothperf.ZeroModelWarning")
@parametrize_with_checks(
    [OneQuery("pairs"), OneQuery("ndcg@5", solver="bmrm", tol=1e-2), OneQuery("squared_loss")],
    expected_failed_checks=failing,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_conventions_without_data():
    for ranker in (MeasureRanker(), MeasureRankerCV()):
        assert not is_classifier(ranker)
        assert not is_regressor(ranker)
        assert clone(ranker).get_params() == ranker.get_params()
        with pytest.raises(NotFittedError):
            ranker.predict([[1.0]])


@pytest.mark.parametrize("measure", ["pairs", "squared_loss", "map"])
@pytest.mark.parametrize("solver", ["lbfgs", "bmrm"])
def test_convex_risks_have_a_certificate(data, measure, solver):
    X, y, qid = data
    ranker = MeasureRanker(measure, alpha=0.1, solver=solver).fit(X, y, qid=qid)
    assert 0.0 <= ranker.gap_ <= 1e-3
    assert ranker.objective_ - ranker.lower_bound_ == ranker.gap_
    assert np.isnan(ranker.stationarity_gap_)
    risk = get_query_measure(measure).bind(y, qid)
    assert RegularizedRisk(as_design(X), risk, 0.1).exact(ranker.coef_) == pytest.approx(ranker.objective_)
    assert ranker.coef_.shape == (4,)
    assert ranker.intercept_ == 0.0
    assert ranker.n_features_in_ == 4
    assert ranker.n_iter_ == ranker.result_.n_iter
    assert ranker.result_.scores is None
    np.testing.assert_allclose(ranker.predict(X), X @ ranker.coef_)


@pytest.mark.parametrize(
    "measure", ["ndcg@5", NDCG(5, tight_target="order"), "precision@3", "recall@3", "mrr"], ids=str
)
def test_tight_bounds_are_stationary(data, measure):
    X, y, qid = data
    ranker = MeasureRanker(measure).fit(X, y, qid=qid)
    hold_tight_ranker(ranker, X, y, qid)
    assert np.isnan([ranker.gap_, ranker.lower_bound_]).all()
    assert ranker.score(X, y, qid=qid) > get_query_measure(measure).score(y, np.zeros(y.size), qid) + 0.1


def test_where_the_best_rankings_ask_for_too_much_the_order_is_the_target():
    X, y, qid = graded(20, 100, shares=(0.8, 0.95), noise=5.0)
    with pytest.warns(ZeroModelWarning):
        MeasureRanker(NDCG(5, tight_target="best")).fit(X, y, qid=qid)
    by_itself, order = (MeasureRanker(NDCG(5, tight_target=one)).fit(X, y, qid=qid) for one in ("auto", "order"))
    np.testing.assert_array_equal(by_itself.coef_, order.coef_)
    assert by_itself.objective_ == order.objective_
    assert by_itself.n_iter_ > order.n_iter_
    assert by_itself.stationarity_gap_ <= 1e-3


def test_the_trace_is_that_of_the_start_and_of_the_steps(data):
    X, y, qid = data
    rows = []
    ranker = MeasureRanker("ndcg@5", callback=lambda row: rows.append(row)).fit(X, y, qid=qid)
    assert [row.iteration for row in rows] == list(range(len(rows)))
    assert len(rows) == len(ranker.result_.trace)
    start = MeasureRanker("squared_loss", alpha=1e-3 * NDCG(5).bind(y, qid).score_scale ** 2).fit(X, y, qid=qid)
    assert rows[start.n_iter_].objective == pytest.approx(start.objective_, rel=1e-9)


def test_bound(data):
    X, y, qid = data
    assert MeasureRanker("ndcg@5", bound="convex").fit(X, y, qid=qid).gap_ <= 1e-3
    assert MeasureRanker("pairs", bound="tight").fit(X, y, qid=qid).stationarity_gap_ <= 1e-3
    with pytest.raises(ValueError, match="bound must be one of 'auto', 'convex', 'tight', got 'loose'"):
        MeasureRanker(bound="loose").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match='use bound="convex"'):
        MeasureRanker("squared_loss", bound="tight").fit(X, y, qid=qid)


def test_score_is_that_of_scikit_learn(data):
    X, y, qid = data
    ranker = MeasureRanker(NDCG(5, gain="linear")).fit(X, y, qid=qid)
    scores = ranker.predict(X)
    queries = [qid == query for query in np.unique(qid) if np.ptp(y[qid == query])]
    expected = np.mean([ndcg_score([y[rows]], [scores[rows]], k=5) for rows in queries])
    assert ranker.score(X, y, qid=qid) == pytest.approx(expected)


def test_ways_to_name_queries(data):
    X, y, qid = data
    ranker = MeasureRanker("ndcg@5").fit(X, y, qid=qid)
    words = np.array([f"query {number}" for number in qid], dtype=object)
    order = np.random.default_rng(0).permutation(qid.size)
    for other in (
        MeasureRanker("ndcg@5").fit(X, y, qid=words),
        MeasureRanker("ndcg@5").fit(X, y, qid=pd.Series(qid)),
        MeasureRanker("ndcg@5").fit(X, y, group=np.bincount(qid)),
    ):
        np.testing.assert_array_equal(other.coef_, ranker.coef_)
    # Rows in any order: the same problem, but sums are rounded in another order.
    pairs = [MeasureRanker("pairs", tol=1e-8).fit(X[rows], y[rows], qid=qid[rows]) for rows in (slice(None), order)]
    np.testing.assert_allclose(pairs[1].coef_, pairs[0].coef_, atol=1e-2)
    assert pairs[1].objective_ == pytest.approx(pairs[0].objective_, abs=1e-8)
    assert ranker.score(X, y, group=[10] * 30) == ranker.score(X[order], y[order], qid=words[order])


@pytest.mark.parametrize("make", [pd.DataFrame, lambda columns: pytest.importorskip("polars").DataFrame(columns)])
def test_a_column_of_a_frame_may_name_the_queries(data, make):
    X, y, qid = data
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    plain, with_queries = make(columns), make({"qid": qid, **columns})
    expected = MeasureRanker("pairs", alpha=1e-2).fit(plain, y, qid=qid)
    for estimator in (MeasureRanker("pairs", alpha=1e-2), MeasureRankerCV("pairs", alphas=[1e-2], cv=2)):
        ranker = estimator.fit(with_queries, y)
        assert ranker.feature_names_in_.tolist() == list(columns)
        np.testing.assert_array_equal(ranker.predict(with_queries), ranker.predict(plain))
        assert ranker.score(with_queries, y) == ranker.score(plain, y, qid=qid)
    ranker = clone(expected).fit(with_queries, y)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    for more in ({"qid": qid}, {"group": [len(y)]}):
        with pytest.raises(ValueError, match="X has a column 'qid', which says which query a row belongs to, and so"):
            ranker.fit(with_queries, y, **more)


def test_weights_are_copies_of_queries(data):
    X, y, qid = data
    counts = np.arange(30) % 3
    rows = np.concatenate([np.flatnonzero(qid == query) for query in range(30) for _ in range(counts[query])])
    copies = np.repeat(np.arange(counts.sum()), 10)
    for measure in ("pairs", "squared_loss"):
        weighted = MeasureRanker(measure, tol=1e-7).fit(X, y, qid=qid, sample_weight=counts[qid])
        copied = MeasureRanker(measure, tol=1e-7).fit(X[rows], y[rows], qid=copies)
        assert weighted.objective_ == pytest.approx(copied.objective_, abs=1e-7)
        assert weighted.score(X, y, qid=qid, sample_weight=counts[qid]) == pytest.approx(
            weighted.score(X[rows], y[rows], qid=copies)
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give qid, the query of each row, or group, .* got neither"),
        ({"qid": [1] * 6, "group": [6]}, "got both"),
        ({"qid": [1] * 5}, "qid has 5 entries but there are 6 documents"),
        ({"qid": [1, 1, np.nan, 2, 2, 2]}, "which query it belongs to, got nan at position 2"),
        ({"qid": np.ones((6, 1))}, "qid must be one-dimensional"),
        ({"qid": [1, 2, 3, 4, 5, 6]}, "no query has documents of two grades, of 6 queries with 6 documents"),
        ({"group": [2, 3]}, "group adds up to 5 but there are 6 rows"),
        ({"group": [7, -1]}, "group must not be negative, got -1 at position 1"),
        ({"group": [2.5, 3.5]}, "group must be a vector of whole numbers"),
        ({"qid": [1] * 6, "y": [0, 1, 2]}, "X has 6 rows but y has 3"),
        ({"qid": [1] * 6, "y": [0, 1, 2, -1, 0, 0]}, "y must hold grades .* 0 or more; got -1 at position 3"),
        ({"qid": [1] * 6, "y": [0, 1, 2, np.inf, 0, 0]}, "y must be finite, got inf at position 3; remove or replace"),
        ({"qid": [1] * 6, "y": [0, 1, 2, 1000, 0, 0]}, "a document of grade 1000 would gain 1.07151e\\+301"),
        ({"qid": [1] * 6, "sample_weight": [1, 1, 1, 2, 1, 1]}, "sample_weight must be the same for all documents"),
        ({"qid": [1] * 6, "sample_weight": [1, 1]}, "sample_weight has 2 entries"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ranker", [MeasureRanker(), MeasureRankerCV(cv=2)], ids=["one", "cv"])
def test_errors_say_what_is_wrong(ranker, arguments, message):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, **{"y": [0, 1, 2, 0, 1, 2], **arguments})


def test_other_errors(data):
    X, y, qid = data
    for ranker in (MeasureRanker("pairs", solver="newton"), MeasureRankerCV(solver=Newton())):
        with pytest.raises(ValueError, match=r"needs second derivatives of a form that .* lacks"):
            ranker.fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="measure must be one of"):
        MeasureRanker("prbep").fit(X, y, qid=qid)
    ranker = MeasureRanker("pairs").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="got neither"):
        ranker.score(X, y)
    with pytest.raises(ValueError, match="has 3 features, but MeasureRanker is expecting 4"):
        ranker.predict(X[:, :3])


def test_no_order_is_a_warning():
    X, _, qid = graded(5, 100, spread=1.0)
    y = np.random.default_rng(1).integers(0, 3, size=qid.size)
    with pytest.warns(ZeroModelWarning, match='train with measure="pairs" or "squared_loss"'):
        MeasureRanker("ndcg@5", alpha=100.0).fit(X, y, qid=qid)
    with pytest.warns(ZeroModelWarning, match='use bound="tight"'):
        MeasureRanker("ndcg@5", alpha=100.0, bound="convex").fit(X, y, qid=qid)


@pytest.mark.parametrize(
    "make", [sp.csr_matrix, sp.csc_matrix, np.asfortranarray, np.float32], ids=lambda make: make.__name__
)
def test_kinds_of_matrices(data, make):
    X, y, qid = data
    X = X.astype(np.float32).astype(float)
    plain, other = (MeasureRanker("pairs", tol=1e-6).fit(kind(X), y, qid=qid) for kind in (np.asarray, make))
    assert other.objective_ == pytest.approx(plain.objective_, abs=2e-6)
    np.testing.assert_allclose(other.predict(make(X)), other.predict(X), rtol=1e-5, atol=1e-5)


def test_names_of_features(data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    ranker = MeasureRanker("pairs").fit(frame, y, qid=qid)
    assert ranker.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        ranker.predict(frame.rename(columns={"a": "z"}))


def test_warm_start(data):
    X, y, qid = data
    for measure in ("pairs", "ndcg@5"):
        cold = MeasureRanker(measure, warm_start=True).fit(X, y, qid=qid)
        before = cold.n_iter_
        assert cold.fit(X, y, qid=qid).n_iter_ < before
        assert cold.fit(X[:, :2], y, qid=qid).coef_.shape == (2,)


@pytest.mark.parametrize("measure", ["ndcg@5", NDCG(5, gain=[0, 1, 5], tight_target="order"), QueryROCArea("pairs")])
def test_model_files(data, tmp_path, measure):
    X, y, qid = data
    ranker = MeasureRanker(measure, n_threads=1).fit(X, y, qid=qid)
    ranker.save(tmp_path / "a.model")
    loaded = smoothperf.load(tmp_path / "a.model")
    assert type(loaded) is MeasureRanker
    assert loaded.get_params() == ranker.get_params()
    for other in (loaded, pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(other.predict(X), ranker.predict(X))
        assert other.score(X, y, qid=qid) == ranker.score(X, y, qid=qid)
        assert other.result_.status is ranker.result_.status
    loaded.coef_ = loaded.coef_[:3]
    loaded.save(tmp_path / "b.model")
    with pytest.raises(ModelFileError, match=re.escape("coef_ must be an array of float64 of shape (4,)")):
        smoothperf.load(tmp_path / "b.model")


def test_functions_cannot_be_kept(data, tmp_path):
    X, y, qid = data
    ranker = MeasureRanker(NDCG(gain=np.sqrt)).fit(X, y, qid=qid)
    with pytest.raises(ModelFileError, match=r"measure\.gain is a ufunc"):
        ranker.save(tmp_path / "a.model")
    ranker.set_params(measure="roc_area").save(tmp_path / "a.model")
    np.testing.assert_array_equal(smoothperf.load(tmp_path / "a.model").predict(X), ranker.predict(X))


def test_metadata_routing(data, routing):
    X, y, qid = data
    ranker = MeasureRanker("ndcg@5").set_fit_request(qid=True).set_score_request(qid=True)
    folds = GroupKFold(3)
    search = GridSearchCV(ranker, {"alpha": [1e-1, 1e-3]}, cv=folds).fit(X, y, qid=qid, groups=qid)
    train, test = next(folds.split(X, y, qid))
    alone = MeasureRanker("ndcg@5", alpha=1e-1).fit(X[train], y[train], qid=qid[train])
    assert search.cv_results_["split0_test_score"][0] == alone.score(X[test], y[test], qid=qid[test])
    found = cross_validate(ranker, X, y, params={"qid": qid, "groups": qid}, cv=folds)
    assert found["test_score"].min() > 0.7
    pipeline = make_pipeline(StandardScaler(), ranker).fit(X, y, qid=qid)
    assert pipeline.score(X, y, qid=qid) == pipeline[-1].score(pipeline[:-1].transform(X), y, qid=qid)
    if parse_version(sklearn.__version__) >= parse_version("1.8"):  # older searches give the score of a pipeline no qid
        search = GridSearchCV(pipeline, {"measureranker__alpha": [1e-1, 1e-3]}, cv=folds)
        assert search.fit(X, y, qid=qid, groups=qid).best_score_ > 0.7
    frames = make_pipeline(StandardScaler(), clone(ranker)).set_output(transform="pandas")
    frames = frames.fit(pd.DataFrame(X, columns=list("abcd")), y, qid=qid)
    np.testing.assert_allclose(frames[-1].coef_, pipeline[-1].coef_, rtol=0.05)
    assert frames[-1].feature_names_in_.tolist() == list("abcd")
    chooser = MeasureRankerCV("ndcg@5", cv=2, n_alphas=2).set_fit_request(qid=True).set_score_request(qid=True)
    assert make_pipeline(StandardScaler(), chooser).fit(X, y, qid=qid).score(X, y, qid=qid) > 0.7


def test_choice(data):
    X, y, qid = data
    steps = []
    ranker = MeasureRankerCV("ndcg@5", cv=3, progress=steps.append).fit(X, y, qid=qid)
    results = ranker.cv_results_
    assert ranker.trained_for_ in candidates_for(NDCG(5))
    assert ranker.best_score_ == results["mean_test_score"][ranker.best_index_]
    assert ranker.alpha_ == results["param_alpha"][ranker.best_index_]
    assert {(one["measure"], one["target"]) for one in results["params"]} == {
        ("squared_loss", ""), ("pooled_squared_loss", ""), ("roc_area", ""), ("ndcg@5", "best"), ("ndcg@5", "order")
    }  # fmt: skip
    assert f"split{3 * REPEATS - 1}_test_score" in results  # few queries
    assert str(steps[0]).startswith(f"split 1 of {3 * REPEATS}: squared_loss, convex, alpha ")
    again = MeasureRankerCV("ndcg@5", cv=3, n_jobs=2).fit(X, y, qid=qid)
    np.testing.assert_array_equal(again.coef_, ranker.coef_)
    # The winner is what a ranker with the same risk finds.
    chosen = ranker.trained_for_
    same = MeasureRanker(chosen.measure, ranker.alpha_, bound=chosen.bound, tol=1e-6).fit(X, y, qid=qid)
    assert ranker.objective_ == pytest.approx(same.objective_, abs=2e-3)
    assert ranker.score(X, y, qid=qid) == NDCG(5).score(y, X @ ranker.coef_, qid)


def test_the_average(data):
    X, y, qid = data
    tried = [("pairs", "convex"), ("squared_loss", "convex"), ("pooled_squared_loss", "convex")]
    chooser = MeasureRankerCV("ndcg@5", bound=tried, alphas=[0.01], cv=3, tol=1e-6)
    ranker = chooser.fit(X, y, qid=qid)
    assert len(ranker.averaged_) > 1
    assert sum(ranker.averaged_.values()) == pytest.approx(1.0)
    assert next(iter(ranker.averaged_)) == str(ranker.trained_for_)
    expected = np.zeros(X.shape[1])
    for name, _ in tried:
        share = ranker.averaged_.get(str(candidate_for(get_query_measure(name))), 0.0)
        alone = MeasureRanker(name, 0.01, tol=1e-6).fit(X, y, qid=qid)
        scores = alone.predict(X)
        expected += share * alone.coef_ / np.sqrt(np.mean([scores[qid == query].var() for query in range(30)]))
    np.testing.assert_allclose(ranker.coef_, expected, atol=0.02 * np.abs(expected).max())
    assert not np.array_equal(ranker.result_.coef, ranker.coef_)  # the winner's, which has a certificate
    assert ranker.as_ranker().averaged_ == ranker.averaged_
    single = clone(chooser).set_params(average=False).fit(X, y, qid=qid)
    np.testing.assert_array_equal(single.coef_, single.result_.coef)
    assert single.averaged_ == {str(single.trained_for_): 1.0}
    assert single.trained_for_ == ranker.trained_for_


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_follow_from_standard_errors(weighted):
    """Worked out again, query by query; two splits hold out the same queries."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 6)
    y = np.tile([2.0, 1.0, 0.0, 0.0, 0.0, 1.0], 40)
    y[:6] = 1.0  # which does not count
    weight = rng.integers(1, 4, 40).astype(float) if weighted else np.ones(40)
    queries = Queries.of(y, qid, weight[qid] if weighted else None)
    names = ["pairs", "squared_loss", "pooled_squared_loss", "ndcg@5"]
    candidates = [candidate_for(get_query_measure(name)) for name in names]
    choice = Choice(QueryTask(measure=NDCG(5)), candidates, np.array([1.0]), literal=True)
    choice.last = dict.fromkeys(candidates, 0)
    values = {one: [] for one in candidates}
    for _ in range(2):
        held_out = HeldOut(np.arange(qid.size), queries, queries)
        for noise, one in zip((0.9, 1.0, 1.1, 30.0), candidates, strict=True):
            scores = held_out.scores[one, 0] = y + noise * rng.normal(size=y.size)
            values[one] += [NDCG(5).score(y[qid == q], scores[qid == q], qid[qid == q]) for q in range(1, 40)]
        choice.splits.append(held_out)
    masses = np.tile(weight[1:], 2)
    winner, index = choice.ranked()[0]
    found = shares_of(choice, winner, index)
    assert found.pop((winner, 0)) == 1.0
    for one in candidates:
        behind = np.array(values[winner]) - values[one]
        mean = np.average(behind, weights=masses)
        error = np.sqrt(2 * (masses**2 @ (behind - mean) ** 2)) / masses.sum()
        share = 0.0 if one == winner else np.exp(-((mean / error) ** 2) / 2)
        assert found.get((one, 0), 0.0) == pytest.approx(share if share >= LEAST_SHARE else 0.0, rel=1e-9)
    assert 0 < len(found) < 3  # noise alone has no share


def test_nothing_to_average(data):
    X, y, qid = data
    with pytest.warns(ZeroModelWarning):
        ranker = MeasureRankerCV("ndcg@5", cv=2, n_alphas=2).fit(np.ones_like(X), y, qid=qid)
    assert len(ranker.averaged_) == 1
    assert not ranker.coef_.any()


def test_what_is_stopped_is_not_averaged(data):
    X, y, qid = data
    tried = [("pairs", "convex"), ("squared_loss", "convex"), ("pooled_squared_loss", "convex")]
    ranker = MeasureRankerCV("ndcg@5", bound=tried, cv=2, n_alphas=2, callback=lambda row: True, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(X, y, qid=qid)
    assert ranker.result_.status is Status.STOPPED
    assert len(ranker.averaged_) == 1


def test_scores_of_splits_are_those_of_rankers(data):
    X, y, qid = data
    train, test = np.flatnonzero(qid < 20), np.flatnonzero(qid >= 20)
    chooser = MeasureRankerCV("ndcg@5", bound="convex", alphas=[0.1], cv=[(train, test)], tol=1e-4)
    chooser = chooser.set_params(bound=[("pairs", "convex")]).fit(X, y, qid=qid)
    alone = MeasureRanker("pairs", alpha=0.1, tol=1e-4).fit(X[train], y[train], qid=qid[train])
    expected = NDCG(5).score(y[test], alone.predict(X[test]), qid[test])
    assert chooser.best_score_ == pytest.approx(expected, abs=1e-3)
    assert str(chooser.trained_for_) == "roc_area, convex"
    assert chooser.alpha_ == 0.1


def test_models_of_a_choice_can_be_saved(data, tmp_path):
    X, y, qid = data
    ranker = MeasureRankerCV("ndcg@5", cv=2, n_alphas=2).fit(X, y, qid=qid)
    ranker.save(tmp_path / "a.model")
    loaded = smoothperf.load(tmp_path / "a.model")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.alpha == ranker.alpha_
    assert loaded.trained_for_ == ranker.trained_for_
    assert loaded.score(X, y, qid=qid) == ranker.score(X, y, qid=qid)


@pytest.mark.parametrize("cv", [3, 0.3, GroupKFold(3)], ids=str)
def test_splits_hold_out_whole_queries(cv):
    rng = np.random.default_rng(0)
    numbers = rng.permutation(np.repeat(np.arange(12), 4))
    counted = np.arange(9)
    splits = query_splits(cv, numbers, counted)
    for train, test in splits:
        assert not set(numbers[train]) & set(numbers[test])
        assert sorted([*train, *test]) == list(range(numbers.size))
        assert isinstance(cv, GroupKFold) or set(numbers[test]) <= set(counted)
    if cv == 3:
        assert len(splits) == 3 * REPEATS
        assert sorted(np.concatenate([test for _, test in splits[:3]])) == np.flatnonzero(numbers < 9).tolist()
        many = np.arange(FEW_QUERIES)
        assert len(query_splits(3, many, many)) == 3


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (KFold(3, shuffle=True, random_state=0), "cv must hold out whole queries, but rows .* of the same query"),
        (31, "cv needs at least 31 queries whose order makes a difference to the measure, but there are 27"),
        (1.5, "cv must be a number of folds, a share between 0 and 1 or a splitter"),
        (1, "cv must be a whole number of at least 2"),
    ],
)
def test_splits_that_cannot_be(data, cv, message):
    X, y, qid = data
    with pytest.raises(ValueError, match=message):
        MeasureRankerCV("pairs", cv=cv, n_alphas=1).fit(X, np.where(qid > 27, 0, y), qid=qid)


def test_a_split_of_ones_own(data):
    X, y, qid = data
    y = np.where(qid > 27, 0, y)
    MeasureRankerCV("pairs", cv=[(np.arange(250), np.arange(250, 300))], n_alphas=1).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="cv leaves a held-out part without a query"):
        MeasureRankerCV("pairs", cv=[(qid <= 27, qid > 27)], n_alphas=1).fit(X, y, qid=qid)


def test_candidates():
    assert candidates_for(NDCG(gain="linear"))[0].measure == QuerySquaredLoss("linear")
    assert [str(one) for one in candidates_for(get_query_measure("precision@3"))[3:]] == ["precision@3, tight"]
    assert [str(one) for one in candidates_for(get_query_measure("map"))[3:]] == [
        "ndcg, tight, best",
        "ndcg, tight, order",
    ]
    assert all(one.baseline for one in candidates_for(QueryROCArea("pairs")))
    assert [str(one) for one in candidates_for(NDCG(3), "tight")] == ["ndcg@3, tight, auto"]
    for bound, message in (
        ([], "empty"),
        (["pairs"], "list of \\(measure, bound\\)"),
        ([("pairs", "both")], "bound must be"),
    ):
        with pytest.raises(ValueError, match=message):
            candidates_for(NDCG(), bound)


def test_queries_without_a_choice_make_no_trouble():
    """Half of the queries have one grade only; they count nowhere."""
    X, y, qid = graded(20, shares=(0.65, 0.9), spread=1.0)
    y = np.where(qid % 2, y, 1)
    counted = qid % 2 == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = MeasureRankerCV("ndcg@5", cv=3, n_alphas=3).fit(X, y, qid=qid)
        other = MeasureRankerCV("ndcg@5", cv=3, n_alphas=3).fit(X[counted], y[counted], qid=qid[counted])
    assert ranker.score(X, y, qid=qid) == pytest.approx(other.score(X, y, qid=qid), abs=0.02)


def test_solver_objects(data):
    X, y, qid = data
    for solver in (LBFGS(tol=1e-2), BMRM(tol=1e-2)):
        ranker = MeasureRanker("ndcg@5", solver=solver, tol=1e-9).fit(X, y, qid=qid)
        assert ranker.stationarity_gap_ <= 1e-2


@pytest.mark.parametrize("ranker", [MeasureRanker(), MeasureRankerCV(cv=2)], ids=["one", "cv"])
def test_grades_are_needed(data, ranker):
    X, y, qid = data
    for arguments in ((X,), (X, None)):
        with pytest.raises(ValueError, match="y is None: grades are needed unless X is a store"):
            ranker.fit(*arguments, qid=qid)
    for missing in (pd.Series([*y[:-1], pd.NA], dtype="Int64"), [*y[:-1], None], [*y[:-1], np.nan]):
        with pytest.raises(ValueError, match=r"y must be finite, got (None|nan|<NA>) at position 299; remove"):
            ranker.fit(X, missing, qid=qid)


@pytest.mark.parametrize("measure", ["pairs", "precision@5", "mrr", "map"])
def test_huge_grades_are_for_measures_that_do_not_look_at_their_size(data, measure):
    X, y, qid = data
    ranker = MeasureRankerCV(measure, cv=2, n_alphas=2).fit(X, 2000 * y, qid=qid)
    tried = {tried["measure"] for tried in ranker.cv_results_["params"]}
    assert tried == {"roc_area", "pooled_squared_loss", *({measure} & {"precision@5"})}
    assert ranker.score(X, 2000 * y, qid=qid) == ranker.score(X, y, qid=qid)
    for bound in ("auto", [("pairs", "convex")]):
        with pytest.raises(ValueError, match=r"a document of grade 2000 would gain inf.*use gain='linear'"):
            MeasureRankerCV("ndcg@5", bound=bound, cv=2).fit(X, 2000 * y, qid=qid)


def test_solvers_by_name(data):
    X, y, qid = data
    automatic, named = (MeasureRankerCV("pairs", solver=name, cv=2, n_alphas=2).fit(X, y, qid=qid)
                        for name in ("auto", "lbfgs"))  # fmt: skip
    np.testing.assert_array_equal(automatic.coef_, named.coef_)
    assert automatic.as_ranker().solver == "lbfgs"  # what trained it
    for kind in (MeasureRanker, MeasureRankerCV):
        with pytest.raises(ValueError, match=r"solver must be one of 'auto', 'lbfgs', .* got 'adam'"):
            kind(solver="adam").fit(X, y, qid=qid)


def test_no_splits(data):
    X, y, qid = data
    with pytest.raises(ValueError, match="cv has no splits: give a number of folds"):
        MeasureRankerCV(cv=[]).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="cv has no splits: give a number of folds"):
        smoothperf.MeasureClassifierCV(cv=[]).fit(X, y > 0)
