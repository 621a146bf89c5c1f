"""Scorecards: the points of the printed table, added up, are the model's score, but for their rounding."""

import csv
import io
import math

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from export_tables import FEATURES, fitted, people
from smoothperf import MeasureClassifier, MeasureClassifierCV
from smoothperf.export import to_scorecard
from smoothperf.features import KernelFeatures, Shapes, TableEncoder


def points_by_table(text, frame):
    """Points of rows, as somebody with the table at hand would add them up."""
    lines = list(csv.DictReader(io.StringIO(text)))
    total = np.full(len(frame), float(lines[0]["points"]))
    for column, values in frame.items():
        missing = values.isna().to_numpy()
        for line in (line for line in lines if line["column"] == column):
            points = float(line["points"])
            if line["value"] == "missing":
                total[missing] += points
            elif line["value"].startswith("for each 1"):
                total[~missing] += points * (values.to_numpy(dtype=float)[~missing] - float(line["from"]))
            elif line["from"]:
                low, high = float(line["from"]), float(line["below"])
                total[((values >= low) & (values < high)).to_numpy()] += points
            elif line["value"] == "other":
                known = [other["value"] for other in lines if other["column"] == column]
                total[~(missing | values.isin(known).to_numpy())] += points
            else:
                total[(values == line["value"]).to_numpy()] += points
    return total


@pytest.mark.parametrize(
    ("features", "digits"), [(Shapes(degree=0, linear=False), 0), (Shapes(degree=0), 3), (None, 6)]
)
def test_points_add_up_to_the_score(features, digits):
    frame, y = people(3000)
    more = np.random.default_rng(1).normal(size=(3000, 3)).round(1)
    frame = frame.drop(columns="signed").assign(a=more[:, 0], b=more[:, 1], c=more[:, 2])
    steps = TableEncoder() if features is None else make_pipeline(TableEncoder(), features)
    model = MeasureClassifier("log_loss", alpha=1e-3, features=steps).fit(frame[:1000], y[:1000])
    text = to_scorecard(model, base_score=500, base_odds=0.1, points_to_double=40, digits=digits, format="csv")
    expected = 500.0 + 40.0 * (model.decision_function(frame) / math.log(2.0) - math.log2(0.1))
    allowed = 0.5 * 10.0**-digits * (1 + frame.shape[1])
    if features is None or features.linear:  # points for each unit are rounded, too
        allowed += 1e-4 * 10.0**-digits * frame.select_dtypes("number").abs().max().sum()
    assert np.abs(points_by_table(text, frame) - expected).max() <= allowed + 1e-6
    points = [float(line["points"]) for line in csv.DictReader(io.StringIO(text)) if line["column"] == "town"]
    assert min(points) == 0.0


def test_dates_are_their_parts():
    model, frame = fitted(make_pipeline(TableEncoder(), Shapes(degree=0, linear=False)))
    frame = frame.assign(
        **{
            "signed year": frame["signed"].dt.year,
            "signed month": frame["signed"].dt.month,
            "signed weekday": frame["signed"].dt.day_of_week,
            "signed days": (frame["signed"] - frame["signed"][:2000].min()) / np.timedelta64(1, "D"),
        }
    )
    points = points_by_table(to_scorecard(model, digits=6, format="csv"), frame)
    expected = 600.0 + 20.0 / math.log(2.0) * model.decision_function(frame)
    np.testing.assert_allclose(points, expected, atol=1e-4)


def test_curves_have_their_means_and_say_how_far_off_they_are():
    model, frame = fitted(FEATURES["curves of a table"])
    text = to_scorecard(model)
    assert "within a bin up to" in text
    assert "| (base) | |" in text
    assert '| town | Bo"nn |' in text
    frame = frame.assign(signed=None)  # its parts are no columns
    off = points_by_table(to_scorecard(model, format="csv"), frame) - 600.0
    assert np.corrcoef(off, model.decision_function(frame))[0, 1] > 0.9


def test_a_calibrated_model_knows_its_odds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + rng.normal(size=400) > 1.0
    model = MeasureClassifierCV("prbep", cv=3, calibration="sigmoid").fit(X, y)
    text = to_scorecard(model, digits=8, format="csv", names=["a", "b"])
    import pandas as pd

    points = points_by_table(text, pd.DataFrame(X, columns=["a", "b"]))
    chances = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(points, 600.0 + 20.0 * np.log2(chances / (1.0 - chances)), atol=1e-5)
    cut = float(to_scorecard(model, digits=8).split("Above ")[1].split(" points")[0])
    assert ((points > cut) == model.predict(X)).all()
    model.set_params(calibration="isotonic").fit(X, y)
    with pytest.raises(ValueError, match="an isotonic calibration"):
        to_scorecard(model)


def test_what_has_no_scorecard():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = MeasureClassifier(alpha=1e-2, features=KernelFeatures(n_components=10)).fit(X, X[:, 0] > 0.0)
    with pytest.raises(ValueError, match="no function of one column each"):
        to_scorecard(model)
    with pytest.raises(ValueError, match="points_to_double"):
        to_scorecard(model, points_to_double=0.0)
