"""Few features, signs that make sense, features that cost nothing, and scores to begin with: what users see of them."""

import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.utils.fixes import parse_version

import smoothperf
from smoothperf import PRBEP, MeasureClassifier, MeasureClassifierCV, regularization_path
from smoothperf.measures import get_measure

X, benign = load_breast_cancer(return_X_y=True)
X, y = scale(X), 1 - benign
PENALTIES = [
    {"l1_ratio": 1.0},
    {"l1_ratio": 0.5, "positive": True},
    {"coef_bounds": (-0.05, 0.1)},
    {"penalty_factors": np.linspace(0.5, 2.0, 30), "l1_ratio": 0.3},
]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("measure", ["roc_area", "prbep", "f1"])
@pytest.mark.parametrize("bound", ["convex", "tight"])
def test_fits_are_certified_and_weights_are_as_wanted(measure, bound, penalty):
    clf = MeasureClassifier(measure, 1e-2, bound=bound, **penalty).fit(X, y)
    assert (clf.gap_ if bound == "convex" else clf.stationarity_gap_) <= 1e-3
    assert clf.n_features_in_model_ == np.count_nonzero(clf.coef_)
    assert clf.score(X, y) > 0.85
    lower, upper = penalty.get("coef_bounds", (0.0 if penalty.get("positive") else -np.inf, np.inf))
    assert lower <= clf.coef_.min()
    assert clf.coef_.max() <= upper
    if penalty.get("l1_ratio", 0.0) > 0.4:
        assert 0 < clf.n_features_in_model_ < 30


def test_log_loss_with_absolute_values_is_that_of_scikit_learn():
    alpha = 0.02
    ours = MeasureClassifier("log_loss", alpha, l1_ratio=1.0, tol=1e-6, fit_intercept=False).fit(X, y)
    l1 = {"l1_ratio": 1.0} if parse_version(sklearn.__version__) >= parse_version("1.8") else {"penalty": "l1"}
    theirs = LogisticRegression(C=1.0 / (alpha * y.size), solver="liblinear", tol=1e-8, fit_intercept=False, **l1).fit(
        X, y
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_array_equal(ours.coef_ == 0.0, np.abs(theirs.coef_) < 1e-6)


def test_bounds_and_factors_by_name_or_position():
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(30)])
    named = MeasureClassifier(alpha=1e-2, coef_bounds={"x3": (None, 0.0)}, penalty_factors={"x5": 3.0}).fit(table, y)
    numbered = MeasureClassifier(alpha=1e-2, coef_bounds={3: (None, 0.0)}, penalty_factors={5: 3.0}).fit(X, y)
    factors, upper = np.ones(30), np.full(30, np.inf)
    factors[5], upper[3] = 3.0, 0.0
    listed = MeasureClassifier(alpha=1e-2, coef_bounds=(None, upper), penalty_factors=factors).fit(X, y)
    assert listed.coef_[0, 3] <= 0.0
    for other in (named, numbered):
        np.testing.assert_allclose(other.coef_, listed.coef_, rtol=1e-9, atol=1e-12)


def test_signs_are_those_towards_the_positive_label():
    clf = MeasureClassifier(alpha=1e-2, positive=True, pos_label=0).fit(X, y)
    assert clf.coef_.max() <= 0.0  # coef_ speaks for classes_[1]
    same = MeasureClassifier(alpha=1e-2, positive=True).fit(X, benign)
    np.testing.assert_array_equal(clf.coef_, -same.coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l1_ratio": 1.5}, "l1_ratio must lie between 0 and 1, got 1.5"),
        ({"l1_ratio": "all"}, "l1_ratio must lie between 0 and 1, got 'all'"),
        ({"coef_bounds": (1.0, 2.0)}, r"coef_bounds of feature 0 are \(1, 2\): a lower bound above 0, which must be"),
        ({"coef_bounds": 3.0}, r"coef_bounds must be \(lower, upper\)"),
        ({"coef_bounds": {0: 1.0}}, r"coef_bounds of feature 0 must be \(lower, upper\)"),
        ({"coef_bounds": {"age": (0, 1)}}, "coef_bounds has no feature 'age' to speak of: X has 30, none has a name"),
        ({"penalty_factors": {30: 1.0}}, "penalty_factors has no feature 30"),
        ({"penalty_factors": [1.0, 2.0]}, "penalty_factors must have one number for each of 30 features"),
        ({"penalty_factors": np.full(30, -1.0)}, "penalty_factors must be finite and at least 0, got -1.0"),
        ({"l1_ratio": 0.5, "solver": "newton", "measure": "prbep"}, "newton.*quadratic penalty only"),
        ({"positive": True, "solver": "nesterov"}, 'solver "nesterov" knows the quadratic penalty only; use "lbfgs"'),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        MeasureClassifier(**{"alpha": 1e-2, **parameters}).fit(X, y)


def test_a_weight_that_costs_nothing_and_grows_is_warned_of():
    separable = np.array([[0.0], [0.0], [1e-3], [1e-3]])
    with pytest.warns(UserWarning, match="weight of feature 0, which has no penalty, is on the limit of 1000"):
        MeasureClassifier("log_loss", 1e-2, penalty_factors=[0.0]).fit(separable, [0, 0, 1, 1])


class TestBaseScores:
    """Scores to begin with."""

    base = MeasureClassifier(alpha=1e-2).fit(X[:, :5], y)
    given = base.decision_function(X[:, :5])

    @pytest.mark.parametrize("bound", ["convex", "tight"])
    @pytest.mark.parametrize("measure", ["prbep", "f1"])
    def test_what_is_missing_is_trained(self, measure, bound):
        rest = MeasureClassifier(measure, 1e-3, bound=bound).fit(X[:, 5:], y, base_scores=self.given)
        scores = rest.decision_function(X[:, 5:], base_scores=self.given)
        np.testing.assert_allclose(scores, X[:, 5:] @ rest.coef_[0] + rest.intercept_ + self.given)
        assert rest.score(X[:, 5:], y, base_scores=self.given) > self.base.score(X[:, :5], y) - 0.02
        np.testing.assert_array_equal(rest.predict(X[:, 5:], base_scores=self.given), (scores > 0).astype(int))

    def test_the_objective_is_that_of_the_sum(self):
        rest = MeasureClassifier("prbep", 1e-3).fit(X, y, base_scores=self.given)
        coef = rest.coef_[0]
        risk = PRBEP().bind(y).exact_value(X @ coef + self.given)
        np.testing.assert_allclose(rest.objective_, 5e-4 * coef @ coef + risk, rtol=1e-9)
        assert rest.gap_ <= 1e-3

    def test_of_the_first_label_too(self):
        one = MeasureClassifier("prbep", 1e-3).fit(X, y, base_scores=self.given)
        other = MeasureClassifier("prbep", 1e-3, pos_label=0).fit(X, 1 - y, base_scores=-self.given)
        np.testing.assert_allclose(other.coef_, -one.coef_)

    def test_they_are_wanted_where_they_were_given_and_only_there(self):
        with_them = MeasureClassifier(alpha=1e-2).fit(X, y, base_scores=self.given)
        with pytest.raises(ValueError, match="base_scores are missing: the model was fitted with such"):
            with_them.predict(X)
        with pytest.raises(ValueError, match="base_scores are given, but the model was fitted without"):
            MeasureClassifier(alpha=1e-2).fit(X, y).predict(X, base_scores=self.given)
        with pytest.raises(ValueError, match="base_scores"):
            MeasureClassifier(alpha=1e-2).fit(X, y, base_scores=self.given[:-1])
        with pytest.raises(ValueError, match="base_scores"):
            MeasureClassifier(alpha=1e-2).fit(X, y, base_scores=np.full(y.size, np.nan))


def test_a_choice_of_ratios():
    rng = np.random.default_rng(0)
    many = np.hstack([X[:, :4], rng.normal(size=(y.size, 60))])  # most features say nothing
    clf = MeasureClassifierCV("prbep", bound=[("log_loss", "convex")], l1_ratio=[0.0, 1.0], cv=3).fit(many[::2], y[::2])
    assert {tried["l1_ratio"] for tried in clf.cv_results_["params"]} == {0.0, 1.0}
    assert clf.l1_ratio_ == clf.trained_for_.l1_ratio == 1.0
    assert clf.n_features_in_model_ < 40
    assert str(clf.trained_for_) == "log_loss, convex, l1_ratio 1"
    single = clf.as_classifier()
    assert single.l1_ratio == 1.0
    assert single.alpha == clf.alpha_
    refit = clone(single).set_params(measure="log_loss", tol=1e-4).fit(many[::2], y[::2])
    np.testing.assert_allclose(refit.coef_, clf.coef_, atol=0.1)
    with pytest.raises(ValueError, match="l1_ratio is an empty list"):
        MeasureClassifierCV(l1_ratio=[]).fit(X, y)


def test_choices_keep_bounds():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of positive weights only, not all candidates are good
        clf = MeasureClassifierCV("prbep", positive=True, cv=2, n_alphas=3).fit(X, y)
    assert clf.coef_.min() >= 0.0
    assert clf.score(X, y) > 0.9


@pytest.mark.parametrize("measure", ["roc_area", "prbep", "log_loss"])
def test_a_path_begins_where_the_first_feature_comes_in(measure):
    path = regularization_path(
        X[::2], y[::2], measure=measure, l1_ratio=1.0, n_alphas=12, validation=(X[1::2], y[1::2])
    )
    counts = np.count_nonzero(path.coefs, axis=1)
    assert counts[0] <= 1
    assert counts[-1] > 10
    assert (path.gaps <= 1e-3).all()
    np.testing.assert_allclose(path.alphas[-1], 1e-3 * path.alphas[0])
    assert path.validation_scores[path.best] > (-0.15 if measure == "log_loss" else 0.9)
    # The same solutions as without the ones before.
    alpha = float(path.alphas[6])
    alone = MeasureClassifier(measure, alpha, l1_ratio=1.0).fit(X[::2], y[::2])
    assert alone.lower_bound_ <= path.objectives[6]
    assert path.lower_bounds[6] <= alone.objective_


@pytest.mark.parametrize(("seed", "tol"), [(0, 1e-3), (2, 1e-3), (6, 1e-4)])
def test_a_path_reaches_its_tolerance_where_scores_are_put_into_bins(seed, tol):
    # Bins make the smoothed risk jump by 1e-8 or so from line to line, more than the last steps gain.
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(6000, 10))
    labels = rows[:, :4] @ [1.0, -1.0, 0.5, 0.25] + 2.0 * rng.normal(size=6000) > 4.2
    path = regularization_path(rows, labels, l1_ratio=1.0, tol=tol)
    assert path.gaps.max() <= tol
    assert path.n_passes.max() <= 200  # and not by a thousand steps that lower nothing


def test_a_path_of_rankers_has_the_quadratic_penalty():
    with pytest.raises(ValueError, match="l1_ratio is for"):
        regularization_path(X[:60], y[:60], group=[6] * 10, measure="ndcg", l1_ratio=0.5)


def test_model_files_keep_penalties_and_few_weights_in_little_room(tmp_path):
    rng = np.random.default_rng(0)
    wide = sp.csr_array(sp.random(200, 20_000, density=0.01, random_state=rng))
    labels = (wide[:, :50].sum(axis=1) > 0.2).astype(int)
    clf = MeasureClassifier("roc_area", 1e-2, l1_ratio=1.0, coef_bounds=(-5.0, np.full(20_000, 7.0))).fit(wide, labels)
    assert 0 < clf.n_features_in_model_ < 500
    clf.save(tmp_path / "model")
    again = smoothperf.load(tmp_path / "model")
    np.testing.assert_array_equal(again.coef_, clf.coef_)
    np.testing.assert_array_equal(again.coef_bounds[1], clf.coef_bounds[1])
    assert again.get_params()["l1_ratio"] == 1.0
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert sum(archive.getinfo(name).file_size for name in archive.namelist() if name.startswith("coef_.")) < 10_000


class TestBaseScoresOfOthers:
    """Paths, choices and operating points that begin with scores."""

    given = TestBaseScores.given

    @pytest.mark.parametrize("penalty", [{}, {"l1_ratio": 1.0}])
    @pytest.mark.parametrize("measure", ["roc_area", "f1"])
    def test_a_path_adds_to_them(self, measure, penalty):
        train, new = slice(0, None, 2), slice(1, None, 2)
        path = regularization_path(
            X[train, 5:],
            y[train],
            measure=measure,
            base_scores=self.given[train],
            alphas=[1e-1, 1e-2, 1e-3],
            validation=(X[new, 5:], y[new], None, self.given[new]),
            **penalty,
        )
        alone = MeasureClassifier(measure, 1e-2, **penalty).fit(X[train, 5:], y[train], base_scores=self.given[train])
        assert (path.gaps <= 1e-3).all()
        assert max(path.lower_bounds[1], alone.lower_bound_) <= min(path.objectives[1], alone.objective_)
        judge = get_measure(measure)
        scores = self.given[new] + X[new, 5:] @ path.coefs[2] + path.intercepts[2]
        assert path.validation_scores[2] == pytest.approx(judge.score(y[new], scores))
        assert path.train_scores[2] == pytest.approx(
            judge.score(y[train], self.given[train] + X[train, 5:] @ path.coefs[2] + path.intercepts[2])
        )

    def test_a_path_wants_those_of_the_validation_set_too(self):
        with pytest.raises(
            ValueError, match=r"validation must be \(X, y, sample_weight, base_scores\), as base_scores"
        ):
            regularization_path(X, y, base_scores=self.given, validation=(X, y))
        with pytest.raises(ValueError, match="validation has base_scores, but the rows to train on have none"):
            regularization_path(X, y, validation=(X, y, None, self.given))
        with pytest.raises(ValueError, match="base_scores is for labels of two kinds"):
            regularization_path(X[:60], y[:60], group=[6] * 10, measure="ndcg", base_scores=self.given[:60])

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_a_choice_adds_to_them(self, sign):
        labels = y if sign > 0 else 1 - y
        clf = MeasureClassifierCV(
            "f1",
            bound=[("log_loss", "convex"), ("prbep", "tight"), ("f1", "tight")],
            cv=3,
            n_alphas=3,
            calibration="sigmoid",
            pos_label=None if sign > 0 else 0,
        ).fit(X[:, 5:], labels, base_scores=sign * self.given)
        kept = {"base_scores": sign * self.given}
        scores = clf.decision_function(X[:, 5:], **kept)
        np.testing.assert_allclose(scores, X[:, 5:] @ clf.coef_[0] + clf.intercept_ + sign * self.given)
        assert clf.score(X[:, 5:], labels, **kept) > 0.93
        chances = clf.predict_proba(X[:, 5:], **kept)[:, int(sign > 0)]
        assert abs(chances.mean() - y.mean()) < 0.03
        assert ((chances > 0.5) == y).mean() > 0.95
        with pytest.raises(ValueError, match="pass base_scores="):
            clf.predict(X[:, 5:])
        with pytest.raises(ValueError, match="pass base_scores="):
            clf.as_classifier().predict(X[:, 5:])

    def test_held_out_scores_of_a_choice_have_them_in(self):
        # Noise adds nothing, and what is left are the scores to begin with, which are good.
        noise = np.random.default_rng(0).normal(size=(y.size, 2))
        clf = MeasureClassifierCV("roc_area", bound="convex", cv=3, n_alphas=3, operating_point={"recall": 0.9})
        clf.fit(noise, y, base_scores=self.given)
        assert clf.best_score_ == pytest.approx(MeasureClassifier().fit(X, y).score(X, y), abs=0.05)
        predicted = clf.predict(noise, base_scores=self.given)
        assert predicted[y == 1].mean() > 0.9
        assert clf.expected_["recall"]["low"] >= 0.9
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a model that adds nothing tells what they tell
            MeasureClassifierCV("roc_area", bound="convex", cv=3, alphas=[1e6, 1e5]).fit(
                noise, y, base_scores=self.given
            )

    def test_an_operating_point_is_that_of_the_sum(self):
        clf = MeasureClassifier(alpha=1e-2).fit(X[::2], y[::2], base_scores=self.given[::2])
        clf.set_operating_point(X[1::2], y[1::2], k=20, base_scores=self.given[1::2])
        assert clf.predict(X[1::2], base_scores=self.given[1::2]).sum() == 20
        raw = clf.raw_scores(X[1::2], base_scores=self.given[1::2])
        with pytest.raises(ValueError, match="raw_scores have them in already"):
            clf.set_operating_point(y=y[1::2], raw_scores=raw, k=20, base_scores=self.given[1::2])
        with pytest.raises(ValueError, match="base_scores are missing"):
            clf.set_operating_point(X[1::2], y[1::2], k=20)

    def test_large_ones_are_blamed_for_rounding(self):
        clf = MeasureClassifier("roc_area", 1e-2, l1_ratio=1.0, tol=1e-9)
        with pytest.warns(UserWarning, match=r"base_scores are as large as .*e\+0\d, .* divide them by a constant"):
            clf.fit(X, y, base_scores=1e6 * X[:, 0])

    def test_a_model_that_adds_nothing_does_not_tell_nothing(self):
        with pytest.warns(smoothperf.ZeroModelWarning, match="nothing is worth adding to base_scores"):
            MeasureClassifier(alpha=1e3).fit(X, y, base_scores=self.given)


@pytest.mark.parametrize("given", [{}, {"base_scores": 0.3 * X[:, 3]}], ids=["alone", "added to scores"])
@pytest.mark.parametrize(
    "penalty",
    [
        {"l1_ratio": 1.0},
        {"l1_ratio": 0.2, "penalty_factors": np.linspace(1.0, 3.0, 30)},
        {"l1_ratio": 0.7, "positive": True},
    ],
)
@pytest.mark.parametrize("measure", ["roc_area", "log_loss", "error_rate"])
def test_the_first_feature_comes_in_below_the_first_alpha(measure, penalty, given):
    settings = {"fit_intercept": False, "tol": 1e-8, **penalty}
    path = regularization_path(X, y, measure=measure, n_alphas=2, alpha_ratio=0.99, **settings, **given)
    assert (path.gaps <= 1e-8).all()
    assert not path.coefs[0].any()
    assert path.coefs[1].any()
    usual = regularization_path(X, y, measure=measure, n_alphas=3, **penalty, fit_intercept=False, **given)
    assert usual.alphas[0] == pytest.approx(path.alphas[0], rel=1e-5)  # whatever tol is
    assert not usual.coefs[0].any()


def test_the_first_alpha_of_roc_area_is_the_largest_difference_of_means():
    difference = np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    for ratio in (1.0, 0.01):
        path = regularization_path(X, y, l1_ratio=ratio, n_alphas=1)
        assert path.alphas[0] == pytest.approx(difference.max() / ratio, rel=1e-5)


@pytest.mark.parametrize("measure", ["prbep", "precision@20", "recall@10%"])
def test_no_feature_is_in_at_the_first_alpha_of_risks_with_several_gradients(measure):
    path = regularization_path(
        X, y, measure=measure, l1_ratio=1.0, n_alphas=4, alpha_ratio=0.1, tol=1e-5, max_iter=5000
    )
    assert (path.gaps <= 1e-5).all()
    assert not path.coefs[0].any()
    assert path.coefs[1].any()


def test_a_path_begins_within_the_tolerance_where_absolute_values_are_next_to_none():
    path = regularization_path(X, y, n_alphas=3, l1_ratio=1e-9)
    assert path.alphas[0] < 1e5
    assert path.n_features_in_model[-1] > 10


@pytest.mark.parametrize("measure", ["roc_area", "f1", "log_loss", "precision@20"])
def test_a_path_begins_with_what_costs_nothing(measure):
    path = regularization_path(X, y, measure=measure, n_alphas=4, l1_ratio=0.5, penalty_factors={3: 0.0})
    assert np.flatnonzero(path.coefs[0]).tolist() == [3]
    assert (path.gaps <= 1e-3).all()
    assert path.n_features_in_model[1] > 1
