"""The page of a report on a ranker: how its measure is spread over queries, the worst of them, and what it gains.

The frame and the style are those of :mod:`smoothperf.report.page`; there is no script.
"""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from ...evaluation import title_of
from ..charts import Axis, Chart
from ..page import framed, tile
from ..training import SOLVERS, Training, banner, certificate, convergence, facts_list, risk_of, tag_of, training_tile
from .contents import RankingContents, WorstQuery

Array = NDArray[np.float64]
BINS = 20
#: Most points of a curve.
POINTS = 400


def render_ranking_report(contents: RankingContents) -> str:
    """Return the page as text.

    Parameters
    ----------
    contents : RankingContents
        From :func:`smoothperf.report.gather_ranking`.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import MeasureRanker
    >>> from smoothperf.measures import Queries
    >>> from smoothperf.report import gather_ranking
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(range(20), 10)
    >>> y = np.digitize(X @ [2, -1, 0], [1, 3])
    >>> ranker = MeasureRanker("pairs").fit(X, y, qid=qid)
    >>> names = [f"query {number}" for number in range(20)]
    >>> contents = gather_ranking(ranker, X, Queries.of(y, qid), query_names=names)
    >>> "query 3" in render_ranking_report(contents), render_ranking_report(contents)[:15]
    (True, '<!DOCTYPE html>')
    """
    title = f"{contents.model_name} on {contents.data_name}"
    main = f"""{banner(contents.training, constant=contents.constant, empty=contents.empty)}
{_tiles(contents)}
<h2>How it does query by query</h2>
<div class="pair"><div class="card">{_histogram(contents)}</div><div class="card">{_sorted(contents)}</div></div>
<h2>What it gains over the best single feature</h2>
{_gain(contents)}
<h2>The worst queries</h2>
{_worst(contents)}
<h2>How good the training is</h2>
{_average(contents.training)}{certificate(contents.training)}
{convergence(contents.training)}
<h2>What was trained</h2>
{_facts(contents)}"""
    return framed(title, _header(contents), main, made=contents.made)


def _header(contents: RankingContents) -> str:
    training = contents.training
    for_what = f"trained for {title_of(training.measure)}"
    if training.trained_with != training.measure:
        for_what = f"chosen for {title_of(training.measure)}, trained with {risk_of(training)}"
    if len(training.averaged) > 1:
        for_what = f"for {title_of(training.measure)}, an average of {len(training.averaged)}"
    return (
        f"<h1>{escape(contents.model_name)} on {escape(contents.data_name)}</h1>"
        f'<p class="lead">A linear ranker {escape(for_what)}, judged on {contents.n_documents:,} documents of '
        f"{contents.n_queries:,} queries, {contents.values.size:,} of which have documents of different grades.</p>"
    )


def _tiles(contents: RankingContents) -> str:
    tiles = "".join(
        tile(_capital(title_of(name)), judged, tag_of(name, contents.training))
        for name, judged in contents.measures.items()
    )
    return (
        f'<div class="tiles">{tiles}{training_tile(contents.training, constant=contents.constant)}</div>'
        '<p class="aside below">Means over the queries that some order suits better than another. The intervals are '
        "from a bootstrap of the queries. If the model was trained on these queries, all figures flatter it.</p>"
    )


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
        f'<tr><th scope="row">{escape(_capital(title_of(column)))}</th><td>{measure[0]:.4f}</td>'
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


def _average_words(training: Training) -> str:
    """What the model is an average of; nothing if it is none."""
    if len(training.averaged) < 2:
        return ""
    return "; ".join(f"{share:.0%} {name}" for name, share in training.averaged.items())


def _average(training: Training) -> str:
    """Say which of the averaged models the certificate is about."""
    words = _average_words(training)
    if not words:
        return ""
    return (
        f'<div class="card"><p>The model is an average: {escape(words)}. An average minimises nothing by itself: what '
        "follows is about the first of them.</p></div>"
    )


def _facts(contents: RankingContents) -> str:
    training = contents.training
    averaged = _average_words(training)
    facts = {
        "Measure": title_of(training.measure),
        "Trained with": averaged or risk_of(training),
        "Regulariser alpha" + (", of the first" if averaged else ""): f"{training.alpha:g}",
        "Solver": SOLVERS.get(training.solver, training.solver),
        "Tolerance": f"{training.tol:g}",
        "Features": f"{training.n_features:,}",
        "Iterations": f"{training.n_iter:,}",
        "Passes over the data": f"{training.passes:,}",
        "Time": f"{training.seconds:.2f} s",
        "Model file": contents.model_name,
        "Data file": contents.data_name,
    }
    return facts_list(facts)


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\u2212")


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
