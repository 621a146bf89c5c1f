"""Rankers as search engines read them: their arithmetic, done again here, gives the model's scores."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from smoothperf import MeasureRanker
from smoothperf.export import to_opensearch, to_solr, to_vespa
from smoothperf.features import Shapes, TableEncoder

NAMES = ["bm25(title)", "fieldMatch(body).proximity", "freshness", "clicks"]
SCALERS = (None, StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler())


def documents(n_queries=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, 4)) * [1.0, 10.0, 0.1, 100.0] + [0.0, 50.0, 1.0, -20.0]
    X[:, 3] = np.round(X[:, 3] / 100.0)
    y = np.clip(np.round(X[:, 0] + X[:, 1] / 10.0 - 5.0 + X[:, 3] ** 2), 0, 3)
    return X, y, np.repeat(np.arange(n_queries), 10)


def ranker(features=None):
    X, y, qid = documents()
    return MeasureRanker("pairs", alpha=1e-2, features=features).fit(X, y, qid=qid), X


def same_up_to_a_constant(scores, expected):
    difference = scores - expected
    assert np.ptp(difference) <= 1e-9 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("features", [*SCALERS, make_pipeline(StandardScaler(), MinMaxScaler())])
def test_opensearch_and_solr_normalise_and_add_up(features):
    model, X = ranker(features)
    values = dict(zip(NAMES, X.T, strict=True))

    found = json.loads(to_opensearch(model, name="mine", names=NAMES))["model"]
    assert (found["name"], found["model"]["type"]) == ("mine", "model/linear")
    norms = found["model"].get("feature_normalizers", {})
    assert bool(norms) == (features is not None)
    scores = 0.0
    for name, weight in found["model"]["definition"].items():
        norm = norms[name]["standard"] if norms else {"mean": 0.0, "standard_deviation": 1.0}
        scores = scores + weight * (values[name] - norm["mean"]) / norm["standard_deviation"]
    same_up_to_a_constant(scores, model.predict(X))

    found = json.loads(to_solr(model, name="mine", names=NAMES))
    assert found["class"] == "org.apache.solr.ltr.model.LinearModel"
    scores = 0.0
    for feature in found["features"]:
        # All parameters of a normaliser are text there.
        norm = feature["norm"]["params"] if "norm" in feature else {"avg": "0", "std": "1"}
        value = (values[feature["name"]] - float(norm["avg"])) / float(norm["std"])
        scores = scores + found["params"]["weights"][feature["name"]] * value
    same_up_to_a_constant(scores, model.predict(X))


def vespa(expression, row):
    """Evaluate an expression as Vespa would: ``if`` is a function of three, names are rank features."""
    for place, name in enumerate(NAMES):
        expression = expression.replace(name, f"x[{place}]")
    functions = {"isNan": lambda x: x != x, "choose": lambda asked, yes, no: yes if asked else no, "x": row}
    return eval(" ".join(expression.split()).replace("if (", "choose("), functions)


@pytest.mark.parametrize("features", [*SCALERS, Shapes(), make_pipeline(StandardScaler(), Shapes(degree=3, n_knots=5))])
def test_vespa_computes_the_scores(features):
    model, X = ranker(features)
    expression = to_vespa(model, names=NAMES)
    scores = [vespa(expression, row) for row in X[:50]]
    np.testing.assert_allclose(scores, model.predict(X[:50]), rtol=0.0, atol=1e-9)
    if isinstance(features, Shapes):
        X[3, 0] = np.nan
        np.testing.assert_allclose(vespa(expression, X[3]), model.predict(X[3:4])[0], atol=1e-9)


def test_features_without_a_weight_are_left_out():
    model, _ = ranker()
    model.coef_[1] = 0.0
    assert list(json.loads(to_solr(model, names=NAMES))["params"]["weights"]) == [NAMES[0], *NAMES[2:]]
    assert NAMES[1] not in to_vespa(model, names=NAMES)
    model.coef_[:] = 0.0
    with pytest.raises(ValueError, match="all weights of the model are 0"):
        to_opensearch(model)


def test_what_engines_cannot_do_is_refused_with_the_reason():
    within_queries, _ = ranker(FunctionTransformer(lambda X: X - X.mean(axis=0)))
    for make in (to_opensearch, to_solr, to_vespa):
        with pytest.raises(ValueError, match=r"(?s)made by FunctionTransformer.*within a query cannot be expressed"):
            make(within_queries, names=NAMES)
    curves, _ = ranker(Shapes())
    for make in (to_opensearch, to_solr):
        with pytest.raises(ValueError, match="no curves"):
            make(curves, names=NAMES)
    X, y, qid = documents()
    table = pd.DataFrame(X, columns=list("abcd")).assign(d=np.where(X[:, 3] > 0.0, "new", "old"))
    words = MeasureRanker("pairs", features=TableEncoder()).fit(table, y, qid=qid)
    for make in (to_opensearch, to_solr):
        with pytest.raises(ValueError, match="column 'd' is one of words"):
            make(words)
    plain, _ = ranker()
    with pytest.raises(ValueError, match="reads 'column 0' as no rank feature"):
        to_vespa(plain)
    for make in (to_opensearch, to_solr, to_vespa):
        with pytest.raises(ValueError, match="there are 1 names, but the model has 4 columns"):
            make(plain, names=["one"])
