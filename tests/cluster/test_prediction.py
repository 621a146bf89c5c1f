"""A fitted model on dask collections: lazily, the same as in memory, of the same kind; and scores by blocks."""

import copy
import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

import smoothperf
from smoothperf.dask import MeasureClassifier
from smoothperf.io import write_npz


@pytest.fixture
def model(client, data):
    """A function that makes a model, fitted in memory, as if the cluster had."""

    def make(measure="prbep", **options):
        X, y = data(labels=("ham", "spam"))
        local = smoothperf.MeasureClassifier(measure, alpha=1e-2, **options).fit(X, y)
        model = MeasureClassifier(measure, alpha=1e-2, client=client, **options)
        for name in ("coef_", "intercept_", "classes_", "n_features_in_", "result_", "objective_", "gap_", "n_iter_"):
            setattr(model, name, getattr(local, name))
        model.lower_bound_ = local.lower_bound_
        return model, local, X, y

    return make


def test_arrays_stay_lazy(model, client):
    clf, local, X, _ = model()
    for chunks in ((150, -1), (150, 7), (400, 30)):
        lazy = da.from_array(X.toarray(), chunks=chunks)
        scores, labels = clf.decision_function(lazy), clf.predict(lazy)
        assert isinstance(scores, da.Array)
        assert isinstance(labels, da.Array)
        assert scores.shape == labels.shape == (X.shape[0],)
        np.testing.assert_allclose(client.compute(scores).result(), local.decision_function(X), rtol=1e-13, atol=1e-14)
        np.testing.assert_array_equal(client.compute(labels).result(), local.predict(X))
        assert labels.dtype == local.classes_.dtype


def test_sparse_chunks(model):
    clf, local, X, _ = model()
    parts = [
        da.from_delayed(dask.delayed(X[i : i + 100]), shape=(100, 30), dtype=float, meta=X[:0])
        for i in (0, 100, 200, 300)
    ]
    scores = clf.decision_function(da.concatenate(parts)).compute(scheduler="synchronous")
    np.testing.assert_allclose(scores, local.decision_function(X), rtol=1e-13, atol=1e-14)


def test_frames_give_series_with_their_index(model):
    clf, local, X, _ = model()
    frame = pd.DataFrame(X.toarray(), index=np.arange(1000, 1400))
    table = dd.from_pandas(frame, npartitions=3)
    scores = clf.decision_function(table).compute(scheduler="synchronous")
    np.testing.assert_allclose(scores, local.decision_function(X), rtol=1e-13, atol=1e-14)
    assert scores.index.equals(frame.index)
    few = table.map_partitions(lambda part: part[part.index < 1100], meta=frame)  # leaves partitions empty
    labels = clf.predict(few).compute(scheduler="synchronous")
    assert labels.tolist() == local.predict(X[:100]).tolist()


def test_delayed_and_local(model):
    clf, local, X, _ = model()
    expected = local.decision_function(X)
    assert clf.decision_function(dask.delayed(X)).compute(scheduler="synchronous").tobytes() == expected.tobytes()
    assert clf.decision_function(X).tobytes() == expected.tobytes()
    assert clf.predict(X).tolist() == local.predict(X).tolist()


def test_other_numbers_of_features(model):
    clf, *_ = model()
    with pytest.raises(ValueError, match=r"X has the shape \(10, 3\), but the model expects 30 features"):
        clf.predict(da.ones((10, 3)))


@pytest.mark.parametrize(
    "measure", ["prbep", "roc_area", "precision@20", "f1", "error_rate@3:1", "balanced_error_rate", "log_loss"]
)
def test_score_is_that_in_memory(model, measure, tmp_path):
    clf, local, X, y = model(measure)
    weights = np.random.default_rng(0).random(y.size) * (np.arange(y.size) % 3 > 0)
    lazy = [da.from_array(values, chunks=(150, *values.shape[1:])) for values in (X.toarray(), y, weights)]
    assert clf.score(*lazy[:2]) == pytest.approx(local.score(X, y), rel=1e-12)
    assert clf.score(*lazy) == pytest.approx(local.score(X, y, weights), rel=1e-12)
    assert clf.score(X, y, weights) == local.score(X, y, weights)
    write_npz(tmp_path / "test.npz", X, y)
    assert clf.score(str(tmp_path / "test.npz")) == pytest.approx(local.score(X, y), rel=1e-12)


def test_score_of_decisions_gathers_four_numbers_a_block(model, monkeypatch):
    clf, local, X, y = model("f1")
    gathered = []
    gather = Client.gather

    def watched(self, futures, *arguments, **options):
        gathered.append(gather(self, futures, *arguments, **options))
        return gathered[-1]

    monkeypatch.setattr(Client, "gather", watched)
    score = clf.score([(X[:100], y[:100]), (X[100:], y[100:])])
    assert score == pytest.approx(local.score(X, y), rel=1e-12)
    assert max(column.size for part in gathered[0] for column in part) == 4


def test_score_names_the_block(model):
    clf, _, X, y = model()
    with pytest.raises(ValueError, match=r"block 1 of 2: y must hold the labels of fit, .*eggs.* at position 3"):
        clf.score([(X[:100], y[:100]), (X[100:], np.where(np.arange(300) == 3, "eggs", y[100:]))])
    with pytest.raises(ValueError, match="block 1 of 2: it has 29 features, but the model expects 30"):
        clf.score([(X[:100], y[:100]), (X[100:, 1:], y[100:])])
    with pytest.raises(ValueError, match="block 0 of 1: X has 400 rows but y has 399"):
        clf.score([(X, y[1:])])


def test_files_and_copies_need_no_cluster(model, tmp_path):
    clf, local, X, _ = model()
    clf.save(tmp_path / "model")
    loaded = smoothperf.load(tmp_path / "model")
    assert type(loaded) is smoothperf.MeasureClassifier
    assert loaded.decision_function(X).tobytes() == local.decision_function(X).tobytes()
    assert type(clf.to_local()) is smoothperf.MeasureClassifier
    for copied in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert copied.client is None
        assert copied.decision_function(X).tobytes() == local.decision_function(X).tobytes()


def test_clones_share_the_client(client):
    clf = MeasureClassifier("f1", alpha=1e-2, client=client, class_weight={0: 2.0}, patience=3.0)
    cloned = clone(clf)
    assert cloned.client is client
    assert cloned.get_params() == clf.get_params()
    assert cloned.class_weight is not clf.class_weight


def test_a_client_is_needed():
    clf = MeasureClassifier("prbep")
    with pytest.raises(ValueError, match="there is no Dask client"):
        clf.fit(["a.store"])
    with pytest.raises(ValueError, match=r"client must be a distributed\.Client"):
        clf.set_params(client="tcp://somewhere").fit(["a.store"])


def test_scores_need_rows(model):
    clf, _, X, y = model()
    with pytest.raises(ValueError, match="no block has a row: there is nothing to score"):
        clf.score([(X[:0], y[:0])])


def test_scores_need_a_worker(model):
    clf, _, X, y = model()
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as nobody,
        pytest.raises(ValueError, match="has no worker; start some"),
    ):
        clf.set_params(client=nobody).score([(X, y)])
