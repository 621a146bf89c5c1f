"""From every format to a store: what ``read_data`` reads, in memory that does not depend on the file."""

import bz2
import gzip
import lzma
import os
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from smoothperf.io import DataError, convert, open_store, read_data, write_npz

SMALL = 1500  # bytes of a block


def same(path, store, **options):
    """Whether a store has what ``read_data`` makes of a file."""
    expected, found = read_data(path, **options), open_store(store)
    X = expected.X if sp.issparse(expected.X) else sp.csr_matrix(expected.X)
    read = found.read()
    assert found.shape == X.shape
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(read, name), getattr(X, name))
    np.testing.assert_array_equal(found.labels(), expected.y)
    assert found.labels().dtype.kind == expected.y.dtype.kind
    assert found.feature_names == expected.feature_names
    assert found.zero_based == expected.zero_based
    assert found.n_entries == X.nnz
    whole = read_data(store)
    assert whole.format == "store"
    np.testing.assert_array_equal(whole.y, expected.y)
    return found


@pytest.fixture(params=[SMALL, 1 << 25], ids=["many blocks", "one block"])
def block_size(request, monkeypatch):
    # Chunks as small as the blocks, so that there are many of them.
    monkeypatch.setattr("smoothperf.io.conversion.LEAST_ENTRIES", 50)
    monkeypatch.setattr("smoothperf.io.svmlight.PIECE", 300)
    return request.param


@pytest.fixture
def svmlight(tmp_path, sparse_data):
    X, y = sparse_data()
    path = tmp_path / "train.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


@pytest.mark.parametrize(
    ("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_svmlight(svmlight, tmp_path, block_size, suffix, compress):
    path = svmlight.with_name(f"train.svm{suffix}")
    path.write_bytes(compress(svmlight.read_bytes()))
    store = same(path, convert(path, tmp_path / "out.store", block_size=block_size))
    assert (len(store.blocks) > 5) == (block_size == SMALL)
    assert store.source == {"name": path.name, "format": "svmlight"}
    assert store.zero_based is False


def test_number_of_features_of_svmlight(svmlight, tmp_path):
    assert open_store(convert(svmlight, tmp_path / "s", n_features=30)).shape == (400, 30)
    with pytest.raises(DataError, match=r"at least 29 features .counted from 1. where 20 are expected"):
        convert(svmlight, tmp_path / "t", n_features=20)
    assert not (tmp_path / "t").exists()


def test_number_of_features_of_other_formats(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, np.eye(4), np.arange(4) % 2)
    with pytest.raises(DataError, match="it has 4 features where 5 are expected"):
        convert(path, tmp_path / "t", n_features=5)


def test_rows_without_features_come_before_index_0(tmp_path):
    path = tmp_path / "train.svm"
    path.write_bytes(b"-1\n" * 200_000 + b"+1 0:1\n")  # more than is read at a time
    same(path, convert(path, tmp_path / "out.store", block_size=SMALL))


@pytest.mark.parametrize("where", [0, 3, 200, 399])
def test_indices_count_from_0_as_soon_as_one_says_so(tmp_path, block_size, where, sparse_data):
    X, y = sparse_data()
    X = X.tolil()
    X[:, 0] = 0.0
    X[where, 0] = 7.0
    path = tmp_path / "zero.svm"
    dump_svmlight_file(sp.csr_matrix(X), y, str(path), zero_based=True)
    store = same(path, convert(path, tmp_path / "out.store", block_size=block_size))
    assert store.zero_based is True
    assert store.read()[where, 0] == 7.0


@pytest.mark.parametrize("zero_based", [True, False])
def test_indices_count_as_they_are_said_to(svmlight, tmp_path, block_size, zero_based):
    store = convert(svmlight, tmp_path / "out.store", block_size=block_size, zero_based=zero_based)
    same(svmlight, store, zero_based=zero_based)


def test_rows_without_entries(tmp_path, block_size):
    path = tmp_path / "empty.svm"
    path.write_text("1\n-1\n" * 300)
    same(path, convert(path, tmp_path / "out.store", block_size=block_size))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.floats(-1e6, 1e6)), max_size=8, unique_by=lambda pair: pair[0]),
        min_size=1,
        max_size=30,
    ),
    block_size=st.integers(1, 400),
)
def test_any_svmlight_file(tmp_path, monkeypatch, rows, block_size):
    monkeypatch.setattr("smoothperf.io.conversion.LEAST_ENTRIES", 1)
    monkeypatch.setattr("smoothperf.io.svmlight.PIECE", 64)
    path = tmp_path / "any.svm"
    text = "".join(f"{i % 2} " + " ".join(f"{j}:{v!r}" for j, v in sorted(row)) + "\n" for i, row in enumerate(rows))
    path.write_text(text)
    same(path, convert(path, tmp_path / "any.store", block_size=block_size))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc", "dense", "Fortran"])
def test_npz(tmp_path, sparse_data, block_size, dtype, kind):
    X, y = sparse_data()
    X = (3 * X).astype(dtype)
    path = tmp_path / "train.npz"
    if kind == "csc":
        sp.save_npz(path, X.tocsc())
        np.save(tmp_path / "train.y.npy", y)
    else:
        made = {"csr": lambda A: A, "dense": lambda A: A.toarray(), "Fortran": lambda A: np.asfortranarray(A.toarray())}
        write_npz(path, made[kind](X), np.where(y > 0, "ham", "spam"), feature_names=[f"f{j}" for j in range(30)])
    same(path, convert(path, tmp_path / "out.store", block_size=block_size))


def test_npz_with_entries_in_any_order_and_twice(tmp_path, block_size):
    X = sp.csr_matrix((np.arange(1.0, 7.0), [2, 0, 2, 1, 1, 0], [0, 3, 3, 6]), shape=(3, 3))
    path = write_npz(tmp_path / "train.npz", X, [0, 1, 0])
    store = same(path, convert(path, tmp_path / "out.store", block_size=block_size))
    # Then the bound of a row's norm is the sum of absolute values.
    assert store.row_norm == 15.0


@pytest.mark.parametrize("labels", [["ham", "spam"], ["0", "1"], ["True", "False"], ["0.5", "2"], ["1", "1.0"]])
def test_csv(tmp_path, block_size, labels):
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{labels[i % 2]},{b:.3f}" for i, (a, b) in enumerate(rng.normal(size=(200, 2)))]
    path = tmp_path / "train.csv"
    path.write_text("a,kind,b\n" + "\n\n".join(lines))
    same(path, convert(path, tmp_path / "out.store", label="kind", block_size=block_size), label="kind")


@pytest.mark.parametrize("labels", [["ham", "spam"], [0, 1], [True, False], [0.5, 2.0], [1.0, 2.0]])
def test_parquet(tmp_path, block_size, labels):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    frame["kind"] = [labels[i % 2] for i in range(200)]
    path = tmp_path / "train.parquet"
    frame.to_parquet(path, row_group_size=64)
    same(path, convert(path, tmp_path / "out.store", label="kind", block_size=block_size), label="kind")


def test_a_store_can_be_converted_again(svmlight, tmp_path):
    first = convert(svmlight, tmp_path / "a.store", block_size=SMALL)
    second = convert(first, tmp_path / "b.store")
    assert len(open_store(second).blocks) == 1
    assert (open_store(first).read() != open_store(second).read()).nnz == 0
    np.testing.assert_array_equal(open_store(first).labels(), open_store(second).labels())


def test_single_precision(svmlight, tmp_path):
    store = open_store(convert(svmlight, tmp_path / "out.store", dtype="float32"))
    read = store.read()
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read.toarray(), read_data(svmlight).X.astype(np.float32).toarray())
    assert store.path.stat().st_size < convert(svmlight, tmp_path / "double.store").stat().st_size


def test_progress(svmlight, tmp_path, monkeypatch):
    monkeypatch.setattr("smoothperf.io.conversion.LEAST_ENTRIES", 50)
    seen = []
    convert(svmlight, tmp_path / "out.store", block_size=SMALL, progress=lambda *state: seen.append(state))
    assert seen[-1] == (1.0, 400)
    assert seen == sorted(seen)


@pytest.mark.parametrize("name", ["a.svm", "a.svm.gz", "sparse.npz", "dense.npz", "a.csv", "a.parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path, d = tmp_path / name, 20
    options = {} if name.startswith("a.svm") or name.endswith(".npz") else {"label": "y"}

    def write(n):
        X, y = np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % 2
        if name.startswith("a.svm"):
            features = b" ".join(b"%d:1.5" % j for j in range(1, 21))
            with (gzip.open if name.endswith(".gz") else open)(path, "wb") as file:
                file.write(b"".join(b"%d %s\n" % (i % 2, features) for i in range(n)))
        elif name.endswith(".npz"):
            write_npz(path, X if name == "dense.npz" else sp.csr_matrix(X), y)
        else:
            frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)]).assign(y=y)
            frame.to_csv(path, index=False) if name == "a.csv" else frame.to_parquet(path, row_group_size=2000)

    write(100)
    convert(path, tmp_path / "warm.store", **options)  # imports are not counted
    write(40_000)
    tracemalloc.start()
    store = open_store(convert(path, tmp_path / "out.store", block_size=1 << 18, **options))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert store.n_entries * 12 == 9_600_000
    assert len(store.blocks) > 30
    assert peak < 6_000_000


def left_over(folder):
    return [name for name in os.listdir(folder) if "store" in name]


WRONG = {
    "a.svm": (b"1 1:2\n" * 300 + b"1 1:x\n", {}, "line 301: the value in '1:x' is not a number"),
    "b.svm": (b"1 1:2\n" * 300 + b"1 1:1e400\n", {}, "line 301: the value in '1:1e400' is not finite"),
    "c.csv": (b"a,y\n" + b"1,0\n" * 300 + b"x,1\n", {"label": "y"}, "line 302: column 'a' holds 'x', which is"),
    "d.csv": (b"a,y\n" + b"1,0\n" * 300 + b"1,\n", {"label": "y"}, "line 302: the label, column 'y', is missing"),
    "e.csv": (b"a,y\n" + b"1,0\n" * 300 + b"1,2,3\n", {"label": "y"}, "line 302: 3 fields where"),
    "f.csv": (b"a,y\n" + b"1,0\n" * 300 + b"nan,1\n", {"label": "y"}, "line 302: column 'a' has no value"),
    "g.svm": (b"\n\n", {}, "there are no examples in it"),
    "h.svm": (b"1 1:2\n", {"label": "y"}, "has no named columns"),
    "i.svm": (gzip.compress(b"1 1:2\n" * 9000)[:-20], {}, "it cannot be read"),
    "j.npz": (b"PK\x03\x04 and so on", {}, "it is damaged or not a NumPy archive"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_where(tmp_path, monkeypatch, name):
    monkeypatch.setattr("smoothperf.io.conversion.LEAST_ENTRIES", 50)
    content, options, message = WRONG[name]
    path = tmp_path / name
    path.write_bytes(content)
    (tmp_path / "out.store").write_text("what was there before")
    with pytest.raises(DataError, match=message) as caught:
        convert(path, tmp_path / "out.store", block_size=SMALL, **options)
    assert str(caught.value).startswith(str(path))
    assert left_over(tmp_path) == ["out.store"]
    assert (tmp_path / "out.store").read_text() == "what was there before"


def test_rows_of_parquet_and_npz_are_named(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("smoothperf.io.conversion.LEAST_ENTRIES", 10)
    values = np.ones(100)
    values[77] = np.inf
    pd.DataFrame({"a": values, "y": np.arange(100) % 2}).to_parquet(tmp_path / "p.parquet")
    with pytest.raises(DataError, match="row 78: column 'a' holds inf"):
        convert(tmp_path / "p.parquet", tmp_path / "out.store", label="y", block_size=1)
    for X in (values.reshape(-1, 1), sp.csr_matrix(values.reshape(-1, 1))):
        write_npz(tmp_path / "n.npz", X, np.arange(100) % 2)
        with pytest.raises(DataError, match="row 78 of X holds a value that is not finite"):
            convert(tmp_path / "n.npz", tmp_path / "out.store", block_size=1)
    labels = np.arange(100) % 2 + 0.5
    labels[55] = np.nan
    pd.DataFrame({"a": np.ones(100), "y": labels}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(DataError, match="row 56"):
        convert(tmp_path / "q.parquet", tmp_path / "out.store", label="y", block_size=1)


def test_indices_outside_the_matrix(tmp_path):
    path = tmp_path / "bad.npz"
    np.savez(path, format=b"csr", shape=(1, 2), data=np.ones(1), indices=np.array([5]), indptr=np.array([0, 1]), y=[1])
    with pytest.raises(DataError, match=r"column indices outside 0..1"):
        convert(path, tmp_path / "out.store")


def test_numbers_that_do_not_fit(tmp_path):
    path = tmp_path / "large.svm"
    path.write_text("1 1:1\n-1 1:1e39\n")
    with pytest.raises(DataError, match=r"row 2 holds 1e\+39, which is not a finite number as float32"):
        convert(path, tmp_path / "out.store", dtype="float32")
    path.write_text("1 1:1\n-1 1:1e200\n")
    with pytest.raises(DataError, match="rows 1 to 2 hold numbers too large to square"):
        convert(path, tmp_path / "out.store")
    assert left_over(tmp_path) == []
