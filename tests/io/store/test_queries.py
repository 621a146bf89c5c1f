"""Stores of every format whose rows are documents of queries."""

import numpy as np
import pytest

from problems import graded
from smoothperf.io import convert, open_store, read_data


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("format", ["svm", "csv", "parquet"])
def test_what_data_files_have(tmp_path, monkeypatch, format, words):
    monkeypatch.setattr("smoothperf.io.conversion.ENTRIES", 50)
    X, y, qid = graded(30, 8, shuffled=True)
    X, y = X.round(3), y.astype(int)
    ids = [f"q{number}" for number in qid] if words else qid.tolist()
    file, options = tmp_path / f"data.{format}", {}
    if format == "svm":
        if words:
            return
        lines = (
            f"{grade} qid:{query} " + " ".join(f"{at}:{value}" for at, value in enumerate(row, 1) if value)
            for row, grade, query in zip(X.tolist(), y, ids, strict=True)
        )
        file.write_text("\n".join(lines) + "\n")
    else:
        columns = {"query": ids, **dict(zip("abcd", X.T.tolist(), strict=True)), "grade": y.tolist()}
        options = {"label": "grade", "query": "query"}
        if format == "csv":
            rows = zip(*columns.values(), strict=True)
            file.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
        else:
            pa = pytest.importorskip("pyarrow")
            pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), file)
    store = open_store(convert(file, tmp_path / "a.store", **options))
    expected = read_data(file, **options)
    np.testing.assert_array_equal(store.qid, ids)
    np.testing.assert_array_equal(store.qid, expected.qid)
    assert store.qid.dtype.kind == expected.qid.dtype.kind
    np.testing.assert_array_equal(store.X.toarray() if format == "svm" else store.X, X)
    again = open_store(convert(store.path, tmp_path / "b.store"))
    np.testing.assert_array_equal(again.qid, ids)
