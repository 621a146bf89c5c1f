"""Tables from files: what is written there, whatever the format, the encoding and the signs of numbers."""

import sys

import numpy as np
import pandas as pd
import pytest

from smoothperf import TableEncoder
from smoothperf.io import DataError, read_data
from smoothperf.io.read import read_table


def written(tmp_path, text, name="table.csv"):
    file = tmp_path / name
    file.write_text(text)
    return file


def saved(frame, file):
    if file.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False)
    return file


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_truth_values_are_numbers_in_every_format(tmp_path, suffix):
    frame = pd.DataFrame(
        {"a": [True, False, True], "b": pd.array([True, None, False], dtype="boolean"), "y": [0, 1, 1]}
    )
    encoder = TableEncoder(scale="none", drop=["y"]).fit(saved(frame, tmp_path / f"a{suffix}"))
    assert encoder.get_feature_names_out().tolist() == ["a", "b", "b missing"]
    np.testing.assert_array_equal(encoder.transform(tmp_path / f"a{suffix}"), [[1, 1, 0], [0, 0.5, 1], [1, 0, 0]])


def test_words_that_look_like_numbers_stay_as_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr("smoothperf.io.columns.ENTRIES", 4)
    rows = ["007,1,True"] * 3 + [",,"] + ["B 7,2,1"] * 3
    file = written(tmp_path, "code,a,b,y\n" + "".join(f"{row},{at % 2}\n" for at, row in enumerate(rows)))
    encoder = TableEncoder(scale="none", min_count=1, drop=["y"]).fit(file)
    names = ["code=007", "code=B 7", "code missing", "a", "a missing", "b=1", "b=True", "b missing"]
    assert encoder.get_feature_names_out().tolist() == names
    new = written(tmp_path, "a,code,b\n3,007,1\n4,7,True\n", "new.csv")
    np.testing.assert_array_equal(encoder.transform(new), [[1, 0, 0, 3, 0, 1, 0, 0], [0, 0, 0, 4, 0, 0, 1, 0]])


def test_codes_that_are_declared_words_stay_as_they_are_written(tmp_path):
    file = written(tmp_path, "code,a\n007,1\n7,2\n007,3\n")
    encoder = TableEncoder(words=["code"], min_count=1).fit(file)
    assert encoder.get_feature_names_out().tolist() == ["code=007", "code=7", "a"]


def test_numbers_with_other_signs(tmp_path):
    file = written(tmp_path, "a;b\n1.234,5;2\n1.000;3,5\n")
    found = TableEncoder(scale="none", decimal=",", thousands=".").fit_transform(file)
    np.testing.assert_array_equal(found, [[1234.5, 2], [1000, 3.5]])
    with pytest.raises(DataError, match=r"line 2: column 'a' holds '1\.234,5', .*; --decimal , --thousands \. or"):
        TableEncoder().fit(file)


def test_a_bad_cell_is_named_by_its_line(tmp_path):
    file = written(tmp_path, "name,x\n" + '"two\nlines",1\n' * 3 + "b,about 5000\n")
    with pytest.raises(DataError, match=r"line 8: column 'x' holds 'about 5000', which is not a number"):
        TableEncoder().fit(file)


def test_an_index_without_a_name_is_dropped(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5]}, index=[7, 3, 5])
    frame.to_csv(tmp_path / "a.csv")
    encoder = TableEncoder().fit(tmp_path / "a.csv")
    assert encoder.get_feature_names_out().tolist() == ["a"]
    np.testing.assert_array_equal(encoder.transform(frame), encoder.transform(tmp_path / "a.csv"))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_text_in_another_encoding(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("town,y\nK\u00f6ln,1\nBonn,0\n".encode(encoding))
    assert read_table(tmp_path / "a.csv", label="y", encoding=encoding).columns["town"].tolist() == [
        "K\u00f6ln",
        "Bonn",
    ]
    with pytest.raises(DataError, match="with --encoding"):
        read_table(tmp_path / "a.csv", label="y", format="csv")
    with pytest.raises(DataError, match="there is no encoding 'no'"):
        read_table(tmp_path / "a.csv", label="y", format="csv", encoding="no")


def test_excel_without_its_library_and_damaged(tmp_path, monkeypatch):
    file = tmp_path / "a.xlsx"
    file.write_bytes(b"PK\x03\x04 no sheet")
    with pytest.raises(DataError, match=r"it is not a sound Excel file|Excel files need openpyxl"):
        read_table(file, label="y")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"Excel files need openpyxl: pip install 'smoothperf\[excel\]', or save"):
        read_table(file, label="y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,town,y\n1,Rome,1\n2,Oslo\n", "line 3: 2 fields where the first line names 3 columns"),
        ("age,town,y\n1,Rome,\n2,Oslo,1\n", "line 2: the label, column 'y', is missing"),
        ("age,town,y\n", "there are no examples in it"),
        ("age,age,y\n1,2,3\n", "the column 'age' occurs twice"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_table(written(tmp_path, text), label="y")


def test_columns_of_a_parquet_file_that_are_no_numbers(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"when": pa.array([0, 1], pa.timestamp("s")), "y": pa.array([0, 1])}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"row 1: column 'when' holds '1970-01-01.*', which is not a number"):
        read_data(tmp_path / "a.parquet", label="y")
    parquet.write_table(pa.table({"a": pa.array([[1], [2]]), "y": pa.array([0, 1])}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"column 'a' holds list<.*>; use numbers, truth values, text or dates"):
        read_table(tmp_path / "a.parquet", label="y")
