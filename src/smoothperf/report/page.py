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

from ..evaluation import title_of
from .contents import ReportContents
from .curves import MARKS, lowest_rate
from .threshold import threshold_section
from .training import SOLVERS, Training, banner, certificate, convergence, facts_list, risk_of, tag_of, training_tile
from .weights_table import weights_section

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
    return facts_list(facts)


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


def _tile(name: str, contents: ReportContents) -> str:
    """Name of a measure above its value; of decisions, with the threshold that it is for."""
    title = _measure(name)
    own = contents.training.decides and name == contents.training.measure
    return f"{title[0].upper()}{title[1:]}{', own threshold' if own else ''}"
