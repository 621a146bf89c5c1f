"""The page on a classifier for many labels: figures of all of them, a table to sort, and each label by itself."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from ..evaluation import title_of
from .charts import Axis, Chart
from .curves import MARKS
from .frame import framed, resource
from .labels import CutTables
from .many import ManyContents, OneLabel

#: Columns of numbers, by heading.
COLUMNS = {"rows": "rows", "predicted": "predicted", "precision": "precision", "recall": "recall", "F1": "f1"}
TITLES = {"macro_f1": "Macro-F1, the mean over labels", "micro_f1": "Micro-F1, of all decisions"}


def many_page(contents: ManyContents) -> str:
    """Return the page as text."""
    title = f"{contents.model_name} on {contents.data_name}"
    header = (
        f'<h1>{escape(title)}</h1><p class="lead">A linear model for each of {len(contents.labels):,} labels, trained '
        f"for {contents.average}-{escape(title_of(contents.measure))}, judged on {contents.n_rows:,} examples.</p>"
    )
    rows = "".join(_row(number, one) for number, one in enumerate(contents.labels))
    heads = "".join(f'<th scope="col"><button>{name}</button></th>' for name in ("label", *COLUMNS))
    main = f"""{_tiles(contents)}
<h2>Label by label, the worst first</h2>
<div class="card"><div class="scrolls"><table id="labels">
<thead><tr>{heads}</tr></thead>
<tbody>{rows}</tbody>
</table></div></div>
<h2>What other thresholds would do, and what speaks for a label</h2>
{"".join(_label(number, one) for number, one in enumerate(contents.labels))}
<h2>What was trained</h2>
{_facts(contents)}"""
    return framed(title, contents.made, header, main, resource("many.js"))


def _tiles(contents: ManyContents) -> str:
    own = f"{contents.average}_{contents.measure}"
    tiles = "".join(
        f'<div class="card tile{" own" if name == own else ""}"><p class="name">{TITLES[name]}</p>'
        f'<p class="value">{value:.4f}</p><p class="range">95 %: {low:.4f} to {high:.4f}</p>'
        f"{'<p class=tag>Trained for this</p>' if name == own else ''}</div>"
        for name, (value, low, high) in sorted(contents.measures.items(), key=lambda pair: pair[0] != own)
    )
    worst = contents.labels[0].worth
    tiles += (
        f'<div class="card tile"><p class="name">The worst: {escape(str(worst["label"]))}</p>'
        f'<p class="value">{worst["f1"]:.4f}</p><p class="range">F1; examples with it: {worst["rows"]:,}</p></div>'
    )
    note = (
        "The intervals are from a bootstrap of the examples. A label that none of them has counts as 0 in the mean. If "
        "these are the examples the model was trained on, all figures flatter it."
    )
    return f'<div class="tiles">{tiles}</div><p class="aside below">{note}</p>'


def _row(number: int, one: OneLabel) -> str:
    cells = "".join(
        f'<td data-value="{_value(one.worth[key])}">{_cell(one.worth[key])}</td>' for key in COLUMNS.values()
    )
    name = escape(str(one.worth["label"]))
    return f'<tr><th scope="row"><a href="#label-{number}">{name}</a></th>{cells}</tr>'


def _value(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else "-1"


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if math.isfinite(value) else "\u2013"


def _label(number: int, one: OneLabel) -> str:
    """Return a label by itself, folded away."""
    name = escape(str(one.worth["label"]))
    weights = "".join(
        f'<tr><th scope="row">{escape(feature)}</th><td>{weight:.4g}</td></tr>' for feature, weight in one.features
    )
    parts = (
        f'<div class="card"><table><thead><tr><td></td><th scope="col">weight</th></tr></thead>{weights}</table></div>'
    )
    if one.curve is not None:
        chart = _chart(number, one, one.curve)
        parts = f'<div class="card">{chart}{_thresholds(one, one.curve)}</div>{parts}'
    trained = f"{escape(one.trained_with)}, " if one.trained_with else ""
    return (
        f'<details id="label-{number}"><summary>{name}: F1 {one.worth["f1"]:.4f}</summary>'
        f'<p class="aside">Trained with {trained}alpha {one.alpha:.3g}.</p><div class="pair">{parts}</div></details>'
    )


def _chart(number: int, one: OneLabel, curve: CutTables) -> str:
    """Return precision against recall."""
    called = np.add(curve.tp, curve.fp)
    recall = np.divide(curve.tp, one.worth["rows"])
    precision = np.divide(curve.tp, np.maximum(called, 1))
    chart = Chart(
        f"pr-{number}",
        "Precision and recall",
        "Precision against recall for every threshold.",
        Axis("recall", 0.0, 1.0),
        Axis("precision", 0.0, 1.0),
    )
    chart.line(recall[called > 0], precision[called > 0], "curve")
    for name, (attribute, words) in MARKS.items():
        at = getattr(curve, attribute)
        chart.mark(recall[at], precision[at], name)
        chart.legend(name, words)
    return chart.render()


def _thresholds(one: OneLabel, curve: CutTables) -> str:
    """Return what the thresholds with a name do, as a table."""
    rows = ""
    for attribute, words in MARKS.values():
        at = getattr(curve, attribute)
        tp, called = curve.tp[at], curve.tp[at] + curve.fp[at]
        shares = tp / max(called, 1), tp / one.worth["rows"], 2.0 * tp / (called + one.worth["rows"])
        numbers = "".join(f"<td>{share:.4f}</td>" for share in shares)
        rows += f'<tr><th scope="row">{words}</th><td>{curve.thresholds[at]:.4g}</td>{numbers}</tr>'
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("threshold", "precision", "recall", "F1"))
    note = "The last two were found on these very examples, so they flatter."
    return f'<table><thead><tr><td></td>{heads}</tr></thead>{rows}</table><p class="aside below">{note}</p>'


def _facts(contents: ManyContents) -> str:
    facts = {
        "Measure": title_of(contents.measure),
        "Average": contents.average,
        "Labels": f"{len(contents.labels):,}",
        "Features": f"{contents.n_features:,}",
        "Training file": contents.origin.get("data", "not known"),
        "Model file": contents.model_name,
        "Data file": contents.data_name,
        "Report made": contents.made,
    }
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return f'<div class="card"><dl class="facts">{items}</dl></div>'
