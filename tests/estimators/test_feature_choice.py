"""The choice among ways to make features: by log loss on the splits of everything else, the simplest unless clear."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from export_tables import people
from problems import graded
from smoothperf import MeasureClassifier, MeasureClassifierCV, MeasureRankerCV
from smoothperf.estimators.feature_choice import ways_to_make
from smoothperf.features import KernelFeatures, Leaves, Shapes


def rows(kind, n=600, seed=0):
    """Two columns of which a line, a sum of curves, or only both together tell the class, or a corner among many."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12 if kind == "corner" else 2))
    signal = {
        "line": X[:, 0] - X[:, 1],
        "curves": 1.0 - X[:, 0] ** 2,
        "both": 1.5 * X[:, 0] * X[:, 1],
        "corner": 2.0 * (X[:, 0] > 0.0) * (X[:, 1] > 0.0),
    }[kind]
    return X, (signal + 0.3 * rng.normal(size=n) > 0.3).astype(int)


@pytest.mark.parametrize(
    ("kind", "features", "expected"),
    [
        ("line", "auto", type(None)),
        ("curves", "auto", Shapes),
        ("both", "auto", KernelFeatures),
        ("corner", "auto", Leaves),
        ("line", ["linear", "kernel"], type(None)),
        ("curves", [None, Shapes(4, degree=1)], Shapes),
        ("line", "additive", Shapes),
    ],
)
def test_what_the_rows_need_is_taken(kind, features, expected):
    X, y = rows(kind)
    model = MeasureClassifierCV("roc_area", cv=3, features=features).fit(X, y)
    assert type(getattr(model, "features_", None)) is expected
    assert hasattr(model, "feature_scores_") == hasattr(model, "best_features_") == (features != "additive")
    if expected is not type(None):
        new, labels = rows(kind, seed=1)
        plain = MeasureClassifierCV("roc_area", cv=3).fit(X, y)
        assert model.score(new, labels) > plain.score(new, labels) - 0.01
    single = model.as_classifier()
    np.testing.assert_array_equal(single.decision_function(X), model.decision_function(X))
    assert clone(single).fit(X, y).coef_.shape == model.coef_.shape


def test_ways_are_compared_on_held_out_rows_that_taught_nothing():
    """Scores are those of pipelines that are fitted to the training part of each split, at the best of the alphas."""
    X, y = rows("curves")
    splits = list(StratifiedKFold(3).split(X, y))
    alphas = [1e-1, 1e-3]
    model = MeasureClassifierCV(
        "f1", cv=iter(splits), alphas=alphas, features=["linear", StandardScaler(), Shapes(4)], tol=1e-3
    ).fit(X, y)
    assert list(model.feature_scores_) == ["linear", "StandardScaler 2", "Shapes 3"]

    def held_out(pipeline):
        scores = [
            average_precision_score(y[test], clone(pipeline).fit(X[train], y[train]).decision_function(X[test]))
            for train, test in splits
        ]
        return np.array(scores)

    for transformer, found in zip([None, StandardScaler(), Shapes(4)], model.feature_scores_.values(), strict=True):
        one = [MeasureClassifier("log_loss", alpha=alpha, tol=1e-5) for alpha in alphas]
        by_alpha = [held_out(each if transformer is None else make_pipeline(transformer, each)) for each in one]
        best = max(by_alpha, key=np.mean)
        np.testing.assert_allclose(found, best, atol=5e-3)


def test_sparse_columns_stay_as_they_are():
    X, y = rows("curves", 200)
    model = MeasureClassifierCV("roc_area", cv=3, features="auto").fit(sp.csr_matrix(X), y)
    assert not hasattr(model, "features_")
    assert not hasattr(model, "feature_scores_")


def test_a_second_fit_forgets_the_first():
    X, y = rows("curves", 300)
    model = MeasureClassifierCV("roc_area", cv=3, features=["linear", "additive"]).fit(X, y)
    assert model.feature_scores_.keys() == {"linear", "additive"}
    model.set_params(features=None).fit(X, y)
    assert not hasattr(model, "feature_scores_")
    assert not hasattr(model, "best_features_")


def test_rankers_choose_by_ndcg():
    X, y, qid = graded(60, 8, seed=1)
    X = np.sign(X) * np.sqrt(np.abs(X))
    model = MeasureRankerCV("ndcg@5", cv=3, features="auto").fit(X, y, qid=qid)
    assert all(0.0 < score <= 1.0 for scores in model.feature_scores_.values() for score in scores)
    assert model.score(X, y, qid=qid) == model.as_ranker().score(X, y, qid=qid)


def test_progress_names_the_features():
    X, y = rows("line", 200)
    steps = []
    MeasureClassifierCV("roc_area", cv=3, features=["linear", "kernel"], progress=lambda s: steps.append(str(s))).fit(
        X, y
    )
    assert steps[0].startswith("split 1 of 9: linear features, log_loss, convex, alpha ")
    assert any("kernel 3 features" in step for step in steps)
    assert "features" not in steps[-1]


@pytest.mark.parametrize("features", ["splines", 3, ["linear", "splines"], [None, 3]])
def test_what_cannot_make_features_is_refused(features):
    with pytest.raises(ValueError, match="features must be"):
        MeasureClassifierCV(features=features).fit(*rows("line", 100))


@pytest.mark.parametrize("features", ["auto", ["linear", "additive"], "linear", "additive", "leaves"])
def test_tables_as_they_are(features):
    frame, y = people(400)
    model = MeasureClassifierCV(features=features, cv=2, bound=[("log_loss", "convex")]).fit(frame[:300], y[:300])
    assert model.score(frame[300:], y[300:]) > 0.6
    if features == "auto":
        assert list(model.feature_scores_) == ["linear", "additive", "kernel 0.3", "kernel 1", "kernel 3", "leaves"]
    if features == "additive":
        [own] = ways_to_make("additive", frame)
        again = MeasureClassifierCV(features=own.transformer, cv=2, bound=[("log_loss", "convex")])
        np.testing.assert_array_equal(again.fit(frame[:300], y[:300]).coef_, model.coef_)


def test_tables_of_polars_as_they_are():
    polars = pytest.importorskip("polars")
    frame, y = people(300)
    options = {"features": "additive", "cv": 2, "bound": [("log_loss", "convex")]}
    same = [MeasureClassifierCV(**options).fit(X, y).decision_function(X) for X in (frame, polars.from_pandas(frame))]
    np.testing.assert_allclose(*same, rtol=1e-6)


def test_tables_of_many_words_stay_linear():
    frame = pd.DataFrame({"street": [f"{k % 90} High Street" for k in range(2000)], "age": np.arange(2000.0)})
    [only] = ways_to_make("auto", frame)
    assert only.name == "linear"
    with pytest.raises(ValueError, match="could not convert string"):
        MeasureClassifierCV(cv=2).fit(frame, frame["age"] > 50.0)


def test_missing_numbers_are_numbers_to_features_by_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[::7, 0] = np.nan
    y = np.abs(X[:, 1]) > 0.7
    model = MeasureClassifierCV(features="additive", cv=3, bound=[("log_loss", "convex")]).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        MeasureClassifierCV(cv=3).fit(X, y)
