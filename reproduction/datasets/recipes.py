"""From the files of a form to matrices and labels -1 and +1."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from smoothperf.io import read_data
from smoothperf.io.dataset import data_error
from smoothperf.io.streams import uncompressed

from .registry import Form


class Part(NamedTuple):
    """Rows and their labels.

    Examples
    --------
    >>> part = Part(sp.csr_matrix([[1.0, 0.0], [0.0, 2.0]]), np.array([1, -1]))
    >>> X, y = part
    >>> X.shape, y
    ((2, 2), array([ 1, -1]))
    """

    X: sp.csr_matrix
    y: NDArray[np.int64]


#: Training rows and, if there are any, other rows.
Made = tuple[Part, Part | None]
#: KDD Cup 99: columns of words, and rows at a time.
KDD99_WORDS = (1, 2, 3)
KDD99_COLUMNS = 42
CHUNK = 100_000


def svmlight(paths: Sequence[Path], form: Form) -> Made:
    """Training rows, and other rows if there is a second file; the larger of two labels is positive."""
    train = read_data(paths[0], format="svmlight", n_features=form.n_features)
    made = Part(train.X, _signs(train.y, paths[0]))
    if len(paths) == 1:
        return made, None
    # The first feature need not occur in a test file: indices count as they did in training.
    other = read_data(paths[1], format="svmlight", n_features=train.X.shape[1], zero_based=train.zero_based)
    return made, Part(other.X, _signs(other.y, paths[1]))


def rcv1(paths: Sequence[Path], form: Form) -> Made:
    """LYRL2004 vectors, whose lines begin with the number of a document, and the list of the topics of documents."""
    vectors, others, topics = paths
    wanted = form.topic.encode()
    members = []
    with uncompressed(topics) as file:
        for line in file:
            topic, document, _ = line.split()
            if topic == wanted:
                members.append(int(document))
    if not members:
        raise data_error(topics, f"no document has the topic {form.topic}")

    def part(path: Path) -> Part:
        read = read_data(path, format="svmlight", n_features=form.n_features, zero_based=False)
        return Part(read.X, np.where(np.isin(read.y, members), 1, -1))

    return part(vectors), part(others)


def covtype(paths: Sequence[Path], form: Form) -> Made:
    """UCI's table: 54 numbers and the class 1 to 7; columns are scaled to [0, 1]."""
    with uncompressed(paths[0]) as file:
        try:
            table = np.loadtxt(file, delimiter=",", dtype=np.float64, ndmin=2)
        except ValueError as error:
            raise data_error(paths[0], f"it is no table of numbers: {error}") from error
    if table.shape[1] != 55:
        raise data_error(paths[0], f"it has {table.shape[1]} columns where 55 are expected")
    X, classes = table[:, :-1], table[:, -1]
    low = X.min(axis=0)
    width = X.max(axis=0) - low
    X = (X - low) / np.where(width > 0.0, width, 1.0)
    return Part(sp.csr_matrix(X), np.where(classes == 2, 1, -1)), None


def kdd99(paths: Sequence[Path], form: Form) -> Made:
    """Comma-separated connections: 38 numbers that are not negative, three words, and ``normal.`` or an attack."""
    vocabulary: dict[tuple[int, str], int] = {}
    numbers, words, labels = [], [], []
    with uncompressed(paths[0]) as file:
        for rows in _chunks(csv.reader(io.TextIOWrapper(file, "utf-8")), paths[0]):
            columns = [column for column in range(KDD99_COLUMNS - 1) if column not in KDD99_WORDS]
            try:
                values = np.array([[row[column] for column in columns] for row in rows], dtype=np.float64)
            except ValueError as error:
                raise data_error(paths[0], f"a number is none: {error}") from error
            if values.min() < 0.0:
                raise data_error(paths[0], "a number is negative")
            numbers.append(sp.csr_matrix(values))
            places = [vocabulary.setdefault((at, row[at]), len(vocabulary)) for row in rows for at in KDD99_WORDS]
            words.append(np.array(places).reshape(len(rows), len(KDD99_WORDS)))
            labels.append(np.array([row[-1] != "normal." for row in rows]))
    # Indicators in the order of the alphabet, so that the columns do not depend on the order of the rows.
    order = np.empty(len(vocabulary), dtype=np.int64)
    order[[vocabulary[word] for word in sorted(vocabulary)]] = np.arange(len(vocabulary))
    places = order[np.concatenate(words)]
    n = places.shape[0]
    starts = np.arange(0, places.size + 1, len(KDD99_WORDS))
    indicators = sp.csr_matrix((np.ones(places.size), np.sort(places, axis=1).ravel(), starts), (n, len(vocabulary)))
    stacked: Any = sp.vstack(numbers, format="csr")
    largest = stacked.max(axis=0).toarray().ravel()
    scaled = stacked @ sp.diags(1.0 / np.where(largest > 0.0, largest, 1.0))
    return Part(sp.hstack([scaled, indicators], format="csr"), np.where(np.concatenate(labels), 1, -1)), None


def _chunks(rows: Iterator[list[str]], path: Path) -> Iterator[list[list[str]]]:
    line = 0
    while chunk := list(islice(rows, CHUNK)):
        for row in chunk:
            line += 1
            if len(row) != KDD99_COLUMNS:
                raise data_error(path, f"{len(row)} columns where {KDD99_COLUMNS} are expected", line=line)
        yield chunk
    if line == 0:
        raise data_error(path, "it is empty")


def _signs(labels: NDArray[Any], path: Path) -> NDArray[np.int64]:
    """-1 and +1 for the smaller and the larger of two labels."""
    found = np.unique(labels)
    if found.size != 2:
        raise data_error(path, f"it has {found.size} kinds of labels where 2 are expected")
    return np.where(labels == found[1], 1, -1)


RECIPES: dict[str, Callable[[Sequence[Path], Form], Made]] = {
    "svmlight": svmlight,
    "rcv1": rcv1,
    "covtype": covtype,
    "kdd99": kdd99,
}
