"""The folder itself: as documented, whole or not at all, and no damage goes unnoticed."""

import errno
import json
import os
import signal
import subprocess
import sys
import zlib
from contextlib import suppress
from io import FileIO

import numpy as np
import pytest
import scipy.sparse as sp

from smoothperf import MeasureClassifier
from smoothperf.io import DataError, StoreError, StoreWriter, convert, open_store, read_data
from smoothperf.io.store import writer as writing


@pytest.fixture
def stored(write_store, sparse_data):
    X, y = sparse_data()
    return X, y, write_store(X, np.where(y > 0, "spam", "ham"), np.arange(400) // 4, np.linspace(1, 2, 400))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_can_be_read_as_documented(stored):
    """With nothing but NumPy, json and zlib."""
    X, y, path = stored
    index = json.loads((path / "store.json").read_text())
    assert (index["format"], index["version"], index["shape"]) == ("smoothperf store", 3, [400, 30])
    arrays = {name: np.load(path / f"{name}.npy", mmap_mode="r") for name in index["arrays"]}
    assert names(path) == sorted(["store.json", *(f"{name}.npy" for name in arrays)])
    for name, array in arrays.items():
        told = index["arrays"][name]
        assert (told["type"], told["shape"]) == (array.dtype.str, list(array.shape))
        assert told["crc32"] == zlib.crc32(array)
        assert array.offset % 64 == 0
    for name, kept in (("indptr", X.indptr), ("indices", X.indices), ("values", X.data)):
        np.testing.assert_array_equal(arrays[name], kept)
    np.testing.assert_array_equal(np.array(index["words"]["labels"])[arrays["labels"]], np.where(y > 0, "spam", "ham"))
    np.testing.assert_array_equal(arrays["queries"], np.arange(400) // 4)
    np.testing.assert_array_equal(arrays["weights"], np.linspace(1, 2, 400))


def test_the_same_data_give_the_same_bytes(sparse_data, write_store):
    X, y = sparse_data()
    one, other = (write_store(X, y, name=f"{step}.store", step=step) for step in (400, 11))
    for name in names(one):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def write(path, parts):
    with StoreWriter(path) as writer:
        for part in parts:
            writer.add(**part)


def complaint(path):
    """The error of a store: opened, verified and read."""

    def use():
        open_store(path).verify()
        MeasureClassifier().fit(path)

    with pytest.raises(StoreError) as caught:
        use()
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def test_damage_in_any_place_of_an_array_is_noticed_and_named(stored):
    path = stored[2]
    shares = []
    open_store(path).verify(shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for name in names(path):
        content = bytearray((path / name).read_bytes())
        for at in [0, *range(128, len(content), 1009), len(content) - 1]:
            content[at] ^= 0x40
            (path / name).write_bytes(content)
            assert complaint(path).startswith(str(path / name))
            content[at] ^= 0x40
        (path / name).write_bytes(content)


@pytest.mark.parametrize("change", [lambda content: content[:-1], lambda content: content + b"0", lambda content: b""])
@pytest.mark.parametrize("name", ["indptr", "indices", "values", "labels", "queries", "weights"])
def test_sizes_are_checked_when_a_store_is_opened(stored, name, change):
    file = stored[2] / f"{name}.npy"
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(StoreError, match=rf"{name}.npy: truncated or damaged"):
        open_store(stored[2])
    file.unlink()
    with pytest.raises(StoreError, match=rf"{name}.npy: cannot be read: No such file"):
        open_store(stored[2])


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.pop("shape"),
        lambda index: index.update(shape=[399, 30]),
        lambda index: index.update(shape=[400, 3]),  # indices outside the matrix
        lambda index: index.update(shape=[float("inf"), 30]),
        lambda index: index.update(shape=[400, 0]),
        lambda index: index.update(format="something else"),
        lambda index: index.update(version="3"),
        lambda index: index.update(arrays=[]),
        lambda index: index["arrays"].pop("labels"),
        lambda index: index["arrays"].update(rows=index["arrays"]["values"]),
        lambda index: index["arrays"].update({"../indptr": index["arrays"]["indptr"]}),
        lambda index: index["arrays"]["values"].update(type="|O"),
        lambda index: index["arrays"]["values"].update(shape=[400, 30]),
        lambda index: index["arrays"]["indptr"].update(type="<i8"),
        lambda index: index["arrays"]["indices"].update(crc32=None),
        lambda index: index["arrays"]["indices"].update(crc32=1),
        lambda index: index["words"].pop("labels"),
        lambda index: index["words"].update(labels=["ham"]),
        lambda index: index["words"].update(labels=[1, 2]),
        lambda index: index.update(words=None),
        lambda index: index.update(feature_names=["one"]),
        lambda index: index.update(feature_names=[1] * 30),
        lambda index: index.update(zero_based="perhaps"),
        lambda index: index.update(source={"name": [1]}),
    ],
)
def test_an_index_that_lies(stored, change):
    file = stored[2] / "store.json"
    index = json.loads(file.read_text())
    change(index)
    file.write_text(json.dumps(index))
    complaint(stored[2])


@pytest.mark.parametrize("text", ["", "[]", "{}", "no", "[" * 100_000, '{"format": "smoothperf store"}'])
def test_an_index_that_is_none(stored, text):
    (stored[2] / "store.json").write_text(text)
    assert "store.json: " in complaint(stored[2])


@pytest.mark.parametrize(
    ("name", "at", "number"), [("indices", 7, 30), ("indices", 7, -1), ("indptr", 9, 10**6), ("indptr", 400, 5)]
)
def test_damaged_indices_are_never_used(stored, name, at, number):
    """Also where sizes are right and no checksum was compared."""
    path = stored[2]
    array = np.load(path / f"{name}.npy", mmap_mode="r+")
    array[at] = number
    array.flush()
    for use in (lambda: MeasureClassifier().fit(path), lambda: read_data(path)):
        with pytest.raises(StoreError, match=r"indices.npy: it is damaged: not the columns of a sound matrix"):
            use()


def test_other_versions_and_other_things(stored, tmp_path):
    file = stored[2] / "store.json"
    file.write_text(file.read_text().replace('"version": 3', '"version": 4'))
    assert "of version 4 of the format; smoothperf" in complaint(stored[2])
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        open_store(tmp_path / "missing")
    (tmp_path / "text").write_text("1 1:2\n" * 100)
    for other in (tmp_path / "text", tmp_path):
        assert "not a store of smoothperf; make one with 'smoothperf convert'" in complaint(other)


@pytest.mark.parametrize(
    "labels",
    [[True, False], ["a", "b"], ["é", "\U0001d11e"], [1, -1], [0.5, 2.5], [2.0, 1.0], np.array([2**63, 1], np.uint64)],
)
def test_labels_and_queries_of_all_types(write_store, labels):
    labels = np.array(labels)
    for step, given in ((1, labels), (2, labels.astype(object) if labels.dtype.kind != "u" else labels)):
        store = open_store(write_store(np.eye(2), given, given, step=step))
        for found in (store.y, store.qid):
            np.testing.assert_array_equal(found, labels)
            assert found.dtype.kind == ("i" if labels.tolist() == [2.0, 1.0] else labels.dtype.kind)


def test_many_words(write_store):
    y = np.char.add("word ", np.arange(70_000).astype(str))
    np.testing.assert_array_equal(open_store(write_store(np.ones((70_000, 1)), y, step=70_000)).y, y)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ({"qid": [1, 1]}, {}, "some rows have queries and others have none"),
        ({}, {"qid": [1, 1]}, "some rows have queries and others have none"),
        ({"sample_weight": [1, 1]}, {}, "some rows have weights and others have none"),
        ({"qid": [1, 1]}, {"qid": ["a", "a"]}, "some of its queries are words and others are numbers"),
        ({"qid": [1, 2, 3]}, {}, "its queries have the shape"),
        ({"qid": [[1, 2]]}, {}, "its queries have the shape"),
        ({"qid": [np.nan, 1.0]}, {}, "its query of row 1 is missing or not finite"),
        ({"qid": [1j, 2.0]}, {}, "its queries are of the type complex"),
        ({"y": [1]}, {}, "its labels have the shape"),
        ({"y": [1, np.nan]}, {}, "its label of row 2 is missing or not finite"),
        ({}, {"y": ["a", "b"]}, "some of its labels are words and others are numbers"),
        ({"sample_weight": [1, -1]}, {}, "sample_weight must not be negative, got -1"),
        ({"sample_weight": [1, np.inf]}, {}, "sample_weight must be finite"),
        ({"X": np.ones(2)}, {}, "two dimensions are needed"),
        ({"X": [[1.0, np.nan], [1.0, 1.0]]}, {}, "row 1 holds nan, which is not a finite number"),
        ({}, {"X": sp.csr_matrix([[0.0, 0.0], [0.0, np.inf]])}, "row 4 holds inf"),
        ({}, {"X": np.ones((2, 3))}, "rows have 2 features and then 3"),
        ({"qid": [2**60 + 1, 1]}, {"qid": [0.5, 1.0]}, "fractions and whole numbers beyond 2"),
    ],
)
def test_rows_that_cannot_be_added(tmp_path, first, second, reason):
    rows = [{"X": np.eye(2), "y": [0, 1], **more} for more in (first, second)]
    with pytest.raises(StoreError, match=reason):
        write(tmp_path / "s", rows)
    assert names(tmp_path) == []


def test_rows_that_failed_are_not_passed_over(tmp_path):
    def go_on():
        with StoreWriter(tmp_path / "s") as writer:
            writer.add(np.eye(2), [0, 1])
            with suppress(StoreError):
                writer.add(np.eye(2), [0])

    with pytest.raises(StoreError, match="some rows could not be added"):
        go_on()
    assert names(tmp_path) == []


def test_rows_of_other_kinds(tmp_path, sparse_data):
    X, y = sparse_data()
    whole = sp.vstack([X, X[:0], X[:5]], format="csr")
    for parts in ([X, X[:0], X[:5].toarray()], [X.toarray(), X[:0], X[:5].tocsc()]):
        with StoreWriter(tmp_path / "s") as writer:
            for part in parts:
                writer.add(part, y[: part.shape[0]])
        found = open_store(tmp_path / "s").X
        assert sp.issparse(found) == sp.issparse(parts[0])
        np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, whole.toarray())
    with StoreWriter(tmp_path / "s") as writer:
        writer.add(sp.csr_matrix(np.arange(6).reshape(2, 3)), [0, 1])
        writer.add(sp.csr_matrix((np.ones(9), np.arange(9) % 3, [0, 2])), [0])  # with more entries than it says
    np.testing.assert_array_equal(open_store(tmp_path / "s").X.toarray(), [[0, 1, 2], [3, 4, 5], [1, 1, 0]])


@pytest.mark.parametrize("limit", [0, 30, 200, 395, 1200])
def test_wide_indices(sparse_data, write_store, monkeypatch, limit):
    """From where 32 bits do not do, which the test puts lower; both arrays are alike before and after."""
    X, y = sparse_data()
    monkeypatch.setattr(writing, "LARGEST_INT32", limit)
    monkeypatch.setattr(writing, "PIECE", 100)
    path = write_store(X, y)
    types = {np.load(path / f"{name}.npy").dtype for name in ("indptr", "indices")}
    assert types == {np.dtype(np.int64)}
    store = open_store(path)
    store.verify()
    assert (store.X != X).nnz == 0
    np.testing.assert_array_equal(store.X.indptr, X.indptr)


def test_wide_indices_of_scipy(tmp_path):
    """Columns that 32 bits cannot count."""
    with StoreWriter(tmp_path / "s") as writer:
        writer.add(sp.csr_matrix((np.ones(1), [2**33], [0, 1]), shape=(1, 2**33 + 1)), [1])
    X = open_store(tmp_path / "s").X
    assert X.indices.dtype == np.int64
    assert not X.indices.flags.writeable
    assert X.indices.tolist() == [2**33]


# --- whole or not at all ----------------------------------------------------------------------------------------------


def test_nothing_is_written_without_rows(tmp_path):
    with pytest.raises(StoreError, match="there are no examples to write"), StoreWriter(tmp_path / "s"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_store_is_replaced_and_nothing_else(stored, tmp_path):
    X, _, path = stored
    before = open_store(path)
    with StoreWriter(path) as writer:
        assert open_store(path).shape == (400, 30)
        writer.add(np.eye(2), [0, 1])
    assert open_store(path).shape == (2, 2)
    assert (before.X != X).nnz == 0  # whoever has opened it keeps what was there
    (path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"has something else in it, notes.txt"), StoreWriter(path):
        pass
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    for name in ("folder", "file"):
        with pytest.raises(StoreError, match=f"there is a {name} of this name that is no store"):
            write(tmp_path / name, [])
    assert names(tmp_path) == ["data.store", "file", "folder"]


@pytest.mark.parametrize("room", [0, 100, 500, 5000, 30_000])
def test_disk_full(tmp_path, monkeypatch, stored, room):
    X, y, path = stored
    before = {name: (path / name).read_bytes() for name in names(path)}
    left = [room]

    class Full(FileIO):
        def write(self, content):  # which may be short before
            if not left[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            count = super().write(content[: left[0]])
            left[0] -= count
            return count

    monkeypatch.setattr(writing, "open", lambda path, mode, **_: Full(path, mode), raising=False)
    with pytest.raises(StoreError, match="cannot be written: No space left on device; the store that was there is as"):
        write(path, [{"X": X, "y": y}])
    assert {name: (path / name).read_bytes() for name in names(path)} == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_limit_of_the_system(tmp_path):
    """The real thing: the system refuses to write more than so many bytes."""
    (tmp_path / "many.svm").write_text("1 1:2 3:4\n-1 2:1\n" * 20_000)
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "import sys; from smoothperf.cli import main;"
        f"sys.argv = ['smoothperf', 'convert', {str(tmp_path / 'many.svm')!r}, {str(tmp_path / 'out.store')!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines() == [f"smoothperf: {tmp_path / 'out.store'}: cannot be written: File too large"]
    assert sorted(os.listdir(tmp_path)) == ["many.svm"]


KILLED = """
import os, signal, sys
import numpy as np
from smoothperf.io import StoreWriter
with StoreWriter(sys.argv[1]) as writer:
    writer.add(np.eye(2), [0, 1])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and locks")
def test_what_a_killed_process_leaves_is_no_store_and_goes(tmp_path):
    path = tmp_path / "s"
    assert subprocess.run([sys.executable, "-c", KILLED, path], check=False).returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    with pytest.raises(StoreError, match="not a store"):
        open_store(left)
    with StoreWriter(path) as writer:
        writer.add(np.eye(2), [0, 1])
    assert names(tmp_path) == ["s"]


def test_errors_of_others_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), StoreWriter(tmp_path / "s"):
        (tmp_path / "missing").read_bytes()
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n")
    with pytest.raises(DataError, match=r"out\.store: cannot be written: No such file or directory"):
        convert(tmp_path / "a.svm", tmp_path / "nowhere" / "out.store")
