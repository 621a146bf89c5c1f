"""Arguments that cannot work are refused at once by a ValueError: argument, value and what to do."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from smoothperf._validation import choice, positive_number, whole_number
from smoothperf.design import as_design
from smoothperf.measures import PRBEP, ROCArea, get_measure
from smoothperf.optimise.objective import RegularizedRisk

every_measure = pytest.mark.parametrize(
    "measure",
    [PRBEP(), ROCArea()],
    ids=["prbep", "roc_area"],
)
Y = [1, -1, 1, -1]
SCORES = [0.1, 0.2, 0.3, 0.4]

#: What is wrong, the value, what the message must show of it, and a word of advice.
BAD_LABELS = {
    "empty": ([], "empty", "at least one positive and one negative"),
    "positives only": ([1, 1, 1], "one class only, all .*1", "needs positive and negative"),
    "negatives only": ([-1, -1], "one class only, all .*-1", "needs positive and negative"),
    "zeros only": ([0, 0, 0], "one class only, all .*0", "needs positive and negative"),
    "False only": ([False, False], "one class only, all .*False", "needs positive and negative"),
    "three classes": ([0, 1, 2], "0, 1, 2", "map your labels"),
    "minus one, zero and one": ([-1, 0, 1], "-1, 0, 1", "map your labels"),
    "other numbers": ([1, 2], "1, 2", "map your labels"),
    "many numbers": (np.arange(100), r"0, 1, 2, 3, 4, \.\.\.", "map your labels"),
    "real numbers": ([0.5, 1.0], "0.5", "map your labels"),
    "NaN": ([1.0, np.nan, -1.0], "nan", "map your labels"),
    "infinite": ([1.0, np.inf], "inf", "map your labels"),
    "words": (["spam", "ham"], "'ham', 'spam'", "map your labels"),
    "digits as words": (["1", "-1"], "'-1', '1'", "map your labels"),
    "missing": ([1, None, -1], "None", "map your labels"),
    "a matrix": ([[1, -1], [1, -1]], r"\(2, 2\)", "ravel"),
    "a column": (np.ones((3, 1)), r"\(3, 1\)", "ravel"),
    "a number": (1, r"\(\)", "one-dimensional"),
}
BAD_SCORES = {
    "NaN": ([0.1, np.nan, 0.3, 0.4], "nan at position 1", "remove or replace"),
    "infinite": ([0.1, 0.2, 0.3, np.inf], "inf at position 3", "remove or replace"),
    "minus infinite": ([-np.inf, 0.2, 0.3, 0.4], "-inf at position 0", "remove or replace"),
    "too few": ([0.1, 0.2], "2 entries but there are 4", "must match"),
    "too many": (np.zeros(5), "5 entries but there are 4", "must match"),
    "none": ([], "0 entries but there are 4", "must match"),
    "a matrix": (np.zeros((4, 1)), r"\(4, 1\)", "ravel"),
    "words": (["a", "b", "c", "d"], "'a'", "vector of numbers"),
    "missing": ([0.1, 0.2, None, 0.4], "None|nan", "numbers|finite"),
}
BAD_WEIGHTS = {
    "negative": ([1.0, -2.5, 1.0, 1.0], "-2.5 at position 1", "must not be negative"),
    "NaN": ([1.0, 1.0, np.nan, 1.0], "nan at position 2", "remove or replace"),
    "infinite": ([1.0, np.inf, 1.0, 1.0], "inf at position 1", "remove or replace"),
    "too few": ([1.0], "1 entries but there are 4", "must match"),
    "a number": (2.0, "1 entries but there are 4", "must match"),
    "a matrix": (np.ones((4, 1)), r"\(4, 1\)", "ravel"),
    "words": (["heavy"] * 4, "heavy", "vector of numbers"),
    "all zero": (np.zeros(4), "is 0 for every positive", "each class needs some weight"),
    "no positive": ([0.0, 1.0, 0.0, 1.0], "is 0 for every positive", "each class needs some weight"),
    "no negative": ([1, 0, 1, 0], "is 0 for every negative", "each class needs some weight"),
}


def cases(table):
    return pytest.mark.parametrize(("value", "shown", "advice"), table.values(), ids=table.keys())


def assert_refused(call, name, shown, advice):
    with pytest.raises(ValueError, match=name) as caught:
        call()
    message = str(caught.value)
    assert re.search(rf"\b{name}\b", message)
    assert re.search(shown, message), message
    assert re.search(advice, message), message
    assert message.endswith(".")


# --- measures ----------------------------------------------------------------------------------------------------


@every_measure
@cases(BAD_LABELS)
def test_labels(measure, value, shown, advice):
    scores = np.zeros(np.size(value))
    assert_refused(lambda: measure.bind(value), "y", shown, advice)
    assert_refused(lambda: measure.score(value, scores), "y", shown, advice)
    assert_refused(lambda: measure.predicted_positive(value), "y", shown, advice)


@every_measure
@cases(BAD_SCORES)
def test_scores(measure, value, shown, advice):
    assert_refused(lambda: measure.score(Y, value), "scores", shown, advice)


@every_measure
@cases(BAD_WEIGHTS)
def test_weights(measure, value, shown, advice):
    assert_refused(lambda: measure.bind(Y, value), "sample_weight", shown, advice)
    assert_refused(lambda: measure.score(Y, SCORES, value), "sample_weight", shown, advice)
    assert_refused(lambda: measure.predicted_positive(Y, value), "sample_weight", shown, advice)


@pytest.mark.parametrize("name", ["brier", "", 3, None, PRBEP, ["prbep"]], ids=str)
def test_unknown_measures_are_told_the_known_ones(name):
    assert_refused(lambda: get_measure(name), "measure", re.escape(repr(name)), "'prbep', 'roc_area'")


# --- the design matrix and the objective ---------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", [[1.0, 2.0], np.ones((2, 2, 2)), 3.0], ids=["vector", "cube", "number"])
def test_matrices_have_two_dimensions(matrix):
    assert_refused(lambda: as_design(matrix), "X", re.escape(str(np.shape(matrix))), "two-dimensional")


@pytest.mark.parametrize("matrix", [[["a", "b"]], [[{}]]], ids=["words", "objects"])
def test_matrices_hold_numbers(matrix):
    with pytest.raises(ValueError, match=r"\bX\b"):
        as_design(matrix)


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array], ids=["dense", "CSR", "CSC", "COO"]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_matrices_are_finite(form, value):
    """Otherwise every norm, bound and gap that is made from X would silently be NaN."""
    for dtype in (np.float32, np.float64):
        matrix = np.eye(4, 3, dtype=dtype)
        matrix[2, 2] = value
        assert_refused(lambda matrix=matrix: as_design(form(matrix)), "X", "NaN|nan|inf", "finite|remove or replace")


def objective(X, y, alpha):
    return RegularizedRisk(as_design(X), PRBEP().bind(y), alpha)


@pytest.mark.parametrize("rows", [0, 1, 3, 5])
def test_as_many_rows_as_labels(rows):
    assert_refused(lambda: objective(np.ones((rows, 2)), Y, 1.0), "X", f"{rows} rows but y has 4", "must match")


@pytest.mark.parametrize("alpha", [0, 0.0, -1e-4, math.nan, math.inf, -math.inf, True, False, "1", None, [1.0], 1j])
def test_alpha_is_a_positive_number(alpha):
    assert_refused(lambda: objective(np.ones((4, 2)), Y, alpha), "alpha", re.escape(repr(alpha)), "above 0.*try 1e-4")


@pytest.mark.parametrize("alpha", [1, 1e-140, 1e300, np.float32(0.5), np.int64(2), np.float64(1e-4), Fraction(1, 3)])
def test_alpha_may_be_any_real_number(alpha):
    made = objective(np.ones((4, 2)), Y, alpha)
    assert type(made.alpha) is float
    assert made.alpha == float(alpha)


# --- the checks themselves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1, 2.0, True, "3", None, np.float64(3.0)])
def test_whole_numbers(value):
    assert_refused(lambda: whole_number("count", value, at_least=1), "count", re.escape(repr(value)), "at least 1")


@pytest.mark.parametrize("value", [1, 5, np.int32(7), 10**20])
def test_whole_numbers_that_are(value):
    assert whole_number("count", value, at_least=1) == value
    assert type(whole_number("count", value, at_least=1)) is int


@pytest.mark.parametrize("value", ["c", "", None, 3, ["a"]])
def test_choices(value):
    assert_refused(lambda: choice("way", value, ("a", "b")), "way", re.escape(repr(value)), "one of 'a', 'b'")


def test_choices_that_exist():
    assert choice("way", "b", ("a", "b")) == "b"


def test_hints_come_last():
    with pytest.raises(ValueError, match=r"^speed must be a finite number above 0, got -1\. Walk\.$"):
        positive_number("speed", -1, hint="Walk.")


@every_measure
def test_good_input_of_any_kind_is_accepted(measure):
    expected = measure.score(Y, SCORES)
    for y in (tuple(Y), np.array(Y), np.array(Y) > 0, np.array(Y, dtype=object), np.repeat(Y, 2)[::2]):
        assert measure.score(y, SCORES) == expected
    for scores in (
        tuple(SCORES),
        np.array(SCORES),
        np.repeat(SCORES, 2)[::2],
        np.array(SCORES, dtype=object),
    ):
        assert measure.score(Y, scores) == expected
    assert measure.score(Y, [1, 2, 3, 4]) == expected
    for weights in ([1, 1, 1, 1], np.ones(4, dtype=bool), np.full(4, 0.3, dtype=np.float32), np.ones(8)[::2]):
        assert measure.score(Y, SCORES, weights) == pytest.approx(expected)


def test_matrices_are_real():
    with pytest.raises(ValueError, match=r"X must hold real numbers, got dtype complex128; pass X\.real"):
        as_design(np.eye(2) * 1j)
