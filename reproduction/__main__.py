"""The paper's experiments, and its data sets."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from . import claims, experiments, settings, show, tables
from .datasets import REGISTRY, PaperDataset, describe
from .datasets import fetch as download
from .datasets.folders import find, search_folders
from .results import read

P = ParamSpec("P")
app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, help=__doc__
)

DataDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        show_default=False,
        help="Folder with data sets, searched before the cache; SMOOTHPERF_DATA by default.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The paper's name, for example adult9.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class Experiment(StrEnum):
    """An experiment, or all of them."""

    ALL = "all"
    TABLE1 = "table1"
    FIGURE1 = "figure1"
    FIGURE2 = "figure2"
    FIGURE3 = "figure3"
    FIGURE4 = "figure4"
    RATES = "rates"


#: Two figures show the same runs, and are made together.
FIGURES = {"prbep": (Experiment.FIGURE1, Experiment.FIGURE3), "roc_area": (Experiment.FIGURE2, Experiment.FIGURE4)}


def one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Print errors about what the user gave as one line."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (ValueError, OSError) as error:
            typer.echo(f"reproduction: {error}", err=True)
            raise typer.Exit(2) from None

    return run


@app.command()
@one_line_errors
def run(
    experiment: Annotated[Experiment, typer.Argument(help="The experiment to run.")] = Experiment.ALL,
    data_dir: DataDir = None,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for CSV files, figures and page.")] = Path(
        "paper"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Three data sets and short runs: under 3 minutes instead of half an hour.")
    ] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Run nothing: figures and page from the CSV files in FOLDER.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the claims only.")] = False,
) -> None:
    """Run the paper's experiments again, and check its claims.

    Writes CSV files, figures that are made from these alone, and a page, README.md, that shows each beside what the
    paper claims. Figures 1 and 3, and 2 and 4, show the same runs and are made together. Data sets that are not there
    are reported as missing.
    """

    def tell(text: str) -> None:
        if not quiet:
            typer.echo(text)

    search_folders(data_dir)  # fails now, not after half an hour, if there is no such folder
    output.mkdir(parents=True, exist_ok=True)
    if redraw:
        if not any(output.glob("*.csv")):
            raise ValueError(f"there are no CSV files in {output} to draw from; leave out --redraw.")
    else:
        begin = time.monotonic()
        setup = experiments.Setup(output, data_dir, settings.QUICK if quick else settings.FULL, tell)
        if experiment in (Experiment.ALL, Experiment.TABLE1):
            experiments.run_table1(setup)
        if experiment in (Experiment.ALL, Experiment.RATES):
            experiments.run_rates(setup)
        for measure, figures in FIGURES.items():
            if experiment in (Experiment.ALL, *figures):
                experiments.run_methods(setup, measure)
        experiments.write_about(setup, time.monotonic() - begin)
    written = show.show(output)
    _summarise(output)
    for path in written:
        tell(f"Written: {path}")


def _summarise(folder: Path) -> None:
    """Print how often each claim holds, and the sets that are missing."""
    verdicts = tables.read(folder / "claims.csv", claims.Verdict)
    kinds = (claims.HOLDS, claims.PARTLY, claims.FAILS, claims.UNKNOWN)
    for claim in dict.fromkeys(verdict.claim for verdict in verdicts):
        own = [verdict.verdict for verdict in verdicts if verdict.claim == claim]
        typer.echo(f"{claim}: " + ", ".join(f"{kind} {own.count(kind)} x" for kind in kinds if kind in own))
    missing = [line.dataset for line in read(folder).lines if line.have == "missing"]
    if missing:
        typer.echo(f"missing, and replaced by nothing: {', '.join(missing)}.", err=True)


@app.command("list")
@one_line_errors
def list_sets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the eleven data sets, and what is there of them."""
    documents = [_document(entry, data_dir) for entry in REGISTRY.values()]
    if as_json:
        typer.echo(json.dumps(documents, indent=2))
        return
    for entry in documents:
        file = Path(entry["files"][0]).name if entry["files"] else "fetch" if entry["can_be_fetched"] else ""
        typer.echo(f"{entry['name']:<13} {entry['relation'] or 'missing':<23} {file}".rstrip())


@app.command()
@one_line_errors
def info(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Print all that is known of a data set."""
    entry = describe(name)
    document = _document(entry, data_dir)
    if as_json:
        typer.echo(json.dumps(document, indent=2))
        return
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
            lines.append(f"    {file.stem}: {file.url or 'no public location'}; SHA-256 {file.sha256 or 'unknown'}")
    lines.append(
        "Split: all rows of the first file to train where there is a second, else "
        f"{entry.train_share:.0%}; the rest is halved for validation and test."
    )
    typer.echo("\n".join(lines))


@app.command()
@one_line_errors
def fetch(
    name: Name,
    data_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", show_default=False, help="Target; the cache folder by default.")
    ] = None,
) -> None:
    """Download a data set, and check it where its SHA-256 is known.

    Files that are there already are left as they are.
    """
    download(name, data_dir=data_dir, tell=typer.echo)


def _document(entry: PaperDataset, data_dir: Path | None) -> dict[str, Any]:
    """Return a data set for machines."""
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


if __name__ == "__main__":
    app(prog_name="python -m reproduction")
