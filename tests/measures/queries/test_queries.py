"""Queries of what users have: which documents belong together, weights, and errors that say what is wrong."""

import numpy as np
import pandas as pd
import pytest

from groups import run_group
from smoothperf.measures.queries.queries import Queries


def test_rows_that_are_query_by_query_stay():
    queries = Queries.of([1, 0, 0, 2], [7, 7, 3, 3])
    assert queries.rows is None
    assert queries.starts.tolist() == [0, 2, 4]
    assert (queries.count, queries.query_count, queries.here_count) == (4, 2, 4)
    assert queries.weights is None


@pytest.mark.parametrize(
    "qid",
    [
        [2, 1, 2, 1, 3],
        ["b", "a", "b", "a", "c"],
        np.array(["b", "a", "b", "a", 3], dtype=object),
        [2.5, 1.0, 2.5, 1.0, 3.0],
        np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2020-01-01", "2020-01-05"], dtype="datetime64[D]"),
    ],
    ids=["numbers", "words", "objects", "floats", "dates"],
)
def test_rows_in_any_order_and_ids_of_any_kind(qid):
    queries = Queries.of([1, 0, 2, 3, 4], qid)
    assert queries.rows.tolist() == [0, 2, 1, 3, 4]
    assert queries.starts.tolist() == [0, 2, 4, 5]
    assert queries.grades.tolist() == [1, 2, 0, 3, 4]
    assert queries.places.tolist() == [0, 1, 0, 1, 0]
    scores = np.array([1.0, 10.0, 3.0, 20.0, 5.0])
    np.testing.assert_array_equal(queries.mean(scores), [2.0, 15.0, 2.0, 15.0, 5.0])
    np.testing.assert_array_equal(queries.by_row(queries.by_document(scores)), scores)


def test_weights_are_those_of_queries():
    queries = Queries.of([1, 0, 2, 3], [2, 1, 2, 1], [5.0, 0.5, 5.0, 0.5])
    assert queries.query_weights.tolist() == [5.0, 0.5]
    assert queries.weights.tolist() == [5.0, 0.5, 5.0, 0.5]


@pytest.mark.parametrize(
    ("grades", "qid", "weights", "message"),
    [
        ([1, 0], [1], None, "qid has 1 entries but there are 2 documents"),
        ([1, 0], [[1], [1]], None, r"qid must be one-dimensional, got shape \(2, 1\)"),
        ([1, 0], [1.0, np.nan], None, "got nan at position 1"),
        ([1, 0], np.array([[1], {}], dtype=object), None, "qid must hold numbers or words"),
        ([1, -1], [1, 1], None, "y must hold grades of relevance, 0 or more; got -1 at position 1"),
        ([1, np.inf], [1, 1], None, "y must be finite, got inf at position 1"),
        (["a", "b"], [1, 1], None, "y must be a vector of numbers"),
        ([], [], None, "y is empty"),
        ([1, 1, 0], [1, 1, 2], None, "no query has documents of two grades, of 2 queries with 3 documents"),
        ([1, 0], [1, 1], [1.0, 2.0], "got 2 at position 1 and 1 at position 0, which have the same qid"),
        ([1, 0, 1], [1, 2, 1], [1.0, 1.0, 2.0], "got 2 at position 2 and 1 at position 0"),
        ([1, 0], [1, 1], [-1.0, -1.0], "sample_weight must not be negative, got -1.0 at position 0"),
        ([1, 0], [1, 1], [1.0], "sample_weight has 1 entries"),
    ],
)
def test_errors(grades, qid, weights, message):
    with pytest.raises(ValueError, match=message):
        Queries.of(grades, qid, weights)


def test_totals_of_a_group_and_members_without_documents():
    parts = [([], []), ([1, 0, 2], [1, 2, 1]), ([0, 0], [5, 5])]

    def program(communicator):
        queries = Queries.of(*parts[communicator.rank], communicator=communicator)
        return (
            queries.count,
            queries.query_count,
            queries.here_count,
            queries.mean(np.ones(queries.here_count)).tolist(),
        )

    assert run_group(3, program) == [(5, 3, 0, []), (5, 3, 3, [1.0] * 3), (5, 3, 2, [1.0] * 2)]


def test_a_group_without_a_query_of_two_grades():
    with pytest.raises(ValueError, match="no query has documents of two grades, of 2 queries with 4 documents"):
        run_group(2, lambda communicator: Queries.of([communicator.rank] * 2, [1, 1], communicator=communicator))


@pytest.mark.parametrize(
    ("qid", "shown"),
    [
        (np.array(["a", "a", None, None], dtype=object), "None"),
        (np.array(["a", "a", np.nan, np.nan], dtype=object), "nan"),
        (np.array(["2020-01-02", "2020-01-02", "NaT", "NaT"], dtype="datetime64[D]"), "NaT"),
        (pd.Series(["a", "a", None, "b"], dtype="string"), "(<NA>|nan)"),
        (pd.Series([1, 1, None, 2], dtype="Int64"), "(<NA>|nan)"),
    ],
    ids=["None", "nan", "NaT", "words of pandas", "numbers of pandas"],
)
def test_rows_of_no_query(qid, shown):
    message = f"qid must say for each document which query it belongs to, got {shown} at position 2"
    with pytest.raises(ValueError, match=message):
        Queries.of([1, 0, 1, 0], qid)
