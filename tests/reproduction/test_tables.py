"""CSV files: what is written is read back."""

import math
from dataclasses import dataclass

import pytest

from reproduction import tables


@dataclass(frozen=True)
class Row:
    name: str
    count: int
    value: float
    good: bool


def test_rows_come_back(tmp_path):
    rows = [Row("a, b", 3, 1.25e-7, True), Row("", -1, math.nan, False), Row('"', 0, math.inf, False)]
    path = tables.write(tmp_path / "rows.csv", Row, rows)
    found = tables.read(path, Row)
    assert math.isnan(found[1].value)
    assert [found[0], found[2]] == [rows[0], rows[2]]
    assert path.read_text().splitlines()[0] == "name,count,value,good"


def test_six_digits(tmp_path):
    path = tables.write(tmp_path / "rows.csv", Row, [Row("a", 1, 1 / 3, True)])
    assert path.read_text().splitlines()[1] == "a,1,0.333333,yes"


def test_no_file_is_no_rows_and_other_columns_are_an_error(tmp_path):
    assert tables.read(tmp_path / "none.csv", Row) == []
    (tmp_path / "other.csv").write_text("name,count\na,1\n")
    with pytest.raises(ValueError, match="measure again"):
        tables.read(tmp_path / "other.csv", Row)
