"""The report on a ranker: numbers that are those of the data, and a page that is sound and safe."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from problems import graded
from smoothperf import NDCG, MeasureRanker, MeasureRankerCV, ZeroModelWarning
from smoothperf.measures import Queries, get_query_measure
from smoothperf.report import gather_ranking, render_report
from smoothperf.report.rankings import WORST, best_single_feature

from .test_page import HOSTILE, Elements


def documents(n_queries=25, seed=0):
    return graded(n_queries, 8, weights=(1.0, -2.0, 0.0), shuffled=True, seed=seed)


@pytest.fixture(scope="module")
def ranker():
    X, y, qid = documents()
    return MeasureRanker("ndcg@5", alpha=1e-2).fit(X, y, qid=qid)


def gathered(model, X, y, qid, **options):
    return gather_ranking(model, X, y, [f"query {name}" for name in qid], **options)


@pytest.fixture(scope="module")
def contents(ranker):
    return gathered(ranker, *documents(seed=1), model_name="m", data_name="d", n_resamples=30)


def test_measures_and_gains(ranker, contents):
    X, y, qid = documents(seed=1)
    scores, feature = ranker.predict(X), -X[:, 1]
    assert (contents.single.name, contents.single.falling, contents.single.tried) == ("feature 2", True, 3)
    assert next(iter(contents.measures)) == "ndcg@5"
    for name, (value, low, high) in contents.measures.items():
        measure = get_query_measure(name)
        assert value == pytest.approx(measure.score(y, scores, qid))
        assert low <= value <= high
        assert contents.gains[name][0] == pytest.approx(value - measure.score(y, feature, qid))


def test_worst_queries_are_those_with_the_lowest_ndcg(ranker, contents):
    X, y, qid = documents(seed=1)
    scores = ranker.predict(X)
    found = {}
    for query in np.unique(qid):
        rows = qid == query
        if np.ptp(y[rows]) > 0.0:
            found[f"query {query}"] = NDCG(5).score(y[rows], scores[rows], qid[rows])
    np.testing.assert_allclose(np.sort(contents.values), np.sort(list(found.values())))
    assert len(contents.worst) == WORST
    values = [query.value for query in contents.worst]
    np.testing.assert_allclose(values, np.sort(list(found.values()))[:WORST])
    for query in contents.worst:
        rows = np.flatnonzero(qid == int(query.name.split()[1]))
        ordered = y[rows][np.argsort(-scores[rows])]
        assert query.value == pytest.approx(found[query.name])
        assert query.grades == ordered.tolist()
        assert (query.documents, query.relevant) == (8, int((ordered > 0).sum()))
        assert query.first_relevant == 1 + int(np.argmax(ordered > 0))


def test_grades_by_place(ranker, contents):
    X, y, qid = documents(seed=1)
    scores = ranker.predict(X)
    ordered = [y[qid == query][np.argsort(-scores[qid == query])] for query in np.unique(qid)]
    np.testing.assert_allclose(contents.places.model, np.mean(ordered, axis=0))
    np.testing.assert_allclose(contents.places.ideal, np.mean(np.sort(ordered, axis=1)[:, ::-1], axis=0))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_of_many_features_those_are_tried_that_the_model_makes_most_of(make):
    X, y, qid = documents()
    rng = np.random.default_rng(0)
    wide = np.hstack([rng.normal(size=(y.size, 400)), X])
    coef = np.zeros(403)
    coef[[3, 401]] = 1e-3, 1.0
    found = best_single_feature(make(wide), coef, Queries.of(y, qid), NDCG(5))
    assert (found.name, found.falling, found.tried, found.n_features) == ("feature 402", True, 300, 403)
    np.testing.assert_array_equal(found.scores, -wide[:, 401])


def test_page_is_sound(contents):
    page = render_report(contents)
    found = Elements(page)
    assert not found.unbalanced
    assert not found.open
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"spread", "sorted", "places", "gap"} <= set(ids)
    assert "script-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|<img|<iframe", page)
    text = " ".join(found.text)
    assert contents.worst[0].name in text
    assert f"{contents.measures['ndcg@5'][0]:.4f}" in text
    assert "feature 2" in text


def test_names_cannot_break_out(contents):
    hostile = replace(
        contents,
        model_name=HOSTILE,
        data_name=HOSTILE,
        single=replace(contents.single, name=HOSTILE),
        worst=[replace(contents.worst[0], name=HOSTILE)],
    )
    page = render_report(hostile)
    assert not Elements(page).unbalanced
    assert "<script" not in page
    assert "<img" not in page


def test_a_model_that_tells_nothing_says_so():
    X, y, qid = documents()
    with pytest.warns(ZeroModelWarning):
        model = MeasureRanker("ndcg@5", alpha=1e6, bound="convex").fit(X, y, qid=qid)
    page = render_report(gathered(model, X, y, qid, n_resamples=5))
    assert "This model is constant" in page


def test_another_measure_shows_ndcg_at_ten():
    X, y, qid = documents()
    model = MeasureRanker("pairs", alpha=1e-2).fit(X, y, qid=qid)
    contents = gathered(model, X, y, qid, n_resamples=5)
    assert contents.spread_of == "ndcg@10"
    assert "bounds" in render_report(contents)  # a convex risk has a lower bound to show


def test_an_average_says_whose_certificate_it_shows():
    X, y, qid = documents()
    tried = [("pairs", "convex"), ("squared_loss", "convex")]
    for average, words in ((True, "for NDCG@5, an average of 2"), (False, "chosen for NDCG@5, trained with")):
        chosen = MeasureRankerCV("ndcg@5", bound=tried, alphas=[0.1], cv=2, average=average).fit(X, y, qid=qid)
        page = render_report(gathered(chosen.as_ranker(), X, y, qid, n_resamples=5))
        assert words in page
        assert ("The model is an average: " in page) == average
        if average:
            shares = "; ".join(f"{share:.0%} {name}" for name, share in chosen.averaged_.items())
            assert page.count(shares) == 2  # beside the certificate, and among the facts
            assert "Training, of the first of 2 models that are averaged" in page
        assert ("so this model is at most" in page) != average
