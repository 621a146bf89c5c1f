"""The shapes of an additive model in its report: what each column adds to the score, on the rows that judge it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..estimators.effects import (
    DateEffect,
    Effect,
    NotAdditiveError,
    WordsEffect,
    added_by,
    band_of,
    column_values,
    effects_of,
    half_width,
    parts_of,
    stages_of,
)
from ..features import TableEncoder
from ..features.pieces import Pieces
from .charts import Axis, Chart
from .reasons import Reasons, reasons_of, reasons_section, signed
from .weights import bar

#: What is said of bands.
BAND = """ Bands of 95 %, at each place, are for the curve that other training rows would lead to on average; models
that were trained without a part of the rows tell."""
#: Shapes that are seen at once, the others are folded away; and words of a column that are named.
SHOWN, WORDS = 12, 30
#: Share of the rows at either end that a curve does not show.
TAIL = 0.005
RUG = 60
#: The most that bands may stretch the scale to either side, as a share of what curves need.
ROOM = 0.3


@dataclass(frozen=True)
class Shape:
    """Contribution of a column to the score.

    Attributes
    ----------
    name : str
        The column, or a part of its dates.
    spread : float
        Standard deviation of what it adds, over the rows.
    places, heights : ndarray
        A curve: numbers, and what they add, less its mean over the rows; empty for words.
    half_width : ndarray or None
        Half the width of the band around the curve, or of words; None without a band.
    rug : ndarray
        Where the rows are: numbers at even shares of them.
    words : list of (str, float, float)
        Words, what they add, less that mean, and their share of the rows; the largest effects first.
    missing : (float, float) or None
        The same for rows without a value; None if there are none.
    """

    name: str
    spread: float
    places: Array
    heights: Array
    half_width: Array | None
    rug: Array
    words: list[tuple[str, float, float]]
    missing: tuple[float, float] | None


@dataclass(frozen=True)
class ShapeFacts:
    """The shapes of all columns that make a difference, the largest spread first.

    Attributes
    ----------
    shapes : list of Shape
        The shapes.
    mean : float
        The mean score of the rows: the score is that, and what the columns add.
    reasons : list of Reasons
        The reasons for the scores of some examples.
    """

    shapes: list[Shape]
    mean: float
    reasons: list[Reasons]


def shapes_of(
    model: Any, X: Any, positive: NDArray[np.bool_] | None, names: Sequence[str] | None = None
) -> ShapeFacts | None:
    """Return the shapes of a model with features made of columns one by one; None for other models.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.features import Shapes
    >>> X, y = np.arange(5.0).reshape(-1, 1), np.array([True, False, False, True, True])
    >>> [shape.name for shape in shapes_of(MeasureClassifier(features=Shapes()).fit(X, y), X, y).shapes]
    ['column 0']
    """
    if getattr(model, "features_", None) is None:
        return None
    try:
        names = None if isinstance(stages_of(model)[0], TableEncoder) else names
        effects, bands = effects_of(model, names), band_of(model, names)
    except NotAdditiveError:
        return None
    columns = column_values(model, X)
    added = np.column_stack([added_by(effect, it) for effect, it in zip(effects.columns, columns, strict=True)])
    means = added.mean(axis=0)
    mean = effects.base + float(means.sum())
    shapes = [
        shape
        for effect, band, values, part in zip(effects.columns, bands, columns, added.T, strict=True)
        if effect.used
        for shape in _shapes(effect, band, values, part)
    ]
    names = [effect.name for effect in effects.columns]
    reasons = [] if positive is None else reasons_of(names, columns, added - means, mean, positive)
    return ShapeFacts(sorted(shapes, key=lambda shape: -shape.spread), mean, reasons)


def _shapes(effect: Any, band: Any, values: NDArray[Any], added: Array) -> Iterator[Shape]:
    none = np.zeros(0)
    mean, spread = float(added.mean()), float(added.std())
    match effect:
        case WordsEffect():
            words, counts = np.unique(values.astype(str), return_counts=True)
            share = dict(zip(words.tolist(), (counts / values.size).tolist(), strict=True))
            known = [(word, value - mean, share.pop(word, 0.0)) for word, value in effect.words.items()]
            absent = sum(share.pop(word, 0.0) for word in ("", *effect.empty))
            if rest := sum(share.values()):
                known.append(("other", effect.other - mean, rest))
            known.sort(key=lambda word: -abs(word[1]))

            def of_words(other: WordsEffect) -> Array:
                added = np.array([other.words.get(word, other.other) for word, _, _ in known])
                return added - float(added_by(other, values).mean())

            missing = (effect.missing - mean, absent) if absent else None
            yield Shape(effect.name, spread, none, none, half_width(band, of_words), none, known, missing)
        case Effect():
            bands = [(other.pieces, float(added_by(other, values).mean())) for other in band]
            yield _curve(effect.name, effect.pieces, values, effect.missing, mean, spread, bands)
        case DateEffect():
            there = ~np.isnat(values)
            for part, numbers in parts_of(effect, values[there]).items():
                heights = effect.parts[part](numbers)
                if heights.size and np.ptp(heights) > 0.0:
                    name, height, width = f"{effect.name} {part}", float(heights.mean()), float(heights.std())
                    bands = [(other.parts[part], float(other.parts[part](numbers).mean())) for other in band]
                    yield _curve(name, effect.parts[part], numbers, None, height, width, bands)


def _curve(
    name: str,
    pieces: Pieces,
    values: Array,
    missing: float | None,
    mean: float,
    spread: float,
    band: list[tuple[Pieces, float]],
) -> Shape:
    """A curve; the functions of its band come with their means."""
    known = values[~np.isnan(values)]
    absent = 1.0 - known.size / values.size
    gap = (missing - mean, absent) if absent and missing is not None else None
    none = np.zeros(0)
    if not known.size:
        return Shape(name, spread, none, none, None, none, [], gap)
    low, high = np.quantile(known, [TAIL, 1.0 - TAIL])
    if not low < high:
        low, high = float(known.min()), float(known.max())
    places, heights = pieces.over_grid(low, high)
    half = half_width(band, lambda one: one[0](places) - one[1])
    rug = np.quantile(known, np.linspace(TAIL, 1.0 - TAIL, RUG), method="inverted_cdf")
    return Shape(name, spread, places, heights - mean, half, np.unique(rug), [], gap)


def shapes_section(found: ShapeFacts, better: str, *, above: bool = False) -> str:
    """Return the section; ``better`` is what more speaks for, ``above`` 0 is called so, and a script says numbers."""
    positive = escape(better)
    if not found.shapes:
        return '<div class="card"><p>No column moves the score on these examples.</p></div>'
    lowest = min((float(shape.heights.min()) for shape in found.shapes if shape.heights.size), default=-1.0)
    highest = max((float(shape.heights.max()) for shape in found.shapes if shape.heights.size), default=1.0)
    room = ROOM * (highest - lowest)  # for bands, which may be wide where rows are few
    bands = [(it.heights, it.half_width) for it in found.shapes if it.half_width is not None and it.heights.size]
    if bands:
        lowest = max(lowest - room, min(float((heights - half).min()) for heights, half in bands))
        highest = min(highest + room, max(float((heights + half).max()) for heights, half in bands))
    lowest -= 0.12 * (highest - lowest)  # for the ticks
    cards = [_card(shape, place, lowest, highest) for place, shape in enumerate(found.shapes)]
    folded = ""
    if len(cards) > SHOWN:
        rest = "".join(cards[SHOWN:])
        folded = (
            f'<details><summary>The next {len(cards) - SHOWN:,}</summary><div class="shapes">{rest}</div></details>'
        )
    return f"""<div class="card"><p>The score of an example is {signed(found.mean)} and what each column adds to it: \
the columns bend, each by itself.{f" Above 0 is called {positive}." if above else ""}</p>
<p class="aside">Shown is what a value adds, compared with the mean over these examples: upwards it speaks for
{positive}. All curves have the same scale; the one that moves scores most comes first. Ticks at the bottom are at even
shares of the examples.{BAND if bands else ""}{" Point at a curve for its numbers." if above else ""}</p></div>
<div class="shapes">{"".join(cards[:SHOWN])}</div>
{folded}
{reasons_section(found.reasons) if found.reasons else ""}"""


def _card(shape: Shape, place: int, lowest: float, highest: float) -> str:
    missing = ""
    if shape.missing is not None:
        missing = f'<p class="aside">Missing, {shape.missing[1]:.0%} of the examples: {signed(shape.missing[0])}</p>'
    spread = f'<p class="aside">moves scores by {shape.spread:.3g}</p>'
    if shape.words:
        return f'<div class="card shape weights"><h3>{escape(shape.name)}</h3>{spread}{_words(shape)}{missing}</div>'
    if not shape.places.size:
        return f'<div class="card shape"><h3>{escape(shape.name)}</h3>{spread}{missing}</div>'
    chart = Chart(
        f"shape{place}",
        shape.name,
        f"What {shape.name} adds to the score, from {shape.places[0]:.4g} to {shape.places[-1]:.4g}.",
        Axis("", float(shape.places[0]), float(shape.places[-1])),
        Axis("", lowest, highest if highest > lowest else lowest + 1.0),
    )
    ends = [float(shape.places[0]), float(shape.places[-1])]
    chart.line(ends, [0.0, 0.0], "reference")
    if shape.half_width is not None:
        low, high = shape.heights - shape.half_width, shape.heights + shape.half_width
        chart.band(shape.places.tolist(), low.tolist(), high.tolist(), "band")
    chart.line(shape.places.tolist(), shape.heights.tolist(), "curve")
    chart.rug(shape.rug.tolist())
    readout = f'<p class="aside readout" aria-live="polite">moves scores by {shape.spread:.3g}</p>'
    return f'<div class="card shape" data-shape="{place}">{chart.render()}{readout}{missing}</div>'


def _words(shape: Shape) -> str:
    widest = max(abs(effect) for _, effect, _ in shape.words) or 1.0
    half = [""] * len(shape.words)
    if shape.half_width is not None:
        half = [f'<span class="half">± {h:.2g}</span>' for h in shape.half_width]
    rows = "".join(
        f'<tr><th scope="row">{escape(word)}</th><td>{signed(effect)}{band}</td><td class="extra">{share:.0%}</td>'
        f'<td class="lean" aria-hidden="true">{bar(effect / widest)}</td></tr>'
        for (word, effect, share), band in list(zip(shape.words, half, strict=True))[:WORDS]
    )
    more = f'<p class="aside">and {len(shape.words) - WORDS:,} more</p>' if len(shape.words) > WORDS else ""
    return (
        '<table><thead><tr><th scope="col" class="first">word</th><th scope="col">adds</th>'
        f'<th scope="col" class="extra">share</th><td></td></tr></thead><tbody>{rows}</tbody></table>{more}'
    )


def shapes_data(found: ShapeFacts) -> list[dict[str, list[float]]]:
    """Return the curves for the script, by their places in the section."""
    return [
        {
            "x": [float(f"{x:.6g}") for x in shape.places],
            "y": [float(f"{y:.4g}") for y in shape.heights],
            "half": [] if shape.half_width is None else [float(f"{h:.3g}") for h in shape.half_width],
        }
        for shape in found.shapes
    ]
