"""Indices of svmlight files: all files for a model count as the training data do, so that features never move."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import smoothperf


@pytest.fixture
def files(tmp_path, examples):
    """Training data that count from 0, and others whose first feature never occurs."""
    X, y = examples(300, 0)
    dump_svmlight_file(X, y, str(tmp_path / "zero.svm"), zero_based=True)
    X, y = examples(200, 1)
    X[:, 0] = 0.0
    dump_svmlight_file(X, y, str(tmp_path / "part.svm"), zero_based=True)
    return tmp_path, X, y


def scores_of(run, *arguments):
    return np.array(run("predict", *arguments, "--scores", "-q").stdout.split(), dtype=float)


def test_a_part_without_the_first_feature_is_not_shifted(run, files):
    folder, X, _ = files
    run("train", folder / "zero.svm", "-o", folder / "model")
    model = smoothperf.load(folder / "model")
    assert model.zero_based_ is True
    np.testing.assert_allclose(scores_of(run, folder / "model", folder / "part.svm"), model.decision_function(X))
    shifted = np.column_stack([X[:, 1:], np.zeros(200)])
    found = scores_of(run, folder / "model", folder / "part.svm", "--one-based")
    np.testing.assert_allclose(found, model.decision_function(shifted))


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_judging_counts_as_training_did(run, run_json, files, command):
    folder, X, y = files
    run("train", folder / "zero.svm", "-o", folder / "model")
    output = ("-o", folder / "report.html") if command == "report" else ()
    found = run_json(command, folder / "model", folder / "part.svm", "--bootstrap", 2, *output)
    assert found["data"]["features"] == 4
    if command == "evaluate":
        expected = smoothperf.load(folder / "model").score(X, y)
        assert found["measures"]["roc_area"]["value"] == pytest.approx(expected)


def test_index_zero_after_training_from_one_is_an_error(run, model_file, files):
    message = run("predict", model_file, files[0] / "zero.svm", "-q", code=2).stderr
    assert "line 1: index 0 in '0:" in message
    assert "indices were to count from 1, as said or as in training" in message
    assert len(scores_of(run, model_file, files[0] / "zero.svm", "--zero-based")) == 300


def test_files_beside_the_training_data_count_as_it_does(run_json, files, examples):
    folder, X, y = files
    tight = "--tol", "1e-6"  # so that both are nearly the same model
    found = run_json("path", folder / "zero.svm", "--validation", folder / "part.svm", "--n-alphas", 3, *tight)
    path = run_json("train", folder / "zero.svm", "-o", folder / "model", "-a", str(found["alphas"][-1]), *tight)
    assert path["converged"]
    expected = smoothperf.load(folder / "model").score(X, y)
    assert found["validation_scores"][-1] == pytest.approx(expected, abs=5e-3)
    plain = "--bound", "convex", "--scale", "none"
    chosen = run_json("train", folder / "zero.svm", "--validation", folder / "part.svm", *plain, "-o", folder / "model")
    X_train, y_train = examples(300, 0)
    cv = [(np.arange(300), np.arange(300, 500))]
    same = smoothperf.MeasureClassifierCV(bound="convex", cv=cv).fit(np.vstack([X_train, X]), np.append(y_train, y))
    assert chosen["choice"]["score"] == pytest.approx(same.best_score_, abs=1e-6)
    plain = (*plain, "-m", "roc_area", "--bootstrap", 2)
    compared = run_json("compare", folder / "zero.svm", "--test", folder / "part.svm", *plain)
    same = smoothperf.MeasureClassifierCV(bound="convex").fit(X_train, y_train)
    assert compared["models"][0]["measures"]["roc_area"]["value"] == pytest.approx(same.score(X, y), abs=1e-6)


def test_the_base_can_be_said_in_training(run, files, tmp_path):
    folder, _, _ = files
    run("train", folder / "part.svm", "--zero-based", "-o", folder / "model")
    model = smoothperf.load(folder / "model")
    assert model.coef_.shape == (1, 4)
    assert model.coef_[0, 0] == 0.0
    assert len(scores_of(run, folder / "model", folder / "zero.svm")) == 300


def test_other_formats_have_no_base(run, csv_file, tmp_path):
    run("train", csv_file, "--label", "kind", "-o", tmp_path / "model")
    assert not hasattr(smoothperf.load(tmp_path / "model"), "zero_based_")
