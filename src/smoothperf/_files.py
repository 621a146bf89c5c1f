"""Files that are written whole or not at all.

What is not whole yet has a name of its own beside the target, ``.target.<32 hex digits>.part``, and is locked by
whoever writes it. A process that is killed leaves such a file behind, but no lock: so the next one that writes to the
same target can tell it from the file of a process that is alive, on whatever machine, and removes it.
"""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


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
    _remove_leftovers(target)
    temporary, lock = _new_file(target)
    try:
        with temporary.open("r+b", buffering) as file:
            yield file
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _new_file(target: Path) -> tuple[Path, int | None]:
    """Make an empty file for what is to become the target, and lock it: the lock ends when its descriptor is closed.

    Not with tempfile, whose files nobody else may read.
    """
    while True:
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        lock = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if sys.platform == "win32":  # where nobody can remove a file that is open
            os.close(lock)
            return temporary, None
        with suppress(OSError):  # there are file systems without locks, where leftovers stay
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Before it was locked, somebody may have taken it for a leftover.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(temporary)):
                return temporary, lock
        os.close(lock)


def _remove_leftovers(target: Path) -> None:
    """Remove what processes that are no more have begun to write to the target."""
    if sys.platform == "win32":
        return
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{32}\.part")
    with suppress(OSError):  # that the folder cannot be read, or a file not be removed, is no reason not to go on
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_if_nobody_writes(entry.path)


def _remove_if_nobody_writes(path: str) -> None:
    with suppress(OSError), open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
