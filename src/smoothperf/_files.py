"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike[str], *, buffering: int = -1) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its name when the block ends without an error.

    Whoever looks at the path sees the old file or the new one, never half of one. ``buffering`` is that of ``open``.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "greeting")
    >>> with written_whole(target) as file:
    ...     count = file.write(b"hello")
    >>> target.read_bytes()
    b'hello'
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        # Opened here rather than with tempfile, whose files nobody else may read.
        with temporary.open("x+b", buffering) as file:
            yield file
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
