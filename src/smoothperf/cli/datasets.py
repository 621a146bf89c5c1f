"""``smoothperf datasets``: the paper's data sets, what is there of them, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._errors import one_line_errors
from ._screen import Screen, table

if TYPE_CHECKING:
    from ..datasets import PaperDataset

app = typer.Typer(no_args_is_help=True, help="Show or fetch the data sets of the paper.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The paper's name, for example adult9.")]


@app.command("list")
@one_line_errors
def list_sets(data_dir: options.DataDir = None, as_json: options.AsJson = False) -> None:
    """List the eleven data sets, and what is there of them.

    Example: smoothperf datasets list --data-dir data
    """
    from ..datasets import REGISTRY

    screen = Screen(as_json=as_json)
    documents = [_document(entry, data_dir) for entry in REGISTRY.values()]
    rows = [
        [
            entry["name"],
            entry["relation"] or "missing",
            Path(entry["files"][0]).name if entry["files"] else "fetch" if entry["can_be_fetched"] else "",
            f"{entry['paper']['n']:,}",
            f"{entry['features']:,}",
        ]
        for entry in documents
    ]
    screen.result(table(["name", "there", "file", "n (paper)", "features"], rows, words=3))
    screen.document({"command": "datasets list", "datasets": documents})


@app.command()
@one_line_errors
def info(name: Name, data_dir: options.DataDir = None, as_json: options.AsJson = False) -> None:
    """Say all that is known of a data set.

    Example: smoothperf datasets info web8
    """
    from ..datasets import describe

    screen = Screen(as_json=as_json)
    entry = describe(name)
    document = _document(entry, data_dir)
    lines = [
        f"{name}: {entry.about}",
        f"In the paper: n {entry.paper_n:,}, d {entry.paper_d:,}, density {entry.paper_density:g} %",
        f"Features: {entry.n_features:,}"
        + ("" if entry.n_features == entry.paper_d else " (the paper's d is the number of non-zeros)"),
        f"There: {document['relation'] or 'nothing'}" + "".join(f"\n  {file}" for file in document["files"]),
        "Forms, in the order in which they are looked for:",
    ]
    for form in entry.forms:
        lines.append(f"- {form.relation.value}. {form.note}")
        for file in form.files:
            where = file.url or "no public location"
            lines.append(f"    {file.stem}: {where}; SHA-256 {file.sha256 or 'unknown'}")
    lines.append(
        "Split: all rows of the first file to train where there is a second, else "
        f"{entry.train_share:.0%}; the rest is halved for validation and test."
    )
    for line in lines:
        screen.say(line)
    screen.document({"command": "datasets info", **document})


@app.command()
@one_line_errors
def fetch(
    name: Name,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", metavar="FOLDER", show_default=False, help="Where to; the cache folder by default."),
    ] = None,
) -> None:
    """Download a data set, and check it where its SHA-256 is known.

    Example: smoothperf datasets fetch web8

    Needs pooch: pip install 'smoothperf[data]'. Files that are there already
    are left as they are.
    """
    from ..datasets import fetch as download

    download(name, data_dir=data_dir, tell=Screen().say)


def _document(entry: PaperDataset, data_dir: Path | None) -> dict[str, Any]:
    """Return a data set for machines."""
    from ..datasets.folders import find, search_folders

    found = find(entry, search_folders(data_dir))
    return {
        "name": entry.name,
        "about": entry.about,
        "paper": {"n": entry.paper_n, "d": entry.paper_d, "density_percent": entry.paper_density},
        "features": entry.n_features,
        "relation": None if found is None else found.form.relation.value,
        "note": None if found is None else found.form.note,
        "files": [] if found is None else list(map(str, found.paths)),
        "can_be_fetched": entry.form_to_fetch is not None,
        "sources": [
            {"file": file.stem, "url": file.url, "sha256": file.sha256} for form in entry.forms for file in form.files
        ],
    }
