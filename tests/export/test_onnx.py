"""ONNX graphs, run: scores to the precision of their numbers, labels, missing values and unknown words."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from export_tables import fitted, numbers, people
from smoothperf import MeasureClassifier, MeasureRanker
from smoothperf.export import to_onnx
from smoothperf.features import KernelFeatures, Leaves, Shapes, TableEncoder

onnx = pytest.importorskip("onnx", reason="the extra onnx")
runtime = pytest.importorskip("onnxruntime", reason="it runs what is exported")


def run(model, inputs, **settings):
    graph = to_onnx(model, **settings)
    onnx.checker.check_model(graph, full_check=True)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs), strict=True))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float", 1e-4), ("double", 1e-9)])
def test_columns_of_numbers(dtype, tolerance):
    model, X = numbers()
    X = X.astype(np.float32).astype(np.float64)
    found = run(model, {"X": X.astype(np.float32 if dtype == "float" else np.float64)}, dtype=dtype)
    np.testing.assert_allclose(found["score"], model.positive_scores(X), rtol=0.0, atol=tolerance)
    assert (found["label"] == model.predict(X)).mean() > 0.999


@pytest.mark.parametrize("features", [TableEncoder(), make_pipeline(TableEncoder(), Shapes())])
def test_tables(features):
    frame, y = people(5000)
    more = np.random.default_rng(1).normal(size=(5000, 3)).round(1)
    frame = frame.drop(columns="signed").assign(a=more[:, 0], b=more[:, 1], c=more[:, 2])
    model = MeasureClassifier("log_loss", alpha=1e-3, features=features).fit(frame[:2000], y[:2000])
    columns = {
        name: values.fillna("").to_numpy(dtype=object)[:, None]
        if name == "town"
        else values.to_numpy(dtype=np.float32)[:, None]
        for name, values in frame.items()
    }
    found = run(model, columns)
    rounded = frame.assign(**{name: values[:, 0].astype(float) for name, values in columns.items() if name != "town"})
    np.testing.assert_allclose(found["score"], model.positive_scores(rounded), rtol=0.0, atol=1e-4)
    assert (found["label"] == model.predict(rounded)).mean() > 0.999


def test_linear_models_are_a_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)).astype(np.float32)
    model = MeasureClassifier(alpha=1e-2).fit(X, X[:, 0] > 0.0)
    found = run(model, {"X": X})
    np.testing.assert_allclose(found["score"], model.decision_function(X), atol=1e-5)
    assert found["label"].tolist() == model.predict(X).tolist()
    assert len(to_onnx(model).graph.node) <= 8
    ranker = MeasureRanker("pairs").fit(X, (X[:, 1] > 0).astype(int), qid=np.repeat(np.arange(10), 10))
    found = run(ranker, {"X": X})
    assert list(found) == ["score"]
    np.testing.assert_allclose(found["score"], ranker.predict(X), atol=1e-5)


@pytest.mark.parametrize("before", [[], [StandardScaler()]])
def test_kernel_features(before):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 4)) * [1.0, 10.0, 0.1, 1.0] + 3.0).astype(np.float32)
    features = make_pipeline(*before, KernelFeatures(n_components=50))
    model = MeasureClassifier("log_loss", alpha=1e-3, features=features).fit(X, np.abs(X[:, 0] - 3.0) > 1.0)
    found = run(model, {"X": X})
    expected = model.decision_function(X)  # of features in 32 bits
    np.testing.assert_allclose(found["score"], expected, rtol=0.0, atol=1e-4 * np.abs(expected).max())


def test_what_has_no_graph():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = MeasureClassifier(alpha=1e-2, features=Leaves(n_trees=3)).fit(X, X[:, 0] > 0.0)
    with pytest.raises(ValueError, match="made by Leaves"):
        to_onnx(model)
    model, _ = fitted(TableEncoder())
    with pytest.raises(ValueError, match="a column of dates"):
        to_onnx(model)
