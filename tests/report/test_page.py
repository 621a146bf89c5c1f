"""The page as text: self-contained, safe, small, and true to its contents."""

import base64
import contextlib
import hashlib
import json
import re
import shlex
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

import smoothperf
from smoothperf import MeasureClassifier, MeasureClassifierCV, ZeroModelWarning
from smoothperf.cli import app
from smoothperf.report import gather, render_report
from smoothperf.report.charts import Axis, Chart

HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;"


class Elements(HTMLParser):
    """All start tags with their attributes, and all text that is not style or script."""

    VOID = ("meta", "input", "br", "img", "link")

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.open, self.unbalanced = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["script"]):
            self.text.append(data)


@pytest.fixture(scope="module")
def page(contents):
    return render_report(contents)


def embedded(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_elements_are_balanced_and_ids_unique(page):
    found = Elements(page)
    assert not found.unbalanced
    assert not found.open
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"pr", "roc", "scores", "gap", "bounds", "threshold", "data"} <= set(ids)


def test_nothing_comes_from_elsewhere(page):
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\bfetch\b|XMLHttp|<link|<img|<iframe", page)
    for _, attributes in Elements(page).tags:
        assert not {"src", "href", "onclick", "onload"} & attributes.keys()
    policy = next(a["content"] for t, a in Elements(page).tags if t == "meta" and "http-equiv" in a)
    assert "default-src 'none'" in policy
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_names_and_labels_cannot_break_out(contents):
    hostile = replace(
        contents,
        model_name=HOSTILE,
        data_name=HOSTILE,
        classes=(HOSTILE, HOSTILE),
        training=replace(
            contents.training,
            measure=HOSTILE,
            trained_with=HOSTILE,
            solver=HOSTILE,
            status=HOSTILE,
            origin=dict.fromkeys(("data", "date", "smoothperf"), HOSTILE),
        ),
        measures={HOSTILE if name == "prbep" else name: value for name, value in contents.measures.items()},
        weights=replace(contents.weights, names=[HOSTILE] * 2),
    )
    found, clean = Elements(render_report(hostile)), Elements(render_report(contents))
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in clean.tags]
    assert not found.unbalanced
    assert "".join(found.text).count(HOSTILE) >= 8
    assert "onerror" not in {name for _, attributes in found.tags for name in attributes}


def test_embedded_numbers_are_the_contents(page, contents):
    data = embedded(page)
    assert data["tp"] == contents.curve.tp
    assert data["fp"] == contents.curve.fp
    assert data["thresholds"] == contents.curve.thresholds
    assert (data["positives"], data["negatives"]) == (contents.n_positive, contents.n_negative)
    assert data["marks"] == {
        "operating": contents.curve.operating_point,
        "even": contents.curve.break_even,
        "best": contents.curve.best_f1,
    }


def test_says_what_was_trained_and_what_is_certified(page, contents):
    text = " ".join("".join(Elements(page).text).split())
    training = contents.training
    assert "trained for PRBEP, judged on 600 examples" in text
    assert f"At this model it is {training.objective:.6g}" in text
    assert f"bring it below {training.lower_bound:.6g}" in text
    assert "within the tolerance of 0.001" in text
    assert "The certified gap is within the tolerance." in text
    assert "✓ Within" in text
    for fact in ("Regulariser alpha0.001", "SolverL-BFGS", "Positive labelspam", "Negative labelham", "Features2"):
        assert fact in text
    for name in ("prbep", "roc_area", "average_precision"):
        value, low, high = contents.measures[name]
        assert f"{value:.4f}95 %: {low:.4f} to {high:.4f}" in text


def test_a_missed_tolerance_is_said(contents):
    missed = replace(contents.training, gap=0.25, converged=False, status="The callback asked to stop.")
    text = " ".join("".join(Elements(render_report(replace(contents, training=missed))).text).split())
    assert "⚠ Stopped early: up to 0.25 above the optimum" in text
    assert "was not reached" in text
    assert "✓" not in text


def test_a_model_without_a_past_has_no_curve(contents):
    empty = {name: values[:1] for name, values in contents.training.trace.items()}
    page = render_report(replace(contents, training=replace(contents.training, trace=empty)))
    assert 'id="gap"' not in page
    assert "no trace of more than one iteration" in page


def test_large_data_make_a_small_page(fitted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 2))
    y = np.where(rng.random(200_000) < 0.01, "spam", "ham")
    contents = gather(fitted, X, y, n_resamples=1)
    page = render_report(contents)
    assert len(page.encode()) < 200_000
    assert f"{len(contents.curve.tp):,} of {contents.curve.n_cuts:,} possible thresholds" in page


def test_the_measure_trained_for_stands_out(contents, judged):
    page = render_report(contents)
    assert page.count('class="card tile own"') == 1
    assert re.search(r'<div class="tiles"><div class="card tile own"><p class="name">PRBEP</p>', page)
    assert "Trained for this" in page
    X, y = judged
    page = render_report(gather(MeasureClassifier("roc_area").fit(X, y), X, y, n_resamples=1))
    assert re.search(r'<div class="tiles"><div class="card tile own"><p class="name">ROC area</p>', page)
    assert page.count('class="card tile own"') == 1


def test_says_when_by_whom_and_on_what_it_was_trained(contents, fitted, judged):
    text = words(contents)
    assert f"Training rows400, of which {fitted.class_count_[1]} positive" in text
    assert f"Trained{fitted.origin_['date'][:16].replace('T', ' ')} UTC by smoothperf {smoothperf.__version__}" in text
    assert "Training filenot known" in text
    assert f"Report made{contents.made}" in text
    assert contents.made.endswith(f"UTC by smoothperf {smoothperf.__version__}")
    old = copy(fitted)  # as files of earlier versions have them
    del old.class_count_, old.origin_
    text = words(gather(old, *judged, n_resamples=1))
    assert "Training rowsnot known" in text
    assert "Trainednot known" in text


def test_weights_are_a_table_with_bars(contents):
    page = render_report(contents)
    first, second = contents.weights.names
    assert page.index(f'<th scope="row">{first}</th>') < page.index(f'<th scope="row">{second}</th>')
    assert "2 features are in the model." in page
    assert 'class="positive" style="left:50.00%;width:50.00%"' in page
    assert "<details>" not in page
    sparse = replace(contents.weights, n_used=2, n_features=1_000_000)
    assert "2 of 1,000,000 features are in the model; the others have weight 0." in words(
        replace(contents, weights=sparse)
    )


def test_many_weights_are_folded_away(contents):
    many = replace(
        contents.weights,
        names=[f"f{i}" for i in range(200)],
        weights=np.linspace(2.0, -0.5, 200),
        spreads=np.ones(200),
        total=400.0,
    )
    page = render_report(replace(contents, weights=many))
    assert "<summary>The next 180</summary>" in page
    assert page.index("f19<") < page.index("<details>") < page.index("f20<")
    assert "The first 20 make up" in page


def test_the_lines_do_what_is_shown(fitted, judged, tmp_path, run_in):
    """At some cuts: the command and the Python line, as they are in the page, predict the counts there."""
    X, y = judged
    fitted.save(tmp_path / "it's a.model")
    np.savez(tmp_path / "new.npz", X=X)
    contents = gather(fitted, X, y, model_name="it's a.model", n_resamples=1)
    found = Lines(render_report(contents))
    for i in (contents.curve.operating_point, contents.curve.best_f1, 3, len(contents.curve.tp) - 2):
        values = {"threshold": repr(contents.curve.thresholds[i]), "raw": repr(contents.curve.raw_thresholds[i])}
        command = shlex.split(found.line("command-line", values).replace("NEW", "new.npz"))
        predicted = run_in(tmp_path, command)
        called = np.array(predicted) == "spam"
        counts = (called & (y == "spam")).sum(), (called & (y == "ham")).sum()
        assert counts == (contents.curve.tp[i], contents.curve.fp[i])
        names = {"smoothperf": smoothperf}
        with contextlib.chdir(tmp_path):
            exec(found.line("python-line", values), names)
        np.testing.assert_array_equal(names["model"].predict(X), predicted)


class Lines(HTMLParser):
    """The lines of code with an id, in which named places take other values."""

    def __init__(self, page):
        super().__init__()
        self.lines, self.inside, self.place = {}, None, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "code":
            self.inside = attributes.get("id", "other")
            self.lines[self.inside] = []
        elif self.inside is not None and tag == "span":
            self.place = attributes["data-show"]

    def handle_endtag(self, tag):
        if tag == "code":
            self.inside = None
        self.place = None

    def handle_data(self, data):
        if self.inside is not None:
            self.lines[self.inside].append((self.place, data))

    def line(self, name, values):
        return "".join(text if place is None else values[place] for place, text in self.lines[name])


@pytest.fixture
def run_in():
    """Run a command of ours in a folder, and return the lines that it prints."""

    def run(folder, command):
        assert command[0] == "smoothperf"
        with contextlib.chdir(folder):
            result = CliRunner().invoke(app, command[1:])
        assert result.exit_code == 0, result.output
        return result.stdout.split()

    return run


def test_a_model_of_the_positive_label_that_sorts_first(judged):
    X, y = judged
    model = MeasureClassifier(alpha=1e-3, pos_label="ham").fit(X, y)
    contents = gather(model, X, y, n_resamples=1)
    assert contents.training.rows == ((y == "spam").sum(), (y == "ham").sum())
    assert contents.weights.weights[0] < 0.0  # what speaks for spam speaks against ham
    for threshold, tp in zip(contents.curve.raw_thresholds, contents.curve.tp, strict=True):
        moved = copy(model).set_operating_point(threshold=threshold)
        assert ((moved.predict(X) == "ham") & (y == "ham")).sum() == tp


def test_controls_have_names(page):
    found = Elements(page)
    labelled = {attributes.get("for") for tag, attributes in found.tags if tag == "label"}
    for tag, attributes in found.tags:
        if tag == "input":
            assert attributes["id"] in labelled or attributes["aria-label"]
        if tag == "svg":
            assert attributes["role"] == "img"
            assert len(attributes["aria-label"]) > 20
    assert ("html", {"lang": "en"}) in found.tags


def test_axes():
    assert Axis("", 0.0, 1.0).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert Axis("", -1.7, 0.9).ticks() == pytest.approx([-1, 0])
    assert Axis("", 1e-5, 10.0, log=True).ticks() == pytest.approx([1e-5, 1e-3, 0.1, 10])
    assert Axis("", 1e-12, 1.0, log=True).tick_label(1e-12) == "10<sup>\u221212</sup>"
    assert Axis("", -1, 1).tick_label(-0.30000000000000004) == "\u22120.3"
    assert Axis("", -1, 1, signed=False).tick_label(-0.25) == "0.25"
    assert Axis("", 0, 10).place(20) == 1.0


def test_straight_ways_need_no_points_between():
    chart = Chart("c", "", "", Axis("", 0, 10), Axis("", 0, 10))
    chart.line([0, 0, 0, 0, 5, 7, 6, 6], [0, 2, 5, 4, 4, 4, 4, 10], "curve")
    assert 'd="M0 1000L0 500L0 600L700 600L600 600L600 0"' in chart.render()


def test_bands_are_closed_areas():
    chart = Chart("c", "", "", Axis("", 0, 10), Axis("", 0, 10))
    chart.band([0, 5, 10], [0, 2, 5], [1, 4, 10], "band")
    assert '<path class="band" d="M0 1000L500 800L1000 500L1000 0L500 600L0 900Z"/>' in chart.render()


def test_chart_marks_are_in_data_units():
    chart = Chart("c", "<t>", "<d>", Axis("<x>", 0, 10), Axis("<y>", 0, 4))
    chart.mark(5, 1, "now")
    chart.upright(2, "now")
    chart.bars([0, 5, 10], [4, 2], "positive")
    html = chart.render()
    assert 'style="left:50.00%;bottom:25.00%"' in html
    assert 'style="left:20.00%"' in html
    assert 'd="M0 1000L0 0L500 0L500 500L1000 500L1000 1000Z"' in html
    assert "&lt;t&gt;" in html
    assert not re.search(r"<[tdxy]>", html)


def words(contents):
    return " ".join("".join(Elements(render_report(contents)).text).split())


def test_a_model_that_tells_nothing_is_not_praised(judged):
    """However well its training went: w = 0 is the certified optimum there."""
    X, y = judged
    with pytest.warns(ZeroModelWarning):
        model = MeasureClassifier("prbep", alpha=1e9).fit(X, y)
    found = gather(model, X, y, n_resamples=1)
    assert found.constant
    assert found.training.converged
    page = render_report(found)
    assert '<div class="banner" role="alert"><p><b>✗ This model is constant: all examples have the same score' in page
    assert '<p class="verdict bad">' in page
    assert "All its weights are 0, as the regulariser, alpha 1e+09, is too strong" in page
    assert "All 2 features have weight 0" in page
    assert "✓" not in page
    # The other way of telling nothing: weights, but on features that are the same everywhere.
    page = render_report(gather(model.set_params(alpha=1e-3).fit(X, y), np.ones_like(X), y, n_resamples=1))
    assert "Its weights are on features that are the same in all these examples." in page
    assert 'class="banner"' not in render_report(gather(model, X, y, n_resamples=1))
    assert not gather(model.set_params(alpha=1e-3).fit(X, y), X, y, n_resamples=1).constant


def test_the_tight_bound_is_not_said_to_have_a_certified_optimum(judged):
    X, y = judged
    model = MeasureClassifier("prbep", alpha=1e-2, bound="tight").fit(X, y)
    found = gather(model, X, y, n_resamples=1)
    text = words(found)
    assert f"✓ Stationary: no convex step gains more than {model.stationarity_gap_:.2g}" in text
    assert "Training minimises a regularised tight upper bound of 1 \u2212 PRBEP" in text
    assert "Trained withPRBEP, tight bound" in text
    assert "nan" not in text.lower()
    early = replace(found, training=replace(found.training, gap=0.25, converged=False))
    assert "⚠ Stopped early: a convex step may gain up to 0.25" in words(early)


def test_what_was_chosen_is_said(judged):
    X, y = judged
    model = MeasureClassifierCV("prbep", bound=[("log_loss", "convex")], n_alphas=3, cv=2).fit(X, y).as_classifier()
    text = words(gather(model, X, y, n_resamples=1))
    assert "A linear model chosen for PRBEP, trained with log loss, judged on" in text
    assert "Training minimises the regularised log loss on the training data" in text


def test_a_certificate_of_weights_within_bounds_says_so(judged):
    X, y = judged
    model = MeasureClassifier("prbep", alpha=1e-2, l1_ratio=0.5, positive=True, penalty_factors={0: 2.0}).fit(X, y)
    text = words(gather(model, X, y, n_resamples=1))
    assert "No weights within the bounds bring it below" in text
    assert "No weights whatsoever" not in text
    assert "l1_ratio0.5" in text
    assert "Signs of weightsnone is negative" in text
    assert "Penalty factors0: 2" in text
    bounded = MeasureClassifier(alpha=1e-2, coef_bounds={1: (None, 0.5)}).fit(X, y, base_scores=np.zeros(y.size))
    text = words(gather(bounded, X, y, n_resamples=1, base_scores=np.zeros(y.size)))
    assert "No weights within the bounds" in text
    assert "Bounds of weights1: any to 0.5" in text
    assert "Added toscores of another model" in text
    plain = words(gather(MeasureClassifier(alpha=1e-2).fit(X, y), X, y, n_resamples=1))
    assert "No weights whatsoever bring it below" in plain
    assert "l1_ratio" not in plain
