"""``smoothperf convert``: from any data file to a store, which ``smoothperf train`` maps into memory."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._errors import fail
from ._features import tell_columns
from ._files import check_writable, read_rows, reading
from ._screen import Screen
from .kinds import kind_of_rows
from .kinds.labels import summary_lines

MIB = 1 << 20


def convert(
    data: options.Data,
    output: Annotated[
        Path | None, typer.Argument(metavar="STORE", help="Where the store goes.", show_default=False)
    ] = None,
    *,
    float32: Annotated[
        bool, typer.Option("--float32", help="Keep values in single precision: half the space of each value.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Make no store, but compare the checksums of DATA, which is one.")
    ] = False,
    columns: options.ColumnOptions,
    form: options.Form,
    screen: Screen,
) -> None:
    """Make a store of a file, to train from data that do not fit into memory.

    Example: smoothperf convert huge.svm.gz huge.store

    Then: smoothperf train huge.store -o model

    The file is read once, in memory that does not depend on its size. The store,
    a folder, appears when it is complete; until then, and if anything goes
    wrong, a store of that name stays as it was. Anything else of that name is
    an error.

    A table with words, dates or missing values is read into memory. The store has
    the numbers that they become, learnt from all rows but not from the labels, and
    models that are trained from it predict tables.

    Later: smoothperf convert --verify huge.store
    """
    if verify:
        if output is not None:
            fail(f"--verify writes nothing: leave out {output}.")
        _verify(screen, data)
        return
    if output is None:
        fail("say where the store goes: smoothperf convert DATA STORE.")
    check_writable(output, folder=True)

    from ..io import convert as make_store
    from ..io import open_store, read_data
    from ..io.dataset import NotNumbersError

    dtype = "float32" if float32 else "float64"
    try:
        if columns != options.ColumnOptions():
            raise NotNumbersError
        with screen.progress.status(reading(data)) as status:
            make_store(
                data,
                output,
                **asdict(form),
                dtype=dtype,
                progress=lambda share, rows: status.update(f"{reading(data)}: {share:.0%}, {rows:,} rows"),
            )
    except NotNumbersError:
        _encode(screen, data, output, dtype, columns, form)
    found, size = read_data(output), open_store(output).n_bytes
    for line in summary_lines(found):
        screen.say(line)
    kind = kind_of_rows(screen, found, [], form)
    groups = kind.count(found) if kind.ranks else None
    if groups is not None:
        screen.say(f"{kind.unit.capitalize()}: {groups:,}")
    screen.say(f"Saved: {output}, {size / MIB:,.1f} MiB")
    screen.document(
        {
            "command": "convert",
            "data": data,
            "store": output,
            "rows": found.X.shape[0],
            "features": found.X.shape[1],
            "entries": getattr(found.X, "nnz", found.X.size),
            "queries": groups,
            "bytes": size,
        }
    )


def _encode(
    screen: Screen, data: Path, output: Path, dtype: str, columns: options.ColumnOptions, form: options.Form
) -> None:
    """Make a store of what an encoder makes of a table, and keep the encoder with it."""
    from ..io import StoreWriter
    from ..io.named import Named

    rows = read_rows(screen, data, form, columns=columns)
    if rows.encoder is None:
        fail(f"{data}: a file of the {rows.format} format has no columns that options could be about.")
    encoder = rows.encoder
    tell_columns(screen, encoder)
    with StoreWriter(output, dtype=dtype) as writer:
        writer.add_rows(replace(rows, X=encoder.transform(rows.X)))
        writer.feature_names = encoder.get_feature_names_out().tolist()
        writer.encoder = encoder
        writer.source = {"name": data.name, "format": rows.format, **Named.to_remember(asdict(form))}


def _verify(screen: Screen, path: Path) -> None:
    """Compare all checksums of a store."""
    from ..io import open_store

    store = open_store(path)
    with screen.progress.status(reading(path)) as status:
        store.verify(lambda share: status.update(f"{reading(path)}: {share:.0%}"))
    screen.say(f"{path}: {store.n_bytes / MIB:,.1f} MiB, as they were written")
    screen.document({"command": "convert", "store": path, "bytes": store.n_bytes, "intact": True})
