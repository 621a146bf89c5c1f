"""Names of the columns of a table that are no features: those of labels and of queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from . import labels
from .dataset import Table, data_error, listed
from .label_sets import SEPARATOR, sets_of_cells, sets_of_columns
from .labels import MISSING


class Named(NamedTuple):
    """Names of the columns of a table that are no features; None for those that it has not.

    Attributes
    ----------
    label, query : str or None
        The column of labels, and that of queries.
    labels : tuple of str
        The column whose cells list labels, or several columns of 0 and 1, whose names are the labels.
    separator : str
        Between the labels of a cell.
    """

    label: str | None = None
    query: str | None = None
    labels: tuple[str, ...] = ()
    separator: str = SEPARATOR

    @classmethod
    def of(
        cls, label: str | None, query: str | None, labels: str | Sequence[str] | bool | None, separator: str
    ) -> Self:
        """Return names as arguments give them."""
        several = (labels,) if isinstance(labels, str) else () if isinstance(labels, bool) else tuple(labels or ())
        return cls(label, query, several, separator)

    @classmethod
    def remembered(cls, origin: Mapping[str, str]) -> Self:
        """Return the names that a model remembers of the table that it has learnt from."""
        label, query, labels, separator = map(origin.get, cls._fields)
        return cls.of(label, query, labels, separator or SEPARATOR)

    @classmethod
    def to_remember(cls, options: Mapping[str, Any]) -> dict[str, str]:
        """Return names for :meth:`remembered`."""
        names = cls._fields if options.get("labels") else ("label", "query")
        given = {name: options[name] for name in names if options.get(name)}
        return {name: value if isinstance(value, str) else ",".join(value) for name, value in given.items()}

    @property
    def of_labels(self) -> str:
        """The column or columns of labels."""
        return self.label or ",".join(self.labels)

    def with_usual(self, usual: Self) -> Self:
        """Return the same with the usual columns, if no labels are named."""
        if self.of_labels:
            return self
        return usual._replace(query=self.query or usual.query)

    @property
    def columns(self) -> list[str]:
        """All these columns."""
        return [name for name in (self.label, self.query, *self.labels) if name is not None]

    def in_file(self, found: list[str]) -> Self:
        """Return the same with names that were given with commas between as several, unless a column has that name."""
        several = (name for given in self.labels for name in ([given] if given in found else given.split(",")))
        return self._replace(labels=tuple(several))

    def check(self, names: list[str], path: Path, *, labelled: bool) -> None:
        """Refuse a table without these columns, or with nothing beside them."""
        label, query = self.label, self.query
        if labelled and label is not None and self.labels:
            raise data_error(path, f"label={label!r} is for one label, labels={self.labels[0]!r} for several: give one")
        if labelled and label is None and not self.labels:
            hint = "say with label= or --label which column holds the labels (labels= or --labels if rows have several)"
            raise data_error(path, f"{hint}; there are {listed(names)}")
        several = [(name, "labels") for name in self.labels if labelled]
        for name, what in ((label if labelled else None, "labels"), (query, "queries"), *several):
            if name is not None and name not in names:
                raise data_error(path, f"there is no column {name!r} for the {what}; there are {listed(names)}")
        if query is not None and query in (label, *self.labels):
            raise data_error(path, f"the column {query!r} cannot hold both the labels and the queries")
        if set(names) <= set(self.columns):
            others = f" beside {listed(self.columns)}" if query is None else f" beside the queries, column {query!r}"
            rest = f": {names[0]!r} is the only column" if len(names) == 1 else others
            raise data_error(path, f"there are no features{rest}")

    def take(self, columns: dict[str, NDArray[Any]], part: Table) -> Table:
        """Take these columns out of the others, to be labels and queries of a part; none may be missing."""
        y, qid = (None if name is None else columns.pop(name) for name in (self.label, self.query))
        several = {name: columns.pop(name) for name in self.labels}
        if len(several) == 1:
            y = sets_of_cells(several[self.labels[0]], self.separator)
        elif several:
            y = sets_of_columns(several, part.error)
        elif y is not None:
            remedy = "if rows may have none, or several, say labels= or --labels"
            reason = f"the label, column {self.label!r}, is missing; {remedy}"
            y = _known(part, y, reason, {""}, "its labels are")
        if qid is not None:
            subject = f"the queries, column {self.query!r}, are"
            qid = _known(part, qid, f"the query, column {self.query!r}, is missing", MISSING, subject)
        return replace(part, y=y, qid=qid)


#: No names.
NONE = Named()


def _known(table: Table, values: NDArray[Any], reason: str, missing: Collection[str], subject: str) -> NDArray[Any]:
    """Return labels or queries, none of them missing, text in NumPy's type for it."""
    for row, value in enumerate(values.tolist()):
        if value is None or value != value or (isinstance(value, str) and value in missing):
            raise table.error(row, reason)
    if all(isinstance(value, str) for value in values):
        values = values.astype(str)
    problem = labels.problem_of(values, table.n_rows, first_row=table.first_row + 1)
    if problem is not None:
        raise data_error(table.path, problem.replace("its labels are", subject))
    return values
