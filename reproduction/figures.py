"""The paper's figures 1 to 4, and one of rates: pure functions of results that were read from CSV files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from smoothperf.evaluation import NAMES
from smoothperf.plots import COLOURS, INK, TOLERANCE, _plain_axes, require_matplotlib

from .datasets import Relation
from .rates import THEOREM
from .results import Comparison, Curve, Results
from .runs import ADAPTIVE, CUTTING_PLANES, FACTORS, METHODS, NESTEROV, STOPPED
from .settings import EPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN, PINK, SKY, ORANGE, BLACK = COLOURS
ONE, HUNDRED, THOUSAND = FACTORS
#: Line styles differ as well as colours, so that the lines can be told apart in grey, too.
STYLES: dict[str, dict[str, Any]] = {
    ONE: {"color": BLUE, "linestyle": "-", "linewidth": 1.6},
    HUNDRED: {"color": SKY, "linestyle": (0, (5, 1.5)), "linewidth": 1.8},
    THOUSAND: {"color": GREEN, "linestyle": (0, (2, 1)), "linewidth": 1.8},
    ADAPTIVE: {"color": BLACK, "linestyle": "-", "linewidth": 2.0},
    NESTEROV: {"color": PINK, "linestyle": "-", "linewidth": 1.4},
    CUTTING_PLANES: {"color": VERMILION, "linestyle": "-", "linewidth": 2.0},
}
LABELS = {
    ONE: "L-BFGS, μ",
    HUNDRED: "L-BFGS, 100 μ",
    THOUSAND: "L-BFGS, 1000 μ",
    ADAPTIVE: "L-BFGS, adaptive μ (ours)",
    NESTEROV: "accelerated gradient, adaptive μ",
    CUTTING_PLANES: "BMRM",
}
RATE_STYLES: dict[str, tuple[str, dict[str, Any]]] = {
    "lbfgs": ("L-BFGS, adaptive μ", {"color": BLACK, "marker": "o"}),
    "nesterov": ("accelerated gradient, adaptive μ", {"color": PINK, "marker": "s"}),
    THEOREM: ("accelerated gradient, as in the theorem", {"color": BLUE, "marker": "^"}),
    "bmrm": ("BMRM", {"color": VERMILION, "marker": "D"}),
}
#: What is said beside the name of a set that is not the paper's own.
MARKS = {Relation.PAPER.value: "", Relation.PART.value: "part", Relation.STAND_IN.value: "stand-in"}
COLUMNS = 3
#: Keeps the start of a run, at a clock of nearly 0, on the axis.
SHORTEST = 1e-3


def objective_figure(comparisons: Sequence[Comparison], number: int) -> Figure:
    """Figure 1 or 2: the exact objective, less the best certified bound of the optimum, against CPU time."""

    def draw(ax: Axes, comparison: Comparison) -> None:
        for method, curve in comparison.curves.items():
            height = np.maximum(curve.best - comparison.lower_bound, 1e-6)
            _curve(ax, curve, height, method)
        ax.axhline(EPS, zorder=1, **TOLERANCE)
        ax.set_yscale("log")
        ax.set_ylim(bottom=3e-5)

    measure = NAMES[comparisons[0].measure]
    return _grid(
        comparisons,
        draw,
        ylabel="objective above bound",
        title=f"Figure {number}: exact objective for {measure}, above the best lower bound of its optimum",
        dotted=f"ε = {EPS:g}",
    )


def score_figure(comparisons: Sequence[Comparison], number: int) -> Figure:
    """Figure 3 or 4: the measure on the test rows against CPU time."""
    name = NAMES[comparisons[0].measure]

    def draw(ax: Axes, comparison: Comparison) -> None:
        for method, curve in comparison.curves.items():
            _curve(ax, curve, curve.scores, method)
        finals = [float(curve.scores[-1]) for curve in comparison.curves.values()]
        # The first steps are anywhere; what matters is how the end is approached.
        best, span = max(finals), max(0.02, 0.35 * max(finals))
        top = max(float(curve.scores.max()) for curve in comparison.curves.values())
        ax.set_ylim(max(0.0, best - span), min(1.0, top + 0.05 * span) + 0.02 * span)

    return _grid(
        comparisons,
        draw,
        ylabel=f"{name} on test rows",
        title=f"Figure {number}: {name} on test rows along the way",
        dotted=None,
    )


def rates_figure(results: Results) -> Figure:
    """Iterations against 1/eps and 1/lambda on a real set, on the problem made for it, and with entropy against n."""
    figure = require_matplotlib()(figsize=(11.0, 9.6), layout="constrained")
    (upper, middle, lower) = figure.subplots(3, 2)
    for axes, measure in zip((upper, middle), ("prbep", "roc_area"), strict=True):
        _rates_panels(axes, results, measure)
    _hard_panel(lower[0], results)
    _entropy_panel(lower[1], results)
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **style) for label, style in RATE_STYLES.values()]
    handles.append(Line2D([], [], label="slope 1 and slope 1/2", **TOLERANCE))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Iterations until the gap is certified", color=INK, fontsize="x-large")
    return figure


def _rates_panels(axes: Sequence[Axes], results: Results, measure: str) -> None:
    rows = [row for row in results.counts if row.measure == measure]
    if not rows:
        for ax in axes:
            ax.remove()
        return
    alpha, eps = min(row.alpha for row in rows), min(row.eps for row in rows)
    # The smallest eps that most methods reach says more than the smallest of all.
    middle = sorted({row.eps for row in rows})[min(2, len({row.eps for row in rows}) - 1)]
    middle_alpha = sorted({row.alpha for row in rows})[1]
    for method, (_, style) in RATE_STYLES.items():
        own = [row for row in rows if row.method == method]
        along_eps = sorted((1.0 / row.eps, row.iterations) for row in own if row.alpha == middle_alpha)
        along_alpha = sorted((1.0 / row.alpha, row.iterations) for row in own if row.eps == middle)
        for ax, points in zip(axes, (along_eps, along_alpha), strict=True):
            ax.plot(*zip(*points, strict=True), linewidth=1.6, markersize=5.0, **style)
    dataset, name = rows[0].problem, NAMES[measure]
    _plain_axes(axes[0], xlabel="1/ε", ylabel="iterations", title=f"{dataset}, {name}, λ = {middle_alpha:g}")
    _plain_axes(axes[1], xlabel="1/λ", ylabel="iterations", title=f"{dataset}, {name}, ε = {middle:g}")
    for ax, left in zip(axes, (1.0 / max(r.eps for r in rows), 1.0 / max(r.alpha for r in rows)), strict=True):
        right = 1.0 / (eps if ax is axes[0] else alpha)
        _guides(ax, left, right, [row.iterations for row in rows])


def _hard_panel(ax: Axes, results: Results) -> None:
    for method, (_, style) in RATE_STYLES.items():
        points = sorted(
            (1.0 / (row.alpha * row.eps), max(row.iterations, 1.0))
            for row in results.hard_counts
            if row.method == method
        )
        if points:
            ax.plot(*zip(*points, strict=True), linestyle="none", markersize=5.5, **style)
    _plain_axes(ax, xlabel="1/(λ ε)", ylabel="iterations", title="PRBEP, problem made for cutting planes")
    places = [1.0 / (row.alpha * row.eps) for row in results.hard_counts]
    if places:
        _guides(ax, min(places), max(places), [max(row.iterations, 1.0) for row in results.hard_counts])


def _entropy_panel(ax: Axes, results: Results) -> None:
    kinds: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
        ("squares", "theorem"): ("squares, step of the theorem", {"color": BLUE, "marker": "^"}),
        ("squares", "backtracking"): ("squares, backtracking", {"color": SKY, "marker": "v"}),
        ("entropy", "theorem"): ("entropy, step of the theorem", {"color": ORANGE, "marker": "P"}),
        ("entropy", "backtracking"): ("entropy, backtracking", {"color": GREEN, "marker": "X"}),
    }
    for (smoothing, step), (label, style) in kinds.items():
        points = [
            (row.n, row.iterations)
            for row in results.entropy_counts
            if (row.smoothing, row.step) == (smoothing, step) and row.reached
        ]
        if points:
            ax.plot(*zip(*points, strict=True), linewidth=1.6, markersize=5.0, label=label, **style)
    _plain_axes(ax, xlabel="n", ylabel="iterations", title="PRBEP, smoothed by squares and by entropy")
    if results.entropy_counts:
        _logarithmic(ax)
        ax.set_ylim(top=20.0 * max(row.iterations for row in results.entropy_counts))
        ax.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)


def _guides(ax: Axes, left: float, right: float, counts: Sequence[float]) -> None:
    """Dotted lines of slope 1 and 1/2, and logarithmic axes."""
    finite = [count for count in counts if count >= 1.0]
    _logarithmic(ax)
    low, high = min(finite), max(finite)
    x = np.array([left, right])
    for slope in (1.0, 0.5):
        y = low * (x / left) ** slope
        ax.plot(x, np.minimum(y, 3.0 * high) if slope < 1.0 else y, zorder=1, **TOLERANCE)
    ax.set_ylim(0.7 * low, 3.0 * high)


def _logarithmic(ax: Axes) -> None:
    """Logarithmic axes with numbers at powers of ten only."""
    from matplotlib.ticker import NullFormatter

    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())


def _curve(ax: Axes, curve: Curve, height: Any, method: str) -> None:
    """Draw a line that ends in a dot, or in a cross where the time was up."""
    seconds = np.maximum(curve.seconds, SHORTEST)
    style = STYLES[method]
    ax.plot(seconds, height, zorder=3, **style)
    stopped = curve.run.end == STOPPED
    end = {"marker": "x", "markeredgewidth": 2.0} if stopped else {"marker": "o"}
    ax.plot(seconds[-1:], height[-1:], color=style["color"], markersize=5.5, zorder=4, clip_on=False, **end)


def _grid(
    comparisons: Sequence[Comparison],
    draw: Callable[[Axes, Comparison], None],
    *,
    ylabel: str,
    title: str,
    dotted: str | None,
) -> Figure:
    from matplotlib.lines import Line2D

    columns = min(COLUMNS, len(comparisons))
    rows = -(-len(comparisons) // columns)
    figure = require_matplotlib()(figsize=(max(9.0, 3.9 * columns), 1.5 + 2.7 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in axes[len(comparisons) :]:
        unused.remove()
    for place, (ax, comparison) in enumerate(zip(axes, comparisons, strict=False)):
        draw(ax, comparison)
        ax.set_xscale("log")
        mark = MARKS[comparison.relation]
        _plain_axes(
            ax,
            xlabel="CPU seconds" if place + columns >= len(comparisons) else "",
            ylabel=ylabel if place % columns == 0 else "",
            title=f"{comparison.dataset}{f' ({mark})' if mark else ''}, λ = {comparison.alpha:g}",
        )
    handles: list[Any] = [Line2D([], [], label=LABELS[method], **STYLES[method]) for method in METHODS]
    marks: list[tuple[dict[str, Any], str]] = [
        ({"marker": "o"}, "finished"),
        ({"marker": "x", "markeredgewidth": 2.0}, "stopped at the time limit"),
    ]
    handles += [Line2D([], [], color=INK, linestyle="none", label=label, **mark) for mark, label in marks]
    if dotted is not None:
        handles.append(Line2D([], [], label=dotted, **TOLERANCE))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, color=INK, fontsize="large")
    return figure
