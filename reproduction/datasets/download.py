"""Downloads of public data sets, by pooch."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pooch

from .cache import sha256
from .folders import cache_folder
from .registry import File, Form, describe


def fetch(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """Download the files of a data set that are not there yet, and check those whose SHA-256 is known.

    Parameters
    ----------
    name : str
        The paper's name.
    data_dir : path-like, optional
        Folder for them; the cache folder by default.
    tell : callable, optional
        Gets a line for every file.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    Not every set can be had. ``fetch("adult9")`` downloads; this does not even begin to:

    >>> try:
    ...     fetch("aut-avn")
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    aut-avn cannot be fetched
    """
    entry = describe(name)
    form = entry.form_to_fetch
    if form is None:
        raise ValueError(f"{name} cannot be fetched: {entry.forms[0].note}")
    target = cache_folder() if data_dir is None else Path(data_dir)
    return [_one(file, form, target, tell) for file in form.files if file.url is not None]


def _one(file: File, form: Form, folder: Path, tell: Callable[[str], None]) -> Path:
    path = folder / file.download_name
    if path.exists():
        if file.sha256 is not None and sha256(path) != file.sha256:
            raise ValueError(
                f"{path} is not what {file.url} has (SHA-256 {file.sha256}); it is left as it is: "
                "move it away to fetch the file again."
            )
        tell(f"{path}: there already{'' if file.sha256 else ', its SHA-256 is not known'}")
        return path
    pooch.get_logger().setLevel("ERROR")
    assert file.url is not None
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pooch.retrieve(file.url, known_hash=known, fname=path.name, path=folder)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors; pooch's on hashes are ValueErrors
        raise ValueError(f"{file.url} could not be fetched: {_reason(error)}") from error
    found = sha256(path)
    tell(f"{path}: fetched, SHA-256 {found}{' as it should be' if file.sha256 else ' (not known, so not checked)'}")
    return path


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return "no answer; is there a network?" if "Max retries" in text or "resolve" in text else text
