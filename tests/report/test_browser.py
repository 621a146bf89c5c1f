"""The page in a browser: the slider moves everything, by keyboard too, at every width and in both colour schemes."""

import math
import os
import re

import numpy as np
import pytest

import browsers
from smoothperf import MeasureClassifier, MeasureClassifierCV, ZeroModelWarning
from smoothperf.cuts.targets import threshold_for_target
from smoothperf.features import Shapes
from smoothperf.report import gather, render_report
from smoothperf.report.curves import lowest_rate

WIDTHS = (1280, 390)


def give_up(reason):
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(f"{reason}; `make test-browser` gets one")


def test_a_browser_that_is_named_is_the_one(monkeypatch, tmp_path):
    chrome = tmp_path / "chrome"
    chrome.touch(mode=0o755)
    monkeypatch.setenv("CHROME", str(chrome))
    assert browsers.find() == browsers.get() == str(chrome)
    chrome.unlink()
    assert browsers.find() is browsers.get() is None  # and nothing is installed in its place


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright import sync_api
    except ImportError:
        give_up("playwright is not installed")
    found = browsers.find()
    if found is None:
        give_up("no Chromium is installed")
    with sync_api.sync_playwright() as playwright:
        # Inside a container there is no other way than without a sandbox; the page is our own.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(contents, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(contents), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def open_page(browser):
    """Open an address; at the end nothing may have gone wrong in any page, and nothing may have been asked for."""
    contexts, wrong = [], []

    def visit(address, *, width=1280, scheme="light", **more):
        context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda request: wrong.append(request.url) if request.url != address else None)
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def shown(page, name):
    texts = page.eval_on_selector_all(f'[data-show="{name}"]', "all => all.map(e => e.textContent)")
    assert len(set(texts)) == 1, texts
    return texts[0]


def check_numbers(page, contents, i):
    tp, fp = contents.curve.tp[i], contents.curve.fp[i]
    positives, negatives = contents.n_positive, contents.n_negative
    assert float(shown(page, "threshold")) == contents.curve.thresholds[i]
    assert float(page.input_value("#exact")) == contents.curve.thresholds[i]
    assert float(shown(page, "raw")) == contents.curve.raw_thresholds[i]
    assert [shown(page, name) for name in ("tp", "fp", "fn", "tn")] == [
        f"{count:,}" for count in (tp, fp, positives - tp, negatives - fp)
    ]
    expected = {
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / positives,
        "f1": 2 * tp / (tp + fp + positives),
        "fpr": fp / negatives,
        "accuracy": (tp + negatives - fp) / (positives + negatives),
        "rate": (tp + fp) / (positives + negatives),
    }
    for name, value in expected.items():
        if value is None:
            assert shown(page, name) == "\u2013"
        else:
            assert float(shown(page, name)) == pytest.approx(value, abs=5.1e-5)


def test_starts_at_the_operating_point_with_the_numbers_that_were_written(open_page, address, contents):
    page, static = open_page(address), open_page(address, java_script_enabled=False)
    check_numbers(page, contents, contents.curve.operating_point)
    for name in (
        "threshold",
        "raw",
        "tp",
        "fp",
        "fn",
        "tn",
        "called",
        "rest",
        "precision",
        "recall",
        "f1",
        "fpr",
        "accuracy",
        "rate",
        "sentence",
    ):
        assert shown(static, name) == shown(page, name)


def test_slider_by_keyboard(open_page, address, contents):
    page = open_page(address)
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "threshold":
            break
    at, last = contents.curve.operating_point, len(contents.curve.tp) - 1
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    # To the right the threshold rises, and fewer are called positive.
    for key, i in (("ArrowRight", at - 1), ("ArrowLeft", at), ("ArrowLeft", at + 1), ("End", 0), ("Home", last)):
        page.keyboard.press(key)
        check_numbers(page, contents, i)
    spoken = page.get_attribute("#threshold", "aria-valuetext")
    assert spoken.startswith("threshold ")
    assert "recall 1.0000" in spoken
    assert page.get_attribute("output", "for") == "threshold"
    assert f"{contents.n_positive + contents.n_negative:,} of" in shown(page, "sentence")


def test_buttons_go_to_the_marks_and_say_which_is_on(open_page, address, contents):
    page = open_page(address)
    for name, i in (
        ("Best F1", contents.curve.best_f1),
        ("Precision = recall", contents.curve.break_even),
        ("Own threshold", contents.curve.operating_point),
    ):
        button = page.get_by_role("button", name=name)
        button.focus()
        page.keyboard.press("Enter")
        check_numbers(page, contents, i)
        assert button.get_attribute("aria-pressed") == "true"


GOALS = {
    "precision": ("Precision at least", 0.6),
    "recall": ("Recall at least", 0.85),
    "fpr": ("False positive rate at most", 0.04),
    "k": ("Top k", 33),
}


@pytest.mark.parametrize("name", GOALS)
def test_goals_are_met_as_the_model_would(open_page, address, contents, fitted, judged, name):
    words, value = GOALS[name]
    page = open_page(address)
    page.get_by_role("button", name=words).focus()
    page.keyboard.press("Enter")
    box = page.get_by_label(words)
    box.fill(str(value))
    X, y = judged
    scores, positive = fitted.decision_function(X), y == "spam"
    cut = threshold_for_target(positive, scores, **{name: value})
    called = scores > cut
    counts = list(zip(contents.curve.tp, contents.curve.fp, strict=True))
    check_numbers(page, contents, counts.index(((called & positive).sum(), (called & ~positive).sum())))
    assert page.get_by_role("button", name=words).get_attribute("aria-pressed") == "true"
    # The line for new rows is the one for this goal, and goes away when the threshold is moved by hand.
    assert page.locator(f'[data-promise="{"k" if name == "k" else "rate"}"]').is_visible()
    assert page.locator("[data-promise]:visible").count() == 1
    assert shown(page, "asked") == f"{name}={value}"
    page.locator("#threshold").press("ArrowLeft")
    assert page.locator("[data-promise]:visible").count() == 0
    assert page.get_by_role("button", name=words).get_attribute("aria-pressed") == "false"


def test_goals_that_cannot_be_met_are_said(open_page, address, contents):
    page = open_page(address)
    page.get_by_role("button", name="Precision at least").click()
    page.get_by_label("Precision at least").fill("2")
    assert shown(page, "missed") == "It is a share: above 0 and not above 1."
    assert page.locator("[data-promise]:visible").count() == 1
    page.get_by_label("Precision at least").fill("0.8")
    assert shown(page, "missed") == ""


def test_a_number_can_be_typed(open_page, address, contents):
    page = open_page(address)
    thresholds = np.array(contents.curve.thresholds)
    box = page.get_by_role("spinbutton", name="Threshold")
    box.fill("0.7")
    box.press("Enter")
    check_numbers(page, contents, int(np.abs(thresholds - 0.7).argmin()))
    box.fill("")
    box.press("Enter")
    check_numbers(page, contents, contents.curve.operating_point)


def test_a_model_that_tells_nothing_has_a_red_banner(open_page, judged, tmp_path):
    X, y = judged
    with pytest.warns(ZeroModelWarning):
        model = MeasureClassifier("prbep", alpha=1e9).fit(X, y)
    path = tmp_path / "nothing.html"
    path.write_text(render_report(gather(model, X, y, n_resamples=1)), encoding="utf-8")
    page = open_page(path.as_uri())
    banner = page.get_by_role("alert")
    assert "is constant" in banner.text_content()
    red, green, blue = (float(c) for c in page.evaluate(
        "getComputedStyle(document.querySelector('.banner')).borderTopColor"
    ).strip("rgb()").split(","))  # fmt: skip
    assert red > 2 * green
    assert red > 2 * blue
    page.get_by_role("button", name="Precision at least").click()
    assert "the highest precision is" in shown(page, "missed")


def test_more_weights_unfold_by_keyboard(open_page, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 30)), np.arange(80) % 2
    path = tmp_path / "wide.html"
    path.write_text(render_report(gather(MeasureClassifier().fit(X, y), X, y, n_resamples=1)), encoding="utf-8")
    page = open_page(path.as_uri())
    assert page.locator(".weights tbody tr:visible").count() == 20
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    assert page.locator(".weights tbody tr:visible").count() == 30


def test_prints_without_controls(open_page, address):
    page = open_page(address)
    page.emulate_media(media="print")
    assert page.locator("button:visible, input[type=range]:visible").count() == 0
    assert page.locator("#python-line").is_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_markers_are_where_the_numbers_say(open_page, address, contents, width):
    page = open_page(address, width=width)
    i = contents.curve.best_f1
    page.get_by_role("button", name="Best F1").click()
    tp, fp = contents.curve.tp[i], contents.curve.fp[i]
    recall, rate = tp / contents.n_positive, fp / contents.n_negative
    lowest = lowest_rate(contents)
    log_rate = 1 - math.log(rate) / math.log(lowest)
    for chart, x, y in (("pr", recall, tp / (tp + fp)), ("roc", rate, recall), ("roc-log", log_rate, recall)):
        if chart == "roc-log":
            assert page.locator("#roc-log").is_hidden()
            page.get_by_role("checkbox", name="logarithmic").check()
            assert page.locator("#roc").is_hidden()
        plot = page.locator(f"#{chart} .plot").bounding_box()
        mark = page.locator(f"#{chart} .mark.now").bounding_box()
        centre = mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2
        wanted = plot["x"] + x * plot["width"], plot["y"] + (1 - y) * plot["height"]
        assert centre == pytest.approx(wanted, abs=1.0)


def test_a_click_on_a_curve_goes_there(open_page, address, contents):
    page = open_page(address)
    plot = page.locator("#roc .plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 1)
    assert float(shown(page, "recall")) > 0.99
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] - 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 1, box["y"] + box["height"] - 1)
    page.mouse.up()
    assert float(shown(page, "recall")) < 0.05


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_fits_the_screen_and_can_be_read(open_page, address, width, scheme):
    page = open_page(address, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # No words below 11 px, and a contrast of 4.5 for every colour that words have, on the paper and on the cards.
    styles = page.evaluate(
        """() => [...document.querySelectorAll('body *')]
            .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.getClientRects().length)
            .map(e => [getComputedStyle(e).color, parseFloat(getComputedStyle(e).fontSize)])"""
    )
    paper, card = (
        luminance(page.evaluate(f"getComputedStyle(document.querySelector('{place}')).backgroundColor"))
        for place in ("body", ".card")
    )
    assert (card > 0.5) == (scheme == "light")
    assert len(styles) > 60
    for colour, size in styles:
        assert size >= 10.5
        for behind in (paper, card):
            ink = luminance(colour)
            contrast = (max(ink, behind) + 0.05) / (min(ink, behind) + 0.05)
            assert contrast >= 4.5, (colour, scheme)


def luminance(colour):
    """Relative luminance of "rgb(r, g, b)"."""
    channels = [float(part) / 255 for part in colour.split("(")[1].rstrip(")").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_slider_stays_in_sight_on_a_phone(open_page, address):
    page = open_page(address, width=390)
    page.locator("#scores").scroll_into_view_if_needed()
    box = page.locator("#threshold").bounding_box()
    assert 0 <= box["y"] < 200
    assert page.locator(".glance").is_visible()


def test_hostile_names_do_nothing(open_page, contents, fitted, judged, tmp_path):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    path = tmp_path / "hostile.html"
    made = gather(fitted, *judged, model_name=hostile, data_name=hostile, n_resamples=1)
    path.write_text(render_report(made), encoding="utf-8")
    page = open_page(path.as_uri())
    assert page.locator("h1").text_content() == f"{hostile} on {hostile}"
    assert page.title() == f"{hostile} on {hostile}"
    assert page.locator("img").count() == 0


def test_a_curve_says_what_its_column_adds_where_the_pointer_is(open_page, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, size=(300, 2))
    y = np.abs(X[:, 0] - 5.0) + rng.normal(size=300) > 2.5
    model = MeasureClassifierCV("log_loss", cv=3, features=Shapes()).fit(X, y).as_classifier()
    contents = gather(model, X, y, n_resamples=2)
    (tmp_path / "shapes.html").write_text(render_report(contents), encoding="utf-8")
    page = open_page((tmp_path / "shapes.html").as_uri())
    plot, readout = page.locator("#shape0 .plot"), page.locator("[data-shape='0'] .readout")
    before = readout.text_content()
    plot.hover(position={"x": plot.bounding_box()["width"] / 2, "y": 20})
    text = readout.text_content().replace("\u2212", "-").removeprefix("at ")
    at, added, half = map(float, re.split(": | \u00b1 ", text))
    shape = contents.shapes.shapes[0]
    assert at == pytest.approx(np.mean(shape.places[[0, -1]]), abs=0.1)
    assert added == pytest.approx(np.interp(at, shape.places, shape.heights), rel=0.02)
    assert half == pytest.approx(np.interp(at, shape.places, shape.half_width), rel=0.1)
    page.mouse.move(0, 0)
    assert readout.text_content() == before
