"""Training from a store: the same as in memory, bit for bit, without a copy of the files."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from problems import graded
from smoothperf import MeasureClassifier, MeasureClassifierCV, MeasureRanker, MeasureRankerCV, regularization_path
from smoothperf.design import as_design
from smoothperf.design.sparse import PRODUCTS_BEFORE_COPY
from smoothperf.io import StoreError, open_store, read_data


@pytest.fixture(params=["csr", "csr float32", "dense", "dense float32"])
def data(request, sparse_data, write_store):
    """X, y, and the same rows in a store."""
    X, y = sparse_data()
    X = X if request.param.startswith("csr") else X.toarray()
    dtype = "float32" if "float32" in request.param else "float64"
    X = X.astype(dtype)
    return X, y, write_store(X, y, dtype=dtype)


def same(one, other):
    assert one.coef_.tobytes() == other.coef_.tobytes()
    for name in ("intercept_", "objective_", "lower_bound_", "gap_", "n_iter_", "n_features_in_"):
        np.testing.assert_equal(getattr(one, name), getattr(other, name), name)


@pytest.mark.parametrize(
    "settings",
    [
        {"measure": "prbep"},
        {"measure": "roc_area"},
        {"measure": "f1", "solver": "nesterov"},
        {"measure": "log_loss", "solver": "newton"},
        {"measure": "error_rate", "solver": "bmrm", "alpha": 1e-2},
        {"measure": "prbep", "bound": "tight"},
        {"measure": "prbep", "l1_ratio": 1.0, "alpha": 2e-3},
        {"measure": "roc_area", "class_weight": "balanced", "pos_label": -1, "low_memory": True},
    ],
    ids=str,
)
def test_the_model_of_memory_bit_for_bit(data, settings):
    X, y, path = data
    clf = MeasureClassifier(**{"alpha": 1e-3, **settings})
    memory, stored = clone(clf).fit(X, y), clone(clf).fit(path)
    same(stored, memory)
    same(clone(clf).fit(open_store(path), y), memory)
    np.testing.assert_array_equal(stored.classes_, memory.classes_)
    np.testing.assert_array_equal(stored.decision_function(path), memory.decision_function(X))
    np.testing.assert_array_equal(stored.predict(str(path)), memory.predict(X))
    assert stored.score(path) == stored.score(path, y) == memory.score(X, y)
    assert clone(memory).fit(X, -y).objective_ == clone(stored).fit(path, -y).objective_


def test_choices(data):
    X, y, path = data
    clf = MeasureClassifierCV("f1", n_alphas=2, cv=3, calibration="sigmoid")
    memory, stored = clone(clf).fit(X, y), clone(clf).fit(path)
    same(stored, memory)
    assert stored.alpha_ == memory.alpha_
    np.testing.assert_array_equal(stored.predict_proba(path), memory.predict_proba(X))
    memory.set_operating_point(X, y, recall=0.8, confidence=None)
    stored.set_operating_point(path, recall=0.8, confidence=None)
    assert stored.intercept_ == memory.intercept_


def test_paths(data):
    X, y, path = data
    options = {"measure": "prbep", "n_alphas": 3}
    memory = regularization_path(X, y, validation=(X, y), **options)
    stored = regularization_path(path, validation=(path, None), **options)
    assert stored.coefs.tobytes() == memory.coefs.tobytes()
    assert stored.validation_scores.tobytes() == memory.validation_scores.tobytes()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_rankers(write_store, make):
    X, y, qid = graded(30, 8, shuffled=True)
    X, y = make(X), y.astype(int)
    path = write_store(X, y, qid)
    near, far = MeasureRanker("ndcg@3", 1e-2).fit(X, y, qid=qid), MeasureRanker("ndcg@3", 1e-2).fit(path)
    assert far.coef_.tobytes() == near.coef_.tobytes()
    assert far.predict(path).tobytes() == near.predict(X).tobytes()
    assert far.score(path) == near.score(X, y, qid=qid)
    words = np.char.add("q", qid.astype(str))
    assert MeasureRanker("ndcg@3", 1e-2).fit(path, qid=words).coef_.tobytes() == near.coef_.tobytes()
    near, far = (MeasureRankerCV("ndcg@3", n_alphas=2, cv=3) for _ in range(2))
    assert far.fit(path).coef_.tobytes() == near.fit(X, y, qid=qid).coef_.tobytes()
    options = {"measure": "ndcg@3", "n_alphas": 2}
    near = regularization_path(X, y, qid=qid, validation=(X, y, qid), **options)
    far = regularization_path(path, validation=(path, None, None), **options)
    assert far.coefs.tobytes() == near.coefs.tobytes()
    assert far.validation_scores.tobytes() == near.validation_scores.tobytes()


@pytest.mark.filterwarnings("ignore::smoothperf.GridEdgeWarning")
def test_weights_and_names(sparse_data, write_store):
    X, y = sparse_data()
    weights = np.linspace(0.0, 2.0, 400)
    path = write_store(X, np.where(y > 0, "spam", "ham"), None, weights)
    for estimator in (MeasureClassifier(alpha=1e-2), MeasureClassifierCV(alphas=[1e-3, 1e-2], cv=2, bound="convex")):
        memory = clone(estimator).fit(X, np.where(y > 0, "spam", "ham"), weights)
        stored = clone(estimator).fit(path)
        same(stored, memory)
        assert stored.score(path) == memory.score(X, np.where(y > 0, "spam", "ham"), weights)
        assert clone(estimator).fit(path, sample_weight=np.ones(400)).objective_ != stored.objective_
    index = json.loads((path / "store.json").read_text())
    index["feature_names"] = [f"f{j}" for j in range(30)]
    (path / "store.json").write_text(json.dumps(index))
    named = MeasureClassifier(alpha=1e-2).fit(path)
    assert list(named.feature_names_in_) == index["feature_names"]
    named.predict(path)  # without a warning that names are missing
    assert not hasattr(named.fit(X, y), "feature_names_in_")


def test_nothing_is_copied_or_written_to(data):
    _, _, path = data
    X = read_data(path).X
    design = as_design(X)
    for _ in range(PRODUCTS_BEFORE_COPY + 2):
        design.matvec(np.ones(30))
    arrays = {"values": X.data, "indices": X.indices, "indptr": X.indptr} if sp.issparse(X) else {"rows": X}
    used = (
        {"values": design._rows.data, "indices": design._rows.indices} if sp.issparse(X) else {"rows": design._matrix}
    )
    for name, array in arrays.items():
        assert not array.flags.writeable
        assert np.shares_memory(array, used.get(name, array))
    with pytest.raises(ValueError, match="read-only"):
        next(iter(arrays.values()))[:1] = 0


def test_columns_in_pieces(sparse_data, monkeypatch):
    X, _ = sparse_data()
    monkeypatch.setattr("smoothperf.design.sparse.PIECE", 50)
    some = np.array([0, 3, 4, 29])
    w = np.arange(1.0, 5.0)
    assert as_design(X).columns(some).matvec(w).tobytes() == as_design(X[:, some]).matvec(w).tobytes()


def test_errors(sparse_data, write_store):
    X, y = sparse_data()
    path = write_store(X, y)
    with pytest.raises(ValueError, match="X has 400 rows but y has 3 labels"):
        MeasureClassifier().fit(path, [1, 2, 3])
    with pytest.raises(ValueError, match="requires y to be passed"):
        MeasureClassifier().fit(X)
    with pytest.raises(ValueError, match="y is None: labels are needed unless X is a store"):
        MeasureClassifier().fit(X, y).score(X)
    with pytest.raises(StoreError, match="No such file"):
        MeasureClassifier().fit("missing.store")
    with pytest.raises(ValueError, match="has 30 features, but the model expects 29"):
        MeasureClassifier(alpha=1e-2).fit(X[:, :29], y).predict(path)
    with pytest.raises(ValueError, match="one class only"):
        MeasureClassifier().fit(write_store(X, np.ones(400)))
    with pytest.raises(ValueError, match="Only binary classification"):
        MeasureClassifier().fit(write_store(X, np.arange(400) % 3))
    with pytest.raises(ValueError, match=r"data.store does not say which query a row belongs to: give qid"):
        MeasureRanker().fit(path)
    with pytest.raises(ValueError, match=r"data.store does not say which query"):
        regularization_path(X, y > 0, group=[400], measure="pairs", validation=(path, None, None))
    with pytest.raises(ValueError, match="y must be a vector of numbers: could not convert string to float"):
        MeasureRanker().fit(write_store(X, np.where(y > 0, "spam", "ham"), np.arange(400) // 4))


MEMORY = """
import resource, sys
import numpy as np, scipy.sparse as sp
from smoothperf import MeasureClassifier
from smoothperf.io import StoreWriter
path, n_pieces, room = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
rows, per_row, d = 2000, 100, 1000
# Threads are started once before, as their stacks count.
MeasureClassifier(alpha=1.0, n_threads=1, max_iter=1).fit(np.eye(4), [0, 0, 1, 1])
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (used + room, used + room))
with StoreWriter(path) as writer:
    for _ in range(n_pieces):
        indices = rng.integers(0, d, (rows, per_row), dtype=np.int32)
        starts = np.arange(0, indices.size + 1, per_row)
        X = sp.csr_matrix((rng.normal(size=indices.size), indices.ravel(), starts), shape=(rows, d))
        writer.add(X, np.arange(rows) % 2)
# More products than those before which indices in memory would be copied.
MeasureClassifier("log_loss", alpha=1.0, n_threads=1, max_iter=10, tol=1e-9).fit(path).predict(path)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory that no file is behind")
def test_memory_does_not_grow_with_the_store(tmp_path):
    """A store of 120 MB is written and trained from with 50 MB of memory."""
    path = tmp_path / "big.store"
    command = [sys.executable, "-W", "ignore", "-c", MEMORY, str(path), "50", str(50 << 20)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert sum(file.stat().st_size for file in path.iterdir()) >= 120e6
