"""The reasons for the scores of some examples of a report: what each column adds, up to the score itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .weights import bar

#: Columns that are named for an example.
NAMED = 8


@dataclass(frozen=True)
class Reasons:
    """The reasons for the score of an example.

    Attributes
    ----------
    which : str
        The example, in words.
    row : int
        Its number, from 1.
    score, mean : float
        Its score, and the mean of all.
    added : list of (str, str, float)
        Columns, their values, and what they add to the mean, the largest first.
    """

    which: str
    row: int
    score: float
    mean: float
    added: list[tuple[str, str, float]]


def reasons_of(
    names: Sequence[str], values: Sequence[NDArray[Any]], added: Array, mean: float, positive: NDArray[np.bool_]
) -> list[Reasons]:
    """Return the reasons for the examples that a reader asks for first.

    Parameters
    ----------
    names, values : sequence
        The columns.
    added : ndarray of shape (n, d)
        What each adds to the mean score.
    mean : float
        The mean score.
    positive : ndarray of shape (n,)
        Which examples are positive.
    """
    scores = mean + added.sum(axis=1)
    chosen = {
        int(np.argmax(scores)): "The highest score",
        int(np.argmax(np.where(positive, -np.inf, scores))): "The highest score of a negative",
        int(np.argmin(np.where(positive, scores, np.inf))): "The lowest score of a positive",
        int(np.argmin(scores)): "The lowest score",
    }
    found = []
    for row, which in chosen.items():
        order = np.argsort(-np.abs(added[row]), kind="stable")
        each = [
            (names[j], _shown(values[j][row]), float(added[row, j])) for j in order.tolist() if added[row, j] != 0.0
        ]
        found.append(Reasons(which, row + 1, float(scores[row]), mean, each))
    return found


def reasons_section(found: Sequence[Reasons]) -> str:
    """Return the section."""
    cards = "".join(_card(one) for one in found)
    return (
        '<h3>Why these scores</h3><p class="aside">Some examples, by their rows in the data; what the columns add, and '
        f'the mean score of all examples, make up the score.</p><div class="reasons">{cards}</div>'
    )


def _card(one: Reasons) -> str:
    named, rest = one.added[:NAMED], one.added[NAMED:]
    widest = max((abs(added) for _, _, added in one.added), default=1.0)
    lines = [(f"{name} = {value}", added) for name, value, added in named]
    if rest:
        lines.append((f"{len(rest):,} other columns", sum(added for _, _, added in rest)))
    rows = "".join(
        f'<tr><th scope="row">{escape(words)}</th><td>{signed(added)}</td>'
        f'<td class="lean" aria-hidden="true">{bar(max(-1.0, min(1.0, added / widest)))}</td></tr>'
        for words, added in lines
    )
    mean = f'<tr><th scope="row">mean of all examples</th><td>{signed(one.mean)}</td><td></td></tr>'
    total = f'<tr><th scope="row">score</th><td class="right">{signed(one.score)}</td><td></td></tr>'
    return (
        f'<div class="card weights"><p><b>{escape(one.which)}</b>: row {one.row:,}</p>'
        f"<table><tbody>{rows}{mean}{total}</tbody></table></div>"
    )


def signed(value: float) -> str:
    """Return a number with its sign."""
    return f"{value:+.3g}".replace("-", "\u2212")


def _shown(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return "missing" if np.isnat(value) else str(value).replace("T", " ").removesuffix(" 00:00:00")
    if isinstance(value, str):
        return value or "missing"
    return "missing" if np.isnan(value) else f"{value:.6g}"
