"""Tables as features: what becomes of columns, alike for every kind of frame and file, learnt from training alone."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from smoothperf import MeasureClassifierCV, TableEncoder
from smoothperf.features import DroppedColumnWarning
from smoothperf.io import DataError


def own_names(estimator):
    """Checks that a transformer of columns by name cannot pass."""
    return {"check_dataframe_column_names_consistency": "columns are found by their names, in any order"}


@parametrize_with_checks([TableEncoder()], expected_failed_checks=own_names)
def test_conventions(estimator, check):
    check(estimator)


def frame_of_many_kinds(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(3.0, 2.0, size=n),
            "town": rng.choice(["Rome", "Oslo", "New York, NY", "Bonn"], size=n, p=[0.45, 0.35, 0.17, 0.03]),
            "b": np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 9, size=n)),
            "flag": rng.random(n) < 0.5,
            "signed": pd.to_datetime("2020-02-28") + pd.to_timedelta(rng.integers(0, 900, size=n), unit="D"),
        }
    )
    frame.loc[rng.random(n) < 0.2, "town"] = None
    frame.loc[7, "signed"] = None
    return frame


def test_features_are_those_of_scikit_learn():
    frame = frame_of_many_kinds()
    train, new = frame[:200], frame[200:].assign(town="Paris")
    encoder = TableEncoder(drop=["signed"]).fit(train)
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    peer = ColumnTransformer(
        [
            ("numbers", numbers, ["a", "b"]),
            ("words", OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"), ["town"]),
        ],
        sparse_threshold=0.0,
    )
    peer.fit(train.fillna({"town": ""}))
    names = encoder.get_feature_names_out().tolist()
    ours = ["a", "b", "town missing", "town=New York, NY", "town=Oslo", "town=Rome", "town=other"]
    for part in (train, new):
        found = pd.DataFrame(encoder.transform(part), columns=names)[ours].to_numpy()
        np.testing.assert_allclose(found, peer.transform(part.fillna({"town": ""})), rtol=1e-12, atol=1e-12)
    assert encoder.unseen(train) == {}
    assert encoder.unseen(new) == {"town": {"Paris": 100}}
    assert [column.kind for column in encoder.columns_] == ["number", "words", "number", "number", "dropped"]


def test_dates_become_numbers_that_are_scaled():
    days = ["2024-02-29", "", "2024-03-03", "2025-01-01"]
    for form in (
        days,
        pd.to_datetime(pd.Series(days)),
        [f"{day[8:]}.{day[5:7]}.{day[:4]}" if day else "" for day in days],
    ):
        encoder = TableEncoder(scale="none").fit(pd.DataFrame({"day": form}))
        assert encoder.get_feature_names_out().tolist() == [
            "day year",
            "day month",
            "day weekday",
            "day days",
            "day missing",
        ]
        expected = [[2024, 2, 3, 0, 0], [2024, 3, 6, 3, 1], [2024, 3, 6, 3, 0], [2025, 1, 2, 307, 0]]
        np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"day": form})), expected)
    scaled = TableEncoder().fit_transform(pd.DataFrame({"day": days}))
    np.testing.assert_allclose(scaled[:, :4].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled[:, :4].std(axis=0), 1.0)


def test_american_dates_and_times_of_day():
    encoder = TableEncoder(scale="none").fit(pd.DataFrame({"t": ["01/31/2024 12:00", "02/01/2024 00:00"]}))
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"t": ["02/01/2024 06:00"]})), [[2024, 2, 3, 0.75]])


def polars_frame(frame):
    """The same frame in Polars."""
    return pl.read_csv(frame.to_csv(index=False).encode(), null_values="", try_parse_dates=True)


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "polars", "table"])
def test_every_kind_of_table_is_the_same(kind, tmp_path):
    frame = frame_of_many_kinds()
    given = polars_frame(frame)
    if kind == "csv":
        frame.to_csv(given := tmp_path / "a.csv", index=False)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(given := tmp_path / "a.parquet")
    elif kind == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(given := tmp_path / "a.xlsx", index=False)
    encoder = TableEncoder().fit(frame)
    if kind == "table":
        given = encoder.parsed(frame)
    again = TableEncoder().fit(given)
    assert {column.name: column.feature_names for column in again.columns_} == {
        column.name: column.feature_names for column in encoder.columns_
    }
    np.testing.assert_allclose(encoder.transform(given), encoder.transform(frame), rtol=1e-12)


def test_columns_in_any_order_and_others_beside_them():
    frame = frame_of_many_kinds()
    encoder = TableEncoder().fit(frame)
    np.testing.assert_array_equal(
        encoder.transform(frame[frame.columns[::-1]].assign(more=1)), encoder.transform(frame)
    )
    with pytest.raises(DataError, match="X: it lacks the column 'b' of training; new are 'c': rename"):
        encoder.transform(frame.rename(columns={"b": "c"}))
    dropped = TableEncoder(drop=["flag"]).fit(frame)
    with pytest.raises(DataError, match=r"X: it lacks the column 'b' of training$"):  # and what was dropped is not new
        dropped.transform(frame.drop(columns="b"))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["1", "2", "about 5000", "3"],
            r'row 3: .*\'about 5000\', which is not a number; .* say --missing "about 5000"',
        ),
        (["1,5", "2,5", "10,25"], r"row 1: column 'x' holds '1,5', which is no number as it is; --decimal ,"),
        (["1,234.50", "2,000.00", "7.25"], r"row 1: .*; --thousands , or thousands=\",\""),
        (["1.234,50", "2.000,00", "12.345,25"], r"row 1: .*; --decimal , --thousands \. or"),
        (["2024-01-01", "2024-02-01", "soon"], r"row 3: .*'soon', which is not a date like the others; .*--missing"),
        (["1", "2", "inf"], r"row 3: column 'x' holds inf; remove or replace it"),
    ],
)
def test_bad_cells_are_named_with_the_remedy(cells, message):
    with pytest.raises(DataError, match=f"X: {message}"):
        TableEncoder().fit(pd.DataFrame({"x": cells}))


def test_signs_that_are_wrong_are_no_words():
    with pytest.raises(DataError, match=r"X: row 1: column 'x' holds '1\.5', which is no number with such decimals"):
        TableEncoder(decimal=",").fit(pd.DataFrame({"x": ["1.5", "2.25"]}))


@pytest.mark.parametrize(
    ("cells", "options", "numbers"),
    [
        (["1", "2", "about 5000", "4"], {"missing": ["about 5000"]}, [1, 2, 2, 4]),
        ([1.0, -999.0, 3.0], {"missing": ["-999"]}, [1, 2, 3]),
        (["1,5", "2"], {"decimal": ","}, [1.5, 2]),
        (["1,234.50", "-7.25"], {"thousands": ","}, [1234.5, -7.25]),
        (["1.234,5", "12"], {"thousands": ".", "decimal": ","}, [1234.5, 12]),
    ],
)
def test_the_remedies_help(cells, options, numbers):
    frame = pd.DataFrame({"x": cells})
    assert TableEncoder(scale="none", **options).fit_transform(frame)[:, 0].tolist() == numbers


def test_a_number_that_new_rows_have_not(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0], "day": ["2024-01-01", "2024-01-02"]}))
    for bad in ({"x": ["1", "young"]}, {"day": ["2024-01-01", "soon"]}):
        with pytest.raises(DataError, match=r"X: row 2: column '.*' holds '(young|soon)', which is not a"):
            encoder.transform(pd.DataFrame({"x": [1.0, 2.0], "day": ["2024-01-01", "2024-01-02"]} | bad))


def test_columns_without_use_are_dropped():
    n = 100
    frame = pd.DataFrame(
        {"Unnamed: 0": range(n), "key": [f"c-{i}" for i in range(n)], "empty": [None] * n, "n": range(n), "id": "7"}
    )
    with pytest.warns(DroppedColumnWarning, match="column 'key' is dropped: it has 100 words in 100 rows"):
        encoder = TableEncoder(id_column="id").fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["n"]
    assert {column.name: column.kind for column in encoder.columns_} == {
        "Unnamed: 0": "dropped",
        "key": "dropped",
        "empty": "dropped",
        "n": "number",
        "id": "id",
    }
    with pytest.raises(DataError, match=r"there is no column 'no' for drop=; there are 'Unnamed: 0', "):
        TableEncoder(drop=["no"]).fit(frame)


def test_codes_can_be_words():
    frame = pd.DataFrame({"code": [7, 12] * 10})
    assert TableEncoder(words=["code"]).fit(frame).get_feature_names_out().tolist() == ["code=12", "code=7"]


def test_many_words_are_sparse():
    words = np.repeat([f"w{i:02}" for i in range(30)], 10)
    X = TableEncoder().fit_transform(pd.DataFrame({"w": words, "n": np.arange(300.0)}))
    assert sp.issparse(X)
    assert X.shape == (300, 31)


def test_inside_a_choice_nothing_is_learnt_from_rows_held_out():
    frame = frame_of_many_kinds()
    y = frame["a"].fillna(0.0) + (frame["town"] == "Rome") > 3.5
    seen = []

    class Seeing(TableEncoder):
        def fit(self, X, y=None):
            seen.append(len(X))
            return super().fit(X)

    for given in (frame, polars_frame(frame)):
        seen.clear()
        model = MeasureClassifierCV("roc_area", cv=3, features=Seeing()).fit(given, y)
        assert set(seen) == {200, 300}
        assert (model.predict(given) == y).mean() > 0.8
