"""svmlight / libsvm text: ``label [qid:n] index:value index:value ... [# comment]``, one example to a line.

What the format leaves open is settled as scikit-learn's ``load_svmlight_file`` does, whose matrix is the same:

- Indices count from 1 unless index 0 occurs in the file; ``zero_based`` says so where the file cannot.
- Indices ascend within a line. Unsorted or repeated ones are errors, as nobody can know what was meant.
- Blank lines, comments, CRLF and a missing newline at the end are fine.
- Rows of a query need not follow one another. Either all rows have a query or none has.
- Zeros that are written out are kept as entries.
- Rows may have several labels, with commas between, or none, if one of them has several (:mod:`.label_sets`).

Stricter than scikit-learn: values and labels must be finite decimal numbers. The memory used beyond the result does not
depend on the file: lines may be as long as they like, tokens may have up to 256 KiB. Indices are 32-bit unless there
are 2^31 or more entries.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..kernels._svmlight import LARGEST_INDEX, SvmlightParser
from .dataset import Chunk, DataError, data_error, quoted
from .label_sets import SeveralLabels
from .labels import whole_if_possible
from .streams import DECODING_ERRORS, explain

PIECE = 2**18
#: The parser's names of what can be wrong, and what a person needs to know.
REASONS = {
    "bad label": "the label {token} is not a number",
    "bad query": "{token} is neither qid:number nor index:value",
    "large query": "the query in {token} has more digits than 64 bits can hold; number the queries anew",
    "missing query": "there is no query in this line where those before have one; write qid:number after the label",
    "surprising query": "{token}, but lines before have no query; either all of them have one or none has",
    "bad pair": "{token} is not index:value",
    "bad value": "the value in {token} is not a number",
    "infinite label": "the label {token} is not finite",
    "infinite value": "the value in {token} is not finite; remove or replace it",
    "negative index": "the index in {token} is negative",
    "zero index": "index 0 in {token}, but indices were to count from 1, as said or as in training",
    "large index": f"the index in {{token}} is larger than {LARGEST_INDEX}",
    "repeated index": "the index in {token} occurs twice in the line",
    "unsorted index": "the index in {token} is smaller than the one before; sort the indices of each line",
}


class SeveralLabelsError(DataError):
    """A line has several labels, or none, where one was to be read."""


class Readable(Protocol):
    """A binary file, as far as it is needed here."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer and return the number of bytes, 0 at the end."""


def read_svmlight(
    file: Readable,
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool | None = None,
    several: bool = False,
) -> tuple[sp.csr_matrix, NDArray[Any], bool, NDArray[np.int64] | None]:
    r"""Read features and labels, say whether indices count from 0, and return the query of each row, if rows have any.

    See :func:`~smoothperf.io.read_data`.

    Parameters
    ----------
    file : binary file
        The text, uncompressed.
    path : path-like
        Its name in errors.
    n_features : int, optional
        Number of columns; by default as many as occur.
    zero_based : bool, optional
        Whether indices count from 0; by default they do if index 0 occurs.
    several : bool, default=False
        Whether rows may have any number of labels; found out if a row has several, unless the file is a pipe.

    Examples
    --------
    >>> import io
    >>> X, y, zero_based, qid = read_svmlight(io.BytesIO(b"+1 1:0.5 3:2  # first\n-1 2:1"), "example")
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    >>> y, zero_based, qid
    (array([ 1, -1]), False, None)
    """
    parser, begin = SvmlightParser(zero_based is False), _place(file)
    sets = SeveralLabels(file, path) if several else None
    try:
        for _ in _feed_all(parser, sets or file, path):
            pass
    except SeveralLabelsError as error:
        if begin is None:
            raise
        file.seek(begin)  # type: ignore[attr-defined]
        parser, sets = SvmlightParser(zero_based is False), SeveralLabels(file, path)
        for _ in _feed_all(parser, sets, path):
            pass
        if sets.at_most_one:
            raise error
    values, indices, starts, labels, qid = parser.arrays()
    if labels.size == 0:
        raise data_error(path, "there are no examples in it")
    if zero_based is None:
        zero_based = indices.size == 0 or int(indices.min()) == 0
    if not zero_based:
        indices -= 1
    n_features = checked_width(int(indices.max()) + 1 if indices.size else 1, n_features, path, zero_based=zero_based)
    index_type: Any = np.int32 if values.size < 2**31 else np.int64
    arrays = values, indices.astype(index_type, copy=False), starts.astype(index_type, copy=False)
    y = whole_if_possible(labels) if sets is None else sets.labels()
    return sp.csr_matrix(arrays, shape=(labels.size, n_features)), y, zero_based, qid


def _place(file: Any) -> int | None:
    """Place of a file that is read next; None if it cannot be read again from there."""
    return int(file.tell()) if getattr(file, "seekable", bool)() else None


def checked_width(width: int, n_features: int | None, path: str | os.PathLike[str], *, zero_based: bool) -> int:
    """Return the number of features: as many as are expected, which must not be fewer than occur, or as occur."""
    if n_features is not None and width > n_features:
        first = "0" if zero_based else "1"
        raise data_error(
            path, f"it has at least {width} features (counted from {first}) where {n_features} are expected"
        )
    return width if n_features is None else n_features


def svmlight_chunks(
    file: Readable,
    path: str | os.PathLike[str],
    share: Callable[[], float],
    *,
    n_entries: int,
    n_features: int | None = None,
    zero_based: bool | None = None,
) -> Iterator[Chunk]:
    """Yield the rows of a file, some at a time, as :func:`read_svmlight` would read them.

    Indices are taken to count from 1 until index 0 occurs; then the chunks before were wrong by one column, and
    ``Chunk.moved`` says so.

    Parameters
    ----------
    file, path, n_features, zero_based
        As in :func:`read_svmlight`.
    share : callable
        Says which share of the file has been read.
    n_entries : int
        Rows and entries in a chunk, about.
    """
    parser = SvmlightParser(zero_based is False)
    from_zero = bool(zero_based)
    n_rows, largest = 0, -1
    for is_end in _feed_all(parser, file, path):
        is_full = parser.n_rows > 0 and parser.n_rows + parser.n_entries >= n_entries
        if not (is_full or is_end):
            continue
        values, indices, starts, labels, qid = parser.take()
        n_rows += labels.size
        largest = max(largest, int(indices.max(initial=-1)))
        moved = zero_based is None and not from_zero and bool((indices == 0).any())
        from_zero = from_zero or moved
        if is_end:
            if n_rows == 0:
                raise data_error(path, "there are no examples in it")
            if largest < 0 and zero_based is None:
                from_zero = True  # as nothing says otherwise
            width = checked_width(max(1, largest + from_zero), n_features, path, zero_based=from_zero)
        else:
            width = max(0, largest + from_zero)
        if not from_zero:
            indices -= 1
        X = sp.csr_matrix((values, indices, starts.astype(np.int32)), shape=(labels.size, width))
        yield Chunk(X, labels, share(), zero_based=from_zero, moved=moved, qid=qid)


def _feed_all(parser: SvmlightParser, file: Readable, path: str | os.PathLike[str]) -> Iterator[bool]:
    """Feed a file to a parser, piece by piece; pauses after each, and says whether it was the last."""
    buffer = bytearray(PIECE + 1)  # one more for the newline that the last line may lack
    view = memoryview(buffer)
    filled = 0
    while True:
        try:
            count = file.readinto(view[filled:PIECE])
        except DECODING_ERRORS as error:
            raise data_error(path, f"it cannot be read further: {explain(error)}", line=parser.line) from error
        if not count:
            break
        filled += count
        used = _feed(parser, view[:filled], path)
        if used == 0 and filled == PIECE:
            reason = f"more than {PIECE} characters without a space, beginning with {quoted(bytes(view[:40]))}"
            raise data_error(path, reason, line=parser.line)
        view[: filled - used] = view[used:filled]
        filled -= used
        yield False
    view[filled] = ord("\n")
    _feed(parser, view[: filled + 1], path)
    yield True


def _feed(parser: SvmlightParser, text: memoryview, path: str | os.PathLike[str]) -> int:
    used = parser.feed(text)
    if parser.problem is not None:
        tokens = bytes(text[parser.problem_at :]).split(maxsplit=1) or [b""]  # none where one is missing
        error = data_error(path, _reason(parser.problem, tokens[0]), line=parser.line)
        if parser.problem == "bad label" and (b"," in tokens[0] or b":" in tokens[0]):
            raise SeveralLabelsError(error)
        raise error
    return used


def _reason(problem: str, token: bytes) -> str:
    """Say what is wrong with a token; "nan" and "inf" are numbers to most people, so they get their own words."""
    number = token.rpartition(b":")[2].lower().lstrip(b"+-")
    if number in (b"nan", b"inf", b"infinity"):
        problem = {"bad label": "infinite label", "bad value": "infinite value"}.get(problem, problem)
    return REASONS[problem].format(token=quoted(token))
