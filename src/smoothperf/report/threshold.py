"""The section of the report that a reader acts on: a threshold to move, goals to meet, and the line that sets it."""

from __future__ import annotations

import shlex
from html import escape

from .curves import MARKS, precision_recall_chart, roc_charts, scores_chart
from .labels import LabelContents

#: Shown for a share of nothing.
NOTHING = "\u2013"
#: Targets: the words on the button, and the number that the box begins with.
GOALS = {
    "precision": ("Precision at least", "0.9"),
    "recall": ("Recall at least", "0.9"),
    "fpr": ("False positive rate at most", "0.01"),
    "k": ("Top k", ""),
}


def threshold_section(contents: LabelContents) -> str:
    """Return the section, as it is at the model's own threshold; the script moves it."""
    curve = contents.curve
    at = curve.operating_point
    last = len(curve.tp) - 1
    thinned = ""
    if curve.n_cuts > len(curve.tp):
        thinned = (
            f'<p class="aside below">The slider stops at {len(curve.tp):,} of {curve.n_cuts:,} possible thresholds; '
            "the counts at each are exact. Goals in whole percent have their best threshold among them.</p>"
        )
    return f"""<section class="threshold" aria-labelledby="choose">
<div class="side">
<div class="card slider">
<div class="at"><label for="exact">Threshold</label>\
<input type="number" id="exact" step="any" value="{plain_number(curve.thresholds[at])}"></div>
<input type="range" id="threshold" aria-label="Threshold" min="0" max="{last}" step="1" value="{last - at}">
<div class="ends" aria-hidden="true"><span>everything is positive</span><span>nothing is</span></div>
<p class="glance" aria-hidden="true">{_glance(contents)}</p>
<noscript><p class="aside">Moving the threshold needs JavaScript; shown is the model's own.</p></noscript>
</div>
<div class="card">
{_jumps(contents)}
{_table(contents)}
</div>
</div>
<div class="curves">
<div class="card">{precision_recall_chart(contents)}</div>
<div class="card roc"><div class="scale"><input type="checkbox" id="log-rates"> \
<label for="log-rates">logarithmic, for small rates</label></div>{roc_charts(contents)}</div>
<div class="card wide">{scores_chart(contents)}</div>
<div class="card wide">{_lines(contents)}</div>
</div>
</section>
{thinned}"""


def _glance(contents: LabelContents) -> str:
    """Three measures in a line, for narrow screens."""
    return " \u00b7 ".join(
        f'{label.lower() if name != "f1" else label} <span data-show="{name}">{_share(value)}</span>'
        for name, (label, value) in list(_decision(contents).items())[:3]
    )


def _jumps(contents: LabelContents) -> str:
    """Buttons that go to a named threshold or meet a goal; without a script there are none."""
    curve = contents.curve
    at = curve.operating_point
    named = "".join(
        f'<button type="button" data-mark="{name}" aria-pressed="{str(getattr(curve, attribute) == at).lower()}">'
        f'<i class="key {name}"></i>{words[0].upper()}{words[1:]}</button>'
        for name, (attribute, words) in MARKS.items()
    )
    goals = "".join(
        f'<button type="button" data-goal="{name}" data-aim="{aim or contents.n_positive}" aria-pressed="false">'
        f"{words}</button>"
        for name, (words, aim) in GOALS.items()
    )
    return f"""<div class="jumps" role="group" aria-label="Go to a threshold">{named}</div>
<div class="goals" hidden>
<div class="jumps" role="group" aria-label="Meet a goal">{goals}</div>
<p class="aim" hidden><label for="aim" data-show="goal">Goal</label> \
<input type="number" id="aim" step="any" min="0"></p>
<p class="missed" role="status" data-show="missed"></p>
</div>"""


def _lines(contents: LabelContents) -> str:
    """Return the commands that predict with the threshold shown."""
    curve = contents.curve
    at = curve.operating_point
    model = escape(shlex.quote(contents.model_name))
    return f"""<h3>To use the threshold that is shown</h3>
<p class="line"><span>on the command line</span><code id="command-line">smoothperf predict {model} NEW \
--threshold=<span data-show="threshold">{plain_number(curve.thresholds[at])}</span></code></p>
<p class="line"><span>in Python</span><code id="python-line">model = \
smoothperf.load({escape(repr(contents.model_name))}).set_operating_point(threshold=\
<span data-show="raw">{plain_number(curve.raw_thresholds[at])}</span>)</code></p>
<div data-promise="rate" hidden><p class="line"><span>for new rows, with 90 % confidence</span>\
<code>model.set_operating_point(X, y, <span data-show="asked"></span>)</code></p>
<p class="aside">The goal is met on the rows of this report, which chose the threshold. This line chooses one from rows
X and labels y that were not trained on, so that the goal holds for new rows too.</p></div>
<div data-promise="k" hidden><p class="line"><span>as many of any other file</span>\
<code>smoothperf predict {model} NEW --at <span data-show="asked"></span></code></p></div>
<p class="aside">NEW is a file of rows to predict. The threshold in Python is for scores before the intercept is
added, so it is another number.</p>"""


def _decision(contents: LabelContents) -> dict[str, tuple[str, float | None]]:
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


def _table(contents: LabelContents) -> str:
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
<table id="counts">
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


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"


def plain_number(value: float) -> str:
    """Write a threshold as the script writes it, so that it can be copied into a command.

    Examples
    --------
    >>> plain_number(0.0), plain_number(-0.25)
    ('0', '-0.25')
    """
    return f"{value:g}" if value == int(value) and abs(value) < 1e6 else repr(value)
