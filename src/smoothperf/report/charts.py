"""Charts as HTML: lines in an SVG that stretches to any width, words and markers as HTML on top of it.

So words keep their size on a phone, and markers stay round. A chart knows its two axes; everything that is put on it
is given in data units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

#: Units of the stretching coordinate system.
SIZE = 1000


@dataclass(frozen=True)
class Axis:
    """A scale from data to [0, 1], with ticks; they show sizes only if it is not ``signed``.

    Examples
    --------
    >>> Axis("recall", 0.0, 1.0).place(0.25)
    0.25
    >>> Axis("gap", 1e-3, 1.0, log=True).place(1e-2).__round__(6)
    0.333333
    """

    label: str
    low: float
    high: float
    log: bool = False
    signed: bool = True

    def place(self, value: float) -> float:
        """Return the place of a value; values beyond the ends are at the ends."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round values within the axis: about five, or powers of ten."""
        if self.log:
            exponents = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            every = max(1, -(-len(exponents) // 6))
            return [10.0**exponent for exponent in exponents][::every]
        step = nice_step((self.high - self.low) / 5.0)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def tick_label(self, value: float) -> str:
        """A tick as text: powers of ten as such, other numbers without noise of rounding."""
        if self.log:
            exponent = round(math.log10(value))
            return f"{10.0**exponent:g}" if -3 <= exponent <= 3 else f"10<sup>{exponent}</sup>".replace("-", "\u2212")
        shown = round(value if self.signed else abs(value), 10)
        return (f"{shown:,g}" if abs(shown) >= 1e4 else f"{shown:g}").replace("-", "\u2212")  # years have no comma


def nice_step(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, not much smaller than ``step``.

    Examples
    --------
    >>> nice_step(0.18), nice_step(3.0)
    (0.2, 5.0)
    """
    power = 10.0 ** math.floor(math.log10(step))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= step * (1 - 1e-9)), 10.0 * power)


@dataclass
class Chart:
    """Axes, and what has been put on them.

    Examples
    --------
    >>> chart = Chart("roc", "ROC", "A line.", Axis("x", 0, 1), Axis("y", 0, 1))
    >>> chart.line([0, 1], [0, 1], "curve")
    >>> '<path class="curve" d="M0 1000L1000 0"/>' in chart.render()
    True
    """

    identity: str
    title: str
    description: str
    x: Axis
    y: Axis
    _shapes: list[str] = field(default_factory=list)
    _overlay: list[str] = field(default_factory=list)
    _legend: list[str] = field(default_factory=list)

    def line(self, xs: Iterable[float], ys: Iterable[float], css: str) -> None:
        """Add a polyline."""
        points = self._points(xs, ys)
        self._shapes.append(f'<path class="{css}" d="M{"L".join(points)}"/>')

    def band(self, xs: Iterable[float], lows: Iterable[float], highs: Iterable[float], css: str) -> None:
        """Add the area between two lines."""
        xs = list(xs)
        outline = self._points([*xs, *reversed(xs)], [*lows, *reversed(list(highs))])
        self._shapes.append(f'<path class="{css}" d="M{"L".join(outline)}Z"/>')

    def bars(self, edges: Sequence[float], tops: Sequence[float], css: str) -> None:
        """Add a histogram as one shape that stands on y = 0 (or hangs from it)."""
        xs = [edge for edge in edges for _ in range(2)]
        ys = [0.0, *[top for top in tops for _ in range(2)], 0.0]
        self._shapes.append(f'<path class="{css}" d="M{"L".join(self._points(xs, ys))}Z"/>')

    def rug(self, xs: Iterable[float]) -> None:
        """Add ticks at the bottom, where values are."""
        ticks = "".join(f"M{_unit(self.x.place(x))} {SIZE}v{-SIZE // 20}" for x in xs)
        self._shapes.append(f'<path class="rug" d="{ticks}"/>')

    def mark(self, x: float, y: float, css: str) -> None:
        """Add a marker; ``css`` says its shape and gives a name to find it by."""
        left, bottom = 100 * self.x.place(x), 100 * self.y.place(y)
        self._overlay.append(f'<i class="mark {css}" style="left:{left:.2f}%;bottom:{bottom:.2f}%"></i>')

    def upright(self, x: float, css: str) -> None:
        """Add a vertical line."""
        self._overlay.append(f'<i class="upright {css}" style="left:{100 * self.x.place(x):.2f}%"></i>')

    def legend(self, key: str, text: str) -> None:
        """Explain a shape: ``key`` is the class of the sample shown."""
        self._legend.append(f'<li><i class="key {key}"></i>{escape(text)}</li>')

    def render(self) -> str:
        """Return the HTML."""
        x_ticks = [(100 * self.x.place(value), self.x.tick_label(value)) for value in self.x.ticks()]
        y_ticks = [(100 * self.y.place(value), self.y.tick_label(value)) for value in self.y.ticks()]
        grid = "".join(f"M{_unit(left / 100)} 0V{SIZE}" for left, _ in x_ticks)
        grid += "".join(f"M0 {_unit(1 - bottom / 100)}H{SIZE}" for bottom, _ in y_ticks)
        words = "".join(f'<span class="tick x" style="left:{left:.2f}%">{label}</span>' for left, label in x_ticks)
        words += "".join(
            f'<span class="tick y" style="bottom:{bottom:.2f}%">{label}</span>' for bottom, label in y_ticks
        )
        legend = f'<ul class="legend">{"".join(self._legend)}</ul>' if self._legend else ""
        return (
            f'<figure class="chart" id="{self.identity}"><figcaption>{escape(self.title)}</figcaption>'
            f'<p class="axis y">{escape(self.y.label)}</p>'
            f'<div class="plot"><svg viewBox="0 0 {SIZE} {SIZE}" preserveAspectRatio="none" role="img" '
            f'aria-label="{escape(self.description)}"><path class="grid" d="{grid}"/>{"".join(self._shapes)}</svg>'
            f"{words}{''.join(self._overlay)}</div>"
            f'<p class="axis x">{escape(self.x.label)}</p>{legend}</figure>'
        )

    def _points(self, xs: Iterable[float], ys: Iterable[float]) -> list[str]:
        """Return coordinates as text, without points that draw nothing.

        Those are on the same spot as the one before, or between their neighbours on an upright or a level line.
        """
        points: list[tuple[float, float]] = []
        for x, y in zip(xs, ys, strict=True):
            point = round(SIZE * self.x.place(x), 1), round(SIZE * (1.0 - self.y.place(y)), 1)
            if points and point == points[-1]:
                continue
            if len(points) > 1 and _on_a_straight_way(points[-2], points[-1], point):
                points.pop()
            points.append(point)
        return [f"{x:g} {y:g}" for x, y in points]


def _on_a_straight_way(before: tuple[float, float], here: tuple[float, float], after: tuple[float, float]) -> bool:
    """Whether a point lies between two others, right above or beside both."""
    return any(
        before[axis] == here[axis] == after[axis]
        and (before[1 - axis] - here[1 - axis]) * (here[1 - axis] - after[1 - axis]) > 0.0
        for axis in (0, 1)
    )


def _unit(share: float) -> str:
    return f"{round(share * SIZE, 1):g}"


def capital(text: str) -> str:
    """Return words with a capital at the beginning."""
    return f"{text[0].upper()}{text[1:]}"
