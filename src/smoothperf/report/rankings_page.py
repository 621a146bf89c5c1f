"""The parts of a page on a ranker: the spread of its measure over queries, its gain, and the worst queries."""

from __future__ import annotations

from html import escape

import numpy as np

from ..evaluation import title_of
from .charts import Axis, Chart, capital
from .contents import Parts
from .rankings import RankingContents, WorstQuery
from .shapes import shapes_section

BINS = 20
#: Most points of a curve.
POINTS = 400


def ranking_parts(contents: RankingContents) -> Parts:
    """Return what is shown of rankings only; there is no script."""
    rows = (
        f"judged on {contents.n_documents:,} documents of {contents.n_queries:,} queries, {contents.values.size:,} of "
        "which have documents of different grades."
    )
    note = (
        "Means over the queries that some order suits better than another. The intervals are from a bootstrap of the "
        "queries. If the model was trained on these queries, all figures flatter it."
    )
    sections = f"""<h2>How it does query by query</h2>
<div class="pair"><div class="card">{_histogram(contents)}</div><div class="card">{_sorted(contents)}</div></div>
<h2>What it gains over the best single feature</h2>
{_gain(contents)}
<h2>The worst queries</h2>
{_worst(contents)}"""
    if contents.shapes is not None:
        sections += f"""
<h2>What the columns add</h2>
{shapes_section(contents.shapes, "a better place")}"""
    return Parts(("ranker", rows), note, sections)


def _histogram(contents: RankingContents) -> str:
    name, values = title_of(contents.spread_of), contents.values
    edges = np.linspace(0.0, 1.0, BINS + 1)
    shares = np.histogram(values, edges)[0] / values.size
    chart = Chart(
        "spread",
        f"{name} of queries",
        f"Histogram of {name} over {values.size:,} queries; half of them have {np.median(values):.3f} or more.",
        Axis(name, 0.0, 1.0),
        Axis("share of the queries", 0.0, 1.05 * float(shares.max())),
    )
    chart.bars(edges.tolist(), shares.tolist(), "positive")
    chart.upright(float(np.median(values)), "now")
    chart.upright(float(values.mean()), "operating")
    chart.legend("line-now", f"median {np.median(values):.3f}")
    chart.legend("line-operating", f"mean {values.mean():.3f}")
    return chart.render()


def _sorted(contents: RankingContents) -> str:
    name = title_of(contents.spread_of)
    shares = np.linspace(0.0, 1.0, min(POINTS, max(2, contents.values.size)))
    chart = Chart(
        "sorted",
        "From the worst query to the best",
        f"{name} that a share of the queries does not exceed, for the model and for the best single feature.",
        Axis("share of the queries", 0.0, 1.0),
        Axis(name, 0.0, 1.0),
    )
    chart.line(shares, np.quantile(contents.single_values, shares), "second")
    chart.line(shares, np.quantile(contents.values, shares), "curve")
    chart.legend("curve", "this model")
    chart.legend("second", contents.single.name)
    return chart.render()


def _gain(contents: RankingContents) -> str:
    single = contents.single
    value, low, high = contents.gains[contents.spread_of]
    name = title_of(contents.spread_of)
    direction = "small values first" if single.falling else "large values first"
    tried = "" if single.tried == single.n_features else f" of the {single.tried:,} that the model makes most of"
    certain = (
        "More than chance in these queries explains."
        if low > 0.0
        else "Chance in these queries may explain that."
        if high >= 0.0
        else "So this feature alone is better."
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(capital(title_of(column)))}</th><td>{measure[0]:.4f}</td>'
        f"<td>{measure[0] - gain[0]:.4f}</td><td>{_signed(gain[0])}</td>"
        f"<td>{_signed(gain[1])} to {_signed(gain[2])}</td></tr>"
        for (column, measure), gain in zip(contents.measures.items(), contents.gains.values(), strict=True)
    )
    return f"""<div class="pair"><div class="card">
<p>The best single feature{tried} is <b>{escape(single.name)}</b>, {direction}. Sorting by it alone has {name} \
<b>{contents.measures[contents.spread_of][0] - value:.4f}</b>; this model has <b>{_signed(value)}</b> \
(95 %: {_signed(low)} to {_signed(high)}). {certain}</p>
<table>
<thead><tr><td></td><th scope="col">this<br>model</th><th scope="col">single<br>feature</th><th scope="col">gain</th>\
<th scope="col">95 %</th></tr></thead>
<tbody>{rows}</tbody>
</table>
<p class="aside below">The feature was chosen on these very queries, so its figures flatter it.</p>
</div><div class="card">{_places(contents)}</div></div>"""


def _places(contents: RankingContents) -> str:
    places = contents.places
    number = len(places.model)
    along = np.arange(1.0, number + 1.0)
    highest = max(places.ideal[0], *places.model, *places.single)
    chart = Chart(
        "places",
        "Grades from the top",
        f"Mean grade of the documents at the first {number} places, of the model, of the best single feature and of "
        "the best order.",
        Axis("place", 1.0, float(max(2, number))),
        Axis("mean grade", 0.0, 1.05 * highest),
    )
    chart.line(along, places.ideal, "reference")
    chart.line(along, places.single, "second")
    chart.line(along, places.model, "curve")
    chart.legend("curve", "this model")
    chart.legend("second", contents.single.name)
    chart.legend("reference", "best order")
    return chart.render()


def _worst(contents: RankingContents) -> str:
    name = title_of(contents.spread_of)
    rows = "".join(_worst_row(query) for query in contents.worst)
    return f"""<div class="card"><div class="scrolls"><table>
<thead><tr><td></td><th scope="col">{name}</th><th scope="col">single<br>feature</th><th scope="col">documents</th>\
<th scope="col">relevant</th><th scope="col">first<br>relevant</th>\
<th scope="col" class="words">grades from the top</th></tr></thead>
<tbody>{rows}</tbody>
</table></div>
<p class="aside below">Relevant are documents of a grade above 0; "first relevant" is the place of the first.</p>
</div>"""


def _worst_row(query: WorstQuery) -> str:
    grades = " ".join(f"{grade:g}" for grade in query.grades) + (" \u2026" * (query.documents > len(query.grades)))
    return (
        f'<tr><th scope="row">{escape(query.name)}</th><td>{query.value:.4f}</td><td>{query.single:.4f}</td>'
        f"<td>{query.documents:,}</td><td>{query.relevant:,}</td><td>{query.first_relevant:,}</td>"
        f'<td class="words">{grades}</td></tr>'
    )


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\u2212")
