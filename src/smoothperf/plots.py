"""Figures as pure functions of data: nothing is shown, no global state is touched.

matplotlib is optional, ``pip install smoothperf[plots]``, and is imported when the first figure is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array
from ._files import written_whole
from ._validation import choice, positive_number, whole_number
from .optimise import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .estimators.path import RegularizationPath

__all__ = ["comparison", "convergence", "convergence_grid", "path", "save", "shapes"]


#: Okabe and Ito's colours, which can be told apart with any kind of colour vision.
#: Yellow is left out: too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
INK, GRID = "#333333", "#DDDDDD"
#: The three kinds of lines.
OBJECTIVE: dict[str, Any] = {"linewidth": 2.0}
GAP: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (4, 2))}
TOLERANCE: dict[str, Any] = {"linewidth": 1.0, "linestyle": ":", "color": INK}
#: Most lines of weights, and most letters of the name of one.
DRAWN, LONGEST_NAME = 200, 24
AXES = {"passes": "passes over the data", "seconds": "seconds"}


def convergence(
    runs: Mapping[str, Trace],
    *,
    best_lower_bound: float | None = None,
    axis: str = "passes",
    gaps: bool = True,
    tol: float | None = None,
    title: str | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far above the optimum each run is known to be, against the work done; logarithmic y.

    A solid line is the best exact objective so far, less the best lower bound of all runs. It ends in a dot
    where the run stopped, and starts after the passes that a solver needs before its first iterate.

    Parameters
    ----------
    runs : mapping of str to Trace
        The trace of every run by its label, for example ``{"L-BFGS": result.trace}``.
    best_lower_bound : float, optional
        Zero of the y axis; the best lower bound in the traces by default.
    axis : {"passes", "seconds"}, default="passes"
        Quantity on the x axis.
    gaps : bool, default=True
        Whether to draw the certified gap too, as a thin dashed line: what the run itself knew at the time.
    tol : float, optional
        A dotted line at this tolerance.
    title : str, optional
        Above the axes.
    legend : bool, default=True
        Whether to explain the lines inside the axes.
    ax : matplotlib Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib Axes
        Its figure is ``axes.figure``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smoothperf import MeasureClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = MeasureClassifier("roc_area", alpha=1e-3).fit(X / X.max(axis=0), y)
    >>> axes = convergence({"L-BFGS": clf.result_.trace}, tol=1e-3)
    >>> axes.get_xlabel(), axes.get_yscale()
    ('passes over the data', 'log')
    """
    figure_class = require_matplotlib()
    choice("axis", axis, tuple(AXES))
    bound = _reference(runs, best_lower_bound)
    if ax is None:
        ax = figure_class(figsize=(6.4, 4.0), layout="constrained").subplots()
    if tol is not None:
        ax.axhline(positive_number("tol", tol), label="_tolerance", zorder=1, **TOLERANCE)
    for colour, (name, trace) in zip(cycle(COLOURS), runs.items(), strict=False):
        work = trace[axis]
        if gaps:
            ax.plot(work, _above_zero(trace["gap"]), color=colour, alpha=0.8, **GAP)
        above = _above_zero(np.minimum.accumulate(trace["objective"]) - bound)
        ax.plot(work, above, color=colour, label=name, zorder=3, **OBJECTIVE)
        ax.plot(work[-1:], above[-1:], color=colour, marker="o", markersize=5.0, clip_on=False, zorder=4)
    ax.set_yscale("log")
    ax.set_xlim(left=0.0)
    _plain_axes(ax, xlabel=AXES[axis], ylabel="objective above best lower bound", title=title)
    if legend:
        ax.legend(handles=_legend_handles(runs, gaps=gaps, tol=tol), frameon=False, fontsize="small")
    return ax


def convergence_grid(
    panels: Mapping[str, Mapping[str, Trace]],
    *,
    columns: int = 2,
    axis: str = "passes",
    gaps: bool = True,
    tol: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw one :func:`convergence` per problem, with one legend.

    Parameters
    ----------
    panels : mapping of str to runs
        The runs of every problem by its title. All panels have the same labels in the same order.
    columns : int, default=2
        Panels side by side.
    axis, gaps, tol
        As for :func:`convergence`.
    title : str, optional
        Above everything.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from smoothperf.optimise import Trace, TraceRow
    >>> start = TraceRow(0, 0.0, 1, objective=1.0, smoothed_objective=0.9, lower_bound=0.0, gap=1.0, mu=0.1)
    >>> end = TraceRow(1, 0.1, 3, objective=0.8, smoothed_objective=0.7, lower_bound=0.5, gap=0.3, mu=0.1)
    >>> runs = {"L-BFGS": Trace([start, end])}
    >>> figure = convergence_grid({"easy": runs, "hard": runs}, title="Two problems")
    >>> len(figure.axes)
    2
    """
    figure_class = require_matplotlib()
    whole_number("columns", columns, at_least=1)
    labels = {tuple(runs) for runs in panels.values()}
    if len(labels) != 1:
        raise ValueError(f"panels must all have the same labels in the same order, got {sorted(labels)}.")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = figure_class(figsize=(4.6 * columns, 0.8 + 3.2 * rows))
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    axes = list(grid.flat)
    for unused in axes[len(panels) :]:
        unused.remove()
    for place, (ax, (name, runs)) in enumerate(zip(axes, panels.items(), strict=False)):
        convergence(runs, axis=axis, gaps=gaps, tol=tol, title=name, legend=False, ax=ax)
        # Axes are labelled on the left and below only.
        if place % columns:
            ax.set_ylabel("")
        if place + columns < len(panels):
            ax.set_xlabel("")
    handles = _legend_handles(labels.pop(), gaps=gaps, tol=tol)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    if title is not None:
        figure.suptitle(title, color=INK, fontsize="x-large")
    return figure


def path(
    found: RegularizationPath,
    *,
    measure: str = "measure",
    title: str | None = None,
    data: str | None = None,
    weights: bool = False,
    feature_names: Sequence[str] | None = None,
) -> Figure:
    """Draw a regularization path: above the measure, below the objective, both against alpha.

    The range of alphas where w = 0 is optimal within the tolerance is shaded: models there may be constant. For a
    tight bound, which has no certified optimum, it is where w = 0 is as good as what was found.

    Parameters
    ----------
    found : RegularizationPath
        From :func:`smoothperf.regularization_path`. If it has validation scores, a dot marks the best, unless w = 0 is
        as good for every alpha.
    measure : str
        Name of the measure, for the axis.
    title : str, optional
        Above everything.
    data : str, optional
        Name of the training data, below the title.
    weights : bool, default=False
        Whether to draw how the weights of features come in, between the two; worth while where most are zero.
    feature_names : sequence of str, optional
        Names of features, for those with the largest weights; their numbers by default.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smoothperf import regularization_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> figure = path(regularization_path(X / X.max(axis=0), y, n_alphas=5), measure="ROC area")
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['ROC area', 'objective']
    """
    heights = (3, 3, 2) if weights else (3, 2)
    figure = require_matplotlib()(figsize=(8.0 if weights else 6.4, 1.6 + sum(heights)), layout="constrained")
    above, *between, below = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    above.plot(found.alphas, found.train_scores, color=COLOURS[0], label="training rows", **OBJECTIVE)
    scores = found.validation_scores
    if scores is not None:
        above.plot(found.alphas, scores, color=COLOURS[1], label="rows held out", linewidth=2.0, linestyle="--")
    if scores is not None and not found.zero_is_best.all():
        best = int(np.argmax(scores))
        above.plot(
            found.alphas[best],
            scores[best],
            color=COLOURS[1],
            marker="o",
            linestyle="none",
            label=f"best, alpha {found.alphas[best]:.2g}",
        )
    objective = "objective" if found.certified else "objective (tight bound)"
    below.plot(found.alphas, found.objectives, color=COLOURS[0], label=objective, **OBJECTIVE)
    if found.certified:
        below.plot(found.alphas, found.lower_bounds, color=COLOURS[2], label="lower bound of the optimum", **GAP)
    if found.zero_is_best.any():
        collapsed = f"w = 0 is {'optimal' if found.certified else 'as good,'} within tol"
        for ax in (above, *between, below):
            ax.axvspan(*_collapsed(found), color=GRID, alpha=0.6, linewidth=0, label=collapsed)
    _plain_axes(above, xlabel="", ylabel=measure, title=None)
    if data is not None:
        above.set_title(data, loc="left", color=INK, fontsize="medium")
    if title is not None:
        figure.suptitle(title, x=0.02, ha="left", color=INK, fontsize="large", fontweight="bold")
    _plain_axes(below, xlabel="alpha, the strength of the regulariser", ylabel="objective", title=None)
    below.set_xscale("log")
    for ax in between:
        _draw_weights(ax, found, feature_names)
    # Below everything, where no curve runs; what both have in common is explained once.
    handles = {
        label: line for ax in (above, below) for line, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=3, frameon=False, fontsize="small")
    return figure


def _draw_weights(ax: Axes, found: RegularizationPath, feature_names: Sequence[str] | None) -> None:
    """Draw the weights over alpha; the largest have colours, and names on the right."""
    order = np.argsort(-np.abs(found.coefs).max(axis=0), kind="stable")
    order = order[: min(DRAWN, int(found.n_features_in_model.max()))]
    for place, feature in reversed(list(enumerate(order))):
        name = f"feature {feature + 1}" if feature_names is None else str(feature_names[feature])
        look: dict[str, Any] = {"color": GRID, "linewidth": 0.7}
        if place < len(COLOURS):
            shown = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\u2026"
            look = {"color": COLOURS[place], "linewidth": 1.6, "label": shown}
        ax.plot(found.alphas, found.coefs[:, feature], **look)
    lines = sorted(
        (line for line in ax.get_lines() if not str(line.get_label()).startswith("_")), key=_end, reverse=True
    )
    ax.legend(handles=lines, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    _plain_axes(ax, xlabel="", ylabel=f"weights ({found.n_features_in_model[-1]:,} features)", title=None)


def _end(line: Any) -> float:
    """Return the height of a line at its end, the smallest alpha."""
    return float(line.get_ydata()[-1])


def _collapsed(found: RegularizationPath) -> tuple[float, float]:
    """Between which alphas w = 0 is as good as anything, up to the middle between the last such and the next one."""
    last = int(np.flatnonzero(found.zero_is_best)[-1])
    after = min(last + 1, found.alphas.shape[0] - 1)
    return float(np.sqrt(found.alphas[last] * found.alphas[after])), float(found.alphas[0])


def comparison(models: Mapping[str, Mapping[str, tuple[float, float, float]]], *, title: str | None = None) -> Figure:
    """Draw several models by several measures: a panel for each measure, a dot with its interval for each model.

    Parameters
    ----------
    models : mapping of str to mapping of str to (float, float, float)
        Value and both ends of an interval, by model and by measure; the same measures for all models.
    title : str, optional
        Above everything.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = comparison({"for F1": {"F1": (0.8, 0.7, 0.9)}, "LinearSVC": {"F1": (0.7, 0.6, 0.8)}})
    >>> figure.axes[0].get_title(loc="left"), len(figure.axes)
    ('F1', 1)
    """
    figure_class = require_matplotlib()
    measures = {tuple(values) for values in models.values()}
    if len(measures) != 1:
        raise ValueError(f"models must all have the same measures in the same order, got {sorted(measures)}.")
    names = measures.pop()
    figure = figure_class(figsize=(1.6 + 1.9 * len(names), 1.2 + 0.35 * len(models)), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for ax, name in zip(panels, names, strict=True):
        for place, (colour, values) in enumerate(zip(cycle(COLOURS), models.values(), strict=False)):
            value, low, high = values[name]
            ax.plot([low, high], [place, place], color=colour, **OBJECTIVE)
            ax.plot([value], [place], color=colour, marker="o", markersize=5.0)
        _plain_axes(ax, xlabel="", ylabel="", title=name)
    panels[0].set_yticks(range(len(models)), list(models))
    panels[0].set_ylim(len(models) - 0.5, -0.5)
    if title is not None:
        figure.suptitle(title, x=0.02, ha="left", color=INK, fontsize="medium")
    return figure


def shapes(model: Any, X: Any = None, *, title: str | None = None, figure: Figure | None = None) -> Figure:
    """Draw what each column of an additive model adds to its score: curves, and bars for words.

    Parameters
    ----------
    model : MeasureClassifier or MeasureRanker
        Fitted, with features that are made of columns one by one.
    X : data frame or array-like of shape (n, d), optional
        Rows: curves go over the numbers that they have, less their mean effect. Else curves go from their first knot
        to the last, and straight lines, which have none, are left out.
    title : str, optional
        Above everything.
    figure : matplotlib Figure, optional
        An empty one to draw into; a new one by default.

    Returns
    -------
    matplotlib Figure
        A panel for each column, that which moves the score most first, all with the same scale. With bands of 95 %,
        if the model was chosen in splits: of the curve that other training rows would lead to on average.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.features import Shapes
    >>> X = np.arange(20.0).reshape(-1, 2)
    >>> figure = shapes(MeasureClassifier(features=Shapes()).fit(X, abs(X[:, 0] - 9.0) > 5.0))
    >>> sorted(ax.get_title(loc="left") for ax in figure.axes)
    ['column 0', 'column 1']
    """
    from .estimators.effects import drawable

    panels = sorted(drawable(model, X), key=lambda panel: -float(np.ptp(panel.heights)))
    if not panels:
        raise ValueError("the model has no curves and no words to draw: without X straight lines have no ends.")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    if figure is None:
        figure = require_matplotlib()(figsize=(1.0 + 2.6 * columns, 0.5 + 2.0 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for ax, panel in zip(axes, panels, strict=False):
        places, heights, half, ticks = panel.places, panel.heights, panel.half_width, panel.ticks
        _plain_axes(ax, xlabel="", ylabel="", title=panel.name)
        ax.axhline(0.0, color=INK, linewidth=0.6)
        if isinstance(places, list):
            ax.bar(places, heights, color=COLOURS[0], width=0.7, yerr=half, ecolor=INK)
            ax.tick_params(axis="x", labelrotation=30)
            continue
        if half is not None:
            ax.fill_between(places, heights - half, heights + half, color=COLOURS[0], alpha=0.2, linewidth=0.0)
        ax.plot(places, heights, color=COLOURS[0], **OBJECTIVE)
        ax.plot(ticks, np.zeros(ticks.size), "|", color=INK, markersize=6.0, transform=ax.get_xaxis_transform())
    for ax in axes[len(panels) :]:
        ax.remove()
    if title is not None:
        figure.suptitle(title, x=0.02, ha="left", color=INK, fontsize="medium")
    return figure


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: float = 150) -> Path:
    """Write a figure to a file, whole or not at all; the suffix of the path says the format.

    The image goes to a temporary file in the same folder first, which then takes the name: the path leads to the old
    figure or to the new one, never to half of one.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    path : path-like
        The file, for example ``convergence.png`` or ``convergence.pdf``. The folder must exist.
    dpi : float, default=150
        Dots per inch, for bitmaps.

    Returns
    -------
    Path
        The path written.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> save(Figure(), Path(tempfile.mkdtemp(), "empty.png")).name
    'empty.png'
    """
    target = Path(path)
    if not target.suffix:
        raise ValueError(f"path must end in a suffix that says the format, such as .png or .pdf, got {str(path)!r}.")
    with written_whole(target) as file:
        figure.savefig(file, format=target.suffix[1:], dpi=dpi)
    return target


def require_matplotlib() -> type[Figure]:
    """Return ``matplotlib.figure.Figure``, or raise an ImportError that says how to get it.

    Examples
    --------
    >>> require_matplotlib().__name__
    'Figure'
    """
    try:
        from matplotlib import figure
    except ModuleNotFoundError as error:
        raise ImportError("Figures need matplotlib: pip install 'smoothperf[plots]'.") from error
    return figure.Figure


def _reference(runs: Mapping[str, Trace], best_lower_bound: float | None) -> float:
    """Return what objectives are measured from, after a check of the runs."""
    empty = [name for name, trace in runs.items() if len(trace) == 0]
    if not runs or empty:
        raise ValueError(f"runs must hold traces of one iteration at least, got {empty or 'no run'}.")
    smallest = min(float(trace["objective"].min()) for trace in runs.values())
    if best_lower_bound is None:
        return max(float(trace["lower_bound"].max()) for trace in runs.values())
    if not best_lower_bound <= smallest:
        raise ValueError(f"best_lower_bound is {best_lower_bound!r}, but an objective of {smallest!r} was reached.")
    return best_lower_bound


def _above_zero(values: Array) -> Array:
    """Return the values with holes where a logarithm has nothing to show."""
    return np.where(values > 0.0, values, np.nan)


def _plain_axes(ax: Axes, *, xlabel: str, ylabel: str, title: str | None) -> None:
    ax.set_xlabel(xlabel, color=INK)
    ax.set_ylabel(ylabel, color=INK)
    if title is not None:
        ax.set_title(title, loc="left", color=INK, fontsize="medium", fontweight="bold")
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=INK, which="both")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(INK)


def _legend_handles(names: Iterable[str], *, gaps: bool, tol: float | None) -> list[Any]:
    """Solid lines by name, then what a dashed and a dotted line mean."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, label=name, **OBJECTIVE)
        for colour, name in zip(cycle(COLOURS), names, strict=False)
    ]
    if gaps:
        handles.append(Line2D([], [], color=INK, label="certified gap", **GAP))
    if tol is not None:
        handles.append(Line2D([], [], label=f"tolerance {tol:g}", **TOLERANCE))
    return handles
