"""The charts that a threshold moves on: precision and recall, ROC on two scales, and the scores by class."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .bands import Band
from .charts import Axis, Chart
from .labels import LabelContents

#: Thresholds with a name: where they are kept in a Curve, and what they are called.
MARKS = {
    "operating": ("operating_point", "own threshold"),
    "even": ("break_even", "precision = recall"),
    "best": ("best_f1", "best F1"),
}


def precision_recall_chart(contents: LabelContents) -> str:
    """Return precision against recall."""
    curve, positives = contents.curve, contents.n_positive
    called = np.add(curve.tp, curve.fp)
    recall = np.divide(curve.tp, positives)
    precision = np.divide(curve.tp, np.maximum(called, 1))
    base = positives / (positives + contents.n_negative)
    value = contents.measures["average_precision"][0]
    chart = Chart(
        "pr",
        "Precision and recall",
        f"Precision against recall for every threshold; average precision {value:.4f}.",
        Axis("recall", 0.0, 1.0),
        Axis("precision", 0.0, 1.0),
    )
    _draw(chart, contents, (recall, precision), called > 0, contents.precision_band, [(0.0, base), (1.0, base)])
    return chart.render()


def roc_charts(contents: LabelContents) -> str:
    """Return the ROC curve twice, on an even and on a logarithmic axis; the style sheet shows one of them."""
    recall = np.divide(contents.curve.tp, contents.n_positive)
    rate = np.divide(contents.curve.fp, contents.n_negative)
    value = contents.measures["roc_area"][0]
    description = "True positive rate against false positive rate for every threshold"
    height = Axis("true positive rate, which is recall", 0.0, 1.0)
    low = lowest_rate(contents)
    even = Chart(
        "roc", "ROC", f"{description}; the area below is {value:.4f}.", Axis("false positive rate", 0.0, 1.0), height
    )
    small = Chart(
        "roc-log",
        "ROC",
        f"{description}, with a logarithmic axis for small rates.",
        Axis("false positive rate, logarithmic; less than the lowest is at the left end", low, 1.0, log=True),
        height,
    )
    guesses = np.geomspace(low, 1.0, 60)
    for chart, guessing in ((even, [(0.0, 0.0), (1.0, 1.0)]), (small, list(zip(guesses, guesses, strict=True)))):
        _draw(chart, contents, (rate, recall), np.ones(rate.shape, dtype=bool), contents.recall_band, guessing)
    return even.render() + small.render()


def lowest_rate(contents: LabelContents) -> float:
    """Return the beginning of the logarithmic axis: a power of ten, at most one false positive and 0.01."""
    return min(0.01, 10.0 ** math.floor(math.log10(1.0 / contents.n_negative) + 1e-9))


def scores_chart(contents: LabelContents) -> str:
    """Return the scores of the two classes, one upwards and one downwards."""
    histogram = contents.histogram
    positive = histogram.positive / contents.n_positive
    negative = -histogram.negative / contents.n_negative
    beyond = f"; {histogram.beyond:,} beyond the ends are in the last bars" if histogram.beyond else ""
    chart = Chart(
        "scores",
        "Scores by class",
        "Histogram of the scores: positives upwards, negatives downwards, each as a share of its class.",
        Axis("score" + beyond, float(histogram.edges[0]), float(histogram.edges[-1])),
        Axis("share of the class", 1.05 * float(negative.min()), 1.05 * float(positive.max()), signed=False),
    )
    chart.bars(histogram.edges.tolist(), positive.tolist(), "positive")
    chart.bars(histogram.edges.tolist(), negative.tolist(), "negative")
    threshold = contents.curve.thresholds[contents.curve.operating_point]
    chart.upright(threshold, "operating")
    chart.upright(threshold, "now")
    chart.legend("positive", f"upwards: {contents.classes[1]}, positive")
    chart.legend("negative", f"downwards: {contents.classes[0]}, negative")
    chart.legend("line-now", "present threshold")
    chart.legend("line-operating", "own threshold")
    return chart.render()


def _draw(
    chart: Chart,
    contents: LabelContents,
    points: tuple[NDArray[np.float64], NDArray[np.float64]],
    drawn: NDArray[np.bool_],
    band: Band,
    guessing: list[tuple[float, float]],
) -> None:
    """Put a curve on a chart with its band, what guessing would give, and all marks, each of a shape of its own."""
    xs, ys = points
    chart.band(band.places, band.low, band.high, "band")
    chart.line([x for x, _ in guessing], [y for _, y in guessing], "reference")
    chart.line(xs[drawn], ys[drawn], "curve")
    for name, (attribute, words) in MARKS.items():
        at = getattr(contents.curve, attribute)
        chart.mark(xs[at], ys[at], name)
        chart.legend(name, words)
    at = contents.curve.operating_point
    chart.mark(xs[at], ys[at], "now")
    chart.legend("now", "present threshold")
    chart.legend("band", "95 % of resamples")
    chart.legend("reference", "guessing")
