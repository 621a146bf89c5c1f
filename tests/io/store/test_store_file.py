"""The file itself: as documented, whole or not at all, and no damage goes unnoticed."""

import errno
import json
import os
import struct
import subprocess
import sys
import zlib
from contextlib import contextmanager

import numpy as np
import pytest

from smoothperf._files import written_whole
from smoothperf.io import DataError, StoreError, StoreWriter, convert, open_store

BLOCKS = 2000  # bytes


@pytest.fixture
def stored(write_store, sparse_data):
    X, y = sparse_data()
    return X, y, write_store(X, y, block_size=BLOCKS)


def test_the_file_can_be_read_as_documented(stored):
    """With nothing but struct, json and memmap."""
    X, y, path = stored
    content = path.read_bytes()
    assert content[:8] == b"\x93SPSTORE"
    assert struct.unpack("<I", content[8:12]) == (2,)
    offset, length, crc32, own_crc32, magic = struct.unpack("<QQII8s", content[-32:])
    assert magic == content[:8]
    assert own_crc32 == zlib.crc32(content[-32:-12])
    assert offset + length + 32 == len(content)
    assert crc32 == zlib.crc32(content[offset : offset + length])
    index = json.loads(content[offset : offset + length])
    assert index["shape"] == [400, 30]
    assert len(index["blocks"]) > 10
    n_rows = 0
    for block in index["blocks"]:
        at, rows, entries = block["offset"], block["n_rows"], block["n_entries"]
        assert at % 64 == 0
        assert block["first_row"] == n_rows
        starts = np.memmap(path, "<i4", "r", at, (rows + 1,))
        at += -(-starts.nbytes // 64) * 64
        indices = np.memmap(path, "<i4", "r", at, (entries,))
        at += -(-indices.nbytes // 64) * 64
        values = np.memmap(path, "<f8", "r", at, (entries,))
        at += -(-values.nbytes // 64) * 64
        assert zlib.crc32(content[block["offset"] : at]) == block["crc32"]
        part = X[n_rows : n_rows + rows]
        np.testing.assert_array_equal(starts, part.indptr)
        np.testing.assert_array_equal(indices, part.indices)
        np.testing.assert_array_equal(values, part.data)
        assert at - block["offset"] <= BLOCKS + 3 * 64
        n_rows += rows
    labels = index["labels"]
    assert labels["classes"] == [-1, 1]
    codes = np.memmap(path, labels["code_type"], "r", labels["offset"], (n_rows,))
    np.testing.assert_array_equal(np.array(labels["classes"])[codes], y)


def test_the_same_data_give_the_same_bytes(stored, tmp_path):
    X, y, path = stored
    with StoreWriter(tmp_path / "again.store", block_size=BLOCKS) as writer:
        for start in range(0, 400, 37):
            writer.add(X[start : start + 37], y[start : start + 37])
        writer.n_features = 30
    assert (tmp_path / "again.store").read_bytes() == path.read_bytes()


def read_all(path):
    store = open_store(path)
    store.labels()
    store.read()


def complaint(path):
    """What is wrong with a store: opened, labels and all blocks read."""
    with pytest.raises(StoreError) as caught:
        read_all(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def test_damage_in_any_place_is_noticed(stored):
    _, _, path = stored
    content = bytearray(path.read_bytes())
    for at in [*range(64), *range(64, len(content) - 32, 97), *range(len(content) - 32, len(content))]:
        content[at] ^= 0x40
        path.write_bytes(content)
        complaint(path)
        content[at] ^= 0x40


def test_damage_is_named(stored):
    _, _, path = stored
    content = path.read_bytes()
    store = open_store(path)
    block = store.blocks[3]
    parts = {
        3: "not a store of smoothperf",
        30: "its header is damaged",
        block.offset + 100: rf"block 3 \(rows {block.first_row + 1} to {block.first_row + block.n_rows}\) is damaged",
        store._codes_at: "the labels are damaged",
        len(content) - 100: "its index is damaged",
        len(content) - 1: "it does not end as a store does",
        len(content) - 30: "it does not end as a store does",
    }
    for at, message in parts.items():
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        with pytest.raises(StoreError, match=message):
            read_all(path)


def test_truncated_files(stored):
    _, _, path = stored
    content = path.read_bytes()
    for length in [0, 5, 63, 64, 90, 1000, len(content) - 33, len(content) - 1]:
        path.write_bytes(content[:length])
        complaint(path)
    path.write_bytes(content + b"more")
    assert "it does not end as a store does" in complaint(path)


def test_other_files(tmp_path):
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        open_store(tmp_path / "missing")
    (tmp_path / "text").write_text("1 1:2\n" * 100)
    assert "not a store of smoothperf; make one with 'smoothperf convert'" in complaint(tmp_path / "text")


def rewritten(path, change):
    """The store with another index, under sound checksums."""
    content = path.read_bytes()
    offset, length, *_ = struct.unpack("<QQII8s", content[-32:])
    index = json.loads(content[offset : offset + length])
    change(index)
    text = json.dumps(index).encode()
    place = struct.pack("<QQI", offset, len(text), zlib.crc32(text))
    path.write_bytes(content[:offset] + text + place + struct.pack("<I8s", zlib.crc32(place), b"\x93SPSTORE"))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.pop("shape"),
        lambda index: index.update(shape=[399, 30]),
        lambda index: index.update(shape=[400, 3]),  # indices outside the matrix
        lambda index: index.update(value_type="|O8"),
        lambda index: index.update(format="something else"),
        lambda index: index.update(row_norm=None),
        lambda index: index["labels"].update(type="object"),
        lambda index: index["labels"].update(classes=[1]),
        lambda index: index["blocks"][2].update(offset=0),
        lambda index: index["blocks"][2].update(n_entries=-1),
        lambda index: index["blocks"][2].update(surprise=1),
        lambda index: index["blocks"].pop(),
        lambda index: index.update(shape=[float("inf"), 30]),
        lambda index: index.update(shape=[400.0, 30]),
        lambda index: index.update(shape=[400, 10**30]),
        lambda index: index.update(shape=[400, 2**31]),
        lambda index: index.update(n_entries=float("inf")),
        lambda index: index.update(row_norm=-1.0),
        lambda index: index.update(frobenius_norm=10**400),
        lambda index: index.update(feature_names=["one"]),
        lambda index: index.update(feature_names=[1] * 30),
        lambda index: index.update(zero_based="perhaps"),
        lambda index: index.update(source={"name": [1]}),
        lambda index: index["labels"].update(classes=[10**400, 1]),
        lambda index: index["labels"].update(classes=[[1, -1]]),
        lambda index: index["labels"].update(crc32=float("inf")),
        lambda index: index["blocks"][2].update(n_rows=float(index["blocks"][2]["n_rows"])),
        lambda index: index["blocks"][2].update(crc32="0"),
    ],
)
def test_an_index_that_lies(stored, change):
    complaint(rewritten(stored[2], change))


def test_an_index_that_is_a_pit(stored):
    """Nested deeper than JSON can be followed."""
    path = stored[2]
    content = path.read_bytes()
    offset = struct.unpack("<QQII8s", content[-32:])[0]
    text = b"[" * 100_000 + b"]" * 100_000
    place = struct.pack("<QQI", offset, len(text), zlib.crc32(text))
    path.write_bytes(content[:offset] + text + place + struct.pack("<I8s", zlib.crc32(place), b"\x93SPSTORE"))
    assert "its index is damaged" in complaint(path)


@pytest.mark.parametrize(
    "what", ["index beyond the columns", "index below 0", "start beyond the entries", "starts fall"]
)
def test_a_store_that_is_written_to_in_place_is_never_read_beyond_its_arrays(stored, what):
    """Size and date stay, and so does nothing that would tell."""
    _, _, path = stored
    store = open_store(path)
    design = store.design()
    design.rmatvec(design.matvec(np.ones(30)))  # all blocks have been read, and found intact
    block = store.blocks[1]
    starts, indices, _, _ = (block.offset + place for place in block.places(store.types))
    status = path.stat()
    place, number = {
        "index beyond the columns": (indices, 10**9),
        "index below 0": (indices + 4, -5),
        "start beyond the entries": (starts + 4 * block.n_rows, 10**9),
        "starts fall": (starts + 4, block.n_entries),
    }[what]
    with path.open("r+b") as file:
        file.seek(place)
        file.write(struct.pack("<i", number))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    for product in (lambda: design.matvec(np.ones(30)), lambda: design.rmatvec(np.ones(400))):
        with pytest.raises(StoreError, match=rf"{path.name}: block 1 \(rows .* is not a sound matrix"):
            product()


def test_later_versions_are_refused(stored):
    content = bytearray(stored[2].read_bytes())
    content[8] = 3
    stored[2].write_bytes(content)
    assert "written in version 3 of the format; smoothperf" in complaint(stored[2])


def test_files_of_version_1_are_read(stored):
    X, y, path = stored
    rewritten(path, lambda index: (index.pop("queries"), index.update(version=1)))
    content = bytearray(path.read_bytes())
    content[8] = 1
    path.write_bytes(content)
    store = open_store(path)
    assert store.qid() is None
    assert not store.has_queries
    np.testing.assert_array_equal(store.labels(), y)
    assert (store.read() != X).nnz == 0


def test_a_file_that_changes_while_it_is_used(stored):
    X, y, path = stored
    store = open_store(path)
    with StoreWriter(path) as writer:
        writer.add(X, -y)
    with pytest.raises(StoreError, match="it has changed since it was opened"):
        store.read()


@pytest.mark.parametrize("labels", [[True, False], ["a", "b"], [1, -1], [0.5, 2.5], np.array([2**63, 1], np.uint64)])
def test_labels_of_all_types(write_store, labels):
    store = open_store(write_store(np.eye(2), labels))
    np.testing.assert_array_equal(store.labels(), labels)
    assert store.labels().dtype.kind == np.asarray(labels).dtype.kind


def test_many_kinds_of_labels(write_store):
    y = np.arange(1000)
    np.testing.assert_array_equal(open_store(write_store(np.ones((1000, 1)), y)).labels(), y)
    with pytest.raises(StoreError, match="more than 65536 different labels"):
        write_store(np.ones((70000, 1)), np.arange(70000))


def test_wide_indices(tmp_path):
    with StoreWriter(tmp_path / "wide.store", wide=True) as writer:
        writer.add(np.eye(3), [0, 1, 0])
    store = open_store(tmp_path / "wide.store")
    assert store.types.index == np.int64
    np.testing.assert_array_equal(store.design().matvec(np.arange(3.0)), np.arange(3.0))


def test_nothing_is_written_without_rows(tmp_path):
    with pytest.raises(StoreError, match="there are no examples to write"), StoreWriter(tmp_path / "s"):
        pass
    assert os.listdir(tmp_path) == []


# --- no room ----------------------------------------------------------------------------------------------------------


class Full:
    """A file on a disk that is full after so many bytes; writes may be short before."""

    def __init__(self, file, room):
        self._file = file
        self._room = room

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, content):
        if self._room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = self._file.write(content[: self._room])
        self._room -= count
        return count


@pytest.mark.parametrize("room", [0, 10, 64, 5000, -100])
def test_disk_full(tmp_path, monkeypatch, sparse_data, write_store, room):
    X, y = sparse_data()
    path = write_store(X, y, block_size=BLOCKS)
    before = path.read_bytes()

    @contextmanager
    def on_a_full_disk(*arguments, **options):
        with written_whole(*arguments, **options) as file:
            yield Full(file, room if room >= 0 else len(before) + room)

    monkeypatch.setattr("smoothperf.io.store.writer.written_whole", on_a_full_disk)
    with pytest.raises(StoreError, match="cannot be written: No space left on device; the file that was there is as"):
        write_store(-X, y, block_size=BLOCKS)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_limit_of_the_system(tmp_path):
    """The real thing: the system refuses to write more than so many bytes."""
    (tmp_path / "many.svm").write_text("1 1:2 3:4\n-1 2:1\n" * 20_000)
    (tmp_path / "out.store").write_text("before")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "import sys; from smoothperf.cli import main;"
        f"sys.argv = ['smoothperf', 'convert', {str(tmp_path / 'many.svm')!r}, {str(tmp_path / 'out.store')!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines() == [
        f"smoothperf: {tmp_path / 'out.store'}: cannot be written: File too large; the file that was there is as it was"
    ]
    assert (tmp_path / "out.store").read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["many.svm", "out.store"]


def test_a_name_that_is_taken_by_a_folder(tmp_path):
    (tmp_path / "s").mkdir()
    with pytest.raises(StoreError, match="cannot be written: Is a directory"), StoreWriter(tmp_path / "s") as writer:
        writer.add(np.eye(2), [0, 1])
    assert os.listdir(tmp_path) == ["s"]


def test_errors_of_others_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), StoreWriter(tmp_path / "s"):
        (tmp_path / "missing").read_bytes()
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n")
    with pytest.raises(DataError, match=r"out\.store: cannot be written: No such file or directory"):
        convert(tmp_path / "a.svm", tmp_path / "nowhere" / "out.store")
