"""The page on a classifier for many labels."""

import re

import numpy as np
import pytest
from sklearn.metrics import f1_score

from smoothperf import MultilabelMeasureClassifier
from smoothperf.report import gather_many, render_report

from .test_page import HOSTILE, Elements


def problem(seed):
    """Three labels: one easy, one hard, one with a name that would break out; and one of training alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    members = np.column_stack([X[:, 0] > 0.5, X[:, 1] + rng.normal(size=150) > 1.0, X[:, 2] > 1.0, X[:, 0] > 2.0])
    names = np.array(["easy", "hard", HOSTILE, "gone"])
    return X, [tuple(names[np.flatnonzero(row[: 4 if seed == 0 else 3])].tolist()) for row in members]


@pytest.fixture(scope="module")
def model():
    return MultilabelMeasureClassifier("f1", alpha=1e-3).fit(*problem(0))


@pytest.fixture(scope="module")
def contents(model):
    return gather_many(model, *problem(1), model_name="many.model", data_name=HOSTILE, n_resamples=20)


def test_numbers_are_those_of_scikit_learn(model, contents):
    X, sets = problem(1)
    indicators = [[label in labels for label in model.classes_.tolist()] for labels in sets]
    f1 = f1_score(indicators, model.predict(X).toarray(), average=None, zero_division=0)
    assert {one.worth["label"]: one.worth["f1"] for one in contents.labels} == pytest.approx(
        dict(zip(model.classes_.tolist(), f1, strict=True))
    )
    values = [one.worth["f1"] for one in contents.labels]
    assert values == sorted(values)
    assert contents.measures["macro_f1"][0] == pytest.approx(model.score(X, sets))
    assert contents.labels[0].worth["label"] == "gone"
    assert contents.labels[0].curve is None
    hard = next(one for one in contents.labels if one.worth["label"] == "hard")
    assert hard.features[0][0] == "column 1"
    at = hard.curve.operating_point
    assert hard.curve.tp[at] + hard.curve.fp[at] == hard.worth["predicted"]


def test_page_is_whole_safe_and_from_nowhere_else(contents):
    page = render_report(contents)
    found = Elements(page)
    assert not found.unbalanced
    assert not found.open
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes["href"] for tag, attributes in found.tags if tag == "a"} == {f"#label-{i}" for i in range(4)}
    assert not re.search(r"https?:|url\(|@import|<link|<img", page)
    assert page.count("<script>") == 1
    text = " ".join(found.text)
    assert "The worst: gone" in text
    assert "Trained for this" in text
    assert HOSTILE in text


def test_one_label_a_row_has_no_thresholds():
    X, _ = problem(0)
    y = X.argmax(axis=1)
    contents = gather_many(MultilabelMeasureClassifier(alpha=1e-3).fit(X, y), X, y, n_resamples=5)
    assert [one.curve for one in contents.labels] == [None] * 3
    assert "What other thresholds" in render_report(contents)
