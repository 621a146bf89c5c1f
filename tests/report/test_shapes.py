"""Shapes of additive models on the page: what columns add is the score, and the page shows it, escaped."""

import json
import re

import numpy as np
import pytest

from export_tables import FEATURES, fitted, people
from smoothperf import MeasureClassifier, MeasureRanker
from smoothperf.features import KernelFeatures, Shapes
from smoothperf.report import gather, gather_ranking, render_report
from smoothperf.report.shapes import SHOWN

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def table():
    model, frame = fitted(FEATURES["curves of a table"])
    _, y = people()
    rows = slice(4500, 6500)
    return model, frame[rows], gather(model, frame[rows], y[rows], n_resamples=5)


def test_what_columns_add_is_the_score(table):
    model, frame, contents = table
    scores = model.positive_scores(frame)
    assert contents.shapes.mean == pytest.approx(scores.mean(), abs=1e-9)
    for reasons in contents.shapes.reasons:
        assert reasons.score == pytest.approx(scores[reasons.row - 1], abs=1e-9)
        assert reasons.mean + sum(added for _, _, added in reasons.added) == pytest.approx(reasons.score, abs=1e-9)
    spreads = [shape.spread for shape in contents.shapes.shapes]
    assert spreads == sorted(spreads, reverse=True)


def test_curves_are_those_of_the_model(table):
    model, frame, contents = table
    [age] = [shape for shape in contents.shapes.shapes if shape.name == "age"]
    row = frame.iloc[[0] * age.places.size].assign(age=age.places)
    found = model.positive_scores(row)
    np.testing.assert_allclose(found - found[0], age.heights - age.heights[0], rtol=0.0, atol=1e-9)
    assert age.missing[1] == pytest.approx(frame["age"].isna().mean())
    assert set(age.rug) <= set(frame["age"])


def test_words_are_bars_with_their_shares(table):
    _, frame, contents = table
    [town] = [shape for shape in contents.shapes.shapes if shape.name == "town"]
    shares = {word: share for word, _, share in town.words}
    assert shares["Rome"] == pytest.approx((frame["town"] == "Rome").mean())
    assert shares["other"] == pytest.approx((frame["town"] == "Atlantis").mean())
    assert sum(shares.values()) + town.missing[1] == pytest.approx(1.0)


def test_the_page_shows_them(table):
    _, _, contents = table
    page = render_report(contents)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    shapes = contents.shapes.shapes
    assert len(data["shapes"]) == len(shapes)
    assert page.count("data-shape=") == sum(shape.places.size > 0 for shape in shapes)
    assert "What the columns add" in page
    assert "The lowest score of a positive" in page
    assert "Bo&quot;nn" in page


def test_names_are_escaped_and_many_columns_folded_away():
    rng = np.random.default_rng(0)
    import pandas as pd

    X = pd.DataFrame(rng.normal(size=(200, SHOWN + 3)))
    X.columns = [HOSTILE, *(f"x{j}" for j in range(1, X.shape[1]))]
    y = X[HOSTILE].abs() > 0.7
    page = render_report(gather(MeasureClassifier(alpha=1e-3, features=Shapes(4)).fit(X, y), X, y, n_resamples=2))
    assert HOSTILE not in page
    assert "The next 3<" in page


def test_other_models_have_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] > 0.0
    contents = gather(
        MeasureClassifier(alpha=1e-2, features=KernelFeatures(n_components=5)).fit(X, y), X, y, n_resamples=2
    )
    assert contents.shapes is None
    assert "nystroem" in render_report(contents)
    assert gather(MeasureClassifier(alpha=1e-2).fit(X, y), X, y, n_resamples=2).shapes is None


def test_pages_on_rankers_show_them():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(100, 3)), np.repeat(np.arange(10), 10)
    y = np.clip(np.round(2.0 - np.abs(X[:, 0]) + X[:, 1]), 0, 3)
    contents = gather_ranking(MeasureRanker("pairs", features=Shapes(4)).fit(X, y, qid=qid), X, y, qid, n_resamples=2)
    assert [shape.name for shape in contents.shapes.shapes][:2] in (["column 0", "column 1"], ["column 1", "column 0"])
    page = render_report(contents)
    assert "What the columns add" in page
    assert "speaks for\na better place" in page
    plain = gather_ranking(MeasureRanker("pairs").fit(X, y, qid=qid), X, y, qid, n_resamples=2)
    assert plain.shapes is None
