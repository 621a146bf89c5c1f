"""Opening files: compressed ones are recognised by their first bytes, whatever their name says."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .dataset import data_error

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COMPRESSED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")
#: Errors of a damaged compressed file; bz2 and gzip raise OSErrors.
DECODING_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)


@contextmanager
def uncompressed(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file for reading, through the decompressor that it needs; what cannot be opened is a DataError.

    A byte order mark is skipped.
    """
    with opened(path) as (file, _):
        yield file


@contextmanager
def opened(path: Path) -> Iterator[tuple[io.BufferedReader, Callable[[], float]]]:
    """Do the same, with a function that says which share of the file has been read."""
    with ExitStack() as stack:
        try:
            file = stored = stack.enter_context(open(path, "rb"))
            size = os.fstat(file.fileno()).st_size
            opener = next((opener for magic, opener in COMPRESSED.items() if file.peek(8).startswith(magic)), None)
            if opener is not None:
                file = stack.enter_context(io.BufferedReader(stack.enter_context(opener(file)), 2**16))
            if file.peek(8).startswith(BYTE_ORDER_MARK):
                file.read(len(BYTE_ORDER_MARK))
        except DECODING_ERRORS as error:
            raise data_error(path, f"it cannot be read: {explain(error)}") from error
        yield file, lambda: min(1.0, stored.tell() / size) if size else 0.0


def explain(error: BaseException) -> str:
    """Say what an error means, without the name of the file that messages of the system repeat."""
    return str(error.strerror if isinstance(error, OSError) and error.strerror else error)
