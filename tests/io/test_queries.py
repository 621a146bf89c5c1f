"""Queries in data files: the same rows and queries through every format."""

import numpy as np
import pytest

from smoothperf.io import DataError, convert, read_data
from smoothperf.io.chunks import open_chunks
from smoothperf.io.read import read_table

QUERIES = [7, -3, 7, 12, -3]
SVMLIGHT = "".join(f"{at % 3} qid:{qid} 1:{at}.5\n" for at, qid in enumerate(QUERIES))
NUMBERS = "a,search,grade\n" + "".join(f"{at}.5,{qid},{at % 3}\n" for at, qid in enumerate(QUERIES))
WORDS = "a,search,grade\n" + "".join(f"{at}.5,query {qid},{at % 3}\n" for at, qid in enumerate(QUERIES))


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_svmlight(tmp_path):
    data = read_data(write(tmp_path, "data.svm", SVMLIGHT))
    assert data.qid.dtype == np.int64
    assert data.qid.tolist() == QUERIES
    assert read_data(data.path, labelled=False).qid.tolist() == QUERIES
    assert read_data(write(tmp_path, "plain.svm", "1 1:1\n")).qid is None


def test_svmlight_in_chunks(tmp_path):
    path = write(tmp_path, "data.svm", SVMLIGHT)
    with open_chunks(path, n_entries=1) as (_, chunks):
        parts = [(chunk.y, chunk.qid) for chunk in chunks]
    assert np.concatenate([y for y, _ in parts]).tolist() == [0, 1, 2, 0, 1]
    assert np.concatenate([qid for _, qid in parts]).tolist() == QUERIES
    store = convert(path, tmp_path / "data.store")
    assert read_data(store).qid.tolist() == QUERIES


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("text", "expected"), [(NUMBERS, QUERIES), (WORDS, [f"query {qid}" for qid in QUERIES])])
def test_tables(tmp_path, kind, text, expected):
    path = write(tmp_path, "data.csv", text)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        pd = pytest.importorskip("pandas")
        pd.read_csv(path).to_parquet(tmp_path / "data.parquet")
        path = tmp_path / "data.parquet"
    for labelled in (True, False):
        data = read_data(path, label="grade", query="search", labelled=labelled)
        assert data.qid.tolist() == expected
        assert data.feature_names == ["a"]
        np.testing.assert_array_equal(data.X, [[0.5], [1.5], [2.5], [3.5], [4.5]])
        assert (data.y is None) == (not labelled)
    table = read_table(path, label="grade", query="search")
    assert table.qid.tolist() == expected
    assert list(table.columns) == ["a"]
    assert read_data(path, label="grade", query="search").y.tolist() == table.y.tolist() == [0, 1, 2, 0, 1]


def test_queries_before_and_after_the_labels(tmp_path):
    for text in ("q,y,a\nx,1,2.5\ny,0,3.5\n", "y,a,q\n1,2.5,x\n0,3.5,y\n", "a,q,y\n2.5,x,1\n3.5,y,0\n"):
        data = read_data(write(tmp_path, "data.csv", text), label="y", query="q")
        assert (data.qid.tolist(), data.y.tolist(), data.X.tolist()) == (["x", "y"], [1, 0], [[2.5], [3.5]])


def test_words_that_look_like_truth_stay_words(tmp_path):
    data = read_data(write(tmp_path, "data.csv", "q,y,a\ntrue,1,2\nfalse,0,3\n"), label="y", query="q")
    assert data.qid.tolist() == ["true", "false"]


@pytest.mark.parametrize("values", [[1.0, None], [1.0, float("nan")], ["red", None]])
def test_missing_queries_in_parquet(tmp_path, values):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"q": values, "a": [1.0, 2.0], "y": [0, 1]}), path)
    for read in (read_data, read_table):
        with pytest.raises(DataError, match="row 2: the query, column 'q', is missing"):
            read(path, label="y", query="q")


def test_a_query_that_is_missing_beyond_a_blank_line(tmp_path):
    path = write(tmp_path, "data.csv", "q,y,a\nx,1,2\n\n,0,3\n")
    for labelled in (True, False):
        with pytest.raises(DataError, match=r"data\.csv, line 4: the query, column 'q', is missing"):
            read_data(path, label="y", query="q", labelled=labelled)


@pytest.mark.parametrize("name", ["data.npz", "data.svm"])
def test_formats_without_columns(tmp_path, name):
    path = tmp_path / name
    if name == "data.npz":
        np.savez(path, X=np.eye(2), y=[0, 1])
    else:
        path.write_text(SVMLIGHT)
    with pytest.raises(DataError, match="no named columns, so query='q' means nothing"):
        read_data(path, query="q")
