"""The page of a report: one HTML file with its style, script, curves and numbers inside, and nothing from the network.

Every string that comes from outside (names of files, labels, words of a status) goes through :func:`html.escape`. A
content security policy with the hash of the one script forbids whatever else a browser might run or load.
"""

from __future__ import annotations

import json
from html import escape

from ..evaluation import title_of
from .charts import capital
from .contents import Parts, ReportContents, ValueAndInterval
from .curves import MARKS, lowest_rate
from .frame import framed, resource
from .labels import LabelContents
from .many import ManyContents
from .many_page import many_page
from .rankings import RankingContents
from .rankings_page import ranking_parts
from .shapes import shapes_data, shapes_section
from .threshold import threshold_section
from .training import SOLVERS, TrainingFacts, banner, certificate, convergence, risk_of, tag_of, training_tile
from .weights import weights_section

#: Of models that were saved by earlier versions, or fitted in Python.
UNKNOWN = "not known"


def render_report(contents: ReportContents | ManyContents) -> str:
    """Return the page as text.

    Parameters
    ----------
    contents : ReportContents or ManyContents
        From :func:`smoothperf.report.gather`, :func:`smoothperf.report.gather_ranking` or
        :func:`smoothperf.report.gather_many`.

    Returns
    -------
    str
        HTML.

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
    if isinstance(contents, ManyContents):
        return many_page(contents)
    assert isinstance(contents, (LabelContents, RankingContents))
    parts = ranking_parts(contents) if isinstance(contents, RankingContents) else _label_parts(contents)
    training = contents.training
    main = f"""{banner(training, constant=contents.constant, empty=contents.empty)}
{_tiles(contents, parts)}
{parts.sections}
<h2>How good the training is</h2>
{_average(training)}{certificate(training)}
{convergence(training)}
<h2>What was trained</h2>
{_facts(contents, parts)}"""
    header = _header(contents, parts)
    return framed(_title(contents), contents.made, header, main, parts.script, parts.data)


def _label_parts(contents: LabelContents) -> Parts:
    """Return what is shown of classifiers only."""
    training, n = contents.training, contents.n_positive + contents.n_negative
    rows = (
        f"judged on {n:,} examples, of which {contents.n_positive:,} ({contents.n_positive / n:.2%}) are "
        f"{escape(contents.classes[1])}, the positive label."
    )
    note = (
        "The intervals, and the bands around the curves, are from a bootstrap of the examples. "
        "If these are the examples the model was trained on, all figures flatter it."
    )
    if contents.shapes is None:
        features = f"""<h2 id="weigh">What the features weigh</h2>
{weights_section(contents)}"""
    else:
        features = f"""<h2 id="weigh">What the columns add</h2>
{shapes_section(contents.shapes, contents.classes[1], above=True)}"""
    sections = f"""<h2 id="choose">What a threshold does</h2>
{threshold_section(contents)}
{features}"""
    return Parts(
        ("model", rows),
        note,
        sections,
        rows={"Training rows": _training_rows(training)},
        labels={"Positive label": contents.classes[1], "Negative label": contents.classes[0]},
        script=resource("page.js"),
        data=_data(contents),
    )


def _data(contents: LabelContents) -> str:
    """Return the numbers for the script. They are numbers only; still, nothing in them may close the element."""
    curve, edges = contents.curve, contents.histogram.edges
    data = {
        "thresholds": curve.thresholds,
        "intercept": contents.shift,
        # Where the difference rounds to the other side of a row.
        "rawInstead": {
            i: raw
            for i, (threshold, raw) in enumerate(zip(curve.thresholds, curve.raw_thresholds, strict=True))
            if threshold - contents.shift != raw
        },
        "tp": curve.tp,
        "fp": curve.fp,
        "positives": contents.n_positive,
        "negatives": contents.n_negative,
        "marks": {name: getattr(curve, attribute) for name, (attribute, _) in MARKS.items()},
        "low": float(edges[0]),
        "high": float(edges[-1]),
        "lowestRate": lowest_rate(contents),
        "shapes": [] if contents.shapes is None else shapes_data(contents.shapes),
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _title(contents: ReportContents) -> str:
    return f"{contents.model_name} on {contents.data_name}"


def _header(contents: ReportContents, parts: Parts) -> str:
    training = contents.training
    for_what = f"trained for {title_of(training.measure)}"
    if training.trained_with != training.measure:
        for_what = f"chosen for {title_of(training.measure)}, trained with {risk_of(training)}"
    if len(training.averaged) > 1:
        for_what = f"for {title_of(training.measure)}, an average of {len(training.averaged)}"
    kind, rows = parts.lead
    return f'<h1>{escape(_title(contents))}</h1><p class="lead">A linear {kind} {escape(for_what)}, {rows}</p>'


def _tiles(contents: ReportContents, parts: Parts) -> str:
    training = contents.training
    names = sorted(contents.measures, key=lambda name: name != training.measure)  # that one first
    tiles = "".join(_tile(name, contents.measures[name], training) for name in names)
    return (
        f'<div class="tiles">{tiles}{training_tile(training, constant=contents.constant)}</div>'
        f'<p class="aside below">{parts.note}</p>'
    )


def _tile(name: str, judged: ValueAndInterval, training: TrainingFacts) -> str:
    """Return a measure with its interval; one with a tag stands out, and of decisions says which threshold."""
    (value, low, high), tag = judged, tag_of(name, training)
    title = capital(title_of(name)) + (", own threshold" if training.decides and name == training.measure else "")
    return (
        f'<div class="card tile{" own" if tag else ""}"><p class="name">{escape(title)}</p>'
        f'<p class="value">{value:.4f}</p><p class="range">95 %: {low:.4f} to {high:.4f}</p>'
        + (f'<p class="tag">{tag}</p></div>' if tag else "</div>")
    )


def _average_words(training: TrainingFacts) -> str:
    """Say of which models this one is an average; nothing if it is none."""
    if len(training.averaged) < 2:
        return ""
    return "; ".join(f"{share:.0%} {name}" for name, share in training.averaged.items())


def _average(training: TrainingFacts) -> str:
    """Say which of the averaged models the certificate is about."""
    words = _average_words(training)
    if not words:
        return ""
    return (
        f'<div class="card"><p>The model is an average: {escape(words)}. An average minimises nothing by itself: what '
        "follows is about the first of them.</p></div>"
    )


def _facts(contents: ReportContents, parts: Parts) -> str:
    training, origin = contents.training, contents.training.origin
    averaged = _average_words(training)
    facts = {
        "Measure": title_of(training.measure),
        "Trained with": averaged or risk_of(training),
        "Regulariser alpha" + (", of the first" if averaged else ""): f"{training.alpha:g}",
        **training.penalty,
        "Solver": SOLVERS.get(training.solver, training.solver),
        "Tolerance": f"{training.tol:g}",
        "Features": f"{training.n_features:,}",
        **parts.rows,
        "Training file": origin.get("data", UNKNOWN),
        "Trained": _trained_when(origin),
        "Iterations": f"{training.n_iter:,}",
        "Passes over the data": f"{training.passes:,}",
        "Time": f"{training.seconds:.2f} s",
        **parts.labels,
        "Model file": contents.model_name,
        "Data file": contents.data_name,
        "Report made": contents.made,
    }
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return f'<div class="card"><dl class="facts">{items}</dl></div>'


def _training_rows(training: TrainingFacts) -> str:
    if training.rows is None:
        return UNKNOWN
    negative, positive = training.rows
    return f"{negative + positive:,}, of which {positive:,} positive"


def _trained_when(origin: dict[str, str]) -> str:
    """Date and version, as the page says its own."""
    if "date" not in origin:
        return UNKNOWN
    return f"{origin['date'][:16].replace('T', ' ')} UTC by smoothperf {origin.get('smoothperf', UNKNOWN)}"
