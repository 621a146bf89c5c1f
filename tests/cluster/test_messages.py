"""Messages as bytes: what comes out is what went in, and nothing but a whole message is read."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from smoothperf.dask import _messages

LARGE = 64


class Pair(NamedTuple):
    """Any named tuple that both ends know."""

    first: object
    second: object


class NoRecord(tuple):
    """A tuple, but not a named one."""

    __slots__ = ()


def there_and_back(message, large=LARGE):
    content, beside = _messages.encode(message, large)
    assert _messages.length_of(content[: _messages.HEADER]) == len(content) - _messages.HEADER
    arrived, to_fill = _messages.decode(content[_messages.HEADER :])
    assert [each.nbytes for each in to_fill] == [each.nbytes for each in beside]
    for target, source in zip(to_fill, beside, strict=True):
        target[:] = source
    return arrived


def assert_alike(one, other):
    """The same values of the same types, all the way down."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for each, its in zip(one, other, strict=True):
            assert_alike(each, its)
    else:
        assert pickle.dumps(one) == pickle.dumps(other)


numbers = st.integers() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.complex_numbers()
kinds_of_arrays = (
    st.just(np.dtype(np.float64))
    | of_numpy.boolean_dtypes()
    | of_numpy.integer_dtypes()
    | of_numpy.unsigned_integer_dtypes()
    | of_numpy.floating_dtypes()
    | of_numpy.complex_number_dtypes()
)
arrays = of_numpy.arrays(kinds_of_arrays, of_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0))
text = st.text(st.characters(exclude_categories=()))  # also half of a pair of surrogates
things = st.recursive(
    st.none() | st.booleans() | numbers | text | st.binary() | arrays,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(NoRecord)
        | st.builds(Pair, inner, inner)
        | st.dictionaries(st.text(), inner)
    ),
    max_leaves=12,
)


@given(things, st.sampled_from([1, LARGE, 1 << 20]))
def test_what_comes_out_is_what_went_in(message, large):
    assert_alike(there_and_back(message, large), message)


@pytest.mark.parametrize("edge", [-(2**63) - 1, -(2**63), 2**63 - 1, 2**63])
def test_whole_numbers_of_any_size(edge):
    assert_alike(there_and_back(edge), edge)


def test_reals_of_numpy_become_those_of_python():
    assert_alike(there_and_back((np.float64(0.1), np.float64("nan"))), (0.1, float("nan")))


@pytest.mark.parametrize("large", [1, 1 << 20])
def test_arrays_of_any_layout(large):
    square = np.arange(36.0).reshape(6, 6)
    frozen = square.copy()
    frozen.flags.writeable = False
    for array in (
        square.T,
        square[::2, 1:4],
        square[::-1],
        np.asfortranarray(square),
        frozen,
        square[:0],
        square[0, 0:1],
    ):
        arrived = there_and_back(array, large)
        np.testing.assert_array_equal(arrived, array)
        assert arrived.flags.c_contiguous
        assert arrived.flags.writeable


def test_arrays_that_are_more_than_numbers():
    structured = np.zeros(3, dtype=[("row", np.int32), ("value", np.float64)])
    dates = np.array(["2001-02-03"], dtype="datetime64[D]")
    words = np.array(["one", "two"])
    objects = np.array([None, "x"], dtype=object)
    for array in (structured, dates, words, objects):
        arrived = there_and_back(array)
        assert arrived.dtype == array.dtype
        assert arrived.tolist() == array.tolist()


def test_large_arrays_are_not_copied():
    array = np.zeros(1000)
    content, (beside,) = _messages.encode((array, array[:3]), 8 * array.size)
    assert len(content) < array.nbytes
    array[:] = 7.0
    assert np.frombuffer(beside)[5] == 7.0


@given(things)
def test_a_part_of_a_message_is_no_message(message):
    content = _messages.encode(message, 1 << 20)[0][_messages.HEADER :]
    for length in {0, 1, len(content) // 2, len(content) - 1} - {len(content)}:
        with pytest.raises(ValueError, match="ends too early"):
            _messages.decode(content[:length])
    with pytest.raises(ValueError, match="goes on after its end"):
        _messages.decode(content + b"N")


def test_what_is_no_message():
    with pytest.raises(ValueError, match="'x' where something should begin"):
        _messages.decode(b"x")
    with pytest.raises(ValueError, match="says that there are -1 of something"):
        _messages.decode(b"(" + (-1).to_bytes(8, "little", signed=True))
    with pytest.raises(ValueError, match="8 bytes, not 3"):
        _messages.length_of(b"abc")
