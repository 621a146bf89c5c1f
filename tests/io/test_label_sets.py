"""Rows with any number of labels: cells that list them, columns of 0 and 1, svmlight as scikit-learn reads it."""

import bz2
import io

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, make_multilabel_classification

from smoothperf.io import DataError, read_data
from smoothperf.io.read import read_table


@pytest.fixture
def file(tmp_path):
    def write(text, name="rows.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("compressed", [False, True])
def test_svmlight_is_read_as_by_scikit_learn(tmp_path, compressed):
    X, Y = make_multilabel_classification(60, 8, n_classes=5, random_state=0)
    Y[1], X[3] = 0, 0.0  # no labels; labels and no features
    written = io.BytesIO()
    dump_svmlight_file(X, Y, written, zero_based=False, multilabel=True, comment="a, b")
    path = tmp_path / "rows.svm"
    path.write_bytes(bz2.compress(written.getvalue()) if compressed else written.getvalue())
    expected, labels = load_svmlight_file(io.BytesIO(written.getvalue()), multilabel=True)
    data = read_data(path)
    assert data.y.tolist() == [tuple(map(int, row)) for row in labels]
    np.testing.assert_array_equal(data.X.toarray(), expected.toarray())


def test_svmlight_says_that_rows_have_several_labels(file, monkeypatch):
    rows = " 1:1\n\n7 qid:3 1:2 # one, two\n2.5,7,7 2:1\n3\n".replace("qid:3 ", "")
    assert read_data(file(rows, "rows.svm")).y.tolist() == [(), (7.0,), (2.5, 7.0), (3.0,)]
    one = file(" 1:1\n2 1:1\n", "rows.svm")
    assert read_data(one, labels=True).y.tolist() == [(), (2,)]
    with pytest.raises(DataError, match="line 1: the label '1:1' is not a number"):
        read_data(one)
    assert read_data(file("3 1:1\n2 1:1\n", "rows.svm"), labels=True).y.tolist() == [(3,), (2,)]
    monkeypatch.setattr("smoothperf.io.label_sets.PIECE", 4)
    assert read_data(file(rows, "rows.svm")).y.tolist() == [(), (7.0,), (2.5, 7.0), (3.0,)]
    with pytest.raises(DataError, match="line 2: the value in '1:x' is not a number"):
        read_data(file("1,2 1:1\n 1:x", "rows.svm"))
    assert read_data(file("1,2 1:1\n", "rows"), labelled=False).y is None


def test_cells_that_list_labels(file):
    path = file("n,topics\n1,gas; oil;gas\n2,\n3,NA\n4,oil\n")
    data = read_data(path, labels="topics")
    assert data.y.tolist() == [("gas", "oil"), (), (), ("oil",)]
    assert data.feature_names == ["n"]
    assert read_data(file("n,topics\n1,gas|oil\n"), labels="topics", separator="|").y.tolist() == [("gas", "oil")]
    assert read_data(path, labels="topics", labelled=False).feature_names == ["n"]


def test_columns_of_zeros_and_ones(file):
    path = file('n,oil,gas,"a,b"\n1,1,0,1\n2,0,0,0\n3,1.0,true,0\n')
    for labels in ("oil,gas", ["oil", "gas"]):
        table = read_table(path, labels=labels)
        assert table.y.tolist() == [("oil",), (), ("gas", "oil")]
        assert list(table.columns) == ["n", "a,b"]
    assert read_data(path, labels=["a,b", "gas"]).y.tolist() == [("a,b",), (), ("gas",)]
    with pytest.raises(
        DataError, match="line 3: column 'gas' holds '2', where 0 or 1 says whether a row has this label"
    ):
        read_data(file("n,oil,gas\n1,1,0\n1,0,2\n"), labels="oil,gas")


def test_lists_in_parquet_files(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "topics": [["oil", "gas"], [], ["oil"]], "big": [True, False, True]})
    frame.to_parquet(path := tmp_path / "rows.parquet")
    assert read_data(path, labels="topics").y.tolist() == [("gas", "oil"), (), ("oil",)]
    frame.assign(small=[0, 1, 1]).drop(columns="topics").to_parquet(path)
    assert read_data(path, labels="big,small").y.tolist() == [("big",), ("small",), ("big", "small")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"labels": "topic"}, "there is no column 'topic' for the labels; there are 'n', 'topics'"),
        ({"labels": "n,topics"}, "there are no features beside 'n', 'topics'"),
        ({"label": "n", "labels": "topics"}, "label='n' is for one label, labels='topics' for several: give one"),
        ({"labels": True}, r"say with label= or --label which column holds the labels \(labels= or --labels"),
    ],
)
def test_what_is_wrong_is_said(file, options, reason):
    with pytest.raises(DataError, match=reason):
        read_data(file("n,topics\n1,oil\n"), **options)
    with pytest.raises(DataError, match="format has no named columns, so labels='topics' means nothing"):
        read_data(file("1,2 1:1\n", "rows.svm"), labels="topics")
