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
from .curves import MARKS, lowest_rate
from .threshold import threshold_section
from .weights_table import weights_section

SOLVERS = {
    "auto": "L-BFGS",
    "lbfgs": "L-BFGS",
    "nesterov": "Nesterov's accelerated gradient",
    "newton": "Newton's method",
    "bmrm": "BMRM (cutting planes)",
}
#: Minimised directly, not through a bound of one minus the score.
LOSSES = ("log_loss", "squared_hinge", "squared_loss", "pooled_squared_loss")
#: Of models that were saved by earlier versions, or fitted in Python.
UNKNOWN = "not known"


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
    empty = contents.weights.n_used == 0
    main = f"""{banner(contents.training, constant=contents.constant, empty=empty)}
{_tiles(contents)}
<h2 id="choose">What a threshold does</h2>
{threshold_section(contents)}
<h2 id="weigh">What the features weigh</h2>
{weights_section(contents)}
<h2>How good the training is</h2>
{certificate(contents.training)}
{convergence(contents.training)}
<h2>What was trained</h2>
{_facts(contents)}"""
    script = _resource("page.js")
    scripts = f"""<script type="application/json" id="data">{_data(contents)}</script>
<script>{script}</script>
"""
    return framed(title, _header(contents), main, made=contents.made, script=script, scripts=scripts)


def framed(title: str, header: str, main: str, *, made: str, script: str | None = None, scripts: str = "") -> str:
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
<footer>Made {escape(made)}. This page needs no network.</footer>
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
        "intercept": contents.weights.intercept,
        # Where the difference rounds to the other side of a row.
        "rawInstead": {
            i: raw
            for i, (threshold, raw) in enumerate(zip(curve.thresholds, curve.raw_thresholds, strict=True))
            if threshold - contents.weights.intercept != raw
        },
        "tp": curve.tp,
        "fp": curve.fp,
        "positives": contents.n_positive,
        "negatives": contents.n_negative,
        "marks": {name: getattr(curve, attribute) for name, (attribute, _) in MARKS.items()},
        "low": float(edges[0]),
        "high": float(edges[-1]),
        "lowestRate": lowest_rate(contents),
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


def banner(training: Training, *, constant: bool, empty: bool) -> str:
    """Say so, before anything else, if the model tells nothing; ``empty`` if it has no weight at all."""
    if not constant:
        return ""
    if empty:
        why = (
            f"All its weights are 0, as the regulariser, alpha {training.alpha:g}, is too strong for what the "
            "measure has to gain. Train with a smaller alpha or with the tight bound, or let both be chosen."
        )
    else:
        why = "Its weights are on features that are the same in all these examples."
    return (
        '<div class="banner" role="alert"><p><b>\u2717 This model tells nothing: all examples have the same score.</b>'
        f"</p><p>{why}</p></div>"
    )


def _tiles(contents: ReportContents) -> str:
    training = contents.training
    names = sorted(contents.measures, key=lambda name: name != training.measure)  # that one first
    tiles = "".join(tile(_tile(name, contents), contents.measures[name], tag_of(name, training)) for name in names)
    return (
        f'<div class="tiles">{tiles}{training_tile(training, constant=contents.constant)}</div>'
        '<p class="aside below">The intervals, and the bands around the curves, are from a bootstrap of the examples. '
        "If these are the examples the model was trained on, all figures flatter it.</p>"
    )


def tile(name: str, judged: tuple[float, float, float], tag: str = "") -> str:
    """Return a measure with its interval; one with a tag stands out."""
    value, low, high = judged
    return (
        f'<div class="card tile{" own" if tag else ""}"><p class="name">{escape(name)}</p>'
        f'<p class="value">{value:.4f}</p><p class="range">95 %: {low:.4f} to {high:.4f}</p>'
        + (f'<p class="tag">{tag}</p></div>' if tag else "</div>")
    )


def tag_of(name: str, training: Training) -> str:
    """What to say of the measure that the model was made for; nothing of the others."""
    if name != training.measure:
        return ""
    return "Trained for this" if training.trained_with == training.measure else "Chosen for this"


def training_tile(training: Training, *, constant: bool) -> str:
    """Say how good the training is."""
    members = len(training.averaged)
    name = f"Training, of the first of {members} models that are averaged" if members > 1 else "Training"
    return (
        f'<div class="card tile certified"><p class="name">{name}</p>{_verdict(training, constant=constant)}'
        f'<p class="range">objective {training.objective:.5f}, gap asked for {training.tol:g}</p></div>'
    )


def _verdict(training: Training, *, constant: bool) -> str:
    """Return the most important thing about the model, in green, orange or red."""
    if constant:
        return '<p class="verdict bad">\u2717 It tells nothing</p>'
    tight = training.bound == "tight"
    if training.converged:
        words = "Stationary: no convex step gains more than {}" if tight else "Within {} of the optimum, certified"
        return f'<p class="verdict good">\u2713 {words.format(f"{training.gap:.2g}")}</p>'
    words = "a convex step may gain up to {}" if tight else "up to {} above the optimum"
    return f'<p class="verdict warn">\u26a0 Stopped early: {words.format(f"{training.gap:.2g}")}</p>'


def certificate(training: Training) -> str:
    """Say what is certified."""
    share = f" ({training.gap / training.lower_bound:.2%})" if training.lower_bound > 0.0 else ""
    reached = (
        f"That is within the tolerance of {training.tol:g} that was asked for."
        if training.converged
        else f"The tolerance of {training.tol:g} that was asked for was not reached: longer training, with more "
        "iterations, could lower the objective by at most this gap."
    )
    which = "No weights within the bounds" if training.bounded else "No weights whatsoever"
    this = "the first of them" if len(training.averaged) > 1 else "this model"
    certified = (
        f"{which} bring it below <b>{training.lower_bound:.6g}</b>, so {this} is at most "
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
        f"<p>Training minimises {escape(_objective(training))} on the training data. At {this} it is "
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
        return f'<div class="card">{gap.render()}</div>'
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
    training, origin = contents.training, contents.training.origin
    facts = {
        "Measure": _measure(training.measure),
        "Trained with": risk_of(training),
        "Regulariser alpha": f"{training.alpha:g}",
        **training.penalty,
        "Solver": SOLVERS.get(training.solver, training.solver),
        "Tolerance": f"{training.tol:g}",
        "Features": f"{training.n_features:,}",
        "Training rows": _training_rows(training),
        "Training file": origin.get("data", UNKNOWN),
        "Trained": _trained_when(origin),
        "Iterations": f"{training.n_iter:,}",
        "Passes over the data": f"{training.passes:,}",
        "Time": f"{training.seconds:.2f} s",
        "Positive label": contents.classes[1],
        "Negative label": contents.classes[0],
        "Model file": contents.model_name,
        "Data file": contents.data_name,
        "Report made": contents.made,
    }
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return f'<div class="card"><dl class="facts">{items}</dl></div>'


def _training_rows(training: Training) -> str:
    if training.rows is None:
        return UNKNOWN
    negative, positive = training.rows
    return f"{negative + positive:,}, of which {positive:,} positive"


def _trained_when(origin: dict[str, str]) -> str:
    """Date and version, as the page says its own."""
    if "date" not in origin:
        return UNKNOWN
    return f"{origin['date'][:16].replace('T', ' ')} UTC by smoothperf {origin.get('smoothperf', UNKNOWN)}"


def _measure(name: str) -> str:
    return title_of(name)


def risk_of(training: Training) -> str:
    """Name what was minimised: a loss, or the bound of a measure."""
    name = _measure(training.trained_with).removeprefix("minus ")
    return name if _is_loss(training) else f"{name}, {training.bound} bound"


def _is_loss(training: Training) -> bool:
    """Whether a loss was minimised; its name may say what is unusual about it."""
    return training.trained_with.partition(", ")[0] in LOSSES


def _objective(training: Training) -> str:
    """Say what was minimised, in half a sentence."""
    name = _measure(training.trained_with).removeprefix("minus ")
    if _is_loss(training):
        return f"the regularised {name}"
    kind = "tight upper bound" if training.bound == "tight" else "upper bound"
    return f"a regularised {kind} of 1 \u2212 {name}"


def _tile(name: str, contents: ReportContents) -> str:
    """Name of a measure above its value; of decisions, with the threshold that it is for."""
    title = _measure(name)
    own = contents.training.decides and name == contents.training.measure
    return f"{title[0].upper()}{title[1:]}{', own threshold' if own else ''}"
