"""Bands of curves: the jackknife of models without a fold, carried to the curves, the page, the figure and files."""

import json
import re

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.model_selection import StratifiedKFold

from export_tables import people
from smoothperf import MeasureClassifier, MeasureClassifierCV, TableEncoder, load, plots
from smoothperf.features import Shapes, TableShapes
from smoothperf.io.model_file import ModelFileError
from smoothperf.report import gather, render_report

FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)
LOG_LOSS = {"bound": [("log_loss", "convex")], "alphas": [1e-2]}


@pytest.fixture(scope="module")
def chosen():
    frame, y = people()
    features = TableShapes(TableEncoder(), Shapes())
    model = MeasureClassifierCV(features=features, cv=FOLDS, pos_label="it's no", **LOG_LOSS)
    return model.fit(frame[:1000], y[:1000]), frame, y


def test_bands_are_the_jackknife_of_models_without_a_fold(chosen):
    model, frame, y = chosen
    Z = model.features_.transform(frame[:1000])
    folds = FOLDS.split(Z, y[:1000])
    single = MeasureClassifier("log_loss", alpha=1e-2, pos_label="it's no")
    weights = np.array([single.fit(Z[train], y[:1000][train]).coef_[0] for train, _ in folds])
    expected = student.ppf(0.975, 3) * np.sqrt(3 / 4) * (weights - weights.mean(axis=0))
    found = model.coef_band_
    assert found.shape == expected.shape
    # Of scores, as columns that are nearly the same share their weights in many ways; all within their tolerances.
    np.testing.assert_allclose(np.linalg.norm(found @ Z.T), np.linalg.norm(expected @ Z.T), rtol=0.2)


def test_shapes_have_the_band_of_their_weights(chosen, tmp_path):
    model, frame, y = chosen
    model.save(tmp_path / "m.model")
    rows = frame[1000:1500]
    contents = gather(load(tmp_path / "m.model"), rows, y[1000:1500], n_resamples=2)
    shapes = {shape.name: shape for shape in contents.shapes.shapes}

    def half_width(column, values):
        there = rows.iloc[[0] * len(values)].assign(**{column: values})
        other = model.features_.transform(rows.assign(**{name: rows[name].iloc[0] for name in rows if name != column}))
        return np.linalg.norm(model.coef_band_ @ (model.features_.transform(there) - other.mean(axis=0)).T, axis=0)

    age, town = shapes["age"], shapes["town"]
    np.testing.assert_allclose(age.half_width, half_width("age", age.places), rtol=1e-3)  # of float32
    words = [word for word, _, _ in town.words if word != "other"]
    np.testing.assert_allclose(town.half_width[: len(words)][0], half_width("town", words)[0], rtol=1e-3)
    page = render_report(contents)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert len(data["shapes"][0]["half"]) == len(data["shapes"][0]["x"])
    assert page.count('<path class="band"') >= 3
    assert "Bands of 95 %" in page
    panel = next(ax for ax in plots.shapes(model, rows).axes if ax.get_title(loc="left") == "age")
    [band] = panel.collections
    np.testing.assert_allclose(np.ptp(band.get_paths()[0].vertices[:, 1]), _height(age), rtol=0.05)


def _height(shape):
    return (shape.heights + shape.half_width).max() - (shape.heights - shape.half_width).min()


def test_monotone_curves_have_monotone_models_of_folds():
    frame, y = people()
    features = TableShapes(TableEncoder(), Shapes(monotonic_cst={"age": 1}))
    model = MeasureClassifierCV(features=features, cv=FOLDS, pos_label="yes", **LOG_LOSS).fit(frame[:600], y[:600])
    assert model.coef_band_.shape == (4, model.coef_.size)


def test_few_splits_other_features_and_other_fits_have_no_band():
    frame, y = people()
    X = frame[["age", "kids"]].fillna(0.0)[:300].to_numpy()
    model = MeasureClassifierCV(features=Shapes(), cv=2, **LOG_LOSS).fit(X, y[:300])
    assert model.coef_band_.shape == (0, model.coef_.size)
    assert "Bands" not in render_report(gather(model.as_classifier(), X, y[:300], n_resamples=2))
    model.set_params(features=None, cv=3).fit(X, y[:300])
    assert not hasattr(model, "coef_band_")


def test_a_band_of_other_weights_is_damage(chosen, tmp_path):
    model = chosen[0].as_classifier()
    model.coef_band_ = model.coef_band_[:, :-1]
    model.save(tmp_path / "damaged.model")
    with pytest.raises(ModelFileError, match="coef_band_ must be"):
        load(tmp_path / "damaged.model")
