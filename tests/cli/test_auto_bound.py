"""Measures whose convex risk is least at w = 0: what commands train then, and what they say."""

import re

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from problems import gaussians


@pytest.fixture(scope="module")
def noisy_file(tmp_path_factory):
    """Rows whose ROC area is about .7."""
    path = tmp_path_factory.mktemp("noisy") / "noisy.svm"
    X, y = gaussians(60, 440, 4, shift=0.5, seed=2)
    dump_svmlight_file(X, np.where(y > 0, 1, -1), str(path))
    return path


def test_one_alpha(run, run_json, noisy_file, tmp_path):
    arguments = ("train", noisy_file, "-m", "f1", "-a", "1e-3", "-o", tmp_path / "model")
    text = " ".join(run(*arguments).stdout.split())
    assert text.count("of the tight bound, as the convex one is least at w = 0") == 1
    found = run_json(*arguments)
    assert (found["bound"], found["constant"], found["converged"]) == ("tight", False, True)
    assert (found["gap"], found["notes"]) == (None, [])


@pytest.mark.parametrize("alpha", [("-a", "1e-3"), ("--folds", 2)])
def test_the_remedy_for_the_convex_bound_is_another_one(run, noisy_file, tmp_path, alpha):
    arguments = ("train", noisy_file, "-m", "f1", "--bound", "convex", *alpha, "-o", tmp_path / "model")
    message = run(*arguments, code=1).stderr
    assert "this model is constant" in message
    assert message.endswith(
        "The convex bound is least there, on noisy data whatever alpha is: leave out --bound convex.\n"
    )
    assert "smaller" not in message
    assert "nothing to do with the labels" not in message


def test_paths(run, run_json, noisy_file):
    arguments = ("path", noisy_file, "-m", "f1", "--n-alphas", 4)
    result = run(*arguments)
    assert "the convex bound is least at w = 0 for every alpha, so this is the path of the tight one" in result.stderr
    assert len(re.findall(r"\d\*", result.stdout)) == 1
    found = run_json(*arguments)
    assert found["bound"] == "tight"
    assert len(set(found["train_scores"])) > 1
    assert found["best_alpha"] in found["alphas"]


def test_no_alpha_is_the_best_of_constant_models(run, run_json, noisy_file, tmp_path):
    arguments = ("path", noisy_file, "-m", "f1", "--n-alphas", 4, "--bound", "convex")
    result = run(*arguments, "--figure", tmp_path / "path.svg")
    assert "*" not in result.stdout
    assert "no alpha is better than another" in result.stderr
    assert "best, alpha" not in (tmp_path / "path.svg").read_text("utf-8")
    assert run_json(*arguments)["best_alpha"] is None
