"""The page of a report: one HTML file with its style, script, curves and numbers inside, and nothing from the network.

Every string that comes from outside (names of files, labels, words of a status) goes through :func:`html.escape`. A
content security policy with the hash of the one script forbids whatever else a browser might run or load.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib import resources

import numpy as np

from ..evaluation import title_of
from .charts import Axis, Chart
from .contents import ReportContents, Training

SOLVERS = {
    "lbfgs": "L-BFGS",
    "nesterov": "Nesterov's accelerated gradient",
    "newton": "Newton's method",
    "bmrm": "BMRM (cutting planes)",
}
#: What is minimised itself, not a bound of one less it.
LOSSES = ("log_loss", "squared_hinge", "squared_loss")
#: Shown for a share of nothing.
NOTHING = "\u2013"
MARKS = {
    "operating": ("operating_point", "own threshold"),
    "even": ("break_even", "precision = recall"),
    "best": ("best_f1", "best F1"),
}


def render_report(contents: ReportContents) -> str:
    """Return the page as text.

    Parameters
    ----------
    contents : ReportContents
        From :func:`smoothperf.report.gather`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.report import gather
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X / X.max(axis=0)
    >>> page = render_report(gather(MeasureClassifier(alpha=1e-3).fit(X, y), X, y, data_name="breast <cancer>"))
    >>> "breast &lt;cancer&gt;" in page, "https://" in page
    (True, False)
    """
    title = f"{contents.model_name} on {contents.data_name}"
    main = f"""{_tiles(contents)}
<h2 id="choose">What a threshold does</h2>
{_threshold(contents)}
<h2>How good the training is</h2>
{certificate(contents.training)}
{convergence(contents.training)}
<h2>What was trained</h2>
{_facts(contents)}"""
    script = _resource("page.js")
    scripts = f"""<script type="application/json" id="data">{_data(contents)}</script>
<script>{script}</script>
"""
    return framed(title, _header(contents), main, script=script, scripts=scripts)


def framed(title: str, header: str, main: str, *, script: str | None = None, scripts: str = "") -> str:
    """Return a whole page; the one ``script`` that may run is in ``scripts``."""
    allowed = "'none'"
    if script is not None:
        allowed = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src {allowed}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{_resource("page.css")}</style>
</head>
<body>
<header>
{header}
</header>
<main>
{main}
</main>
<footer>Made by smoothperf. This page needs no network.</footer>
{scripts}</body>
</html>
"""


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(contents: ReportContents) -> str:
    """Return the numbers for the script. They are numbers only; still, nothing in them may close the element."""
    curve, edges = contents.curve, contents.histogram.edges
    data = {
        "thresholds": curve.thresholds,
        "tp": curve.tp,
        "fp": curve.fp,
        "positives": contents.n_positive,
        "negatives": contents.n_negative,
        "marks": {name: getattr(curve, attribute) for name, (attribute, _) in MARKS.items()},
        "low": float(edges[0]),
        "high": float(edges[-1]),
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _header(contents: ReportContents) -> str:
    n = contents.n_positive + contents.n_negative
    training = contents.training
    for_what = f"trained for {_measure(training.measure)}"
    if training.trained_with != training.measure:
        for_what = f"chosen for {_measure(training.measure)}, trained with {risk_of(training)}"
    return (
        f"<h1>{escape(contents.model_name)} on {escape(contents.data_name)}</h1>"
        f'<p class="lead">A linear model {escape(for_what)}, judged on {n:,} '
        f"examples, of which {contents.n_positive:,} ({contents.n_positive / n:.2%}) are "
        f"{escape(contents.classes[1])}, the positive label.</p>"
    )


def _tiles(contents: ReportContents) -> str:
    tiles = "".join(tile(_tile(name, contents), judged) for name, judged in contents.measures.items())
    return (
        f'<div class="tiles">{tiles}{training_tile(contents.training, constant=contents.constant)}</div>'
        '<p class="aside below">The intervals are from a bootstrap of the examples. If these are '
        "the examples the model was trained on, all figures flatter it.</p>"
    )


def tile(name: str, judged: tuple[float, float, float]) -> str:
    """Return a measure with its interval."""
    value, low, high = judged
    return (
        f'<div class="card tile"><p class="name">{escape(name)}</p><p class="value">{value:.4f}</p>'
        f'<p class="range">95 %: {low:.4f} to {high:.4f}</p></div>'
    )


def training_tile(training: Training, *, constant: bool) -> str:
    """Say how good the training is."""
    return (
        f'<div class="card tile certified"><p class="name">Training</p>{_verdict(training, constant=constant)}'
        f'<p class="range">objective {training.objective:.5f}, gap asked for {training.tol:g}</p></div>'
    )


def _verdict(training: Training, *, constant: bool) -> str:
    """Return the most important thing about the model, in green, orange or red."""
    if constant:
        return '<p class="verdict bad">\u2717 This model tells nothing: all examples have the same score</p>'
    tight = training.bound == "tight"
    if training.converged:
        words = "Stationary: no convex step gains more than {}" if tight else "Within {} of the optimum, certified"
        return f'<p class="verdict good">\u2713 {words.format(f"{training.gap:.2g}")}</p>'
    words = "a convex step may gain up to {}" if tight else "up to {} above the optimum"
    return f'<p class="verdict warn">\u26a0 Stopped early: {words.format(f"{training.gap:.2g}")}</p>'


def _threshold(contents: ReportContents) -> str:
    curve = contents.curve
    at = curve.operating_point
    buttons = "".join(
        f'<button type="button" data-mark="{name}" aria-pressed="{str(getattr(curve, attribute) == at).lower()}">'
        f'<i class="key {name}"></i>{words[0].upper()}{words[1:]}</button>'
        for name, (attribute, words) in MARKS.items()
    )
    decision = _decision(contents)
    glance = " \u00b7 ".join(
        f'{label.lower() if name != "f1" else label} <span data-show="{name}">{_share(decision[name][1])}</span>'
        for name, (label, _) in list(decision.items())[:3]
    )
    thinned = ""
    if curve.n_cuts > len(curve.tp):
        thinned = (
            f'<p class="aside below">The slider stops at {len(curve.tp):,} of {curve.n_cuts:,} possible thresholds; '
            "the counts at each are exact.</p>"
        )
    return f"""<section class="threshold" aria-labelledby="choose">
<div class="side">
<div class="card slider">
<label for="threshold">Threshold <b data-show="threshold">{_number(curve.thresholds[at])}</b></label>
<input type="range" id="threshold" min="0" max="{len(curve.tp) - 1}" step="1" value="{at}">
<div class="ends" aria-hidden="true"><span>nothing is positive</span><span>everything is</span></div>
<p class="glance" aria-hidden="true">{glance}</p>
<noscript><p class="aside">Moving the threshold needs JavaScript; shown is the model's own.</p></noscript>
</div>
<div class="card">
<div class="jumps" role="group" aria-label="Go to a threshold">{buttons}</div>
{_table(contents)}
</div>
</div>
<div class="curves">
<div class="card">{_precision_recall(contents)}</div>
<div class="card">{_roc(contents)}</div>
<div class="card wide">{_scores(contents)}</div>
</div>
</section>
{thinned}"""


def _decision(contents: ReportContents) -> dict[str, tuple[str, float | None]]:
    """Return the measures at the operating point with their labels; None for the precision of nothing."""
    curve, positives, negatives = contents.curve, contents.n_positive, contents.n_negative
    tp, fp = curve.tp[curve.operating_point], curve.fp[curve.operating_point]
    n, called = positives + negatives, tp + fp
    return {
        "precision": ("Precision", tp / called if called else None),
        "recall": ("Recall", tp / positives),
        "f1": ("F1", 2 * tp / (called + positives)),
        "fpr": ("False positive rate", fp / negatives),
        "accuracy": ("Accuracy", (tp + negatives - fp) / n),
        "rate": ("Called positive", called / n),
    }


def _table(contents: ReportContents) -> str:
    """Return the contingency table and the measures at the operating point; the script keeps them up to date."""
    curve = contents.curve
    tp, fp = curve.tp[curve.operating_point], curve.fp[curve.operating_point]
    positives, negatives = contents.n_positive, contents.n_negative
    n, called = positives + negatives, tp + fp
    meters = "".join(
        f'<dt>{label}</dt><div class="bar" aria-hidden="true"><i data-bar="{name}" '
        f'style="width:{100 * (value or 0):.2f}%"></i></div><dd data-show="{name}">{_share(value)}</dd>'
        for name, (label, value) in _decision(contents).items()
    )
    negative, positive = map(escape, contents.classes)
    return f"""<output for="threshold" data-show="sentence">{called:,} of {n:,} are called positive, {tp:,} of them \
rightly; {positives - tp:,} of {positives:,} positives are missed.</output>
<h3>Counts</h3>
<table>
<thead><tr><td></td><th scope="col">called<br>positive</th><th scope="col">called<br>negative</th>\
<th scope="col">in all</th></tr></thead>
<tbody>
<tr><th scope="row">{positive}, positive</th><td class="right" data-show="tp">{tp:,}</td>\
<td data-show="fn">{positives - tp:,}</td><td>{positives:,}</td></tr>
<tr><th scope="row">{negative}, negative</th><td data-show="fp">{fp:,}</td>\
<td class="right" data-show="tn">{negatives - fp:,}</td><td>{negatives:,}</td></tr>
<tr><th scope="row">in all</th><td data-show="called">{called:,}</td><td data-show="rest">{n - called:,}</td>\
<td>{n:,}</td></tr>
</tbody>
</table>
<p class="aside">Bold: called what it is.</p>
<h3>Measures</h3>
<dl class="meters">{meters}</dl>"""


def _precision_recall(contents: ReportContents) -> str:
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
    chart.line([0.0, 1.0], [base, base], "reference")
    chart.line(recall[called > 0], precision[called > 0], "curve")
    _mark_all(chart, contents, recall, precision)
    chart.legend("reference", "guessing")
    return chart.render()


def _roc(contents: ReportContents) -> str:
    recall = np.divide(contents.curve.tp, contents.n_positive)
    rate = np.divide(contents.curve.fp, contents.n_negative)
    value = contents.measures["roc_area"][0]
    chart = Chart(
        "roc",
        "ROC",
        f"True positive rate against false positive rate for every threshold; the area below is {value:.4f}.",
        Axis("false positive rate", 0.0, 1.0),
        Axis("true positive rate, which is recall", 0.0, 1.0),
    )
    chart.line([0.0, 1.0], [0.0, 1.0], "reference")
    chart.line(rate, recall, "curve")
    _mark_all(chart, contents, rate, recall)
    chart.legend("reference", "guessing")
    return chart.render()


def _mark_all(chart: Chart, contents: ReportContents, xs: np.ndarray, ys: np.ndarray) -> None:
    """Mark the named thresholds and the present one, each by a shape of its own."""
    for name, (attribute, words) in MARKS.items():
        at = getattr(contents.curve, attribute)
        chart.mark(xs[at], ys[at], name)
        chart.legend(name, words)
    at = contents.curve.operating_point
    chart.mark(xs[at], ys[at], "now")
    chart.legend("now", "present threshold")


def _scores(contents: ReportContents) -> str:
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


def certificate(training: Training) -> str:
    """Say what was minimised, and how close to the optimum it is."""
    share = f" ({training.gap / training.lower_bound:.2%})" if training.lower_bound > 0.0 else ""
    reached = (
        f"That is within the tolerance of {training.tol:g} that was asked for."
        if training.converged
        else f"The tolerance of {training.tol:g} that was asked for was not reached: longer training, with more "
        "iterations, could lower the objective by at most this gap."
    )
    certified = (
        f"No weights whatsoever bring it below <b>{training.lower_bound:.6g}</b>, so this model is at most "
        f"<b>{training.gap:.2g}</b>{share} above the best there is."
    )
    proof = "The bound is a proof, not an estimate: it comes from cutting planes of the exact objective, "
    if training.bound == "tight":
        certified = (
            f"No convex step from here brings it down by more than <b>{training.gap:.2g}</b>. It is not convex, and "
            "nobody knows how far above the best there is that is."
        )
        proof = "What a step may gain is a bound, not an estimate, "
    return (
        '<div class="card certificate">'
        f"<p>Training minimises {escape(_objective(training))} on the training data. At this model it is "
        f"<b>{training.objective:.6g}</b>. {certified} {reached}</p>"
        f'<p class="aside">{proof}'
        f"with rounding errors taken off. How the run ended: {escape(training.status)}</p></div>"
    )


def convergence(training: Training) -> str:
    """Draw how training went."""
    trace = training.trace
    if trace["passes"].shape[0] < 2:
        return '<p class="aside">The model holds no trace of more than one iteration, so there is no curve.</p>'
    passes = trace["passes"].tolist()
    along = Axis("passes over the data", 0.0, passes[-1])
    gaps = np.where(np.isfinite(trace["gap"]) & (trace["gap"] > 0.0), trace["gap"], np.nan)
    first, last = float(np.nanmax(gaps)), float(np.nanmin(gaps))
    decades = Axis(
        "certified gap",
        10.0 ** np.floor(np.log10(min(last, training.tol)) + 1e-9),
        10.0 ** np.ceil(np.log10(max(first, 10.0 * training.tol)) - 1e-9),
        log=True,
    )
    tight = training.bound == "tight"
    title = "What a convex step may gain" if tight else "How far from the optimum"
    gap = Chart("gap", title, f"The gap fell from {first:.2g} to {last:.2g}.", along, decades)
    shown = np.isfinite(gaps)
    gap.line([0.0, passes[-1]], [training.tol] * 2, "reference")
    gap.line(trace["passes"][shown], gaps[shown], "curve")
    gap.legend("curve", "certified gap")
    gap.legend("reference", f"tolerance {training.tol:g}")

    if tight:  # whose steps have a lower bound each, and all together have none
        return f'<div class="card wide">{gap.render()}</div>'
    height = Axis("objective", 0.0, 1.05 * float(trace["objective"].max()))
    if 0.0 < training.lower_bound < 0.02 * height.high:  # all that matters would be at the very bottom
        decade = float(np.floor(np.log10(training.lower_bound)))
        height = Axis("objective", 10.0**decade, height.high, log=True)
    between = Chart(
        "bounds",
        "Closing in from both sides",
        f"The objective fell to {training.objective:.5g}, its lower bound rose to {training.lower_bound:.5g}.",
        along,
        height,
    )
    between.line(passes, trace["objective"], "curve")
    between.line(passes, np.nan_to_num(trace["lower_bound"], neginf=0.0), "second")
    between.legend("curve", "best objective so far")
    between.legend("second", "lower bound of the optimum")
    return f'<div class="pair"><div class="card">{gap.render()}</div><div class="card">{between.render()}</div></div>'


def _facts(contents: ReportContents) -> str:
    training = contents.training
    facts = {
        "Measure": _measure(training.measure),
        "Trained with": risk_of(training),
        "Regulariser alpha": f"{training.alpha:g}",
        "Solver": SOLVERS.get(training.solver, training.solver),
        "Tolerance": f"{training.tol:g}",
        "Features": f"{training.n_features:,}",
        "Iterations": f"{training.n_iter:,}",
        "Passes over the data": f"{training.passes:,}",
        "Time": f"{training.seconds:.2f} s",
        "Positive label": contents.classes[1],
        "Negative label": contents.classes[0],
        "Model file": contents.model_name,
        "Data file": contents.data_name,
    }
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return f'<div class="card"><dl class="facts">{items}</dl></div>'


def _measure(name: str) -> str:
    return title_of(name)


def risk_of(training: Training) -> str:
    """Name what was minimised: a loss, or the bound of a measure."""
    name = _measure(training.trained_with).removeprefix("minus ")
    return name if training.trained_with in LOSSES else f"{name}, {training.bound} bound"


def _objective(training: Training) -> str:
    """Say what was minimised, in half a sentence."""
    name = _measure(training.trained_with).removeprefix("minus ")
    if training.trained_with in LOSSES:
        return f"the regularised {name}"
    kind = "tight upper bound" if training.bound == "tight" else "upper bound"
    return f"a regularised {kind} of 1 \u2212 {name}"


def _tile(name: str, contents: ReportContents) -> str:
    """Name of a measure above its value; of decisions, with the threshold that it is for."""
    title = _measure(name)
    own = contents.training.decides and name == contents.training.measure
    return f"{title[0].upper()}{title[1:]}{', own threshold' if own else ''}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"


def _number(value: float) -> str:
    """Write a threshold as the script writes it."""
    text = f"{value:g}" if value == int(value) and abs(value) < 1e15 else repr(value)
    return text.replace("-", "\u2212")
