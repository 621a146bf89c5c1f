"""Folders with data: one of the user's, searched first, and one for downloads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .registry import ENDINGS, File, Form, PaperDataset

#: Names the folder to search first, if no other is given.
DATA_VARIABLE = "SMOOTHPERF_DATA"
#: Names the folder for downloads and parsed files, instead of the user's cache folder.
CACHE_VARIABLE = "SMOOTHPERF_CACHE"


@dataclass(frozen=True)
class Found:
    """A form of a data set that is there, and its files."""

    form: Form
    paths: tuple[Path, ...]


def cache_folder() -> Path:
    """Return the folder for downloads and parsed files; it need not exist yet."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "smoothperf"


def search_folders(data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders to search, in order; a folder that was named must exist."""
    named = os.fspath(data_dir) if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if not named:
        return [cache_folder()]
    folder = Path(named)
    if not folder.is_dir():
        source = "data_dir" if data_dir is not None else DATA_VARIABLE
        raise ValueError(f"{source} must name a folder, but there is none at {named!r}.")
    return [folder, cache_folder()]


def find(entry: PaperDataset, folders: list[Path]) -> Found | None:
    """Look for the forms of a data set, in every folder before the next; None if none is complete."""
    for folder in folders:
        for form in entry.forms:
            paths = list(_files_of(form, folder))
            complete = all(path is not None or file.optional for file, path in zip(form.files, paths, strict=True))
            if complete:
                return Found(form, tuple(path for path in paths if path is not None))
    return None


def _files_of(form: Form, folder: Path) -> Iterator[Path | None]:
    for file in form.files:
        candidates = (folder / name for name in names_of(file, form))
        yield next((path for path in candidates if path.is_file()), None)


def names_of(file: File, form: Form) -> list[str]:
    """Return the names under which a file is looked for.

    Examples
    --------
    >>> from reproduction.datasets.registry import describe
    >>> form = describe("adult9").forms[0]
    >>> names_of(form.files[0], form)[:3]
    ['a9a.svm', 'a9a.svm.bz2', 'a9a.svm.gz']
    """
    return [file.stem + ending for ending in ENDINGS] if form.recipe == "svmlight" else [file.stem]
