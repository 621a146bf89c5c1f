"""Tables with words and with values that are missing: numbers as scikit-learn makes them, in any order of columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from smoothperf.io import DataError, read_data
from smoothperf.io.read import read_table
from smoothperf.io.tables import TableColumn, TableEncoder

CSV = """age,town,fare,height,bought
31,Rome,2.5,1,yes
,Oslo,1.0,2,no
47, Rome ,NA,3,no
52,,3.5,4,yes
"""


def written(tmp_path, text, name="table.csv"):
    file = tmp_path / name
    file.write_text(text)
    return file


def frame_of_many_kinds(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "town": rng.choice(["Rome", "Oslo", "New York, NY", "Bonn"], size=n),
            "b": np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 9, size=n)),
            "size": rng.choice(["S", "M", "L"], size=n),
            "y": rng.choice(["no", "yes"], size=n),
        }
    )
    frame.loc[rng.random(n) < 0.2, "town"] = None
    return frame


def saved(frame, file):
    if file.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False)
    return file


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_features_are_those_of_scikit_learn(tmp_path, suffix):
    frame = frame_of_many_kinds()
    train, new = frame[:40], frame[40:].assign(size="XXL")
    encoder = TableEncoder.fit(read_table(saved(train, tmp_path / f"train{suffix}"), label="y"))
    numbers = ["a", "b"]
    peer = ColumnTransformer(
        [
            ("a", SimpleImputer(strategy="median"), ["a"]),
            ("town", OneHotEncoder(handle_unknown="ignore"), ["town"]),
            ("b", SimpleImputer(strategy="median", add_indicator=True), ["b"]),
            ("size", OneHotEncoder(handle_unknown="ignore"), ["size"]),
        ]
    )
    words = frame.columns.difference([*numbers, "y"])
    peer.fit(train.assign(**{name: train[name].fillna("") for name in words}))
    for part in (train, new):
        found = encoder.transform(read_table(saved(part, tmp_path / f"part{suffix}"), label="y"))
        expected = peer.transform(part.assign(**{name: part[name].fillna("") for name in words}))
        expected = expected.toarray() if sp.issparse(expected) else expected
        # Here the column of missing words comes last, there first.
        order = [0, *range(2, 6), 1, *range(6, expected.shape[1])]
        np.testing.assert_allclose(found.toarray(), expected[:, order], rtol=1e-15)
    assert encoder.feature_names[:6] == [
        "a",
        "town=Bonn",
        "town=New York, NY",
        "town=Oslo",
        "town=Rome",
        "town missing",
    ]
    assert encoder.feature_names[6:] == ["b", "b missing", "size=L", "size=M", "size=S"]


def test_what_is_missing_and_what_tells_nothing(tmp_path):
    table = read_table(written(tmp_path, CSV + "60,Rome,2.5,x,no\n"), label="bought")
    assert table.y.tolist() == ["yes", "no", "no", "yes", "no"]
    encoder = TableEncoder.fit(table)
    assert encoder.left_out == ["height"]  # another word in each row
    assert encoder.feature_names == [
        "age",
        "age missing",
        "town=Oslo",
        "town=Rome",
        "town missing",
        "fare",
        "fare missing",
    ]
    np.testing.assert_array_equal(
        encoder.transform(table).toarray()[:4],
        [[31, 0, 0, 1, 0, 2.5, 0], [49.5, 1, 1, 0, 0, 1, 0], [47, 0, 0, 1, 0, 2.5, 1], [52, 0, 0, 0, 1, 3.5, 0]],
    )
    only = read_table(written(tmp_path, "a,y\n,1\n,0\n"), label="y")
    with pytest.raises(DataError, match="no column has values"):
        TableEncoder.fit(only)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_truth_values_are_numbers_in_every_format(tmp_path, suffix):
    frame = pd.DataFrame(
        {"a": [True, False, True], "b": pd.array([True, None, False], dtype="boolean"), "y": [0, 1, 1]}
    )
    table = read_table(saved(frame, tmp_path / f"a{suffix}"), label="y")
    encoder = TableEncoder.fit(table)
    assert encoder.feature_names == ["a", "b", "b missing"]
    np.testing.assert_array_equal(encoder.transform(table), [[1, 1, 0], [0, 0.5, 1], [1, 0, 0]])


def test_words_that_look_like_numbers_stay_as_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr("smoothperf.io.columns.ENTRIES", 4)
    rows = ["007,1,True"] * 3 + [",,"] + ["B 7,2,1"] * 3
    file = written(tmp_path, "code,a,b,y\n" + "".join(f"{row},{at % 2}\n" for at, row in enumerate(rows)))
    encoder = TableEncoder.fit(read_table(file, label="y"))
    names = ["code=007", "code=B 7", "code missing", "a", "a missing", "b=1", "b=True", "b missing"]
    assert encoder.feature_names == names
    new = written(tmp_path, "a,code,b\n3,007,1\n4,7,True\n", "new.csv")
    found = encoder.transform(read_table(new, labelled=False, encoder=encoder)).toarray()
    np.testing.assert_array_equal(found, [[1, 0, 0, 3, 0, 1, 0, 0], [0, 0, 0, 4, 0, 0, 1, 0]])


def test_a_model_of_words_knows_truth_values_of_every_format(tmp_path):
    encoder = TableEncoder([TableColumn("a", words=["False", "True"])], [])
    for suffix in (".csv", ".parquet"):
        file = saved(pd.DataFrame({"a": [True, False]}), tmp_path / f"a{suffix}")
        found = encoder.transform(read_table(file, labelled=False, encoder=encoder)).toarray()
        np.testing.assert_array_equal(found, [[0, 1], [1, 0]])


def test_tables_of_numbers_stay_what_they_were(tmp_path):
    file = written(tmp_path, "a,b,y\n0.1,2,1\n1e-3,4,0\n")
    X = read_data(file, label="y").X
    table = read_table(file, label="y")
    assert table.encoded(TableEncoder.of_numbers(["a", "b"])).X.tobytes() == X.tobytes()
    np.testing.assert_array_equal(table.y, [1, 0])
    with pytest.raises(DataError, match=r"line 3: column 'a' has no value, and none was missing in training"):
        TableEncoder.of_numbers(["a"]).transform(read_table(written(tmp_path, "a,y\n1,1\n,0\n"), label="y"))


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


def test_new_tables_that_do_not_fit(tmp_path):
    encoder = TableEncoder.fit(read_table(written(tmp_path, CSV), label="bought"))
    for old, new, message in (
        ("fare", "price", "lacks the column 'fare' of training; new are 'price': rename"),
        ("31", "young", "line 2: column 'age' holds 'young', which is not a number as in training"),
        ("31", "inf", "line 2: column 'age' holds inf; remove or replace it"),
    ):
        table = read_table(written(tmp_path, CSV.replace(old, new)), label="bought")
        with pytest.raises(DataError, match=message):
            encoder.transform(table)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": 3},
        {"name": "a", "median": float("nan")},
        {"name": "a", "words": ["b", "a"]},
        {"name": "a", "words": ["a", "a"]},
        {"name": "a", "words": [1]},
        {"name": "a", "has_missing": "yes"},
    ],
)
def test_descriptions_from_files_are_checked(fields):
    with pytest.raises(ValueError, match="is not described as one"):
        TableColumn(**fields)


def test_an_encoder_of_no_columns():
    with pytest.raises(ValueError, match="a TableEncoder needs columns"):
        TableEncoder([], [])


def test_columns_of_a_parquet_file_that_are_neither_numbers_nor_words(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"when": pa.array([0, 1], pa.timestamp("s")), "y": pa.array([0, 1])}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"column 'when' holds timestamp\[.*\]; use numbers, truth values or text"):
        read_table(tmp_path / "a.parquet", label="y")
