"""Transformers in model files: as data alone, and what a model predicts from there is what it predicted before."""

import copy
import json
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from smoothperf import MeasureClassifier, MeasureClassifierCV, TableEncoder, load
from smoothperf.features import KernelFeatures, Leaves, Shapes
from smoothperf.io.model_file import HEADER, ModelFileError


def people(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 70, size=n)),
            "town": rng.choice(["Rome", "Oslo", None], size=n),
            "signed": (np.datetime64("2024-01-01") + rng.integers(0, 90, size=n)).astype(str),
        }
    )
    return frame, np.where((frame["town"] == "Rome") ^ (rng.random(n) < 0.2), "yes", "no")


def changed(path, target, change):
    """Write a model file anew, with another header."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members[HEADER])
    change(header["model"])
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in (members | {HEADER: json.dumps(header).encode()}).items():
            archive.writestr(name, content)
    return target


@pytest.fixture
def saved(tmp_path):
    X, y = people()
    model = MeasureClassifierCV("log_loss", bound="convex", alphas=[0.1], cv=2, features=TableEncoder()).fit(X, y)
    model.save(tmp_path / "people.model")
    return model, tmp_path / "people.model"


def test_a_model_of_a_table_predicts_frames(saved):
    model, path = saved
    again, (X, _) = load(path), people(50, 1)
    X.loc[3, "town"] = "Paris"
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    in_polars = pl.read_csv(X.to_csv(index=False).encode(), null_values="")
    assert again.predict(in_polars).tolist() == model.predict(X[["signed", "town", "age"]]).tolist()
    assert again.features_.columns_ == model.features_.columns_


@pytest.mark.parametrize(
    "features",
    [
        make_pipeline(StandardScaler(), Shapes(n_knots=4)),
        make_pipeline(MaxAbsScaler(), KernelFeatures(n_components=20)),
        Leaves(n_trees=3, random_state=1),
    ],
    ids=["shapes", "kernel", "leaves"],
)
def test_models_with_transformers_are_the_same_after_loading(features, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    model = MeasureClassifier(alpha=0.01, features=features).fit(X, X[:, 0] * X[:, 1] > 0.0)
    model.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.feature_names.tolist() == model.feature_names.tolist()
    again.fit(X, X[:, 0] * X[:, 1] > 0.0)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))


def loops(model):
    model["fitted"]["features_"]["fitted"]["children_"] = copy.deepcopy(
        model["fitted"]["features_"]["fitted"]["columns_"]
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model["fitted"]["features_"]["fitted"]["columns_"].pop(),
        lambda model: model["fitted"]["features_"]["fitted"].pop("columns_"),
        lambda model: model["fitted"]["features_"]["parameters"].update(memory="/tmp"),
        lambda model: model["fitted"]["features_"].update({"class": "MeasureClassifier"}),
        lambda model: model["fitted"]["features_"]["fitted"]["columns_"][0]["fields"].update(kind="words"),
        lambda model: model["fitted"]["features_"]["fitted"]["columns_"][0]["fields"].update(scale=[0.0]),
        lambda model: model["fitted"]["features_"]["fitted"]["columns_"][2]["fields"].update(first="soon"),
        lambda model: model["fitted"]["features_"]["fitted"].update(transform="x"),
    ],
)
def test_forged_encoders_are_refused(change, saved, tmp_path):
    with pytest.raises(ModelFileError):
        load(changed(saved[1], tmp_path / "forged.model", change))


def test_trees_whose_ways_do_not_end_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    MeasureClassifier(features=Leaves(n_trees=1)).fit(X, X[:, 0] > 0.0).save(tmp_path / "a.model")
    with pytest.raises(ModelFileError):
        load(changed(tmp_path / "a.model", tmp_path / "forged.model", loops))


def test_files_of_the_first_version_with_an_encoder(tmp_path):
    """Their weights are for features that are not scaled, and words that training did not have count for nothing."""
    X = np.array([[30.0, 0, 1, 0], [50.0, 1, 0, 1], [40.0, 0, 1, 0], [60.0, 0, 0, 1]])
    MeasureClassifier(alpha=0.1).fit(X, [0, 1, 0, 1]).save(tmp_path / "a.model")

    def former(model):
        columns = [
            {"name": "age", "median": 45.0, "words": None, "has_missing": True},
            {"name": "town", "median": None, "words": ["Oslo", "Rome"], "has_missing": False},
        ]
        columns = [{"type": "object", "class": "TableColumn", "fields": fields} for fields in columns]
        fields = {"columns": columns, "left_out": ["id"]}
        model["fitted"]["table_encoder_"] = {"type": "object", "class": "TableEncoder", "fields": fields}

    old = load(changed(tmp_path / "a.model", tmp_path / "old.model", former))
    frame = pd.DataFrame({"town": ["Rome", "Paris", "Oslo"], "age": [60.0, 40.0, None]})
    expected = np.array([[60.0, 0, 0, 1], [40.0, 0, 0, 0], [45.0, 1, 1, 0]])
    np.testing.assert_allclose(
        old.decision_function(frame), load(tmp_path / "a.model").decision_function(expected), rtol=1e-12
    )
    old.save(tmp_path / "new.model")
    np.testing.assert_array_equal(load(tmp_path / "new.model").predict(frame), old.predict(frame))
