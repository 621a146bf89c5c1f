"""``smoothperf train`` by default: what it chooses and says, where it cuts, how it scales; and ``predict --at``."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import smoothperf
from smoothperf import PRBEP, MeasureClassifier, MeasureClassifierCV


def test_chooses_as_the_library_does(run, run_json, train_file, tmp_path, examples):
    arguments = ("train", train_file, "-m", "prbep", "--folds", 3, "--scale", "none", "-o", tmp_path / "model")
    said, found = run(*arguments).stdout, run_json(*arguments)
    X, y = examples(300, 0)
    expected = MeasureClassifierCV("prbep", cv=3).fit(X, y)
    model = smoothperf.load(tmp_path / "model")
    assert model.measure == "prbep"
    assert model.trained_for_ == expected.trained_for_
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-5)
    assert model.predict(X).tolist() == expected.predict(X).tolist()
    params = expected.cv_results_["params"][expected.best_index_]
    assert (found["trained_with"], found["bound"]) == (params["measure"], params["bound"])
    assert found["alpha"] == pytest.approx(params["alpha"])
    assert found["choice"]["held_out"] == "3 folds, 3 times"
    assert found["choice"]["score"] == pytest.approx(expected.best_score_, abs=1e-6)
    assert len(found["choice"]["tried"]) == len(expected.cv_results_["params"])
    lines = said.splitlines()
    assert lines[2] == "Choosing what to train with, to be good at PRBEP"
    chosen = f"{params['measure']}, {params['bound']}, alpha {params['alpha']:.3g}"
    assert lines[3] == f"Chose {chosen}: PRBEP {expected.best_score_:.4f} on rows held out (3 folds, 3 times)"
    assert re.match(r"The best (of the others|baseline), .*, has 0\.\d{4}", lines[4])


def test_the_best_safe_one_is_the_best_of_them(run_json, train_file, tmp_path):
    choice = run_json("train", train_file, "--folds", 2, "-o", tmp_path / "model")["choice"]
    safe = [row["score"] for row in choice["tried"] if row["measure"] in ("log_loss", "squared_hinge") and row["score"]]
    assert choice["best_safe"]["score"] == max(safe)


@pytest.mark.parametrize("bound", ["convex", "tight"])
def test_a_bound_restricts_the_choice(run, run_json, train_file, tmp_path, bound):
    arguments = ("train", train_file, "-m", "prbep", "--bound", bound, "--folds", 2, "-o", tmp_path / "model")
    found = run_json(*arguments)
    assert {(row["measure"], row["bound"]) for row in found["choice"]["tried"]} == {("prbep", bound)}
    assert found["choice"]["best_safe"] is None
    assert (found["gap"] is None) == (bound == "tight")
    assert (found["stationarity_gap"] is None) == (bound == "convex")
    assert found["converged"] is True
    words = "certified to be at most" if bound == "convex" else "with which no convex step can gain more than"
    assert words in " ".join(run(*arguments).stdout.split())


def test_a_given_alpha_and_the_tight_bound(run_json, train_file, tmp_path, examples):
    found = run_json("train", train_file, "-m", "prbep", "-a", "1e-2", "--bound", "tight", "-o", tmp_path / "model")
    X, y = examples(300, 0)
    model, size = smoothperf.load(tmp_path / "model"), X.std(axis=0)
    coef, risk = model.coef_[0] * size, PRBEP().bind(y)  # of the scaled features that were trained on
    tight = risk.exact_value(X / size @ coef) - risk.loss_free(X / size @ coef).value
    assert found["objective"] == pytest.approx(5e-3 * coef @ coef + tight, rel=1e-9)
    assert found["stationarity_gap"] <= 1e-3


def test_chooses_on_a_validation_file_and_trains_on_both(run_json, train_file, test_file, tmp_path, examples):
    arguments = ("train", train_file, "--validation", test_file, "--scale", "none", "-o", tmp_path / "model")
    found = run_json(*arguments)
    (X, y), (X_more, y_more) = examples(300, 0), examples(200, 1)
    cv = [(np.arange(300), np.arange(300, 500))]
    expected = MeasureClassifierCV(cv=cv).fit(np.vstack([X, X_more]), np.append(y, y_more))
    assert found["choice"]["held_out"] == str(test_file)
    assert found["choice"]["score"] == pytest.approx(expected.best_score_, abs=1e-6)
    np.testing.assert_allclose(smoothperf.load(tmp_path / "model").coef_, expected.coef_, rtol=1e-3, atol=1e-5)


def test_validation_rows_with_other_labels(run, train_file, tmp_path):
    (tmp_path / "other.svm").write_text("0 1:1\n1 1:2\n")
    more = ("--validation", tmp_path / "other.svm", "-q", "-o", tmp_path / "model")
    assert "y must hold the labels of fit" in run("train", train_file, *more, code=2).stderr


def test_an_operating_point_on_rows_held_out(run, run_json, train_file, tmp_path):
    arguments = ("train", train_file, "--folds", 3, "--at", "recall=0.8", "-o", tmp_path / "model")
    found, said = run_json(*arguments), run(*arguments).stdout
    model = smoothperf.load(tmp_path / "model")
    assert model.expected_ == found["expected"]
    assert found["expected"]["recall"]["low"] >= 0.8
    assert (
        "Threshold chosen on rows held out (3 folds, 3 times); new rows will show, each with 90 % confidence:" in said
    )
    assert f"  recall at least {found['expected']['recall']['low']:.4f}" in said


@pytest.mark.parametrize(("target", "share"), [("rate=10%", 0.1), ("k=30", 0.1), ("rate=0.5", 0.5)])
def test_shares_of_rows(run_json, train_file, tmp_path, examples, target, share):
    run_json("train", train_file, "--folds", 2, "--at", target, "-o", tmp_path / "model")
    X, _ = examples(300, 0)
    assert (smoothperf.load(tmp_path / "model").predict(X) == 1).mean() == pytest.approx(share, abs=0.03)


def test_an_operating_point_for_a_given_alpha(run_json, train_file, test_file, tmp_path, examples):
    arguments = ("train", train_file, "-a", "1e-2", "--validation", test_file, "-o", tmp_path / "model")
    found = run_json(*arguments, "--at", "precision=0.7,confidence=none")
    X, y = examples(200, 1)
    predicted = smoothperf.load(tmp_path / "model").predict(X) == 1
    assert (y[predicted] == 1).mean() == found["expected"]["precision"]["value"] >= 0.7


def test_more_positives_than_rows_are_refused_before_training(run, train_file, test_file, tmp_path):
    for more, rows in (((), 300), (("-a", "1e-2", "--validation", test_file), 200)):
        result = run("train", train_file, *more, "--at", "k=1000", "-q", "-o", tmp_path / "model", code=2)
        assert f"k=1000 is more than the {rows} rows there are" in result.stderr


def test_a_measure_of_more_rows_than_there_are_is_named(run, train_file, tmp_path):
    told = run("train", train_file, "-m", "precision@100000", "-q", "-o", tmp_path / "model", code=2).stderr
    assert "precision@100000 of 300 examples leaves nothing to choose" in told


def test_what_cannot_be_promised_is_one_line(run, train_file, tmp_path):
    arguments = ("train", train_file, "--folds", 2, "--at", "precision=0.9999", "-q", "-o", tmp_path / "model")
    assert "precision=0.9999 cannot be promised for new rows" in run(*arguments, code=2).stderr


def uneven(kind):
    """Features of very different sizes, one of them constant; positives are rare; dense with a centre far from 0."""
    rng = np.random.default_rng(5)
    y = np.where(rng.random(240) < 0.3, "yes", "no")
    X = rng.standard_normal((240, 4)) * [1e-3, 1.0, 1e4, 0.0] + [0.0, 50.0, 0.0, 7.0]
    X[:, 0] += 2e-3 * (y == "yes")
    X[:, 2] += 1e4 * (y == "yes")
    if kind == "svm":
        X[rng.random(X.shape) < 0.5] = 0.0
    return X, y


def written(folder, kind):
    X, y = uneven(kind)
    path = folder / f"uneven.{kind}"
    if kind == "svm":
        dump_svmlight_file(X, y == "yes", str(path), zero_based=False)
    else:
        rows = [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, y, strict=True)]
        path.write_text("a,b,c,d,kind\n" + "\n".join(rows) + "\n")
    return path, ([] if kind == "svm" else ["--label", "kind"])


@pytest.mark.parametrize("measure", ["prbep", "f1"])  # without a bias that is trained, and with one
@pytest.mark.parametrize("kind", ["svm", "csv"])
@pytest.mark.parametrize("scale", ["standard", "maxabs"])
@pytest.mark.parametrize("positive", [1, 0])
def test_models_of_scaled_features_are_for_features_as_they_are(run_json, tmp_path, measure, kind, scale, positive):
    path, more = written(tmp_path, kind)
    names = {"svm": [0, 1], "csv": ["no", "yes"]}[kind]
    arguments = ("-m", measure, "-a", "1e-2", "--scale", scale, "--pos-label", names[positive])
    found = run_json("train", path, *more, *arguments, "-o", tmp_path / "model")
    X, y = uneven(kind)
    labels = np.where(y == "yes", names[1], names[0])
    scaler = MaxAbsScaler() if scale == "maxabs" else StandardScaler(with_mean=kind == "csv")
    X_scaled = scaler.fit_transform(X)
    if kind == "svm" and scale == "standard":  # the constant column of 7s has gaps there, and is none
        assert np.ptp(X[:, 3]) > 0.0
    expected = MeasureClassifier(measure, 1e-2, pos_label=names[positive]).fit(X_scaled, labels)
    model = smoothperf.load(tmp_path / "model")
    rows = X if kind == "svm" else pd.DataFrame(X, columns=list("abcd"))
    assert found["scale"] == scale
    assert found["objective"] == pytest.approx(expected.objective_, abs=2e-3)
    assert found["training_score"] == pytest.approx(expected.score(X_scaled, labels), abs=0.02)
    scores, reference = model.decision_function(rows), expected.decision_function(X_scaled)
    np.testing.assert_allclose(scores, reference, atol=0.15 * np.ptp(reference))
    assert (model.predict(rows) == expected.predict(X_scaled)).mean() >= 0.97
    if kind == "csv" and scale == "standard":
        assert model.coef_[0, 3] == 0.0


def test_path_and_train_speak_of_the_same_alpha(run_json, tmp_path):
    path, more = written(tmp_path, "csv")
    found = run_json("path", path, *more, "-m", "prbep", "--n-alphas", 3, "--holdout", 0, "--tol", "1e-5")
    assert found["scale"] == "standard"
    for alpha, objective in zip(found["alphas"], found["objectives"], strict=True):
        trained = run_json("train", path, *more, "-m", "prbep", "-a", repr(alpha), "-o", tmp_path / "model", code=None)
        assert trained["objective"] == pytest.approx(objective, abs=1e-3)


def test_predict_as_many_as_wanted(run, run_json, model_file, test_file, examples):
    model, (X, _) = smoothperf.load(model_file), examples(200, 1)
    scores = model.decision_function(X)
    for target, count in (("k=17", 17), ("rate=20%", 40)):
        labels = np.array(run("predict", model_file, test_file, "-q", "--at", target).stdout.split(), dtype=int)
        assert set(np.flatnonzero(labels == 1)) == set(np.argsort(scores)[-count:])
    everything = run("predict", model_file, test_file, "--at", "k=500")
    assert set(everything.stdout.split()) == {"1"}
    assert "Note: --at k=500 of 200 rows: all are predicted positive." in everything.stderr
    labels = run_json("predict", model_file, test_file, "--threshold", "-0.5")["labels"]
    assert labels == np.where(scores > -0.5, 1, -1).tolist()
    assert run_json("predict", model_file, test_file)["labels"] == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "precision=0.9"], "--at precision=0.9 needs labels, which rows to predict have not"),
        (["--at", "k=5", "--threshold", "1"], "--at and --threshold both say where to cut"),
        (["--at", "k=5", "--scores"], "--scores prints scores, which no threshold changes"),
        (["--threshold", "nan"], "--threshold must be a finite number, got nan"),
        (["--at", "rate=0.1%"], "rate=0.001 is less than one example of 200"),
    ],
)
def test_predict_where_it_cannot_cut(run, model_file, test_file, arguments, message):
    assert message in run("predict", model_file, test_file, "-q", *arguments, code=2).stderr
