"""From every format to a store: what ``read_data`` reads, in memory that does not depend on the file."""

import bz2
import gzip
import json
import lzma
import os
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from smoothperf import MeasureClassifier
from smoothperf.io import DataError, StoreWriter, convert, open_store, read_data, write_npz


def same(path, store, **options):
    """Whether a store has what ``read_data`` makes of a file."""
    expected, found = read_data(path, **options), read_data(store)
    assert found.format == "store"
    if sp.issparse(expected.X):
        for name in ("shape", "indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(found.X, name), getattr(sp.csr_matrix(expected.X), name))
    else:
        np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, expected.y, strict=True)
    np.testing.assert_array_equal(found.qid, expected.qid)
    assert found.feature_names == expected.feature_names
    assert found.zero_based == expected.zero_based
    return open_store(store)


@pytest.fixture(autouse=True)
def chunks(monkeypatch):
    # So small that there are many of them.
    monkeypatch.setattr("smoothperf.io.conversion.ENTRIES", 50)
    monkeypatch.setattr("smoothperf.io.svmlight.PIECE", 300)


@pytest.fixture
def svmlight(tmp_path, sparse_data):
    X, y = sparse_data()
    path = tmp_path / "train.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


@pytest.mark.parametrize(
    ("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_svmlight(svmlight, tmp_path, suffix, compress):
    path = svmlight.with_name(f"train.svm{suffix}")
    path.write_bytes(compress(svmlight.read_bytes()))
    store = same(path, convert(path, tmp_path / "out.store"))
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
    same(path, convert(path, tmp_path / "out.store"))


@pytest.mark.parametrize("where", [0, 3, 200, 399])
def test_indices_count_from_0_as_soon_as_one_says_so(tmp_path, where, sparse_data):
    X, y = sparse_data()
    X = X.tolil()
    X[:, 0] = 0.0
    X[where, 0] = 7.0
    path = tmp_path / "zero.svm"
    dump_svmlight_file(sp.csr_matrix(X), y, str(path), zero_based=True)
    store = same(path, convert(path, tmp_path / "out.store"))
    assert store.zero_based is True
    assert store.X[where, 0] == 7.0


@pytest.mark.parametrize("zero_based", [True, False])
def test_indices_count_as_they_are_said_to(svmlight, tmp_path, zero_based):
    store = convert(svmlight, tmp_path / "out.store", zero_based=zero_based)
    same(svmlight, store, zero_based=zero_based)


def test_rows_without_entries(tmp_path):
    path = tmp_path / "empty.svm"
    path.write_text("1\n-1\n" * 300)
    same(path, convert(path, tmp_path / "out.store"))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.floats(-1e6, 1e6)), max_size=8, unique_by=lambda pair: pair[0]),
        min_size=1,
        max_size=30,
    ),
)
def test_any_svmlight_file(tmp_path, monkeypatch, rows):
    monkeypatch.setattr("smoothperf.io.conversion.ENTRIES", 1)
    monkeypatch.setattr("smoothperf.io.svmlight.PIECE", 64)
    path = tmp_path / "any.svm"
    text = "".join(f"{i % 2} " + " ".join(f"{j}:{v!r}" for j, v in sorted(row)) + "\n" for i, row in enumerate(rows))
    path.write_text(text)
    same(path, convert(path, tmp_path / "any.store"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc", "dense", "Fortran"])
def test_npz(tmp_path, sparse_data, dtype, kind):
    X, y = sparse_data()
    X = (3 * X).astype(dtype)
    path = tmp_path / "train.npz"
    if kind == "csc":
        sp.save_npz(path, X.tocsc())
        np.save(tmp_path / "train.y.npy", y)
    else:
        made = {"csr": lambda A: A, "dense": lambda A: A.toarray(), "Fortran": lambda A: np.asfortranarray(A.toarray())}
        write_npz(path, made[kind](X), np.where(y > 0, "ham", "spam"), feature_names=[f"f{j}" for j in range(30)])
    same(path, convert(path, tmp_path / "out.store"))


def test_npz_with_entries_in_any_order_and_twice(tmp_path):
    X = sp.csr_matrix((np.arange(1.0, 7.0), [2, 0, 2, 1, 1, 0], [0, 3, 3, 6]), shape=(3, 3))
    path = write_npz(tmp_path / "train.npz", X, [0, 1, 0])
    same(path, convert(path, tmp_path / "out.store"))


@pytest.mark.parametrize("labels", [["ham", "spam"], ["0", "1"], ["True", "False"], ["0.5", "2"], ["1", "1.0"]])
def test_csv(tmp_path, labels):
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{labels[i % 2]},{b:.3f}" for i, (a, b) in enumerate(rng.normal(size=(200, 2)))]
    path = tmp_path / "train.csv"
    path.write_text("a,kind,b\n" + "\n\n".join(lines))
    same(path, convert(path, tmp_path / "out.store", label="kind"), label="kind")


@pytest.mark.parametrize("labels", [["ham", "spam"], [0, 1], [True, False], [0.5, 2.0], [1.0, 2.0]])
def test_parquet(tmp_path, labels):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    frame["kind"] = [labels[i % 2] for i in range(200)]
    path = tmp_path / "train.parquet"
    frame.to_parquet(path, row_group_size=64)
    same(path, convert(path, tmp_path / "out.store", label="kind"), label="kind")


@pytest.mark.parametrize("dense", [False, True])
def test_a_store_can_be_converted_again(tmp_path, sparse_data, write_store, dense):
    X, y = sparse_data()
    first = write_store(X.toarray() if dense else X, y, np.arange(400) // 7, np.linspace(0, 1, 400))
    same(first, convert(first, tmp_path / "b.store"))
    np.testing.assert_array_equal(open_store(tmp_path / "b.store").sample_weight, np.linspace(0, 1, 400))
    convert(first, first, dtype="float32")  # in its own place
    same_values = open_store(first).X
    np.testing.assert_array_equal(same_values if dense else same_values.toarray(), X.toarray().astype(np.float32))


def test_single_precision(svmlight, tmp_path):
    store = open_store(convert(svmlight, tmp_path / "out.store", dtype="float32"))
    assert store.X.dtype == np.float32
    np.testing.assert_array_equal(store.X.toarray(), read_data(svmlight).X.astype(np.float32).toarray())
    assert store.n_bytes < open_store(convert(svmlight, tmp_path / "double.store")).n_bytes


def test_progress(svmlight, tmp_path):
    seen = []
    convert(svmlight, tmp_path / "out.store", progress=lambda *state: seen.append(state))
    assert len(seen) > 10
    assert seen[-1] == (1.0, 400)
    assert seen == sorted(seen)


@pytest.mark.parametrize("name", ["a.svm", "a.svm.gz", "a.csv", "a.parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch, name):
    monkeypatch.setattr("smoothperf.io.conversion.ENTRIES", 1 << 13)
    monkeypatch.setattr("smoothperf.io.svmlight.PIECE", 1 << 18)
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path, d = tmp_path / name, 20
    options = {} if name.startswith("a.svm") else {"label": "y"}

    def write(n):
        X, y = np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % 2
        if name.startswith("a.svm"):
            features = b" ".join(b"%d:1.5" % j for j in range(1, 21))
            with (gzip.open if name.endswith(".gz") else open)(path, "wb") as file:
                file.write(b"".join(b"%d %s\n" % (i % 2, features) for i in range(n)))
        else:
            frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)]).assign(y=y)
            frame.to_csv(path, index=False) if name == "a.csv" else frame.to_parquet(path, row_group_size=2000)

    write(100)
    convert(path, tmp_path / "warm.store", **options)  # imports are not counted
    write(40_000)
    tracemalloc.start()
    store = open_store(convert(path, tmp_path / "out.store", **options))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert store.n_bytes > 6_000_000
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
def test_errors_say_where(tmp_path, name):
    content, options, message = WRONG[name]
    path = tmp_path / name
    path.write_bytes(content)
    with StoreWriter(tmp_path / "out.store") as writer:
        writer.add(np.eye(3), [0, 1, 0])
    with pytest.raises(DataError, match=message) as caught:
        convert(path, tmp_path / "out.store", **options)
    assert str(caught.value).startswith(str(path))
    assert left_over(tmp_path) == ["out.store"]
    assert open_store(tmp_path / "out.store").shape == (3, 3)


def test_rows_of_parquet_and_npz_are_named(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    values = np.ones(100)
    values[77] = np.inf
    pd.DataFrame({"a": values, "y": np.arange(100) % 2}).to_parquet(tmp_path / "p.parquet")
    with pytest.raises(DataError, match="row 78: column 'a' holds inf"):
        convert(tmp_path / "p.parquet", tmp_path / "out.store", label="y")
    for X in (values.reshape(-1, 1), sp.csr_matrix(values.reshape(-1, 1))):
        write_npz(tmp_path / "n.npz", X, np.arange(100) % 2)
        with pytest.raises(DataError, match="row 78 of X holds a value that is not finite"):
            convert(tmp_path / "n.npz", tmp_path / "out.store")
    labels = np.arange(100) % 2 + 0.5
    labels[55] = np.nan
    pd.DataFrame({"a": np.ones(100), "y": labels}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(DataError, match="row 56"):
        convert(tmp_path / "q.parquet", tmp_path / "out.store", label="y")


def test_indices_outside_the_matrix(tmp_path):
    path = tmp_path / "bad.npz"
    np.savez(path, format=b"csr", shape=(1, 2), data=np.ones(1), indices=np.array([5]), indptr=np.array([0, 1]), y=[1])
    with pytest.raises(DataError, match="must be < 2"):
        convert(path, tmp_path / "out.store")


def test_numbers_that_do_not_fit(tmp_path):
    path = tmp_path / "large.svm"
    path.write_text("1 1:1\n-1 1:1e39\n")
    with pytest.raises(DataError, match=r"row 2 holds 1e\+39, which is not a finite number as float32"):
        convert(path, tmp_path / "out.store", dtype="float32")
    assert left_over(tmp_path) == []


# --- files of versions 1 and 2 ----------------------------------------------------------------------------------------


def former(path, X, y, qid=None, version=2, step=50):
    """Write a store as versions before did."""

    def padded(array):
        return array.tobytes() + bytes(-array.nbytes % 64)

    def column(values, kind):
        names, codes = (None, values) if values.dtype.kind != "U" else np.unique(values, return_inverse=True)
        content = padded(codes.astype(kind))
        parts.append(content)
        return names, {"offset": sum(map(len, parts[:-1])), "crc32": zlib.crc32(content)}

    parts, blocks = [struct.pack("<8sI52x", b"\x93SPSTORE", version)], []
    for start in range(0, X.shape[0], step):
        rows = X[start : start + step]
        arrays = rows.indptr.astype("<i4"), rows.indices.astype("<i4"), rows.data.astype("<f8")
        content = b"".join(map(padded, arrays))
        place = {"offset": sum(map(len, parts)), "first_row": start, "n_rows": rows.shape[0], "n_entries": rows.nnz}
        blocks.append({**place, "crc32": zlib.crc32(content)})
        parts.append(content)
    classes, codes = np.unique(y, return_inverse=True)
    labels = {"type": "str" if y.dtype.kind == "U" else str(y.dtype), "classes": classes.tolist(), "code_type": "|u1"}
    labels |= column(codes, "|u1")[1]
    index = {"shape": X.shape, "index_type": "<i4", "value_type": "<f8", "labels": labels, "blocks": blocks}
    index |= {"feature_names": [f"f{j}" for j in range(X.shape[1])], "zero_based": True}
    if qid is not None:
        names, told = column(qid, "<f8" if qid.dtype.kind == "f" else "<i8")
        kind = {"U": "str", "f": "float64", "i": "int64"}[qid.dtype.kind]
        index["queries"] = {"type": kind, "names": None if names is None else names.tolist(), **told}
    text = json.dumps(index).encode()
    place = struct.pack("<QQI", sum(map(len, parts)), len(text), zlib.crc32(text))
    path.write_bytes(b"".join([*parts, text, place, struct.pack("<I8s", zlib.crc32(place), b"\x93SPSTORE")]))
    return path


@pytest.mark.parametrize(
    ("labels", "queries"),
    [(lambda y: y, None), (lambda y: np.where(y > 0, "ham", "spam"), "i"), (lambda y: y > 0, "f"), (lambda y: y, "U")],
)
def test_files_of_versions_before(tmp_path, sparse_data, labels, queries):
    X, y = sparse_data()
    y, qid = labels(y), None if queries is None else (np.arange(400) // 3 + 0.5).astype(queries)
    path = former(tmp_path / "old.store", X, y, qid, version=1 if qid is None else 2)
    data = read_data(convert(path, tmp_path / "new.store"))
    assert (data.X != X).nnz == 0
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, qid)
    assert (data.feature_names[:2], data.zero_based) == (["f0", "f1"], True)
    for use in (open_store, read_data, MeasureClassifier().fit):
        with pytest.raises(DataError, match=r"a single file; make a folder of it: smoothperf convert .*old.store"):
            use(path)
    convert(path, path)  # in its own place
    assert path.is_dir()


def test_damage_of_files_of_versions_before(tmp_path, sparse_data):
    path = former(tmp_path / "old.store", *sparse_data())
    content = bytearray(path.read_bytes())
    for at in [*range(64, len(content), 499), len(content) - 20]:
        content[at] ^= 0x40
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"^\S*old.store: .*damaged"):
            convert(path, tmp_path / "new.store")
        content[at] ^= 0x40
    path.write_bytes(content[:-1])
    with pytest.raises(DataError, match="damaged"):
        convert(path, tmp_path / "new.store")
