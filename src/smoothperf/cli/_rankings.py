"""The option for rankings, which is one of the options of all commands that read a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Queried:
    """The column of queries, if the user names one."""

    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            metavar="COLUMN",
            show_default=False,
            help="Column with the query of each row, for rankings from CSV and Parquet; svmlight has qid:.",
        ),
    ] = None

    @property
    def has_groups(self) -> bool:
        """Whether a column is named that says which rows belong together."""
        return self.query is not None
