"""A data set of the paper by its name, divided as the paper divides it.

The paper trains on all rows of a set's training file (Table 1 has their number), and says that validation and test
follow Teo et al. (2010). So: where there is a second file, all rows of the first are for training, and those of the
second are halved. Where there is one file, the share of the rows to train on is that of Table 1 (90 % of covertype,
60 % of worm, 80 % of the others), and the rest is halved. The halves are drawn at random with a fixed seed, and have
the same share of positives.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cache import parsed
from .folders import find, names_of, search_folders
from .recipes import Part
from .registry import PaperDataset, Relation, describe

SEED = 0


class MissingDataError(ValueError):
    """A data set is in none of the folders; one line says what was looked for and how to get it.

    Examples
    --------
    >>> import tempfile
    >>> try:
    ...     load("web8", data_dir=tempfile.mkdtemp())
    ... except MissingDataError as error:
    ...     print(str(error)[:4])
    web8
    """


@dataclass(frozen=True)
class PaperData:
    """A data set of the paper, or what stands in for it.

    Attributes
    ----------
    name : str
        The paper's name.
    relation : Relation
        Whether it is the paper's set, part of it, or a stand-in.
    note : str
        Its origin, and how it became a matrix.
    train, validation, test : Part
        Pairs ``(X, y)`` with labels -1 and +1.
    files : tuple of Path
        The files that were read.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> rows = Part(sp.csr_matrix([[1.0], [-1.0]]), np.array([1, -1]))
    >>> data = PaperData("tiny", Relation.STAND_IN, "made up", train=rows, validation=rows, test=rows, files=())
    >>> data.train.X.shape, data.relation.value
    ((2, 1), 'a stand-in, re-made')
    """

    name: str
    relation: Relation
    note: str
    train: Part
    validation: Part
    test: Part
    files: tuple[Path, ...]


def load(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> PaperData:
    r"""Load a data set by the paper's name for it. Nothing is downloaded: :func:`fetch` does that.

    Parameters
    ----------
    name : str
        adult9, astro-ph, aut-avn, covertype, news20, real-sim, reuters-c11, reuters-ccat, web8, worm or kdd99.
    data_dir : path-like, optional
        Folder that is searched before the folder for downloads; the environment variable SMOOTHPERF_DATA by default.

    Returns
    -------
    PaperData
        Look at its ``relation``: what a folder has may be part of the paper's set, or a stand-in.

    Raises
    ------
    MissingDataError
        If it is not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a9a.svm").write_text("+1 1:1 5:1\n-1 2:1\n" * 50)
    >>> data = load("adult9", data_dir=folder)
    >>> data.relation.value, data.train.X.shape, data.test.X.shape
    ("the paper's set", (80, 123), (10, 123))
    """
    entry = describe(name)
    folders = search_folders(data_dir)
    found = find(entry, folders)
    if found is None:
        raise MissingDataError(missing(entry, folders))
    train, other = parsed(found)
    if other is None:
        train, other = _split(name, train, entry.train_share)
    validation, test = _split(name, other, 0.5)
    return PaperData(name, found.form.relation, found.form.note, train, validation, test, found.paths)


def missing(entry: PaperDataset, folders: list[Path]) -> str:
    """Say in one line that a data set is not there, and what to do."""
    wanted = [names_of(file, form)[0] for form in entry.forms for file in form.files[:1]]
    places = " or ".join(str(folder) for folder in folders)
    remedy = (
        f"'python -m reproduction fetch {entry.name}' downloads it"
        if entry.form_to_fetch is not None
        else "it cannot be fetched, bring the file"
    )
    return f"{entry.name} is missing: no {' or '.join(wanted)} (or compressed) in {places}; {remedy}."


def _split(name: str, part: Part, share: float) -> tuple[Part, Part]:
    """Draw a share of the rows; the order of the rows stays."""
    from sklearn.model_selection import train_test_split

    if np.unique(part.y, return_counts=True)[1].min() < 2:
        raise ValueError(f"{name}: a class has one example only, so that the rows cannot be divided.")
    rows: Any = np.arange(part.y.shape[0])
    one, other = train_test_split(rows, train_size=share, stratify=part.y, random_state=SEED)
    return _rows(part, np.sort(one)), _rows(part, np.sort(other))


def _rows(part: Part, rows: NDArray[np.int64]) -> Part:
    return Part(part.X[rows], part.y[rows])
