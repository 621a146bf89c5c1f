"""Options of ``smoothperf train`` about few features, and about bounds of their weights."""

import numpy as np
import pytest

import smoothperf


def test_at_most_so_many_features(run, run_json, train_file, tmp_path):
    found = run_json("train", train_file, "--max-features", "1", "--folds", "2", "-o", tmp_path / "model")
    assert found["features_in_model"] == 1
    assert found["l1_ratio"] == 1.0
    assert smoothperf.load(tmp_path / "model").n_features_in_model_ == 1


def test_the_sparsest(run_json, train_file, tmp_path):
    arguments = ("train", train_file, "--folds", "2", "--l1-ratio", "1", "-o", tmp_path / "model")
    counts = [run_json(*arguments, *more)["features_in_model"] for more in ((), ("--sparsest",))]
    assert counts[1] <= counts[0]


def test_bounds_are_by_name(run, csv_file, tmp_path):
    arguments = ("train", csv_file, "--label", "kind", "-a", "0.1", "-q", "-o", tmp_path / "model")
    run(*arguments)
    free = smoothperf.load(tmp_path / "model").coef_[0]
    assert free[0] > 0.1
    run(*arguments, "--coef-bounds", "a=:0")
    assert smoothperf.load(tmp_path / "model").coef_[0, 0] == 0.0
    run(*arguments, "--coef-bounds", "a=-1:0.05", "--scale", "none")
    assert smoothperf.load(tmp_path / "model").coef_[0, 0] == pytest.approx(0.05)


def test_features_of_svmlight_files_have_indices(run, train_file, tmp_path):
    run("train", train_file, "-a", "0.1", "--coef-bounds", "1=:0", "-q", "-o", tmp_path / "model")
    coef = smoothperf.load(tmp_path / "model").coef_[0]
    assert coef[0] == 0.0
    assert np.count_nonzero(coef) >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--coef-bounds", "a=3"), "--coef-bounds must be FEATURE=LOW:HIGH, such as income=:0 or age=0:10, got 'a=3'"),
        (("--coef-bounds", "a=:high"), "got 'a=:high'"),
        (("--coef-bounds", "a=:2"), "only 0 is the same bound for both; give 0, or --scale none"),
        (("--coef-bounds", "aa=:0"), "Did you mean 'a'?"),
        (
            ("--coef-bounds", "a=1:", "--scale", "none"),
            "of feature 'a' are (1, inf): a lower bound above 0",
        ),
        (("--max-features", "2", "-a", "0.1"), "--max-features is for a choice among models"),
        (("--sparsest", "--l1-ratio", "0"), "sparsest=True needs an l1_ratio above 0"),
    ],
)
def test_what_makes_no_sense_is_one_line(run, csv_file, tmp_path, arguments, message):
    told = run("train", csv_file, "--label", "kind", "-q", "-o", tmp_path / "model", *arguments, code=2).stderr
    assert message in told


def test_rankings_have_none_of_it(run, tmp_path):
    file = tmp_path / "ranks.svm"
    file.write_text("".join(f"{row % 3} qid:{row // 6} 1:{row % 5} 2:{row % 2}\n" for row in range(60)))
    for more in (("--max-features", "1"), ("--sparsest",), ("--coef-bounds", "1=:0")):
        assert "is for classes" in run("train", file, "-q", "-o", tmp_path / "model", *more, code=2).stderr
