r"""Scorecards: points for bins of each column, as banks print them.

With log odds ``f`` of the positive label, ``p`` points to double the odds, and a base score ``B`` at odds of ``o``,

    points = offset + factor f,    factor = p / log 2,    offset = B - factor log o.

The score of a model is taken for its log odds, unless it is calibrated. Effects that are steps are bins as they are. A
curve has a bin for each piece, with its mean there; a straight line has points for each unit. Every column's fewest
points are 0: what that takes off is in the base.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from .._validation import choice, positive_number, whole_number
from ..estimators.calibration import Sigmoid
from ..estimators.effects import AnyEffect, DateEffect, Effect, WordsEffect, effects_of
from ..features.pieces import Pieces
from .sql import labels_of


@dataclass(frozen=True)
class Bin:
    """A line of a scorecard.

    Attributes
    ----------
    column, value : str
        The column, and which of its values are meant.
    points : float
        Points for them; of a straight line for each unit.
    low, high : float or None
        Numbers from the first on, and below the second, are meant; a straight line counts from the first one.
    spread : float
        By how much points can differ from the curve within the bin.
    per_unit : bool
        Whether this is a straight line.
    """

    column: str
    value: str
    points: float
    low: float | None = None
    high: float | None = None
    spread: float = 0.0
    per_unit: bool = False


@dataclass(frozen=True)
class Scorecard:
    """A scorecard.

    Attributes
    ----------
    base : float
        Points that every row has.
    bins : list of Bin
        The points beside them, column by column.
    offset, factor : float
        Points at even odds, and for one of log odds.
    cut : float
        Above so many points the positive label is predicted.
    labels : list
        The negative and the positive label.
    """

    base: float
    bins: list[Bin]
    offset: float
    factor: float
    cut: float
    labels: list[Any]


def scorecard_of(
    model: Any,
    *,
    base_score: float = 600.0,
    base_odds: float = 1.0,
    points_to_double: float = 20.0,
    names: Sequence[str] | None = None,
) -> Scorecard:
    """Return the scorecard of a linear or additive classifier; the parameters are those of :func:`to_scorecard`."""
    factor = positive_number("points_to_double", points_to_double) / math.log(2.0)
    offset = float(base_score) - factor * math.log(positive_number("base_odds", base_odds))
    labels, effects = labels_of(model), effects_of(model, names)
    slope, shift = _log_odds(model)
    scale, bins, base = factor * slope, list[Bin](), offset + factor * (slope * effects.base + shift)
    for effect in effects.columns:
        if effect.used:
            found, least = _lines(effect, scale)
            base += least
            bins += found
    return Scorecard(base, bins, offset, factor, offset + factor * shift, labels)


def to_scorecard(
    model: Any,
    *,
    base_score: float = 600.0,
    base_odds: float = 1.0,
    points_to_double: float = 20.0,
    digits: int = 0,
    format: str = "markdown",
    names: Sequence[str] | None = None,
) -> str:
    """Return a linear or additive classifier as a scorecard: points for bins of each column.

    Parameters
    ----------
    model : MeasureClassifier
        A fitted model. More points speak for its positive label. Its score is taken for log odds, as that of log loss
        is; a model of ``MeasureClassifierCV(calibration="sigmoid")`` knows its odds, whatever it was trained for.
    base_score, base_odds : float, default=600.0 and 1.0
        So many points at these odds of the positive label.
    points_to_double : float, default=20.0
        So many points more, and the odds are twice as high.
    digits : int, default=0
        Digits of points behind the point.
    format : {"markdown", "csv"}, default="markdown"
        A table to read, or one for machines, which has the ends of bins as numbers.
    names : sequence of str, optional
        Names of the columns; by default their own.

    Returns
    -------
    str
        The table.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.features import Shapes
    >>> X, y = [[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]], [0, 0, 0, 0, 1, 1]
    >>> clf = MeasureClassifier("log_loss", alpha=0.01, features=Shapes(linear=False)).fit(X, y)
    >>> print(to_scorecard(clf, names=["late payments"]))
    A scorecard: more points speak for 1.
    600 points at odds of 1 to 1, 20 points double the odds, offset 600, factor 28.8539.
    Above 600 points: 1; otherwise: 0.
    <BLANKLINE>
    | column | value | points |
    |---|---|---:|
    | (base) | | 5... |
    | late payments | below 1 | 0 |
    | | 1 to below 2 | ... |
    | | 2 and above | ... |
    """
    choice("format", format, ("markdown", "csv"))
    whole_number("digits", digits, at_least=0)
    card = scorecard_of(
        model, base_score=base_score, base_odds=base_odds, points_to_double=points_to_double, names=names
    )
    if format == "csv":
        lines = io.StringIO()
        rows = [(one.column, one.value, _end(one.low), _end(one.high), _rounded(one, digits)) for one in card.bins]
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerows(
            [("column", "value", "from", "below", "points"), ("(base)", "", "", "", f"{card.base:.{digits}f}")]
        )
        writer.writerows(rows)
        return lines.getvalue().rstrip("\n")
    negative, positive = card.labels
    head = [
        f"A scorecard: more points speak for {positive}.",
        f"{base_score:g} points at odds of {base_odds:g} to 1, {points_to_double:g} points double the odds, "
        f"offset {card.offset:g}, factor {card.factor:g}.",
        f"Above {card.cut:.{digits}f} points: {positive}; otherwise: {negative}.",
    ]
    if (widest := max((one.spread for one in card.bins), default=0.0)) >= 0.5:
        head.append(
            f"Bins of curves have their mean: within a bin up to {widest:.{digits}f} points more or less are due."
        )
    table = ["| column | value | points |", "|---|---|---:|", f"| (base) | | {card.base:.{digits}f} |"]
    last = ""
    for one in card.bins:
        column = "" if one.column == last else f" {_cell(one.column)}"
        table.append(f"|{column} | {_cell(one.value)} | {_rounded(one, digits)} |")
        last = one.column
    return "\n".join([*head, "", *table])


def effects_table(model: Any) -> tuple[list[Bin], float]:
    """Return what bins of each column add to the score of a linear or additive model, and the score without them.

    The columns that move the score most come first.
    """
    effects = effects_of(model)
    found = [_lines(effect, 1.0) for effect in effects.columns if effect.used]
    found.sort(key=lambda lines: -max(abs(one.points) for one in lines[0]))
    return [one for bins, _ in found for one in bins], effects.base + sum(least for _, least in found)


def _log_odds(model: Any) -> tuple[float, float]:
    """Slope and shift of log odds as a function of the score, which has the threshold at 0."""
    calibration = getattr(model, "calibration_", None)
    if calibration is None:
        return 1.0, 0.0
    if not isinstance(calibration, Sigmoid):
        raise ValueError(
            "an isotonic calibration has no constant points to double the odds: take calibration='sigmoid'."
        )
    threshold = -model._sign * float(model.intercept_[0])
    return -calibration.slope, -(calibration.offset + calibration.slope * threshold)


def _lines(effect: AnyEffect, scale: float) -> tuple[list[Bin], float]:
    """Lines for the effect of a column, and how much is to be added to the points of all rows."""
    missing = [] if effect.missing is None else [Bin(effect.name, "missing", scale * effect.missing)]
    match effect:
        case WordsEffect():
            words = [Bin(effect.name, word, scale * value) for word, value in effect.words.items()]
            return _from_zero([*words, Bin(effect.name, "other", scale * effect.other), *missing])
        case Effect():
            return _from_zero([*_of_numbers(effect.name, effect.pieces, scale), *missing])
        case DateEffect():
            parts = [
                _from_zero(list(_of_numbers(f"{effect.name} {part}", pieces, scale)))
                for part, pieces in effect.parts.items()
                if pieces.coefs.any()
            ]
            total = sum(least for _, least in parts)
            return [*(one for part, _ in parts for one in part), *(_less(one, total) for one in missing)], total


def _from_zero(bins: list[Bin]) -> tuple[list[Bin], float]:
    """The lines with 0 as the fewest points, and what that takes off; lines for each unit stay."""
    least = min((one.points for one in bins if not one.per_unit), default=0.0)
    return [one if one.per_unit else _less(one, least) for one in bins], least


def _of_numbers(name: str, pieces: Pieces, scale: float) -> Iterator[Bin]:
    """Lines for a function: points for each unit of a straight line beyond all bends, and bins."""
    slope = float(pieces.coefs[0, 1])
    if slope:  # the same on both sides of all steps
        zero = float(pieces.breaks[0]) if pieces.breaks.size else 0.0
        pieces = pieces.less_line(slope, zero)
        yield Bin(name, f"for each 1 from {zero:.6g} on", scale * slope, zero, per_unit=True)
    if not pieces.coefs.any() and not pieces.breaks.size:
        return
    ends = [-math.inf, *pieces.breaks.tolist(), math.inf]
    for low, high in pairwise(ends):
        lowest, highest, mean = pieces.over(low, high)
        spread = abs(scale) * max(highest - mean, mean - lowest)
        yield Bin(name, _words(low, high), scale * mean, low, high, spread)


def _less(one: Bin, points: float) -> Bin:
    return replace(one, points=one.points - points)


def _words(low: float, high: float) -> str:
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"below {high:.6g}"
    return f"{low:.6g} and above" if math.isinf(high) else f"{low:.6g} to below {high:.6g}"


def _rounded(one: Bin, digits: int) -> str:
    return f"{one.points:.{digits + 4 if one.per_unit else digits}f}"


def _end(value: float | None) -> str:
    return "" if value is None else repr(value)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
