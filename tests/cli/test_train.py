"""``smoothperf train``: what it prints, what it saves, how it ends."""

import json
import re
import warnings

import numpy as np
import pytest

import smoothperf
from smoothperf import MeasureClassifier
from smoothperf.cli import _trained
from smoothperf.cli._progress import Watch
from smoothperf.cli._screen import Screen


def test_saves_the_model_that_the_library_fits(run, train_file, tmp_path, examples):
    model = tmp_path / "model"
    result = run("train", train_file, "--measure", "prbep", "--alpha", "1e-3", "--scale", "none", "-o", model)
    X, y = examples(300, 0)
    expected = MeasureClassifier("prbep", alpha=1e-3).fit(X, y)
    loaded = smoothperf.load(model)
    np.testing.assert_allclose(loaded.coef_, expected.coef_, atol=1e-6)
    assert loaded.predict(X).tolist() == expected.predict(X).tolist()
    assert loaded.callback is None
    lines = result.stdout.splitlines()
    n_positive = (y > 0).sum()
    assert lines[0] == f"{train_file}: svmlight, 300 rows x 4 features, 1,200 stored values"
    assert (
        lines[1]
        == f"Positive: {n_positive} ({n_positive / 300:.2%}) labelled 1; negative: {300 - n_positive} labelled -1"
    )
    assert lines[2] == "Training for PRBEP, alpha 0.001, tolerance 0.001, solver lbfgs"
    assert re.fullmatch(r"Finished: \d+ iterations, \d+ passes over the data, [\d.]+ s", lines[3])
    assert re.fullmatch(r"Objective 0\.\d{6}, certified to be at most 0\.\d+ above the optimum", lines[4])
    assert lines[5] == f"PRBEP on these rows: {expected.score(X, y):.4f}"
    assert lines[6] == f"Saved: {model}"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_progress_is_plain_lines_on_standard_error_when_piped(run, train_file, tmp_path):
    iteration = r"iteration +\d+  objective \d\.\d{6}  gap \d\.\d\de[+-]\d\d +[\d.]+ s"
    result = run("train", train_file, "-a", "1e-4", "-o", tmp_path / "model")
    lines = result.stderr.splitlines()
    assert len(lines) >= 2
    assert all(re.fullmatch(iteration, line) for line in lines)
    assert "gap" not in result.stdout
    first, *_, last = run("train", train_file, "--folds", 2, "-o", tmp_path / "model").stderr.splitlines()
    assert re.fullmatch(r"split 1 of 6: log_loss, convex, alpha [\d.]+ +0\.0 s", first)
    assert re.fullmatch(iteration, last)


def test_quiet_says_nothing(run, train_file, tmp_path):
    result = run("train", train_file, "-o", tmp_path / "model", "--quiet")
    assert result.output == ""


def test_json(run_json, train_file, tmp_path, examples):
    found = run_json("train", train_file, "-m", "prbep", "-a", "1e-3", "-o", tmp_path / "model")
    model = smoothperf.load(tmp_path / "model")
    assert found["command"] == "train"
    assert found["data"] == {
        "path": str(train_file),
        "format": "svmlight",
        "rows": 300,
        "features": 4,
        "classes": [
            {"label": -1, "rows": int((examples(300, 0)[1] < 0).sum())},
            {"label": 1, "rows": int((examples(300, 0)[1] > 0).sum())},
        ],
    }
    assert (found["measure"], found["alpha"], found["tol"], found["solver"]) == ("prbep", 1e-3, 1e-3, "lbfgs")
    assert (found["objective"], found["lower_bound"], found["gap"]) == (
        model.objective_,
        model.lower_bound_,
        model.gap_,
    )
    assert found["converged"] is True
    assert found["interrupted"] is False
    assert found["status"] == "converged"
    assert (found["choice"], found["trained_with"], found["bound"]) == (None, "prbep", "convex")
    assert found["scale"] == "standard"
    assert found["constant"] is False
    assert found["notes"] == []
    assert found["model"] == str(tmp_path / "model")
    assert found["passes"] == model.result_.n_matvec + model.result_.n_rmatvec


def test_a_missed_tolerance_is_exit_code_1_and_the_model_is_saved(run, run_json, train_file, tmp_path):
    result = run("train", train_file, "-a", "1e-4", "-o", tmp_path / "model", "--max-iter", 1, code=1)
    text = " ".join(result.stdout.split())
    assert "The tolerance of 0.001 was not reached. The iteration limit was reached before" in text
    assert all(
        len(line) <= 80 for line in result.stdout.splitlines() if str(tmp_path) not in line and "train.svm" not in line
    )
    assert smoothperf.load(tmp_path / "model").n_iter_ == 1
    found = run_json("train", train_file, "-a", "1e-4", "-o", tmp_path / "model", "--max-iter", 1, code=1)
    assert found["converged"] is False
    assert found["status"] == "iteration_limit"


def test_settings_reach_the_solver(run, train_file, tmp_path):
    for more in (["-a", "1e-3"], ["--folds", 2, "--bound", "convex"]):
        run("train", train_file, *more, "-o", tmp_path / "model", "--solver", "bmrm", "--tol", "0.01", "--balanced")
        model = smoothperf.load(tmp_path / "model")
        assert (model.solver, model.tol, model.class_weight) == ("bmrm", 0.01, "balanced")
        assert model.gap_ <= 0.01


def test_tables_keep_their_names(run, csv_file, tmp_path):
    run("train", csv_file, "--label", "kind", "-o", tmp_path / "model")
    model = smoothperf.load(tmp_path / "model")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.classes_.tolist() == ["ham", "spam"]


def test_a_model_that_tells_nothing_is_said_to_be_one(run, run_json, train_file, tmp_path):
    arguments = ("train", train_file, "-m", "prbep", "-a", "1e9", "-o", tmp_path / "model")
    assert "model: this model is constant: it has the same score" in run(*arguments, "-q", code=1).stderr
    assert np.ptp(smoothperf.load(tmp_path / "model").coef_) == 0.0  # saved all the same
    assert "Note: this model is constant" in run("evaluate", tmp_path / "model", train_file, "--bootstrap", 2).stderr
    found = run_json(*arguments, code=1)
    assert found["constant"] is True
    assert found["converged"] is True


def test_nor_does_a_choice_hide_that(run_json, run, tmp_path):
    (tmp_path / "same.svm").write_text("1 1:2 2:1\n-1 1:2 2:1\n" * 10)
    arguments = ("train", tmp_path / "same.svm", "--folds", 2, "-o", tmp_path / "model")
    assert run_json(*arguments, code=1)["constant"] is True
    assert "perhaps the features have nothing to do with the labels" in run(*arguments, code=1).stderr


def test_weights_that_are_hardly_worth_it_are_noted(run, train_file, tmp_path):
    result = run("train", train_file, "-m", "error_rate", "-a", 1100, "-o", tmp_path / "model")
    assert "Note: At alpha=1100 " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--alpha", "much"], "--alpha must be a number above 0 or 'auto', got 'much'."),
        (["--alpha", "-1"], "--alpha must be a number above 0 or 'auto', got '-1'."),
        (["--alpha", "nan"], "--alpha must be a number above 0 or 'auto', got 'nan'."),
        (["--measure", "acuracy"], "measure must be one of"),
        (["--solver", "adam"], "solver must be one of 'auto', 'lbfgs', 'nesterov', 'newton', 'bmrm', got 'adam'."),
        (["--tol", "0"], "tol must be a finite number above 0, got 0.0."),
        (["--max-iter", "-3"], "max_iter must be a whole number of at least"),
        (["--label", "kind"], "label"),
        (["--format", "xls"], "format must be one of"),
        (["-a", "1", "--validation", "other.svm"], "--validation is for a choice: leave out --alpha, or, if rows are"),
        (["-a", "1", "--at", "recall=0.8"], "--at recall=0.8 needs rows that are not trained on: with --alpha NUMBER"),
        (["--at", "specificity=0.8"], "--at must be one of precision=0.9, recall=0.8, fpr=1%, k=500 or rate=5%, got"),
        (["--at", "k=nan"], "k must be a whole number of at least 1, got nan"),
        (["--at", "k=2.5"], "k must be a whole number of at least 1, got 2.5"),
        (["--at", "precision=90"], "precision must lie above 0 and not above 1, got 90"),
        (["--at", "recall=0.9,confidence=1"], "confidence must lie between 0 and 1, or be none, got '1'"),
        (["--bound", "loose"], "--bound must be one of 'auto', 'convex', 'tight', got 'loose'."),
        (["--scale", "minmax"], "--scale must be one of 'standard', 'maxabs', 'none', got 'minmax'."),
        (["--checkpoint", "state"], "--checkpoint is for one training, not for a choice among many: give --alpha"),
        (["--resume", "state"], "--resume is for one training, not for a choice among many: give --alpha"),
        (["--folds", "1", "--alpha", "auto"], "--folds"),
        (["--tol", "small"], "--tol"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_options_are_one_line(run, train_file, tmp_path, arguments, message):
    # What was read before is said on standard output; here only how it ends matters.
    result = run("train", train_file, "-o", tmp_path / "model", "--quiet", *arguments, code=2)
    assert message in result.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("command", ["train", "path", "compare"])
@pytest.mark.parametrize("arguments", [["--tol", "-1"], ["--solver", "adam"], ["--measure", "acuracy"]])
def test_bad_options_are_found_before_the_file_is_read(run, tmp_path, command, arguments):
    output = ["-o", tmp_path / "model"] if command == "train" else []
    result = run(command, tmp_path / "absent.svm", *output, *arguments, code=2)
    assert f"{arguments[0][2:]} must be" in result.stderr


def test_bad_files_are_one_line(run, train_file, tmp_path):
    garbage = tmp_path / "garbage.svm"
    garbage.write_bytes(b"1 1:0.5\n-1 1:abc\n")
    assert "garbage.svm, line 2" in run("train", garbage, "-o", tmp_path / "model", code=2).stderr
    assert "No such file" in run("train", tmp_path / "absent.svm", "-o", tmp_path / "model", code=2).stderr
    one_class = tmp_path / "one.svm"
    one_class.write_text("1 1:0.5\n1 1:2\n")
    assert "one class only" in run("train", one_class, "-o", tmp_path / "model", "-q", code=2).stderr
    three = tmp_path / "three.svm"
    three.write_text("1 1:0.5\n2 1:2\n3 1:1\n")
    message = run("train", three, "-o", tmp_path / "model", "-q", code=2).stderr
    assert "there are 3 labels where a measure needs two; train for one against the rest" in message
    assert f"smoothperf train {three} --pos-label 1 -o 1.model and then the same for 2, 3; or" in message
    nowhere = run("train", train_file, "-o", tmp_path / "no" / "model", code=2).stderr
    assert nowhere == f"smoothperf: there is no folder {tmp_path / 'no'} to write model to.\n"
    assert "is a folder; name a file" in run("train", train_file, "-o", tmp_path, code=2).stderr
    assert "Missing option" in run("train", train_file, code=2).stderr


def test_an_unexpected_error_is_one_line_too(run, train_file, tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise TypeError("oh\nno")

    monkeypatch.setattr(MeasureClassifier, "fit", broken)
    message = run("train", train_file, "-a", "1e-3", "-o", tmp_path / "model", "-q", code=2).stderr
    assert message.startswith(
        "smoothperf: unexpected TypeError: oh no (a mistake of this program; set SMOOTHPERF_TRACEB"
    )


def test_notes_are_warnings_that_matter():
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("missed", ConvergenceWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        warnings.warn("odd", UserWarning, stacklevel=1)
        warnings.warn("odd", UserWarning, stacklevel=1)
    assert _trained.notes_of(caught) == ["odd"]


@pytest.mark.parametrize("more", [[], ["--validation"]])
def test_ctrl_c_while_the_choice_is_made_saves_nothing(run, train_file, tmp_path, monkeypatch, more):
    """There is no model yet, only models of parts of the rows."""
    from smoothperf.cli._progress import Watch

    show = Watch.choosing

    def interrupt(watch, step):
        show(watch, step)
        if step.candidate.measure.name == "squared_hinge":
            watch._on_interrupt(2, None)

    monkeypatch.setattr(Watch, "choosing", interrupt)
    arguments = ("train", train_file, *more, *([train_file] if more else []), "-o", tmp_path / "model")
    result = run(*arguments, code=130)
    assert result.stderr.splitlines()[-1] == "smoothperf: interrupted; nothing was written."
    assert not (tmp_path / "model").exists()
    found = json.loads(run(*arguments, "--json", code=130).stdout)
    assert found == {"command": "train", "interrupted": True, "model": None}


def test_ctrl_c_after_the_choice_saves_the_best_so_far(run, train_file, tmp_path, monkeypatch):
    from smoothperf.cli._progress import Watch

    show = Watch.__call__

    def interrupt(watch, row):
        if not watch.interrupted:
            show(watch, row)
            watch._on_interrupt(2, None)
        return show(watch, row)

    monkeypatch.setattr(Watch, "__call__", interrupt)
    arguments = ("train", train_file, "--folds", 2, "--tol", "1e-9", "-o", tmp_path / "model")
    found = json.loads(run(*arguments, "--json", code=130).stdout)
    assert found["interrupted"] is True
    assert found["converged"] is False
    assert smoothperf.load(tmp_path / "model").alpha == found["alpha"]


def test_a_second_ctrl_c_leaves_at_once(capsys):
    with Watch(Screen()) as watch:
        watch._on_interrupt(2, None)
        assert watch.interrupted
        with pytest.raises(KeyboardInterrupt):
            watch._on_interrupt(2, None)
    assert "once more to leave at once" in capsys.readouterr().err


def test_ctrl_c_that_is_lost_in_a_finaliser_ends_a_choice_at_its_next_step():
    with Watch(Screen()) as watch:
        watch.choosing("split 1 of 5")
        with pytest.raises(KeyboardInterrupt):
            watch._on_interrupt(2, None)
        with pytest.raises(KeyboardInterrupt):
            watch.choosing("split 2 of 5")


def test_the_positive_label_by_name(run, run_json, csv_file, tmp_path):
    arguments = (csv_file, "--label", "kind")
    model_path = tmp_path / "model"
    said = run("train", *arguments, "-m", "prbep", "-a", "1e-2", "--pos-label", "ham", "-o", model_path).stdout
    assert re.search(r"Positive: \d+ \(\d+.\d+%\) labelled ham; negative: \d+ labelled spam", said)
    model = smoothperf.load(model_path)
    assert model.pos_label_ == "ham"
    assert model.classes_.tolist() == ["ham", "spam"]
    found = run("evaluate", model_path, *arguments, "--bootstrap", 5).stdout
    assert "labelled ham; negative" in found
    score = re.search(r"^PRBEP on these rows: (\S+)$", said, re.MULTILINE)[1]
    assert re.search(r"^PRBEP +(\S+)", found, re.MULTILINE)[1] == score
    labels = run("predict", model_path, *arguments, "-q").stdout.split()
    scores = [float(line) for line in run("predict", model_path, *arguments, "-q", "--scores").stdout.split()]
    assert [label == "ham" for label in labels] == [value > 0 for value in scores]
    run("report", model_path, *arguments, "-o", tmp_path / "page.html", "--bootstrap", 5)
    assert "ham, the positive label" in (tmp_path / "page.html").read_text("utf-8")
    assert run_json("path", *arguments, "--pos-label", "ham", "--n-alphas", 2, "-m", "prbep")["best_alpha"] > 0
    quick = ("-m", "roc_area", "--bound", "convex", "--folds", 2, "--bootstrap", 5)
    assert run_json("compare", *arguments, "--pos-label", "ham", *quick)["models"]


def test_positive_labels_are_found_as_they_are_written(run, run_json, train_file, tmp_path):
    for text in ("-1", "-1.0"):
        found = run_json("train", train_file, "--pos-label", text, "-a", "1e-2", "-o", tmp_path / "model")
        assert found["pos_label"] == -1
    wrong = run("train", train_file, "--pos-label", "spam", "-q", "-o", tmp_path / "model", code=2)
    assert "--pos-label spam is not among the labels -1, 1" in wrong.stderr


def test_few_features_and_no_negative_weights(run, run_json, train_file, tmp_path):
    file = tmp_path / "model"
    run("train", train_file, "-m", "prbep", "--alpha", "0.3", "--l1-ratio", 1, "-o", file)
    model = smoothperf.load(file)
    assert model.l1_ratio == 1.0
    assert 0 < model.n_features_in_model_ < 4
    run("train", train_file, "--alpha", "0.01", "--nonnegative", "-o", file)
    assert smoothperf.load(file).coef_.min() >= 0.0
    chosen = run_json("train", train_file, "-m", "prbep", "--l1-ratio", 0, "--l1-ratio", 0.5, "--folds", 2, "-o", file)
    assert chosen["choice"]
    assert smoothperf.load(file).l1_ratio in (0.0, 0.5)


def test_shares_of_absolute_values_are_checked(run, train_file, tmp_path):
    bad = run("train", train_file, "--l1-ratio", 2, "-o", tmp_path / "model", code=2).stderr
    assert "--l1-ratio must lie between 0 and 1, got 2." in bad
    bad = run("train", train_file, "--alpha", 1, "--l1-ratio", 0, "--l1-ratio", 1, "-o", tmp_path / "m", code=2).stderr
    assert "--l1-ratio is given more than once" in bad


def test_the_penalty_and_the_features_it_leaves_are_told(run, run_json, train_file, tmp_path):
    file = tmp_path / "model"
    sparse = ["train", train_file, "-m", "prbep", "--alpha", "0.3", "--l1-ratio", 1, "--nonnegative", "-o", file]
    said = run(*sparse).stdout
    used = smoothperf.load(file).n_features_in_model_
    assert f"Features in the model: {used} of 4 (l1_ratio 1, no negative weights)" in said
    found = run_json(*sparse)
    assert (found["l1_ratio"], found["nonnegative"], found["features_in_model"]) == (1.0, True, used)
    plain = run_json("train", train_file, "--alpha", "0.01", "-o", file)
    assert (plain["l1_ratio"], plain["nonnegative"], plain["features_in_model"]) == (0.0, False, 4)
