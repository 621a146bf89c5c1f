"""Table 1: sizes of the data sets, counted, beside those that the paper prints.

The paper's column d holds the number of features for five of the sets, and the number of non-zeros for the other six.
That can be seen from the paper alone: n, times the density, times the true number of features is the number of
non-zeros, which is the number that is printed (:attr:`Row.implied_nonzeros`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .datasets import REGISTRY, PaperDataset
from .datasets.cache import parsed
from .datasets.folders import find, search_folders
from .datasets.loading import load

#: The printed d is taken for the number of non-zeros if it is that close to it, as densities have two digits.
CLOSE = 0.05


@dataclass(frozen=True)
class Row:
    """A line of table1.csv.

    Attributes
    ----------
    dataset : str
        The paper's name.
    have : str
        The paper's set, part of it, a stand-in, missing, or left out.
    file : str
        The file that was counted.
    n, d, nonzeros, positives, empty_rows : int
        Of the file with the training rows; 0 if there is none.
    density : float
        In percent.
    n_train : int
        Rows that are trained on.
    paper_n, paper_d : int
        Printed.
    paper_density : float
        Printed, in percent.
    true_d : int
        Features of the set.
    implied_nonzeros : float
        ``paper_n * true_d * paper_density``.
    slip : bool
        Whether the printed d is the number of non-zeros.
    """

    dataset: str
    have: str
    file: str
    n: int
    d: int
    nonzeros: int
    density: float
    positives: int
    empty_rows: int
    n_train: int
    paper_n: int
    paper_d: int
    paper_density: float
    true_d: int
    implied_nonzeros: float
    slip: bool


def count(
    data_dir: str | os.PathLike[str] | None, *, only: Iterable[str] | None = None, tell: Callable[[str], None]
) -> list[Row]:
    """Count what there is; with ``only``, others that are there are left out, and said to be."""
    folders = search_folders(data_dir)
    lines = []
    for name, entry in REGISTRY.items():
        found = find(entry, folders)
        if found is None:
            lines.append(_line(entry, "missing"))
            tell(f"{name}: missing")
            continue
        if only is not None and name not in only:
            lines.append(_line(entry, "left out"))
            continue
        X, y = parsed(found)[0]
        trained_on = load(name, data_dir=data_dir).train.y.shape[0]
        lines.append(
            _line(
                entry,
                found.form.relation.value,
                file=found.paths[0].name,
                n=X.shape[0],
                d=X.shape[1],
                nonzeros=int(np.count_nonzero(X.data)),
                positives=int((y > 0).sum()),
                empty_rows=int((np.diff(X.indptr) == 0).sum()),
                n_train=trained_on,
            )
        )
        tell(f"{name}: {lines[-1].have}, {X.shape[0]:,} x {X.shape[1]:,}")
    return lines


def _line(
    entry: PaperDataset,
    have: str,
    *,
    file: str = "",
    n: int = 0,
    d: int = 0,
    nonzeros: int = 0,
    positives: int = 0,
    empty_rows: int = 0,
    n_train: int = 0,
) -> Row:
    implied = entry.paper_n * entry.n_features * entry.paper_density / 100.0
    return Row(
        dataset=entry.name,
        have=have,
        file=file,
        n=n,
        d=d,
        nonzeros=nonzeros,
        density=100.0 * nonzeros / (n * d) if n else math.nan,
        positives=positives,
        empty_rows=empty_rows,
        n_train=n_train,
        paper_n=entry.paper_n,
        paper_d=entry.paper_d,
        paper_density=entry.paper_density,
        true_d=entry.n_features,
        implied_nonzeros=implied,
        slip=abs(entry.paper_d / implied - 1.0) < CLOSE,
    )
