"""The house counted: where guests are spoken of outside their rooms, and how much of its modules a plain fit needs.

    python -m benchmarks.house [--files]

A file speaks of a guest if an identifier in it does: a name, an argument, an attribute, an import; words in comments
and docstrings do not count, nor do the lists of names in ``__init__.py``. Of the modules of a plain fit, statements in
functions count, and those that run once the fit before has set up what is set up once.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import smoothperf
from smoothperf import MeasureClassifier

HOUSE = Path(smoothperf.__file__).parent
MEASURES = ("roc_area", "prbep", "f1", "log_loss")
#: What a wheel is made of.
SOURCES = (".py", ".pyi", ".pyx", ".pxd", ".h", ".css", ".js")


class Guest(NamedTuple):
    """A subject that only some of the users need: its rooms, as patterns of paths, and how identifiers speak of it."""

    rooms: tuple[str, ...]
    words: str


GUESTS = {
    "queries": Guest(
        ("*quer*", "*rank*"),
        r"[Qq]uer(y|ies)|qid",
    ),
    "the communicator": Guest(
        ("dask/*", "communicator.py"),
        r"[Cc]ommunicator|allreduce|allgather|broadcast(?!_(to|arrays|shapes))|Alone|ALONE",
    ),
    # Files and their formats are read in io/, so stores are at home there; to refuse one is not to speak of it.
    "stores": Guest(("io/*", "cli/*", "design/*"), r"(?<!refuse_)(?<![a-z])[Ss]tore"),
    # Of scores: the offset of a plane is another one. Scores begin at it in one place, and fits take it in another.
    "an offset": Guest(("*/offset.py",), r"[Ss]hifted|base_scores|score_offset"),
}


def identifiers(tree: ast.AST) -> Iterator[str]:
    """All names in a module: of what is used, defined, imported, passed and looked up."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            if isinstance(text := getattr(node, field, None), str):
                yield text


def speaking(guest: Guest) -> dict[str, list[str]]:
    """Files outside the rooms of a guest that speak of it, and how."""
    found = {}
    for name, path in modules().items():
        if path.name == "__init__.py" or any(fnmatch(name, room) for room in guest.rooms):
            continue
        said = sorted({text for text in identifiers(ast.parse(path.read_text())) if re.search(guest.words, text)})
        if said:
            found[name] = said
    return found


def modules() -> dict[str, Path]:
    """All modules by their paths in the package."""
    return {path.relative_to(HOUSE).as_posix(): path for path in sorted(HOUSE.rglob("*.py"))}


# --- a plain fit ----------------------------------------------------------------------------------------------------


def lines_run(work: Callable[[], Any]) -> dict[str, set[int]]:
    """Lines of ours that run, by file; those of files in which a function is called."""
    ran: dict[str, set[int]] = {}

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            ran[frame.f_code.co_filename].add(frame.f_lineno)
        return follow

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if HOUSE not in Path(frame.f_code.co_filename).parents:
            return None
        ran.setdefault(frame.f_code.co_filename, set())
        return follow

    before = sys.gettrace()
    sys.settrace(look)
    try:
        work()
    finally:
        sys.settrace(before)
    return ran


def statements(tree: ast.AST, *, inside: bool = False) -> Iterator[range]:
    """The lines of each statement in a function, but for docstrings; of one with a body, those of its head."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt) and inside and not (isinstance(child, ast.Expr) and _is_text(child.value)):
            body = getattr(child, "body", None)
            end = max(child.lineno, body[0].lineno - 1) if body else child.end_lineno
            yield range(child.lineno, (end or child.lineno) + 1)
        yield from statements(child, inside=inside or isinstance(child, ast.FunctionDef))


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def plain_fit(measure: str) -> tuple[int, int, int]:
    """Count the modules that a fit to sparse rows in memory enters, their statements, and those that run."""
    rng = np.random.default_rng(0)
    X: Any = sp.random_array((400, 30), density=0.2, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=30) + 0.1 * rng.normal(size=400) > 0, 1, 0)
    model = MeasureClassifier(measure, alpha=1e-3)
    model.fit(X, y)
    ran = lines_run(lambda: model.fit(X, y))
    found = [
        any(line in lines for line in statement)
        for file, lines in ran.items()
        for statement in statements(ast.parse(Path(file).read_text()))
    ]
    return len(ran), len(found), sum(found)


# --- the table ------------------------------------------------------------------------------------------------------


def wheel() -> Counter[str]:
    """Lines of source by room: the first folder, or the package itself."""
    lines: Counter[str] = Counter()
    for path in HOUSE.rglob("*"):
        if path.suffix in SOURCES:
            room, slash, _ = path.relative_to(HOUSE).as_posix().partition("/")
            lines[room + slash if slash else "."] += path.read_text().count("\n")
    return lines


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="name the files, and what they say")
    given = parser.parse_args()
    for name, guest in GUESTS.items():
        found = speaking(guest)
        print(f"{f'files outside that speak of {name}':<45}{len(found):>7}")
        for file, said in found.items() if given.files else ():
            print(f"    {file}: {', '.join(said)}")
    shares = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for measure in MEASURES:
            entered, total, ran = plain_fit(measure)
            shares.append(ran / total)
            print(f"{f'statements that run, {measure}':<45}{ran / total:>7.0%}  {ran} of {total} in {entered} modules")
    print(f"{'statements that run, mean':<45}{np.mean(shares):>7.0%}")
    lines = wheel()
    for room, count in lines.most_common():
        print(f"{f'lines in {room}':<45}{count:>7,}")
    print(f"{'lines of the wheel':<45}{lines.total():>7,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
