"""Parsed data beside the downloads, so that text is parsed once.

A parsed file has the SHA-256 of its sources, and of the recipe that was used, in its name. So it can never be taken for
what it is not: other sources have another name. It lies in the folder for downloads, never in a folder that the user
names, which may be shared, or meant to stay as it is; permissions alone do not tell, as an administrator may write
anywhere. Where the folder cannot be written to, parsing is repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from smoothperf.io import DataError, read_data, write_npz

from .folders import Found, cache_folder
from .recipes import RECIPES, Made, Part

#: Counted up when recipes change what they make.
VERSION = 1
#: Bytes of sources that are worth a parsed file; fewer are parsed in no time.
WORTH_IT = 2**18


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parsed(found: Found) -> Made:
    """Make the matrices of a form, or read those that were made of the same files before."""
    if sum(path.stat().st_size for path in found.paths) < WORTH_IT:
        return RECIPES[found.form.recipe](found.paths, found.form)
    key = _key(found)
    paths = [cache_folder() / f"{found.paths[0].name}.{part}.{key}.npz" for part in ("train", "other")]
    made = _read(*paths)
    if made is None:
        made = RECIPES[found.form.recipe](found.paths, found.form)
        with suppress(OSError):
            _write(paths, made)
    return made


def _key(found: Found) -> str:
    form = found.form
    text = " ".join([str(VERSION), form.recipe, form.topic, str(form.n_features), *map(sha256, found.paths)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(train: Path, other: Path) -> Made | None:
    """Read what was made before; None if it is not there or damaged, and then it is made again."""
    if not train.exists():
        return None
    try:
        parts = [Part(data.X, data.y) for data in (read_data(path) for path in (train, other) if path.exists())]
    except DataError:
        return None
    return parts[0], parts[1] if len(parts) > 1 else None


def _write(paths: Sequence[Path], made: Made) -> None:
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    # The training rows come last: where they are, the other rows are too.
    for path, part in reversed(list(zip(paths, made, strict=True))):
        if part is not None:
            write_npz(path, part.X, np.asarray(part.y))
