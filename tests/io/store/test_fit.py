"""Training from a store: the same as in memory, bit for bit with one block, within memory that does not grow."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from promises import hold_tight_fit
from smoothperf import MeasureClassifier, MeasureClassifierCV, regularization_path
from smoothperf.design import StoredDesign, as_design
from smoothperf.design.stored import BUFFERS
from smoothperf.io import StoreError, open_store
from smoothperf.threads import use_threads

MEASURES = ["prbep", "roc_area", "log_loss", "squared_hinge"]
BLOCKS = 2000


def vectors(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape[1]), rng.normal(size=shape[0])


@pytest.mark.parametrize("values", ["any", "one a row", "ones"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("number", [1, 3])
def test_products_of_one_block_are_bit_identical(write_store, sparse_data, monkeypatch, number, dtype, values):
    monkeypatch.setattr("smoothperf.design.sparse.LEAST_ENTRIES", 50)
    X, y = sparse_data()
    if values != "any":
        X.data[:] = 1.0 if values == "ones" else np.repeat(np.arange(1, 401) / 7.0, np.diff(X.indptr))
    memory, stored = as_design(X.astype(dtype)), open_store(write_store(X, y, dtype=dtype)).design()
    w, g = vectors(X.shape)
    some = np.array([5, 3, 200], dtype=np.intp)
    with use_threads(number):
        for name, argument in (("matvec", w), ("rmatvec", g)):
            expected = getattr(memory, name)(argument)
            for out in (None, np.full(expected.shape, np.nan)):
                assert getattr(stored, name)(argument, out=out).tobytes() == expected.tobytes()
    assert stored.gram(some, w[:3]).tobytes() == memory.gram(some, w[:3]).tobytes()
    for name in ("shape", "n_entries", "row_norm", "frobenius_norm", "wants_blas_threads"):
        assert getattr(stored, name) == getattr(memory, name)


@pytest.mark.parametrize("block_size", [1, 500, BLOCKS, 5000])
def test_products_of_many_blocks(write_store, sparse_data, block_size):
    X, y = sparse_data()
    store = open_store(write_store(X, y, block_size=block_size))
    memory, stored = as_design(X), store.design()
    assert len(store.blocks) > BUFFERS
    w, g = vectors(X.shape)
    g[50:390] = 0.0  # blocks that need not be read
    some = np.array([5, 399, 3, 200, 5], dtype=np.intp)
    for _ in range(2):
        np.testing.assert_array_equal(stored.matvec(w), memory.matvec(w))  # rows are independent
        np.testing.assert_allclose(stored.rmatvec(g), memory.rmatvec(g), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(stored.gram(some, w[:5]), memory.gram(some, w[:5]), rtol=1e-12, atol=1e-13)
    assert stored.row_norm == memory.row_norm
    assert stored.frobenius_norm == pytest.approx(memory.frobenius_norm, rel=1e-14)
    np.testing.assert_array_equal(stored.rmatvec(np.zeros(400)), np.zeros(30))


@pytest.mark.parametrize("block_size", [1, BLOCKS])
def test_blocks_change_no_more_than_the_last_digits(write_store, sparse_data, block_size):
    X, y = sparse_data()
    memory, stored = as_design(X), open_store(write_store(X, y, block_size=block_size)).design()
    w, g = vectors(X.shape)
    assert stored.matvec(w).tobytes() == memory.matvec(w).tobytes()
    np.testing.assert_allclose(stored.rmatvec(g), memory.rmatvec(g), rtol=0, atol=1e-14 * (abs(X).T @ abs(g)).max())
    assert stored.rmatvec(g).tobytes() == stored.rmatvec(g).tobytes()


def test_blocks_without_coefficients_are_not_read(write_store, sparse_data):
    X, y = sparse_data()
    store = open_store(write_store(X, y, block_size=BLOCKS))
    read = []
    load = store.load
    store.load = lambda number, buffer: read.append(number) or load(number, buffer)
    g = np.zeros(400)
    g[store.blocks[4].first_row] = 1.0
    store.design().rmatvec(g)
    assert read == [4]


@pytest.mark.parametrize("measure", MEASURES)
def test_one_block_gives_the_model_of_memory_bit_for_bit(write_store, sparse_data, measure):
    X, y = sparse_data()
    path = write_store(X, y)
    memory = MeasureClassifier(measure, alpha=1e-3).fit(X, y)
    stored = MeasureClassifier(measure, alpha=1e-3).fit(path)
    assert stored.coef_.tobytes() == memory.coef_.tobytes()
    for name in ("intercept_", "objective_", "lower_bound_", "gap_", "n_iter_", "n_features_in_"):
        assert getattr(stored, name) == getattr(memory, name), name
    np.testing.assert_array_equal(stored.classes_, memory.classes_)
    assert [row.objective for row in stored.result_.trace] == [row.objective for row in memory.result_.trace]
    np.testing.assert_allclose(stored.decision_function(path), memory.decision_function(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(stored.predict(str(path)), memory.predict(X))
    assert stored.score(path) == pytest.approx(memory.score(X, y), rel=1e-13)
    assert stored.score(path, y) == pytest.approx(memory.score(X, y), rel=1e-13)


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
@pytest.mark.parametrize("measure", MEASURES)
def test_many_blocks_reach_the_same_optimum_and_repeat_themselves(write_store, sparse_data, measure, solver):
    X, y = sparse_data()
    path = write_store(X, y, block_size=BLOCKS)
    settings = {"measure": measure, "alpha": 1e-1, "tol": 1e-4, "solver": solver}
    memory = MeasureClassifier(**settings).fit(X, y)
    first, second = MeasureClassifier(**settings).fit(path), MeasureClassifier(**settings).fit(open_store(path))
    assert first.gap_ <= 1e-4
    assert abs(first.objective_ - memory.objective_) <= 1e-4
    assert first.coef_.tobytes() == second.coef_.tobytes()
    assert first.gap_ == second.gap_


def test_weights_labels_and_names(tmp_path, sparse_data):
    from smoothperf.io import StoreWriter

    X, y = sparse_data()
    with StoreWriter(tmp_path / "s", block_size=BLOCKS) as writer:
        writer.add(X, np.where(y > 0, "spam", "ham"))
        writer.feature_names = [f"f{j}" for j in range(30)]
    weights = np.linspace(0.5, 2.0, 400)
    stored = MeasureClassifier(alpha=1e-2, class_weight="balanced").fit(tmp_path / "s", sample_weight=weights)
    memory = MeasureClassifier(alpha=1e-2, class_weight="balanced").fit(X, y, sample_weight=weights)
    assert stored.classes_.tolist() == ["ham", "spam"]
    assert stored.objective_ == pytest.approx(memory.objective_, rel=1e-9)
    assert list(stored.feature_names_in_) == [f"f{j}" for j in range(30)]
    # Other labels in place of those in the file.
    flipped = MeasureClassifier(alpha=1e-2).fit(tmp_path / "s", -y)
    assert flipped.objective_ == pytest.approx(MeasureClassifier(alpha=1e-2).fit(X, -y).objective_, rel=1e-9)
    assert not hasattr(clone(flipped).fit(X, y), "feature_names_in_")


def test_path(write_store, sparse_data):
    X, y = sparse_data()
    options = {"alphas": [1e-1, 1e-2], "validation": (X[::2], y[::2])}
    stored, memory = regularization_path(write_store(X, y), **options), regularization_path(X, y, **options)
    assert stored.coefs.tobytes() == memory.coefs.tobytes()
    assert stored.validation_scores.tobytes() == memory.validation_scores.tobytes()


def test_newton(write_store, sparse_data):
    from smoothperf.solvers import Newton

    X, y = sparse_data()
    stored = MeasureClassifier("prbep", alpha=1e-2, solver=Newton()).fit(write_store(X, y, block_size=BLOCKS))
    memory = MeasureClassifier("prbep", alpha=1e-2, solver=Newton()).fit(X, y)
    assert stored.objective_ == pytest.approx(memory.objective_, abs=1e-3)


def test_errors(write_store, sparse_data, tmp_path):
    X, y = sparse_data()
    path = write_store(X, y)
    with pytest.raises(ValueError, match=r"has 400 rows but y has shape \(3,\).*Leave y out"):
        MeasureClassifier().fit(path, [1, 2, 3])
    with pytest.raises(ValueError, match="requires y to be passed"):
        MeasureClassifier().fit(X)
    with pytest.raises(ValueError, match="y is None: labels are needed unless X is a store"):
        MeasureClassifier().fit(X, y).score(X)
    with pytest.raises(StoreError, match="No such file"):
        MeasureClassifier().fit("missing.store")
    with pytest.raises(ValueError, match="cross-validation needs the rows in memory, got the store"):
        MeasureClassifierCV().fit(path, y)
    with pytest.raises(ValueError, match="validation needs the rows in memory"):
        regularization_path(path, validation=(path, y))
    with pytest.raises(ValueError, match="has 30 features, but the model expects 29"):
        MeasureClassifier(alpha=1e-2).fit(X[:, :29], y).predict(path)
    one_class = write_store(X, np.ones(400), name="one.store")
    with pytest.raises(ValueError, match="one class only"):
        MeasureClassifier().fit(one_class)
    three = write_store(X, np.arange(400) % 3, name="three.store")
    with pytest.raises(ValueError, match="Only binary classification"):
        MeasureClassifier().fit(three)


def test_a_damaged_block_ends_the_fit(write_store, sparse_data):
    X, y = sparse_data()
    path = write_store(X, y, block_size=BLOCKS)
    block = open_store(path).blocks[7]
    content = bytearray(path.read_bytes())
    content[block.offset + 80] ^= 1
    path.write_bytes(content)
    message = rf"block 7 \(rows {block.first_row + 1} to {block.first_row + block.n_rows}\) is damaged"
    with pytest.raises(StoreError, match=message):
        MeasureClassifier().fit(path)


def test_readers_end_with_the_pass(write_store, sparse_data):
    import threading

    X, y = sparse_data()
    stored = open_store(write_store(X, y, block_size=BLOCKS)).design()
    assert isinstance(stored, StoredDesign)
    blocks = stored._blocks()
    next(blocks)
    assert any("smoothperf-reader" in thread.name for thread in threading.enumerate())
    blocks.close()
    assert not any("smoothperf-reader" in thread.name for thread in threading.enumerate())


MEMORY = """
import resource, sys
import numpy as np, scipy.sparse as sp
from smoothperf import MeasureClassifier
from smoothperf.io import StoreWriter, open_store
path, n_blocks, room = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
rows, per_row, d = 2000, 100, 1000
def used():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmSize"))
# Threads are started once before, as their stacks count.
MeasureClassifier(alpha=1.0, n_threads=1, max_iter=1).fit(np.eye(4), [0, 0, 1, 1])
limit = used() + room
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
with StoreWriter(path, block_size=1 << 20) as writer:
    for _ in range(n_blocks):
        indices = rng.integers(0, d, (rows, per_row), dtype=np.int32)
        starts = np.arange(0, indices.size + 1, per_row)
        X = sp.csr_matrix((rng.normal(size=indices.size), indices.ravel(), starts), shape=(rows, d))
        writer.add(X, np.arange(rows) % 2)
print(sum(block.n_entries for block in open_store(path).blocks) * 12)
MeasureClassifier(alpha=1.0, n_threads=1, max_iter=2, tol=1e-9).fit(path)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on the address space")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 120 MB is written and trained from with 80 MB of address space, stacks of threads included."""
    command = [sys.executable, "-W", "ignore", "-c", MEMORY, str(tmp_path / "big.store"), "50", str(80 << 20)]
    # A thread may reserve an arena of 64 MB for its own small numbers, which is no memory but counts as well.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 120e6
    assert sp.issparse(open_store(tmp_path / "big.store").read_block(0))


@pytest.mark.parametrize("measure", ["prbep", "f1", "roc_area@0.3"])
def test_the_tight_bound_from_a_store(write_store, sparse_data, measure):
    X, y = sparse_data()
    options = {"measure": measure, "alpha": 1e-3, "bound": "tight"}
    memory = MeasureClassifier(**options).fit(X, y)
    one = MeasureClassifier(**options).fit(write_store(X, y))
    assert one.coef_.tobytes() == memory.coef_.tobytes()
    assert (one.objective_, one.stationarity_gap_) == (memory.objective_, memory.stationarity_gap_)
    path = write_store(X, y, name="many.store", block_size=BLOCKS)
    hold_tight_fit(MeasureClassifier(**options).fit(path), X, y, given=(path,))


@pytest.mark.parametrize(
    ("bound", "penalty"), [("convex", {"l1_ratio": 1.0}), ("tight", {"l1_ratio": 0.5, "positive": True})]
)
def test_penalties_from_a_store(write_store, sparse_data, bound, penalty):
    X, y = sparse_data()
    clf, blocks = MeasureClassifier("prbep", 2e-3, bound=bound, **penalty), write_store(X, y, block_size=BLOCKS)
    stored = clone(clf).fit(blocks)
    if bound == "convex":
        memory = clf.fit(X, y)
        assert stored.gap_ <= 1e-3
        assert max(stored.lower_bound_, memory.lower_bound_) <= min(stored.objective_, memory.objective_)
    else:
        hold_tight_fit(stored, X, y, given=(blocks,))
    assert 0 < stored.n_features_in_model_ < X.shape[1]
    path = regularization_path(write_store(X, y), measure="prbep", n_alphas=4, **penalty)
    assert (path.gaps <= 1e-3).all()
    given = MeasureClassifier("prbep", 2e-3).fit(write_store(X, y), base_scores=stored.raw_scores(X))
    assert given.gap_ <= 1e-3
