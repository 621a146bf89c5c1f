"""CSV: names of the columns in the first line, then rows, of which pandas makes columns.

Of comma, semicolon and tab, the most frequent in the first line separates the fields. pandas fills lines that are too
short, counts rows and not lines, and knows no line once it has read it. So it reads through :class:`CountedLines`,
which counts the fields and notes the line in which each row begins.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .dataset import INDEX, damage_as_data_error, data_error
from .labels import MISSING
from .streams import DECODING_ERRORS, explain

DELIMITERS = ",;\t"
#: Columns by name, and the lines of the rows where the file has lines.
TablePart = tuple[dict[str, NDArray[Any]], "NDArray[np.int64] | None"]


@contextmanager
def open_csv(file: IO[bytes], path: Path, encoding: str | None = None, format: str = "csv") -> Iterator[CSV]:
    """Read the first line of a file that has been opened, and leave it open."""
    try:
        text = io.TextIOWrapper(file, encoding=encoding or "utf-8", newline="")
    except LookupError as error:
        raise data_error(path, f"there is no encoding {encoding!r}; there are utf-8, cp1252, latin-1, ...") from error
    try:
        yield CSV(text, path, format)
    finally:
        text.detach()


def sheet_as_text(file: io.BufferedReader, path: Path) -> io.BytesIO:
    """Return the first sheet of an Excel file as CSV."""
    import pandas as pd

    with damage_as_data_error(path, "it is not a sound Excel file; save the sheet as CSV"):
        try:
            sheet = pd.read_excel(file, engine="openpyxl", dtype=object, na_filter=False)
        except ImportError as error:
            reason = "Excel files need openpyxl: pip install 'smoothperf[excel]', or save the sheet as CSV"
            raise data_error(path, reason) from error
    return io.BytesIO(sheet.to_csv(index=False).encode())


class CountedLines(io.TextIOBase):
    """The rows of a text without blank lines, all of them of so many fields; ``lines`` says where each begins."""

    def __init__(self, text: io.TextIOBase, path: Path):
        self._text, self._path = text, path
        self._line = 0
        self.delimiter = ","
        self.n_fields = 0
        self.lines = array("q")

    def header(self) -> tuple[str, int]:
        """Return the first line that is not blank, and its number."""
        return next((line for line in self._checked() if not line.isspace()), ""), self._line

    def read(self, size: int | None = -1, /) -> str:
        """Return about so many characters more: whole rows."""
        rows: list[str] = []
        wanted = size if size is not None and size >= 0 else float("inf")
        for row in self._checked():
            if row.isspace():
                continue
            self.lines.append(self._line)
            n_fields = row.count(self.delimiter) + 1
            if '"' in row:
                row, n_fields = self._quoted(row)
            if n_fields != self.n_fields:
                reason = f"{n_fields} fields where the first line names {self.n_fields} columns"
                raise data_error(self._path, reason, line=self.lines[-1])
            rows.append(row)
            wanted -= len(row)
            if wanted <= 0:
                break
        return "".join(rows)

    def _checked(self) -> Iterator[str]:
        """Yield lines, and say what is wrong with them."""
        try:
            for line in self._text:
                self._line += 1
                if "\0" in line:
                    raise data_error(
                        self._path,
                        "there is a zero byte in it, as text has none, but for that with --encoding utf-16",
                        line=self._line,
                    )
                yield line
        except UnicodeDecodeError as error:
            # Text is decoded before it is split into lines.
            known = self._text.encoding.upper() if isinstance(self._text, io.TextIOWrapper) else "UTF-8"
            remedy = "say which encoding it has with --encoding (encoding=), often cp1252, latin-1 or utf-16"
            reason = f"it is not {known} text: {error.reason} at or after this line; {remedy}"
            raise data_error(self._path, reason, line=self._line + 1) from error
        except DECODING_ERRORS as error:
            reason = f"it cannot be read further: {explain(error)}"
            raise data_error(self._path, reason, line=self._line) from error

    def _quoted(self, line: str) -> tuple[str, int]:
        """Return a row with quotes, which may go on in the next lines, and the number of its fields."""
        begin, taken = self._line, [line]

        def lines() -> Iterator[str]:
            yield line
            for another in self._checked():
                taken.append(another)
                yield another

        try:
            fields = next(csv.reader(lines(), delimiter=self.delimiter, skipinitialspace=True))
        except csv.Error as error:
            raise data_error(self._path, f"it cannot be read further: {error}", line=begin) from error
        return "".join(taken), len(fields)


class CSV:
    """A text with named columns."""

    def __init__(self, text: io.TextIOBase, path: Path, format: str = "csv"):
        self.format = format
        self._rows, self._path = CountedLines(text, path), path
        header, line = self._rows.header()
        if not header:
            raise data_error(path, "it is empty")
        self._rows.delimiter = max(DELIMITERS, key=header.count)
        self.names = names_of(header, self._rows.delimiter, path, line)
        self._rows.n_fields = len(self.names)

    def parts(self, columns: Collection[str], kept: Collection[str], n_rows: int) -> Iterator[TablePart]:
        """Yield columns, so many rows at a time: text as it is written of those that are ``kept``.

        Of the others, numbers and truth values come as such, with NaN for what is missing, if nothing else is among
        these rows.
        """
        import pandas as pd

        # Numbers as text: without a row, pandas takes numbers for places among the columns that are wanted.
        wanted = {str(place): name for place, name in enumerate(self.names) if name in columns}
        options: dict[str, Any] = {}
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"  # later versions round like this without being asked
        try:
            with pd.read_csv(
                self._rows,
                sep=self._rows.delimiter,
                header=None,
                names=[str(place) for place in range(len(self.names))],
                usecols=list(wanted),
                dtype={place: str for place, name in wanted.items() if name in kept},
                na_values={place: sorted(MISSING) for place, name in wanted.items() if name not in kept},
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                chunksize=n_rows,
                **options,
            ) as frames:
                for frame in frames:
                    lines = np.array(self._rows.lines[: len(frame)])
                    del self._rows.lines[: len(frame)]
                    numbers = frame.select_dtypes("number")
                    found = dict(zip(numbers.columns, numbers.to_numpy(np.float64).T, strict=True))
                    yield (
                        {
                            name: found[place] if place in found else _values(frame[place])
                            for place, name in wanted.items()
                        },
                        lines,
                    )
        except pd.errors.EmptyDataError:
            return  # there are no rows
        except pd.errors.ParserError as error:
            reason = f"it cannot be read further: {error}"
            raise data_error(self._path, reason, line=(self._rows.lines or [1])[-1]) from error


def _values(column: Any) -> NDArray[Any]:
    """Return truth values, or text, "" where it is missing."""
    if column.dtype.kind == "b":
        return np.asarray(column)
    # Beside text, that is what pandas finds truth values with some missing, and whole numbers of more than 64 bits.
    return as_text(column.tolist())


def as_text(values: list[Any]) -> NDArray[Any]:
    """Return an array of text, "" where it is missing."""
    texts = np.empty(len(values), dtype=object)
    texts[:] = ["" if value is None or value != value else str(value).strip() for value in values]
    return texts


def names_of(header: str, delimiter: str, path: Path, line: int) -> list[str]:
    """Return the names of the columns, which the first line has."""
    try:
        names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    except csv.Error as error:
        raise data_error(path, f"the names of the columns cannot be read: {error}", line=line) from error
    if names[0] == "":
        names[0] = INDEX
    if "" in names:
        reason = f"column {names.index('') + 1} has no name; name it, or leave it out if it only counts the rows"
        raise data_error(path, reason, line=line)
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise data_error(path, f"the column {twice!r} occurs twice", line=line)
    return names
