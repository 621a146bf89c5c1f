"""``train --calibration`` and ``predict --proba``."""

import numpy as np
import pytest

import smoothperf


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("label", ["1", "-1"])
def test_probabilities_are_those_of_the_choice(run, run_json, train_file, test_file, examples, tmp_path, method, label):
    """The features are scaled for training, and centred: the model is for features as they are."""
    model = tmp_path / "model"
    run("train", train_file, "--folds", 2, "--calibration", method, "--pos-label", label, "-o", model)
    printed = [float(line) for line in run("predict", model, test_file, "--proba").stdout.split()]
    X, y = examples(200, 1)
    chances = smoothperf.load(model).predict_proba(X)[:, int(label == "1")]
    np.testing.assert_allclose(printed, chances)
    assert abs(chances.mean() - (y == int(label)).mean()) < 0.1
    assert run_json("predict", model, test_file, "--proba")["probabilities"] == printed


def test_the_scaling_changes_no_probability(run, train_file, test_file, examples, tmp_path):
    model = tmp_path / "model"
    run("train", train_file, "-m", "prbep", "--folds", 3, "--calibration", "sigmoid", "-o", model)
    X, y = examples(300, 0)
    mean, std = X.mean(axis=0), X.std(axis=0)
    same = smoothperf.MeasureClassifierCV("prbep", cv=3, calibration="sigmoid").fit((X - mean) / std, y)
    found = smoothperf.load(model).predict_proba(X)
    np.testing.assert_allclose(found, same.predict_proba((X - mean) / std), atol=0.02)


def test_a_model_without_says_what_makes_them(run, train_file, test_file, tmp_path):
    model = tmp_path / "model"
    run("train", train_file, "--folds", 2, "-o", model)
    assert "train it with --calibration sigmoid" in run("predict", model, test_file, "--proba", code=2).stderr
    loaded = smoothperf.load(model)
    assert not hasattr(loaded, "predict_proba")
    with pytest.raises(AttributeError) as error:
        loaded.predict_proba(np.zeros((1, 4)))
    assert "needs a calibration" in str(error.value.__cause__)
    assert repr(loaded).endswith(f", trained with {loaded.trained_for_}>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--calibration", "beta"], "--calibration must be one of 'sigmoid', 'isotonic', got 'beta'"),
        (["--calibration", "sigmoid", "-a", 1], "--calibration needs rows held out"),
    ],
)
def test_calibrations_that_there_are_not(run, train_file, tmp_path, arguments, message):
    assert message in run("train", train_file, "-o", tmp_path / "model", *arguments, code=2).stderr


def test_probabilities_have_no_threshold(run, train_file, tmp_path):
    found = run("predict", tmp_path / "model", train_file, "--proba", "--scores", code=2)
    assert "leave out --scores, --at and --threshold" in found.stderr
