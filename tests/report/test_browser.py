"""The page in a browser: the slider moves everything, by keyboard too, at every width and in both colour schemes."""

import os
import shutil

import pytest

from smoothperf.report import gather, render_report

WIDTHS = (1280, 390)
#: Names of a Chromium that the machine may have; playwright's own is used otherwise.
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def give_up(reason):
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(f"{reason}; `make test-browser` installs one")


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright import sync_api
    except ImportError:
        give_up("playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = own if os.path.exists(own) else next(filter(None, map(shutil.which, CHROMIUMS)), None)
        if found is None:
            give_up("no Chromium is installed")
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
    assert float(shown(page, "threshold").replace("\u2212", "-")) == contents.curve.thresholds[i]
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
    for key, i in (("ArrowRight", at + 1), ("ArrowLeft", at), ("ArrowLeft", at - 1), ("Home", 0), ("End", last)):
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
    tables = page.get_by_role("table")
    assert tables.count() == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_markers_are_where_the_numbers_say(open_page, address, contents, width):
    page = open_page(address, width=width)
    i = contents.curve.best_f1
    page.get_by_role("button", name="Best F1").click()
    tp, fp = contents.curve.tp[i], contents.curve.fp[i]
    recall, rate = tp / contents.n_positive, fp / contents.n_negative
    for chart, x, y in (("pr", recall, tp / (tp + fp)), ("roc", rate, recall)):
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
