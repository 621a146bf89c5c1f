"""The svmlight reader: scikit-learn's matrix, Python's numbers, and an error with a line number for everything else."""

import io
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from problems import searching
from smoothperf.io import DataError, svmlight
from smoothperf.io.svmlight import read_svmlight
from smoothperf.kernels._svmlight import OUTCOMES, SvmlightParser

finite = st.floats(allow_nan=False, allow_infinity=False)
#: What scikit-learn's writer, which rounds to 16 digits, does not round to infinity.
writable = st.floats(-1e308, 1e308)


def read(text, **options):
    """Features and labels."""
    return read_svmlight(io.BytesIO(text), "example.svm", **options)[:2]


def assert_same(ours, theirs):
    X, y, _, qid = ours
    expected, labels, queries = theirs
    assert X.shape == expected.shape
    np.testing.assert_array_equal(X.indptr, expected.indptr)
    np.testing.assert_array_equal(X.indices, expected.indices)
    np.testing.assert_array_equal(X.data.view(np.int64), expected.data.view(np.int64))  # -0.0 and all
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(np.zeros(0) if qid is None else qid, queries)


def assert_refused_or_same(text):
    """Either a DataError of one line, or the matrix of scikit-learn."""
    try:
        ours = read_svmlight(io.BytesIO(text), "example.svm")
    except DataError as refusal:
        message = str(refusal)
    else:
        assert_same(ours, load_svmlight_file(io.BytesIO(text), query_id=True))
        return
    assert message.startswith("example.svm")
    assert message.isprintable()


# --- the same as scikit-learn -----------------------------------------------------------------------------------------


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    cells = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    entries = draw(st.dictionaries(cells, writable.filter(bool), max_size=25))
    at = np.array(list(entries), dtype=int).reshape(-1, 2)
    values = np.array(list(entries.values()), dtype=float)
    label = draw(st.sampled_from([st.sampled_from([-1, 1]), writable, st.integers(-(2**53), 2**53)]))
    return sp.csr_matrix((values, at.T), shape=(rows, columns)), draw(st.lists(label, min_size=rows, max_size=rows))


@searching(60)
@given(matrices(), st.booleans(), st.booleans(), st.sampled_from([64, 200, svmlight.PIECE]))
def test_what_scikit_learn_writes_is_read_alike(problem, zero_based, queries, piece):
    X, y = problem
    buffer = io.BytesIO()
    query_id = np.arange(X.shape[0])[::-1] // 2 if queries else None
    dump_svmlight_file(X, y, buffer, zero_based=zero_based, query_id=query_id, comment="two\nlines")
    text = buffer.getvalue()
    with patch.object(svmlight, "PIECE", piece):
        for given_base in (zero_based, None):
            ours = read_svmlight(io.BytesIO(text), "example.svm", zero_based=given_base)
            base = "auto" if given_base is None else given_base
            assert_same(ours, load_svmlight_file(io.BytesIO(text), zero_based=base, query_id=True))


CHARACTERS = st.sampled_from(list(b"0011223::::   \n\n#.-+eqid\r\t\0x"))
LINES = [b"1 1:1 2:0.5", b"-1 qid:3 4:1e-3 # c", b"+1", b"# all", b"", b"0.5 0:2 7:-0", b"1 2:1\r", b"1 10:1#c"]


@searching(60)
@given(
    st.lists(st.sampled_from(LINES), max_size=5).map(b"\n".join),
    st.lists(st.tuples(st.integers(0), CHARACTERS), max_size=4),
)
@example(b"1 1:1#2:2", [])
@example(b"#", [])
def test_whatever_is_accepted_means_the_same_to_scikit_learn(text, changes):
    changed = bytearray(text)
    for at, character in changes:
        changed.insert(at % (len(changed) + 1), character)
    assert_refused_or_same(bytes(changed))


@searching(60)
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(text):
    assert_refused_or_same(text)


@searching(60)
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=5).map(b"\n".join), st.data())
def test_pieces_may_end_anywhere(text, data):
    whole, cut = SvmlightParser(False), SvmlightParser(False)
    whole.feed(text + b"\n")
    rest = b""
    for byte in text + b"\n":
        rest += bytes([byte])
        if cut.problem is None and data.draw(st.booleans()):
            rest = rest[cut.feed(rest) :]
    if cut.problem is None:
        cut.feed(rest)
    assert (cut.problem, cut.line) == (whole.problem, whole.line)
    for left, right in zip(cut.arrays(), whole.arrays(), strict=True):
        np.testing.assert_array_equal(left, right)


# --- numbers ----------------------------------------------------------------------------------------------------------


def value_of(number):
    X, _ = read(b"1 1:" + number.encode())
    return X.data[0]


HARD = [
    "0", "-0", "0.0e999999999999999999999", "1e22", "1e23", "-1e-22", "1e-23", "9007199254740992", "9007199254740993",
    "9007199254740993e-3", "90071992547409930000", "0.1", "00000000000000000000000000.1", ".5", "5.", "+7E+2",
    "1.7976931348623157e308", "2.2250738585072011e-308", "5e-324", "2.4703282292062327e-324", "123e-25",
    "2.4703282292062328e-324", "123456789012345678901234567890e-20", "0." + "0" * 400 + "1e401", "9" * 1000 + "e-1000",
    "1" + "0" * 400 + "e-400", "1e-99999999999999999999", "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124", "18446744073709551615", "18446744073709551616",
    "9999999999999999999", "10000000000000000000", "1e-18446744073709551616", "9007199254740993e22",
    "12345678901234567e5",
]  # fmt: skip


@pytest.mark.parametrize("number", HARD, ids=lambda number: number[:30])
def test_hard_numbers_are_those_of_float(number):
    assert np.float64(value_of(number)).tobytes() == np.float64(float(number)).tobytes()


@searching(300)
@given(
    st.one_of(
        finite.map(repr),
        finite.map(lambda number: f"{number:.16g}"),
        st.from_regex(
            r"[+-]?(\d{1,25}\.?\d{0,25}|\.\d{1,25})([eE][+-]?\d{1,3})?",
            fullmatch=True,
            alphabet=st.characters(codec="ascii"),
        ),
        st.builds("{}e{}".format, st.integers(0, 10**19), st.integers(-25, 25)),
    )
)
def test_numbers_are_those_of_float(number):
    expected = float(number)
    if np.isfinite(expected):
        assert np.float64(value_of(number)).tobytes() == np.float64(expected).tobytes()
    else:
        with pytest.raises(DataError, match="is not finite"):
            value_of(number)


@searching(60)
@given(st.text("0123456789+-.eE", min_size=1, max_size=6))
def test_the_grammar_is_that_of_float(text):
    try:
        float(text)
    except ValueError:
        with pytest.raises(DataError, match=r"line 1: .*not a number"):
            value_of(text)
    else:
        value_of(text) if np.isfinite(float(text)) else None


# --- what is settled --------------------------------------------------------------------------------------------------


def test_exponents_do_not_wrap_around():
    with pytest.raises(DataError, match="is not finite"):
        value_of("1e18446744073709551616")


def test_indices_count_from_one_unless_zero_occurs():
    np.testing.assert_array_equal(read(b"1 1:5 2:6")[0].toarray(), [[5, 6]])
    np.testing.assert_array_equal(read(b"1 1:5 2:6\n1 0:1")[0].toarray(), [[0, 5, 6], [1, 0, 0]])
    np.testing.assert_array_equal(read(b"1 1:5 2:6", zero_based=True)[0].toarray(), [[0, 5, 6]])


@pytest.mark.parametrize(
    ("text", "said", "found"),
    [(b"1 1:5", None, False), (b"1 0:5", None, True), (b"1 1:5", True, True), (b"1 1:5", False, False)],
)
def test_the_base_of_the_indices_is_told(text, said, found):
    assert read_svmlight(io.BytesIO(text), "example.svm", zero_based=said)[2] is found


def test_number_of_features_can_be_given():
    assert read(b"1 1:5", n_features=4)[0].shape == (1, 4)
    with pytest.raises(DataError, match=r"at least 7 features \(counted from 1\) where 6 are expected"):
        read(b"1 7:5", n_features=6)
    with pytest.raises(DataError, match=r"at least 8 features \(counted from 0\) where 7 are expected"):
        read(b"1 0:1 7:5", n_features=7)


def test_zeros_that_are_written_are_entries():
    assert read(b"1 1:0 2:0.0")[0].nnz == 2


@pytest.mark.parametrize("text", [b"1 1:2\r\n-1 2:3\r\n", b"1 1:2\n-1 2:3", b"\n  \n# c\n1\t1:2 # d\n\n-1 2:3 \n#"])
def test_line_ends_blank_lines_and_comments(text):
    X, y = read(text)
    np.testing.assert_array_equal(X.toarray(), [[2, 0], [0, 3]])
    np.testing.assert_array_equal(y, [1, -1])


def test_types():
    X, y = read(b"+1 1:2\n-1.0 2:3\n1e0")
    assert (X.indices.dtype, X.indptr.dtype, X.data.dtype, y.dtype) == (np.int32, np.int32, np.float64, np.int64)
    assert X.has_sorted_indices
    assert X.has_canonical_format
    assert read(b"0.5 1:2\n1 1:1")[1].dtype == np.float64
    assert read(b"1e17 1:2")[1].dtype == np.float64


def test_arrays_are_trimmed():
    X, _ = read(b"1 1:2\n" * 10)
    for array in (X.data, X.indices):
        assert (array if array.base is None else array.base).size == 10


def test_largest_index():
    assert read(b"1 2147483646:1")[0].shape == (1, 2**31 - 2)


def test_parser_does_not_touch_arrays_it_has_handed_over():
    parser = SvmlightParser(False)
    parser.feed(b"1 1:1\n")
    parser.arrays()
    with pytest.raises((AttributeError, TypeError)):
        parser.feed(b"1 1:1\n")


# --- what is wrong ----------------------------------------------------------------------------------------------------

WRONG = {
    "label is a word": (b"1 1:1\nspam 1:1", 2, "the label 'spam' is not a number"),
    "label is missing": (b"1:1 2:1", 1, "the label '1:1' is not a number"),
    "one of several labels is a word": (b"1,x 1:1", 1, "the label 'x' is not a number"),
    "nan label": (b"1\n\nnan 1:1", 3, "the label 'nan' is not finite"),
    "large label": (b"1e999 1:1", 1, "the label '1e999' is not finite"),
    "nan": (b"# c\n1 1:NaN", 2, "the value in '1:NaN' is not finite"),
    "inf": (b"1 1:-inf", 1, "the value in '1:-inf' is not finite"),
    "large value": (b"1 1:1e400", 1, "the value in '1:1e400' is not finite"),
    "value is a word": (b"1 1:x", 1, "the value in '1:x' is not a number"),
    "no value": (b"1 1:", 1, "the value in '1:' is not a number"),
    "space after colon": (b"1 1: 2", 1, "the value in '1:' is not a number"),
    "underscore": (b"1 1:1_0", 1, "the value in '1:1_0' is not a number"),
    "hexadecimal": (b"1 1:0x10", 1, "the value in '1:0x10' is not a number"),
    "not ASCII": ("1 1:٣".encode(), 1, r"the value in '1:\xd9\xa3' is not a number"),
    "no colon": (b"1 1:1 2", 1, "'2' is not index:value"),
    "index is a word": (b"1 a:1", 1, "'a:1' is not index:value"),
    "fraction as index": (b"1 1.5:1", 1, "'1.5:1' is not index:value"),
    "negative index": (b"1 1:1\n1 -3:1", 2, "the index in '-3:1' is negative"),
    "large index": (b"1 2147483647:1", 1, "the index in '2147483647:1' is larger than 2147483646"),
    "huge index": (b"1 " + b"9" * 1000 + b":1", 1, "is larger than 2147483646"),
    "repeated index": (b"1 3:1 3:2", 1, "the index in '3:2' occurs twice in the line"),
    "unsorted index": (b"1 3:1 2:2", 1, "the index in '2:2' is smaller than the one before; sort"),
    "qid without number": (b"1 qid:x 1:1", 1, "'qid:x' is neither qid:number nor index:value"),
    "qid twice": (b"1 qid:1 qid:2 1:1", 1, "'qid:2' is not index:value"),
    "qid after a feature": (b"1 1:1 qid:1", 1, "'qid:1' is not index:value"),
    "half a qid": (b"1 q", 1, "'q' is neither qid:number nor index:value"),
    "large qid": (b"1 qid:9223372036854775808 1:1", 1, "the query in 'qid:9223372036854775808' has more digits"),
    "huge qid": (b"1 qid:-" + b"9" * 99 + b" 1:1", 1, "has more digits than 64 bits can hold"),
    "no qid": (b"1 qid:1 1:1\n0 1:2\n", 2, "there is no query in this line where those before have one"),
    "no qid in the last line": (b"1 qid:1 1:1\n0", 2, "there is no query in this line where those before have one"),
    "qid where there was none": (b"1 1:1\n# c\n0 qid:3 1:2", 3, "'qid:3', but lines before have no query"),
    "carriage returns only": (b"1 1:1\r-1 1:1", 1, "'-1' is not index:value"),
    "zero bytes": (b"1 1:1\n\0\0\0", 2, r"the label '\x00\x00\x00' is not a number"),
    "garbage": (b"\x89PNG\r\n\x1a\n\0\0", 1, r"the label '\x89PNG' is not a number"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "reason"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_with_its_line(text, line, reason):
    with pytest.raises(DataError) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith(f"example.svm, line {line}: ")
    assert reason in message
    assert "\n" not in message
    assert len(message) < 200


def test_index_zero_where_counting_begins_at_one():
    with pytest.raises(DataError, match="line 2: index 0 in '0:1', but indices were to count from 1, as said or as"):
        read(b"1 1:1\n1 0:1", zero_based=False)


def test_every_problem_has_words():
    assert set(OUTCOMES.values()) == set(svmlight.REASONS)


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\n", b" \r\n"])
def test_no_examples(text):
    with pytest.raises(DataError, match=r"^example.svm: there are no examples in it$"):
        read(text)


@pytest.mark.parametrize(
    "token", [b"9" * 10**6 + b":1", b"1:" + b"9" * 10**6, b"x" * 10**6], ids=["index", "value", "garbage"]
)
def test_million_digits(token):
    with pytest.raises(DataError, match="line 2: more than 262144 characters without a space, beginning with '"):
        read(b"1 1:1\n1 " + token + b"\n")


class Endless(io.RawIOBase):
    """A file with a beginning, then the same bytes over and over, and an end."""

    def __init__(self, beginning, filling, times, end=b""):
        self._left = [(beginning, 1), (filling, times), (end, 1)]

    def readinto(self, buffer):
        for position, (text, times) in enumerate(self._left):
            count = min(times, max(1, len(buffer) // max(1, len(text))))
            if text and times:
                assert len(text) <= len(buffer)
                buffer[: count * len(text)] = text * count
                self._left[position] = (text, times - count)
                return count * len(text)
        return 0


@pytest.mark.parametrize(
    ("beginning", "filling"), [(b"1 1:1 # ", b"comment "), (b"1 1:1#", b"comment"), (b"1 1:1", b"     ")]
)
def test_line_of_100_megabytes_in_little_memory(beginning, filling):
    tracemalloc.start()
    try:
        X, y, _, _ = read_svmlight(Endless(beginning, filling, 10**8 // len(filling), b"\n-1 2:1"), "example.svm")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(X.toarray(), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(y, [1, -1])
    assert peak < 8e6


def test_wrong_line_of_100_megabytes():
    with pytest.raises(DataError, match="line 1: the index in '2:1' occurs twice in the line"):
        read_svmlight(Endless(b"1 1:1 ", b"2:1 ", 25 * 10**6), "example.svm")
    with pytest.raises(DataError, match="line 1: more than 262144 characters without a space, beginning with 'xxx"):
        read_svmlight(Endless(b"1 1:1 ", b"x", 10**8), "example.svm")


def test_long_line_with_many_features():
    text = b"1 " + b" ".join(b"%d:1" % index for index in range(1, 200_001))
    X, _ = read(text)
    assert X.shape == (1, 200_000)
    assert X.nnz == 200_000
