"""The columns of CSV and Parquet files, read some rows at a time, and what is checked alike in both.

A column is numbers, with NaN for what is missing, if every value that is not missing is one, or if every one is a truth
value: 0 and 1. Otherwise it is text. That is for the whole column to say. Where rows read earlier seemed to be numbers
and later ones are not, the file is read again, with this column as text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from .dataset import Chunk, Table, data_error, joined, listed, numbers_in
from .delimited import CSV, open_csv, sheet_as_text
from .named import Named
from .parquet import Parquet

TABLES = ("csv", "parquet", "xlsx")
#: Entries that are read at a time.
ENTRIES = 1 << 21


def open_source(
    file: io.BufferedReader, path: Path, format: str, asked: Iterable[str | None], encoding: str | None = None
) -> AbstractContextManager[CSV | Parquet]:
    """Open a table in a file that has been opened; columns ``asked`` for by name may be the index of a frame."""
    if format == "parquet":
        return nullcontext(Parquet(file, path, set(asked)))
    return (
        open_csv(sheet_as_text(file, path), path, None, format) if format == "xlsx" else open_csv(file, path, encoding)
    )


def read_columns(
    file: io.BufferedReader,
    path: Path,
    format: str,
    named: Named,
    *,
    labelled: bool = True,
    encoding: str | None = None,
    only: list[str] | None = None,
    text: Collection[str] | None = (),
) -> Table:
    """Read a whole table, or ``only`` some columns; those of ``text``, all for None, as they are written."""
    begin = file.tell() if file.seekable() else None
    again: set[str] = set()
    while True:
        with open_source(file, path, format, (*named.columns, *(only or ())), encoding) as source:
            # From a pipe, which cannot be read again, all rows come at once.
            n_entries = 1 << 62 if begin is None else ENTRIES
            kept = set(source.names if text is None else text)
            parts = list(_parts(source, path, named, n_entries, labelled=labelled, only=only, text=kept | again))
        names = list(parts[0].columns)
        again = {name for name in names if len({part.columns[name].dtype.kind for part in parts}) > 1} - kept
        if begin is None or not again:
            break
        file.seek(begin)
    table = joined(parts)
    for name in set(names) - kept:
        numbers = numbers_in(table.columns[name])
        if numbers is not None:
            table.columns[name] = numbers
    return table.typed()


def table_chunks(
    file: io.BufferedReader,
    path: Path,
    format: str,
    share: Callable[[], float],
    named: Named,
    n_entries: int,
    encoding: str | None = None,
) -> Iterator[Chunk]:
    """Yield the rows of a table of numbers, about so many entries at a time; labels and queries as they are written."""
    with open_source(file, path, format, named.columns, encoding) as source:
        for table in _parts(source, path, named, n_entries):
            data = table.plain(", as a store holds numbers alone: the command 'smoothperf convert' does")
            read = share() if isinstance(source, CSV) else (table.first_row + table.n_rows) / source.n_rows
            yield data.chunk(slice(None), read)


def _parts(
    source: CSV | Parquet,
    path: Path,
    named: Named,
    n_entries: int,
    *,
    labelled: bool = True,
    only: list[str] | None = None,
    text: Collection[str] = (),
) -> Iterator[Table]:
    """Yield so many entries at a time, some columns as text; labels and queries come as they are written."""
    named = named.in_file(source.names)
    named.check(source.names, path, labelled=labelled)
    features = [name for name in source.names if name not in named.columns]
    if only is not None:
        check_names(only, features, path)
        features = [name for name in features if name in only]
    if not labelled:
        named = named._replace(label=None, labels=())
    beside = set(named.columns)
    done = 0
    for columns, lines in source.parts(beside.union(features), beside.union(text), n_entries // len(source.names) or 1):
        part = Table(path, source.format, columns, None, len(columns[features[0]]), lines, first_row=done)
        yield named.take(columns, part)
        done += part.n_rows
    if done == 0:
        raise data_error(path, "there are no examples in it")


def check_names(wanted: list[str], found: list[str], path: Path, known: Collection[str] = ()) -> None:
    """Refuse a table that lacks columns of training, and name them; known columns are not new, though not needed."""
    missing = [name for name in wanted if name not in set(found)]
    if not missing:
        return
    new = [name for name in found if name not in {*wanted, *known}]
    renamed = f"; new are {listed(new)}: rename those that are meant" if new else ""
    raise data_error(path, f"it lacks the column{'s' * (len(missing) > 1)} {listed(missing)} of training{renamed}")
