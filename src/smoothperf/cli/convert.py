"""``smoothperf convert``: from any data file to a store, which ``smoothperf train`` reads while it computes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as options
from ._errors import one_line_errors
from ._files import check_writable, reading, summary_lines
from ._screen import Screen

MIB = 1 << 20


@one_line_errors
def convert(
    data: options.Data,
    output: Annotated[Path, typer.Argument(metavar="STORE", help="Where the store goes.")],
    float32: Annotated[
        bool, typer.Option("--float32", help="Keep values in single precision: two thirds of the space and time.")
    ] = False,
    block_size: Annotated[
        int, typer.Option("--block-size", metavar="MIB", min=1, help="Size of a block; training keeps three in memory.")
    ] = 32,
    label: options.Label = None,
    query: options.Query = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a store of a file, to train from data that do not fit into memory.

    Example: smoothperf convert huge.svm.gz huge.store

    Then: smoothperf train huge.store -o model

    The file is read once, in memory that does not depend on its size. The store
    appears when it is complete; until then, and if anything goes wrong, a file
    of that name stays as it was.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    check_writable(output)

    from ..io import convert as make_store
    from ..io.store import open_store
    from ._files import as_dataset

    with screen.progress.status(reading(data)) as status:
        make_store(
            data,
            output,
            label=label,
            query=query,
            format=format,
            zero_based=zero_based,
            dtype="float32" if float32 else "float64",
            block_size=block_size * MIB,
            progress=lambda share, rows: status.update(f"{reading(data)}: {share:.0%}, {rows:,} rows"),
        )
    store = open_store(output)
    for line in summary_lines(as_dataset(store)):
        screen.say(line)
    qid = store.qid()
    number_of_queries = None if qid is None else len(set(qid.tolist()))
    if number_of_queries is not None:
        screen.say(f"Queries: {number_of_queries:,}")
    size = output.stat().st_size
    number = len(store.blocks)
    screen.say(f"Saved: {output}, {size / MIB:,.1f} MiB, {number:,} block{'s' if number > 1 else ''}")
    screen.document(
        {
            "command": "convert",
            "data": data,
            "store": output,
            "rows": store.shape[0],
            "features": store.shape[1],
            "entries": store.n_entries,
            "blocks": number,
            "queries": number_of_queries,
            "bytes": size,
        }
    )
