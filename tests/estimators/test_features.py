"""Features that are made of X: learnt from the rows trained on alone, and kept for new rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from problems import gaussians, graded
from smoothperf import MeasureClassifier, MeasureClassifierCV, MeasureRanker, MeasureRankerCV
from smoothperf.features import Shapes


@pytest.fixture
def problem():
    X, y = gaussians(100, 200, 4, seed=0)
    return X * [1.0, 10.0, 100.0, 0.1], y


@pytest.mark.parametrize("measure", ["roc_area", "log_loss", "f1"])
def test_a_single_fit_is_that_of_a_pipeline(problem, measure):
    X, y = problem
    ours = MeasureClassifier(measure, alpha=1e-2, features=StandardScaler()).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), MeasureClassifier(measure, alpha=1e-2)).fit(X, y)
    np.testing.assert_array_equal(ours.decision_function(X), pipeline.decision_function(X))
    np.testing.assert_array_equal(ours.features_.mean_, X.mean(axis=0))
    assert ours.n_features_in_ == 4
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.predict(X), ours.predict(X))


def test_held_out_rows_teach_nothing(problem):
    """Scores of the choice are those of pipelines that are fitted to the training part of each split."""
    X, y = problem
    splits = list(StratifiedKFold(3).split(X, y))
    X = X.copy()
    X[splits[0][1]] *= 50.0  # which moves the scales of all rows
    model = MeasureClassifierCV("roc_area", bound="convex", alphas=[1e-2], cv=splits, features=StandardScaler())
    model.fit(X, y)
    pipeline = make_pipeline(StandardScaler(), MeasureClassifier("roc_area", alpha=1e-2, tol=5e-3))
    held_out = [clone(pipeline).fit(X[train], y[train]).score(X[test], y[test]) for train, test in splits]
    assert [model.cv_results_[f"split{k}_test_score"][0] for k in range(3)] == pytest.approx(held_out, abs=2e-3)
    whole = MeasureClassifier("roc_area", alpha=1e-2, features=StandardScaler()).fit(X, y)
    np.testing.assert_allclose(model.features_.scale_, whole.features_.scale_)


class Watched(TransformerMixin, BaseEstimator):
    """Numbers as they are; remembers what it was fitted to."""

    seen: list = []  # noqa: RUF012 (shared by all, to be looked at)

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        Watched.seen.append((len(X), None if y is None else sorted(set(np.asarray(y).tolist()))))
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)


def test_features_are_made_once_for_each_split_and_once_for_all(problem):
    X, y = problem
    Watched.seen.clear()
    MeasureClassifierCV("f1", cv=StratifiedKFold(5), features=Watched()).fit(
        pd.DataFrame(X), np.where(y == 1, "yes", "no")
    )
    assert sorted(Watched.seen) == [(240, ["no", "yes"])] * 5 + [(300, ["no", "yes"])]


def test_columns_may_differ_from_split_to_split(problem):
    X, y = problem
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X, columns=list("abcd")).assign(word=rng.integers(0, 150, 300).astype(str))
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["word"]), remainder=StandardScaler())
    for positive in (False, True):
        model = MeasureClassifierCV("roc_area", bound="convex", cv=3, features=encoder, positive=positive)
        model.fit(table, y)
        assert model.coef_.shape == (1, len(model.feature_names)) == (1, table["word"].nunique() + 4)
        assert model.feature_names_in_.tolist() == list(table.columns)
        assert model.predict(table[::-1]).tolist() == model.predict(table)[::-1].tolist()
    assert model.coef_.min() >= 0.0


def test_weights_are_bounded_by_names_of_features_and_by_shapes(problem):
    X, y = problem
    table = pd.DataFrame(X, columns=list("abcd"))
    shapes = Shapes(4, monotonic_cst={"a": -1})
    model = MeasureClassifierCV("roc_area", bound="convex", cv=3, features=shapes, coef_bounds={"b[2]": (0.0, 0.0)})
    model.fit(table, y)
    weights = dict(zip(model.feature_names.tolist(), model.coef_[0], strict=True))
    assert weights["b[2]"] == 0.0 != weights["b[1]"]
    assert max(value for name, value in weights.items() if name.startswith("a")) <= 0.0
    with pytest.raises(ValueError, match=r"coef_bounds has no feature 'b\[9\]'"):
        clone(model).set_params(coef_bounds={"b[9]": (0.0, 0.0)}).fit(table, y)


def test_rows_may_be_a_list(problem):
    X, y = problem
    model = MeasureClassifier("roc_area", features=Shapes(4))
    expected = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model.fit(X.tolist(), y).decision_function(X.tolist()), expected)


def test_parameters_of_features_can_be_searched(problem):
    X, y = problem
    search = GridSearchCV(
        MeasureClassifier("roc_area", alpha=1e-3, features=Shapes()), {"features__n_knots": [3, 6]}, cv=2
    )
    assert search.fit(X, y).best_estimator_.features_.n_knots in (3, 6)


def test_what_was_chosen_is_a_single_model_with_the_same_features(problem):
    X, y = problem
    model = MeasureClassifierCV("f1", cv=3, features=Shapes(4)).fit(X, y)
    single = model.as_classifier()
    np.testing.assert_array_equal(single.decision_function(X), model.decision_function(X))
    plain = clone(model).set_params(features=None).fit(X, y)
    assert not hasattr(plain, "features_")
    assert not hasattr(model.set_params(features=None).fit(X, y), "features_")


def test_warm_starts_know_the_number_of_weights(problem):
    X, y = problem
    model = MeasureClassifier("roc_area", alpha=1e-2, features=Shapes(4), warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    assert model.set_params(features=Shapes(5)).fit(X, y).gap_ <= 1e-3


def test_rankers_make_features_too():
    X, y, qid = graded(40, 8)
    ranker = MeasureRanker("pairs", alpha=1e-2, features=StandardScaler()).fit(X, y, qid=qid)
    plain = MeasureRanker("pairs", alpha=1e-2).fit(StandardScaler().fit_transform(X), y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(StandardScaler().fit_transform(X)))
    Watched.seen.clear()
    chosen = MeasureRankerCV("ndcg@5", cv=3, features=make_pipeline(Watched(), Shapes(3))).fit(X, y, qid=qid)
    assert max(count for count, _ in Watched.seen[1:]) < Watched.seen[0][0] == len(X)
    assert chosen.score(X, y, qid=qid) == chosen.as_ranker().score(X, y, qid=qid)


@pytest.mark.parametrize("features", ["splines", 3, StandardScaler])
def test_what_is_no_transformer_is_refused(problem, features):
    if features is StandardScaler:
        features = object()
    with pytest.raises(ValueError, match=r"features must be a transformer with fit and transform, or None, got"):
        MeasureClassifier(features=features).fit(*problem)
