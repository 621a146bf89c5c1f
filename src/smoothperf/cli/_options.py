"""Arguments and options that several commands have, with the same words everywhere, alone or in groups."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from ._rankings import Queried

DATA_FORMATS = "svmlight/libsvm text (plain, .gz, .bz2, .xz), .npz, CSV, Parquet, .xlsx or a store"

Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"Examples with labels: {DATA_FORMATS}.")]
NewData = Annotated[Path, typer.Argument(metavar="DATA", help=f"Examples: {DATA_FORMATS}.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that 'smoothperf train' saved.")]
MeasureName = Annotated[
    str | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="NAME",
        show_default=False,
        help="What to be good at: prbep, roc_area, roc_area@0.1, precision@100, recall@5%, f1, f2, "
        "jaccard, error_rate, error_rate@10:1, balanced_error_rate (balanced_accuracy), log_loss, squared_hinge, "
        "average_precision, pos@top, mcc, recall@precision=0.9, precision@recall=0.8, recall@fpr=0.01; of rankings: "
        "ndcg@10, ndcg, pairs, precision@5, recall@5, map, mrr, squared_loss, pooled_squared_loss. By default "
        "roc_area, or ndcg@10 if rows have queries.",
    ),
]
Bound = Annotated[
    str,
    typer.Option(
        "--bound",
        metavar="KIND",
        help="Which risk to train with: 'convex' or 'tight' is that of the measure; 'auto' chooses among these and "
        "others by rows held out: log loss and squared hinge, or, of rankings, squared loss and pairs. With --alpha "
        "NUMBER it is convex, and tight where that is least at w = 0.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="KIND",
        show_default=False,
        help="How to scale the features for training: standard (the default), maxabs or none. The model is for the "
        "features as they are.",
    ),
]
Nonnegative = Annotated[
    bool,
    typer.Option(
        "--nonnegative", help="No weight below 0: features speak for the positive label or are left out of the model."
    ),
]
PosLabel = Annotated[
    str | None,
    typer.Option(
        "--pos-label", metavar="LABEL", show_default=False, help="The positive label; that which sorts last by default."
    ),
]
SolverName = Annotated[
    str,
    typer.Option(
        "--solver",
        metavar="NAME",
        help="auto, which is lbfgs, or nesterov, newton or bmrm.",
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE", help="Draw it too, as .png, .pdf or .svg (needs matplotlib)."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of everything that is drawn at random.")]
Resamples = Annotated[
    int, typer.Option("--bootstrap", metavar="N", min=1, help="How many resamples the intervals come from.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no information beside the result.")]


def kind_of_scaling(scale: str | None, *, stored: bool = False) -> str:
    """Return how to scale; if nothing is said, a store is not, as that would copy its rows into memory."""
    from .._validation import choice
    from ..design.scaling import KINDS

    if scale is None:
        return "none" if stored else "standard"
    return choice("--scale", scale, KINDS)


class Options:
    """Options that belong together: a command has all of a class of them, whose arguments they are, as one argument."""


@dataclass(frozen=True)
class Form(Queried, Options):
    """The form of a file, as far as the user says so: options of all commands that read one."""

    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="Column with the labels, for CSV and Parquet; MODEL remembers that of its training.",
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="svmlight, npz, csv, parquet, xlsx or store, if it cannot be told from the file.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            show_default=False,
            help="Of the text of a CSV file, such as cp1252 or latin-1; UTF-8 by default.",
        ),
    ] = None
    zero_based: Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--one-based",
            show_default=False,
            help="How indices count in svmlight files. By default from 0 if index 0 occurs in the training data.",
        ),
    ] = None

    @property
    def names_labels(self) -> bool:
        """Whether the user says where the labels are."""
        return self.label is not None


@dataclass(frozen=True)
class LabelForm(Form):
    """The same of a file whose rows may have several labels."""

    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--labels",
            metavar="COLUMN",
            show_default=False,
            help="Column that lists any number of labels ('oil;gas'), or several columns of 0 and 1: a,b,c.",
        ),
    ] = None
    separator: Annotated[str, typer.Option("--separator", metavar="SIGN", help="Between the labels of a row.")] = ";"

    @property
    def names_labels(self) -> bool:
        """Whether the user says where the labels are."""
        return super().names_labels or bool(self.labels)


@dataclass(frozen=True)
class ColumnOptions(Options):
    """The columns of a table, as far as the user says what they are: options of commands that learn from one."""

    drop: Annotated[
        list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave this column out; again for more.")
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", show_default=False, help="Column that only tells rows apart."),
    ] = None
    words: Annotated[
        list[str] | None,
        typer.Option(
            "--words", metavar="COLUMN", help="Column of words that look like numbers, such as codes; again for more."
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option("--text", metavar="COLUMN", help="Column of texts, whose words become features; again for more."),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", metavar="TEXT", help="Cells that stand for a missing value; again for more."),
    ] = None
    decimal: Annotated[str, typer.Option("--decimal", metavar="SIGN", help="Decimal point of numbers.")] = "."
    thousands: Annotated[
        str | None,
        typer.Option("--thousands", metavar="SIGN", show_default=False, help="What separates thousands in numbers."),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the same for a TableEncoder."""
        lists = {name: getattr(self, name) or [] for name in ("drop", "words", "text", "missing")}
        return {**lists, "id_column": self.id_column, "decimal": self.decimal, "thousands": self.thousands}


@dataclass(frozen=True)
class Effort(Options):
    """Limits of training: options of all commands that train."""

    tol: Annotated[
        float, typer.Option("--tol", metavar="GAP", help="Stop when the certified gap to the optimum is at most this.")
    ] = 1e-3
    max_iter: Annotated[int, typer.Option("--max-iter", metavar="N", help="Most iterations.")] = 1000
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, show_default=False, help="Threads; all cores by default."),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the same for an estimator."""
        return {"tol": self.tol, "max_iter": self.max_iter, "n_threads": self.threads}


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Show typer the options of the groups that a command takes in place of these groups."""
    arguments = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, tuple[type, list[inspect.Parameter]]] = {}
    shown: list[inspect.Parameter] = []
    for argument in arguments:
        kind = argument.annotation
        if isinstance(kind, type) and issubclass(kind, Options):
            options = inspect.signature(kind, eval_str=True).parameters.values()
            wanted = [option for option in options if get_origin(option.annotation) is Annotated]
            groups[argument.name] = kind, wanted
            shown += wanted
        else:
            shown.append(argument)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, options) in groups.items():
            given[name] = kind(**{option.name: given.pop(option.name) for option in options})
        command(**given)

    run.__signature__ = inspect.Signature([each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shown])  # type: ignore[attr-defined]
    return run
