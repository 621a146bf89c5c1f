"""Decisions on many labels: the figures of scikit-learn, of rows as they are and of rows drawn again."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from smoothperf.evaluation import query_resamples
from smoothperf.evaluation.decisions import Decisions


@pytest.fixture(scope="module")
def both():
    rng = np.random.default_rng(0)
    members = rng.random((6, 80)) < np.array([[0.5], [0.3], [0.2], [0.1], [0.0125], [0.0]])
    return members, members ^ (rng.random(members.shape) < 0.15)


def test_figures_are_those_of_scikit_learn(both):
    members, predicted = both
    found = Decisions(members, predicted)
    for average in ("macro", "micro"):
        expected = f1_score(members.T, predicted.T, average=average, zero_division=0)
        assert found.measures()[f"{average}_f1"] == pytest.approx(expected)
    each = {row["label"]: row for row in found.each(np.array(list("abcdef")))}
    for key, score in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
        expected = score(members.T, predicted.T, average=None, zero_division=0)
        np.testing.assert_allclose([each[label][key] for label in "abcde"], expected[:5])
    assert np.isnan(each["f"]["recall"])
    assert [each[label]["rows"] for label in "abcdef"] == members.sum(axis=1).tolist()


def test_draws_are_rows_taken_several_times(both):
    members, predicted = both
    found = Decisions(members[:4], predicted[:4])
    for draw in query_resamples(80, 3, 0):
        rows = np.repeat(np.arange(80), draw.astype(int))
        expected = f1_score(members[:4, rows].T, predicted[:4, rows].T, average="macro")
        assert found.measures(draw)["macro_f1"] == pytest.approx(expected)
    without = np.ones(80)
    without[members[4]] = 0.0  # then the label counts as of all rows
    rest = np.flatnonzero(without)
    f1 = f1_score(members[:, rest].T, predicted[:, rest].T, average=None, zero_division=0)
    f1[4] = f1_score(members[4], predicted[4], zero_division=0)
    assert Decisions(members, predicted).measures(without)["macro_f1"] == pytest.approx(f1.mean())
