"""Files and folders that are written whole or not at all.

What is not whole yet has a name of its own beside the target, ``.target.<32 hex digits>.part``, and is locked by
whoever writes it. A process that is killed leaves such a one behind, but no lock: so the next one that writes to the
same target can tell it from the file of a process that is alive, on whatever machine, and removes it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its name when the block ends without an error.

    Whoever looks at the path sees the old file or the new one, never half of one.

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
    temporary, lock = _new(target, folder=False)
    try:
        with temporary.open("r+b") as file:
            yield file
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def folder_written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a temporary folder beside ``path`` that takes its name when the block ends without an error.

    An earlier file of the name is removed then. There is a moment in which nothing has it: what was there is called
    ``.target.<32 hex digits>.old`` meanwhile, and stays so if the process is killed just then.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "greetings")
    >>> with folder_written_whole(target) as folder:
    ...     count = (folder / "first").write_bytes(b"hello")
    >>> (target / "first").read_bytes()
    b'hello'
    """
    target = Path(path)
    _remove_leftovers(target)
    temporary, lock = _new(target, folder=True)
    try:
        yield temporary
        old = temporary.with_suffix(".old")
        if os.path.lexists(target):
            os.rename(target, old)
        try:
            os.rename(temporary, target)
        except OSError:
            if os.path.lexists(old):
                os.rename(old, target)
            raise
        if os.path.lexists(old):
            _remove(old)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _new(target: Path, *, folder: bool) -> tuple[Path, int | None]:
    """Make an empty file or folder for what is to become the target, and lock it until its descriptor is closed.

    Not with tempfile, whose files nobody else may read.
    """
    while True:
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
        if folder:
            temporary.mkdir()
        else:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        if sys.platform == "win32":  # where nobody can remove a file that is open
            return temporary, None
        with suppress(FileNotFoundError):
            lock = os.open(temporary, os.O_RDONLY)
            with suppress(OSError):  # there are file systems without locks, where leftovers stay
                fcntl.flock(lock, fcntl.LOCK_EX)
            # Before it was locked, somebody may have taken it for a leftover.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), os.stat(temporary)):
                    return temporary, lock
            os.close(lock)


def _remove(path: str | Path) -> None:
    """Remove a file, a link or a folder."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _remove_leftovers(target: Path) -> None:
    """Remove what processes that are no more have begun to write to the target."""
    if sys.platform == "win32":
        return
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{32}\.part")
    with suppress(OSError):  # that the folder cannot be read, or a file not be removed, is no reason not to go on
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name) and not entry.is_symlink():
                _remove_if_nobody_writes(entry.path)


def _remove_if_nobody_writes(path: str) -> None:
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
        finally:
            os.close(lock)
