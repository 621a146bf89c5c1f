"""Models as SQL and as plain Python: run on 10,000 rows, with all that a table can hold."""

import sqlite3

import numpy as np
import pytest

from export_tables import FEATURES, fitted, numbers
from smoothperf import MeasureClassifier, MeasureRanker
from smoothperf.export import to_python, to_sql
from smoothperf.features import KernelFeatures, Leaves, Shapes


@pytest.fixture(scope="module", params=FEATURES)
def trained(request):
    model, frame = fitted(FEATURES[request.param])
    stored = frame.assign(signed=frame["signed"].dt.strftime("%Y-%m-%d %H:%M:%S"))
    return model, frame, stored


def selected(stored, expression):
    with sqlite3.connect(":memory:") as database:
        stored.to_sql("people", database, index=False)
        return [row[0] for row in database.execute(f"SELECT ({expression}) FROM people")]


def run(model):
    module = {}
    exec(to_python(model), module)
    return module


def test_sql_scores_and_labels(trained):
    model, frame, stored = trained
    scores = np.array(selected(stored, to_sql(model)))
    np.testing.assert_allclose(scores, model.decision_function(frame), rtol=0.0, atol=1e-9)
    assert selected(stored, to_sql(model, predict="label")) == model.predict(frame).tolist()


def test_python_scores_and_labels(trained):
    model, frame, stored = trained
    module = run(model)
    expected = model.decision_function(frame)
    for rows in (stored.to_dict("records"), frame.iloc[:500].to_dict("records")):  # dates as text, and as such
        scores = [module["score"](row) for row in rows]
        np.testing.assert_allclose(scores, expected[: len(rows)], rtol=0.0, atol=1e-9)
    assert [module["predict"](row) for row in rows] == model.predict(frame.iloc[:500]).tolist()


def test_columns_without_names_are_known_by_their_places():
    model, X = numbers()
    module = run(model)
    scores = [module["score"](row) for row in X.tolist()]
    np.testing.assert_allclose(scores, model.positive_scores(X), rtol=0.0, atol=1e-9)
    assert [module["predict"](row) for row in X[:100].tolist()] == model.predict(X[:100]).tolist()


def test_many_columns_and_many_words():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1900))
    y = X[:, 0] > 0.0
    wide = MeasureClassifier(alpha=1e-2).fit(X, y)
    columns = ", ".join(f'{x!r} AS "column {j}"' for j, x in enumerate(X[0].tolist()))
    with sqlite3.connect(":memory:") as database:
        [(score,)] = database.execute(f"SELECT {to_sql(wide)} FROM (SELECT {columns})")
    assert score == pytest.approx(wide.decision_function(X[:1])[0], abs=1e-9)
    assert run(wide)["score"](X[0].tolist()) == pytest.approx(score, abs=1e-9)


def test_rankers_have_scores_and_no_labels():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 3)), np.repeat(np.arange(4), 10)
    model = MeasureRanker("pairs", features=Shapes()).fit(X, (X[:, 1] > 0).astype(int), qid=qid)
    module = run(model)
    assert "predict" not in module
    np.testing.assert_allclose([module["score"](row) for row in X], model.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match="this one ranks"):
        to_sql(model, predict="label")


def test_dates_in_another_database(trained):
    model, _, _ = trained
    assert 'EXTRACT(ISODOW FROM "signed")' in to_sql(model, dialect="postgresql")
    with pytest.raises(ValueError, match="dialect must be one of"):
        to_sql(model, dialect="dbase")


@pytest.mark.parametrize("features", [KernelFeatures(n_components=10), Leaves(n_trees=3)])
@pytest.mark.parametrize("make", [to_sql, to_python])
def test_models_that_are_no_sums_over_columns(features, make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = MeasureClassifier(alpha=1e-2, features=features).fit(X, X[:, 0] > 0.0)
    with pytest.raises(ValueError, match=f"made by {type(features).__name__}, which is no function of one column each"):
        make(model)


def test_offsets_are_no_columns():
    X = np.arange(8.0)[:, None]
    model = MeasureClassifier("log_loss").fit(X, X[:, 0] > 3.0, base_scores=np.zeros(8))
    with pytest.raises(ValueError, match="fitted with base_scores"):
        to_sql(model)
