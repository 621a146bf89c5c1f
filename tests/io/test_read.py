"""One door for all formats: what is recognised, what comes out, and one line for every file that cannot be used."""

import bz2
import errno
import gzip
import lzma
import os
import pickle
import threading
import zipfile
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from smoothperf.io import DataError, Dataset, read_data, write_npz
from smoothperf.io.chunks import open_chunks
from smoothperf.io.named import Named
from smoothperf.io.read import read_table

TEXT = b"1 1:0.5 3:2\n-1 2:1\n" * 500
TABLE = "a,b,y\n1,2.5,ham\n3,4,spam\n"
#: bzip2 with small blocks, of which the first can be read when the second is damaged.
COMPRESSORS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": partial(bz2.compress, compresslevel=1),
    ".xz": partial(lzma.compress, preset=0),
}


@pytest.fixture
def write(tmp_path):
    def write_bytes(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_bytes


def complaint(path, **options):
    """The message of the DataError; one line that begins with the file."""
    with pytest.raises(DataError) as caught:
        read_data(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.isprintable()
    assert len(message) < len(str(path)) + 220
    return message.removeprefix(str(path)).lstrip(",: ")


def numbers(data):
    return data.X.toarray() if sp.issparse(data.X) else data.X


# --- recognition ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", COMPRESSORS)
@pytest.mark.parametrize("name", ["train.svm", "train.libsvm", "train.svmlight", "train.txt", "train", "a1a.t"])
def test_svmlight_by_any_name(write, name, compressed):
    data = read_data(write(name + compressed, COMPRESSORS[compressed](TEXT)))
    assert isinstance(data, Dataset)
    assert (data.format, data.feature_names, data.path.name) == ("svmlight", None, name + compressed)
    assert isinstance(data.X, sp.csr_matrix)
    np.testing.assert_array_equal(numbers(data), np.tile([[0.5, 0, 2], [0, 1, 0]], (500, 1)))
    np.testing.assert_array_equal(data.y, np.tile([1, -1], 500))


@pytest.mark.parametrize("compressed", COMPRESSORS)
@pytest.mark.parametrize("name", ["train.csv", "train.CSV", "train.txt", "train"])
def test_csv_by_any_name(write, name, compressed):
    data = read_data(write(name + compressed, COMPRESSORS[compressed](TABLE.encode())), label="y")
    assert (data.format, data.feature_names) == ("csv", ["a", "b"])
    np.testing.assert_array_equal(data.X, [[1, 2.5], [3, 4]])
    np.testing.assert_array_equal(data.y, ["ham", "spam"])


def test_compression_is_in_the_bytes_not_in_the_name(write):
    assert read_data(write("train.svm", bz2.compress(TEXT))).X.shape == (1000, 3)
    assert read_data(write("train.svm.gz", TEXT), format="svmlight").X.shape == (1000, 3)


def test_comments_come_before_the_first_example(write):
    assert read_data(write("data", b"# made by hand\n\n1 1:2 # first\n")).format == "svmlight"
    assert read_data(write("data", b"1\n-1\n")).X.shape == (2, 1)


def test_format_can_be_said(write):
    path = write("table.svm", TABLE)
    assert read_data(path, label="y", format="csv").X.shape == (2, 2)
    with pytest.raises(
        ValueError, match="format must be one of 'svmlight', 'npz', 'csv', 'parquet', 'xlsx', 'store', got 'arff'"
    ):
        read_data(path, format="arff")


def test_byte_order_mark_is_skipped(write):
    assert read_data(write("a.svm", b"\xef\xbb\xbf" + TEXT)).X.shape == (1000, 3)
    assert read_data(write("a.csv", b"\xef\xbb\xbf" + TABLE.encode()), label="y").feature_names == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    writer.start()
    assert read_data(pipe).X.shape == (1000, 3)
    writer.join()


def test_options_of_svmlight(write):
    path = write("a.svm", TEXT)
    assert read_data(str(path), n_features=7).X.shape == (1000, 7)
    assert read_data(path, zero_based=True).X.shape == (1000, 4)
    assert read_data(path, zero_based=True).zero_based is True
    assert read_data(path).zero_based is False
    assert read_data(write("a.csv", TABLE), label="y", zero_based=True).zero_based is None
    assert complaint(write("b.svm", b"1 0:1\n"), zero_based=False).startswith("line 1: index 0 in '0:1'")
    assert "label='y' means nothing" in complaint(path, label="y")
    with pytest.raises(ValueError, match="n_features must be a whole number of at least 1, got 0"):
        read_data(path, n_features=0)


# --- files that cannot be used ----------------------------------------------------------------------------------------


def test_missing_file_and_folder(tmp_path):
    assert complaint(tmp_path / "nothing.svm") == "it cannot be read: No such file or directory"
    assert complaint(tmp_path) == "it cannot be read: Is a directory"


def test_no_permission(write, monkeypatch):
    path = write("secret.svm", TEXT)

    def refuse(*args, **kwargs):  # the tests may run as a user who may do everything
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", refuse)
    assert complaint(path) == "it cannot be read: Permission denied"


@pytest.mark.parametrize("compressed", COMPRESSORS)
def test_empty(write, compressed):
    assert complaint(write("empty.svm" + compressed, COMPRESSORS[compressed](b""))) == "it is empty"


@pytest.mark.parametrize(
    "content", [b"hello\n", b"\x89PNG\r\n\x1a\n\0\0\0\r", b"<html></html>", b"\0" * 100, b"\n\n", b"PA"]
)
def test_unknown_format(write, content):
    assert complaint(write("data", content)).startswith("its format is not known: none of svmlight, npz, csv, parquet")


def incompressible():
    rng = np.random.default_rng(0)
    return b"".join(b"1 1:%.17g 2:%.17g\n" % tuple(pair) for pair in rng.normal(size=(30_000, 2)))


@pytest.mark.parametrize("compressed", [".gz", ".bz2", ".xz"])
def test_truncated_and_damaged_compression(write, compressed):
    whole = COMPRESSORS[compressed](incompressible())
    message = complaint(write("a.svm" + compressed, whole[: len(whole) // 2]))
    assert message.startswith("line ")
    assert "it cannot be read further: Compressed file ended before the end-of-stream marker was reached" in message
    damaged = bytearray(whole)
    damaged[len(whole) // 2 : len(whole) // 2 + 50] = bytes(50)
    assert complaint(write("b.svm" + compressed, bytes(damaged))).startswith("line ")
    assert "it cannot be read" in complaint(write("c.svm" + compressed, whole[:12]))


def test_error_survives_pickling(write):
    with pytest.raises(DataError) as caught:
        read_data(write("a.svm", b"x"))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_message_is_one_line_even_if_the_name_is_not(write):
    with pytest.raises(DataError) as caught:
        read_data(write("two\nlines.svm", b"x"))
    assert "\n" not in str(caught.value)


# --- CSV --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "y;a;b\nspam;1;2\nham;3;4\n",
        "a\tb\ty\n1\t2\tspam\n3\t4\tham",
        '"a","y","b"\r\n1,"spam",2\r\n\r\n"3",ham,4\r\n',
        "\na, y ,b\n 1 , spam , 2 \n3,ham,4\n",
    ],
)
def test_csv_dialects(write, text):
    data = read_data(write("a.csv", text), label="y")
    assert data.feature_names == ["a", "b"]
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(data.y, ["spam", "ham"])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["1", "-1"], np.array([1, -1])),
        (["1.0", "0"], np.array([1, 0])),
        (["0.5", "1"], np.array([0.5, 1.0])),
        (["True", "False"], np.array([True, False])),
        (["false", "true"], np.array([False, True])),
        (["true", "False"], np.array(["true", "False"])),
        (["nan", "1"], np.array(["nan", "1"])),
        (["a,b", "ü"], np.array(["a,b", "ü"])),
        (["#1", "#2"], np.array(["#1", "#2"])),
    ],
)
def test_csv_labels(write, written, expected):
    data = read_data(write("a.csv", "y,a\n" + "".join(f'"{text}",1\n' for text in written * 2)), label="y")
    assert data.y.dtype.kind == expected.dtype.kind
    assert data.y.dtype.itemsize == expected.dtype.itemsize
    np.testing.assert_array_equal(data.y, np.tile(expected, 2))


def test_csv_numbers_are_those_of_float(write):
    texts = ["0.1", "1e-320", "9007199254740993", "1.7976931348623157e308", "-.5"]
    data = read_data(write("a.csv", "y,a\n" + "".join(f"1,{text}\n" for text in texts)), label="y")
    np.testing.assert_array_equal(data.X[:, 0], [float(text) for text in texts])


def test_csv_numbers_are_those_of_float_to_the_bit(write):
    rng = np.random.default_rng(0)
    texts = [repr(value) for value in rng.integers(0, 2**63, 20_000).view(float).tolist()]
    texts += [f"{a}.{b}{c}e{d}" for a, b, c, d in rng.integers(1, 10**9, (20_000, 4)) % [10, 10**9, 10**9, 250]]
    texts = [text for text in texts if np.isfinite(float(text))]
    data = read_data(write("a.csv", "y,a\n" + "".join(f"1,{text}\n" for text in texts)), label="y")
    assert data.X[:, 0].tobytes() == np.array([float(text) for text in texts]).tobytes()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["9" * 30, "-1"], [1e30, -1]),
        (["18446744073709551615", "-1"], [2.0**64, -1]),
        ([" 3 ", "+4"], [3, 4]),
        (["True", "False"], [1, 0]),
        (["true", "true"], [1, 1]),
    ],
)
def test_csv_numbers_and_truth_of_all_kinds(write, texts, expected):
    data = read_data(write("a.csv", "y,a\n" + "".join(f"1,{text}\n" for text in texts)), label="y")
    np.testing.assert_array_equal(data.X[:, 0], expected)


def test_lines_are_those_of_the_file_where_fields_have_line_breaks(write):
    text = 'y,a,b\n"two\nlines",1,2\n\n"three\n\nlines",3,4\nx,5,{}\n'
    assert read_data(write("a.csv", text.format(6)), label="y").y.tolist() == ["two\nlines", "three\n\nlines", "x"]
    assert complaint(write("b.csv", text.format("six")), label="y").startswith("line 8: column 'b' holds 'six'")
    assert complaint(write("c.csv", text.format("6,7")), label="y").startswith("line 8: 4 fields where")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_table_from_a_pipe(tmp_path, monkeypatch):
    monkeypatch.setattr("smoothperf.io.columns.ENTRIES", 4)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "a,town,y\n" + "1,7,0\n" * 5 + "2,Rome,1\n" * 5
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert read_table(pipe, label="y", format="csv").columns["town"].tolist() == ["7"] * 5 + ["Rome"] * 5
    writer.join()


def test_csv_with_many_rows(write):
    # More rows than NumPy reads at once, with blank lines between: line numbers must not drift.
    lines = ["y,a", *("\n1,2" if row % 7 == 0 else "-1,3" for row in range(120_000))]
    data = read_data(write("a.csv", "\n".join(lines)), label="y")
    assert data.X.shape == (120_000, 1)
    assert data.y[:3].tolist() == [1, -1, -1]
    wrong = "\n".join([*lines, "1,x"])
    assert complaint(write("b.csv", wrong), label="y").startswith(f"line {wrong.count(chr(10)) + 1}: column 'a'")


WRONG_TABLES = {
    "no label": (TABLE, None, "say with label= or --label which column holds the labels (labels="),
    "unknown label": (TABLE, "z", "there is no column 'z' for the labels; there are 'a', 'b', 'y'"),
    "only labels": ("y\n1\n2\n", "y", "there are no features: 'y' is the only column"),
    "no rows": ("a,y\n", "y", "there are no examples in it"),
    "word": ("a,y\n1,1\n\nred,1\n", "y", "line 4: column 'a' holds 'red', which is not a number"),
    "missing value": ("a,y,b\n1,1,2\n2,1,\n", "y", "line 3: column 'b' has no value; remove or fill such rows"),
    "missing label": ("a,y\n1,1\n2,\n", "y", "line 3: the label, column 'y', is missing"),
    "short line": ("a,b,y\n1,2,3\n1,2\n", "y", "line 3: 2 fields where the first line names 3 columns"),
    "long line": ("a,b,y\n1,2,3\n1,2,3,4\n", "y", "line 3: 4 fields where the first line names 3 columns"),
    "long line of words": (
        "a,b,y\n1,2,3,yes\n1,2,no\n",
        "y",
        "line 2: 4 fields where the first line names 3 columns",
    ),
    "all lines long": ("a,y\n\n1,2,3\n1,2,3\n", "y", "line 3: 3 fields where the first line names 2 columns"),
    "all lines short": ("a,b,y\n1,2\n1,2\n", "y", "line 2: 2 fields where the first line names 3 columns"),
    "both truth and numbers": ("a,y\n1,1\nTrue,1\n", "y", "line 3: column 'a' holds 'True', which is not a number"),
    "underscore": ("a,y\n1,1\n1_0,1\n", "y", "line 3: column 'a' holds '1_0', which is not a number"),
    "zero byte": ("a,y\n1,1\n1\0,1\n", "y", "line 3: there is a zero byte in it"),
    "open quotes": ('a,y\n1,1\n2,"1\n3,1\n', "y", "line 3: it cannot be read further"),
    "not finite": ("a,y\n1,1\n\nnan,1\n", "y", "line 4: column 'a' has no value; remove or fill such rows"),
    "infinite": ("a,y\n1,1\n-inf,1\n", "y", "line 3: column 'a' holds -inf; remove or replace"),
    "column without name": (",a,y\n0,1,1\n", "y", "column 1 has no name"),
    "column twice": ("a,a,y\n0,1,1\n", "y", "line 1: the column 'a' occurs twice"),
    "not UTF-8": (
        b"a,y\n1,\xff\n",
        "y",
        "line 1: it is not UTF-8 text: invalid start byte at or after this line",
    ),
}


@pytest.mark.parametrize(("text", "label", "reason"), WRONG_TABLES.values(), ids=WRONG_TABLES.keys())
def test_wrong_csv(write, text, label, reason):
    assert complaint(write("a.csv", text), label=label).startswith(reason)


def test_truncated_csv(write):
    whole = gzip.compress(b"y,a\n" + incompressible().replace(b" 1:", b",").replace(b" 2:", b"\n1,"))
    assert "ended before" in complaint(write("a.csv.gz", whole[: len(whole) // 2]), label="y")


def test_expected_number_of_columns(write):
    path = write("a.csv", TABLE)
    assert read_data(path, label="y", n_features=2).X.shape == (2, 2)
    assert complaint(path, label="y", n_features=3) == "it has 2 features where 3 are expected"


# --- without labels ---------------------------------------------------------------------------------------------------

UNLABELLED = {
    "no label column": ("a,b\n1,2\n3,4\n", None),
    "label column absent": ("a,b\n1,2\n3,4\n", "y"),
    "label column left out": ("a,y,b\n1,ham,2\n3,spam,4\n", "y"),
    "label column empty": ("a,b,y\n1,2,\n3,4,\n", "y"),
}


@pytest.mark.parametrize(("text", "label"), UNLABELLED.values(), ids=UNLABELLED.keys())
def test_csv_without_labels(write, text, label):
    data = read_data(write("a.csv", text), label=label, labelled=False, n_features=2)
    assert data.y is None
    assert data.feature_names == ["a", "b"]
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TABLE, "line 2: column 'y' holds 'ham', which is not a number; encode such columns first, or say so if it"),
        ("a,b\n1,2\n\nnan,1\n", "line 4: column 'a' has no value; remove or fill such rows"),
        ("a,b\n\n1,2,3\n", "line 3: 3 fields where the first line names 2 columns"),
        ("a,b\n1,2\n3\n", "line 3: 1 fields where the first line names 2 columns"),
        ("a,b\n1,\n", "line 2: column 'b' has no value; remove or fill such rows"),
        ("a,b\n", "there are no examples in it"),
    ],
)
def test_wrong_csv_without_labels(write, text, reason):
    assert complaint(write("a.csv", text), labelled=False).startswith(reason)


def test_too_many_columns_may_be_labels(write):
    path = write("a.csv", "a,b,y\n1,2,1\n")
    assert complaint(path, labelled=False, n_features=2) == (
        "it has 3 features where 2 are expected; if a column holds the labels, say which"
    )
    assert complaint(path, labelled=False, n_features=4) == "it has 3 features where 4 are expected"
    assert complaint(write("b.csv", "y\n1\n"), label="y", labelled=False).startswith("there are no features")


def test_npz_without_labels(tmp_path):
    sp.save_npz(tmp_path / "a.npz", X)
    data = read_data(tmp_path / "a.npz", labelled=False)
    assert data.y is None
    np.testing.assert_array_equal(numbers(data), X.toarray())
    np.savez(tmp_path / "b.npz", X=X.toarray(), y=np.array([Trap(), 1], dtype=object), feature_names=["a", "b", "c"])
    data = read_data(tmp_path / "b.npz", labelled=False)
    assert (data.y, data.feature_names) == (None, ["a", "b", "c"])


def test_parquet_without_labels(tmp_path):
    path = parquet(tmp_path / "a", a=[1, 2], y=[None, "ham"], b=[0.5, -1.5])
    data = read_data(path, label="y", labelled=False)
    assert (data.y, data.feature_names) == (None, ["a", "b"])
    np.testing.assert_array_equal(data.X, [[1, 0.5], [2, -1.5]])
    path = parquet(tmp_path / "b", a=[1, 2])
    assert read_data(path, label="y", labelled=False).X.tolist() == [[1.0], [2.0]]
    path = parquet(tmp_path / "c", a=[1, 2], y=["ham", "spam"])
    assert complaint(path, labelled=False).endswith("encode such columns first, or say so if it holds the labels")


def test_svmlight_without_labels(write):
    assert read_data(write("a.svm", TEXT), labelled=False).y is None


# --- NumPy archives ---------------------------------------------------------------------------------------------------

X = sp.csr_matrix([[0.0, 1.5, 0.0], [2.0, 0.0, -1.0]])


@pytest.mark.parametrize("y", [[1, -1], ["ham", "spam"], [True, False], [0.5, 1.5]], ids=str)
@pytest.mark.parametrize("features", [X, X.toarray(), sp.csc_array(X), X.astype(np.float32)], ids=type)
def test_npz_round_trip(tmp_path, features, y):
    path = write_npz(tmp_path / "a.npz", features, y, feature_names=["a", "b", "c"])
    data = read_data(path)
    assert (data.format, data.feature_names) == ("npz", ["a", "b", "c"])
    assert sp.issparse(data.X) == sp.issparse(features)
    assert data.X.dtype == features.dtype
    np.testing.assert_array_equal(numbers(data), X.toarray())
    np.testing.assert_array_equal(data.y, y)
    assert data.y.dtype == np.asarray(y).dtype
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_npz_with_labels_can_be_read_by_scipy(tmp_path):
    np.testing.assert_array_equal(sp.load_npz(write_npz(tmp_path / "a.npz", X, [1, -1])).toarray(), X.toarray())


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_of_scipy_with_labels_beside(tmp_path, kind):
    sp.save_npz(tmp_path / "a.npz", X.asformat(kind))
    assert complaint(tmp_path / "a.npz") == "no labels: neither an array y in it nor a file a.y.npy beside it"
    np.save(tmp_path / "a.y.npy", [1, -1])
    data = read_data(tmp_path / "a.npz")
    assert isinstance(data.X, sp.csr_matrix)
    np.testing.assert_array_equal(numbers(data), X.toarray())
    np.testing.assert_array_equal(data.y, [1, -1])


def test_npz_of_other_types(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2, dtype=np.int8), y=np.array([1.0, 0.0], dtype=np.float32))
    data = read_data(tmp_path / "a.npz")
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
    np.savez(tmp_path / "b.npz", X=np.eye(2, dtype=bool), y=np.array([b"no", b"yes"]))
    data = read_data(tmp_path / "b.npz")
    assert (data.X.dtype, data.y.tolist()) == (np.float64, ["no", "yes"])


class Trap:
    """Would run code if it were unpickled."""

    def __reduce__(self):
        return (os._exit, (3,))


def csr_arrays(**changes):
    arrays = {"format": b"csr", "shape": [2, 3], "data": X.data, "indices": X.indices, "indptr": X.indptr, "y": [1, -1]}
    return {**arrays, **changes}


WRONG_ARCHIVES = {
    "nothing of use": ({"a": [1], "y": [1]}, "it has neither a sparse matrix nor an array X, but a, y"),
    "index outside": (csr_arrays(indices=[1, 0, 3]), "it is damaged"),
    "negative index": (csr_arrays(indices=[1, 0, -1]), "it is damaged"),
    "rows that go back": (csr_arrays(indptr=[0, 3, 2]), "it is damaged"),
    "pickled labels": ({"X": np.eye(2), "y": np.array([Trap(), 1], dtype=object)}, "it is damaged"),
    "unknown sparse format": (csr_arrays(format=b"xyz"), "it is damaged"),
    "too few labels": (csr_arrays(y=[1]), "its labels have the shape (1,) where 2 rows need (2,)"),
    "matrix of labels": (csr_arrays(y=np.eye(2)), "its labels have the shape (2, 2) where 2 rows need (2,)"),
    "complex labels": (csr_arrays(y=[1j, 1]), "its labels are of the type complex128"),
    "label that is not finite": (csr_arrays(y=[1, np.nan]), "its label of row 2 is missing or not finite"),
    "complex values": ({"X": np.eye(2) * 1j, "y": [1, 2]}, "X holds complex128 values; real numbers are needed"),
    "vector": ({"X": np.ones(2), "y": [1, 2]}, "X has the shape (2,); rows and columns are needed"),
    "no rows": ({"X": np.ones((0, 2)), "y": []}, "X has the shape (0, 2); rows and columns are needed"),
    "nan": ({"X": [[1, 2], [3, np.nan]], "y": [1, 2]}, "row 2 of X holds a value that is not finite"),
    "sparse inf": (csr_arrays(data=[1, np.inf, 1]), "row 2 of X holds a value that is not finite"),
    "sparse inf at first": (csr_arrays(data=[np.inf, 1, 1]), "row 1 of X holds a value that is not finite"),
    "names": (csr_arrays(feature_names=["a"]), "it names 1 features but X has 3"),
}


@pytest.mark.parametrize(("arrays", "reason"), WRONG_ARCHIVES.values(), ids=WRONG_ARCHIVES.keys())
def test_wrong_npz(tmp_path, arrays, reason):
    np.savez(tmp_path / "a.npz", **arrays)
    assert complaint(tmp_path / "a.npz").startswith(reason)


def test_damaged_npz(tmp_path, write):
    whole = write_npz(tmp_path / "whole.npz", X, [1, -1]).read_bytes()
    for cut in range(4, len(whole), 7):
        assert "damaged" in complaint(write("cut.npz", whole[:cut]))
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert "neither a sparse matrix nor an array X, but hello.txt" in complaint(tmp_path / "other.npz")
    assert "its format is not known" in complaint(write("text.npz", "hello"))


def test_write_npz_refuses_what_it_could_not_read(tmp_path):
    with pytest.raises(ValueError, match=r"y cannot be written: its labels have the shape \(1,\)"):
        write_npz(tmp_path / "a.npz", X, [1])
    with pytest.raises(ValueError, match=r"path must end in .npz, got 'a.dat'"):
        write_npz("a.dat", X, [1, 2])
    write_npz(tmp_path / "a.npz", X, np.array(["ham", "spam"], dtype=object))
    assert read_data(tmp_path / "a.npz").y.tolist() == ["ham", "spam"]


# --- Parquet ----------------------------------------------------------------------------------------------------------


def parquet(path, **columns):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def test_parquet(tmp_path):
    path = parquet(tmp_path / "a", a=[1, 2], y=["ham", "spam"], b=[0.5, -1.5], c=[True, False])
    data = read_data(path, label="y")
    assert (data.format, data.feature_names) == ("parquet", ["a", "b", "c"])
    np.testing.assert_array_equal(data.X, [[1, 0.5, 1], [2, -1.5, 0]])
    np.testing.assert_array_equal(data.y, ["ham", "spam"])
    assert data.y.dtype.kind == "U"


@pytest.mark.parametrize(("y", "kind"), [([1, 0], "i"), ([1.0, 0.0], "i"), ([0.5, 1.0], "f"), ([True, False], "b")])
def test_parquet_labels(tmp_path, y, kind):
    data = read_data(parquet(tmp_path / "a", a=[1, 2], y=y), label="y")
    assert data.y.dtype.kind == kind
    np.testing.assert_array_equal(data.y, y)


def test_parquet_of_pandas_with_categories(tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": pd.Categorical(["ham", "spam"])})
    frame.to_parquet(tmp_path / "a.parquet")
    data = read_data(tmp_path / "a.parquet", label="y")
    assert data.feature_names == ["a"]
    assert data.y.tolist() == ["ham", "spam"]


def test_parquet_columns_are_taken_as_those_of_csv(tmp_path):
    path = parquet(tmp_path / "a", a=["1", " 2.5"], b=["True", "False"], y=["1", "-1"], q=["7", "8"])
    data = read_data(path, label="y", query="q")
    np.testing.assert_array_equal(data.X, [[1, 1], [2.5, 0]])
    assert (data.y.tolist(), data.qid.tolist()) == ([1, -1], [7, 8])
    with open_chunks(path, Named("y", "q"), n_entries=5) as (_, chunks):
        assert np.vstack([chunk.X for chunk in chunks]).tolist() == data.X.tolist()


def test_wrong_parquet(tmp_path, write):
    path = parquet(tmp_path / "a", a=[1.0, None], b=["red", "blue"], c=[1.0, float("nan")], y=[1, 2])
    assert complaint(path, label="y") == "row 2: column 'a' has no value; remove or fill such rows"
    path = parquet(tmp_path / "a", b=["red", "blue"], y=[1, 2])
    assert (
        complaint(path, label="y") == "row 1: column 'b' holds 'red', which is not a number; encode such columns first"
    )
    path = parquet(tmp_path / "a", c=[1.0, float("nan")], y=[1, 2])
    assert complaint(path, label="y") == "row 2: column 'c' has no value; remove or fill such rows"
    assert complaint(path).startswith("say with label= or --label which column holds the labels (labels= or --labels")
    path = parquet(tmp_path / "a", c=[1.0, 2.0], y=[[1], [2]])
    assert complaint(path, label="y").startswith("its labels are of the type object")
    whole = parquet(tmp_path / "a", c=[1.0, 2.0], y=[1, 2]).read_bytes()
    assert complaint(write("b", whole[:-10]), label="y").startswith("it is not a sound Parquet file")
    assert complaint(write("b", b"PAR1"), label="y").startswith("it is not a sound Parquet file")
    assert complaint(parquet(tmp_path / "c", a=[], y=[]), label="y") == "there are no examples in it"


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    assert complaint(tmp_path / "a.parquet", label="y") == (
        "Parquet files need pyarrow: pip install 'smoothperf[parquet]'"
    )


@pytest.mark.parametrize("named", [False, True])
def test_the_index_of_a_frame_is_no_feature(tmp_path, named):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "w": ["x", "y", "x"], "y": [1, 0, 1]}, index=[7, 5, 3])
    frame.index.name = "id" if named else None
    path = tmp_path / "a.parquet"
    frame.drop(columns="w").to_parquet(path)
    assert read_data(path, label="y").feature_names == ["a"]
    with open_chunks(path, Named("y"), n_entries=100) as (_, chunks):
        assert [chunk.feature_names for chunk in chunks] == [["a"]]
    if named:  # who asks for it gets it
        assert read_data(path, label="id").y.tolist() == [7, 5, 3]
        assert read_data(path, label="y", query="id").qid.tolist() == [7, 5, 3]
    frame.to_parquet(path)
    assert list(read_table(path, label="y").columns) == ["a", "w"]
