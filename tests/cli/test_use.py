"""``smoothperf predict``, ``evaluate`` and ``report``: what a model is used for."""

import re

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

import smoothperf

#: How far a number with four digits may be from what it stands for; of ties, both neighbours are as near.
ROUNDED = 5.001e-5


def test_predict_prints_a_label_to_a_line_and_nothing_else(run, model_file, test_file, examples):
    result = run("predict", model_file, test_file)
    expected = smoothperf.load(model_file).predict(examples(200, 1)[0])
    assert result.stdout == "".join(f"{label}\n" for label in expected)
    assert "200 rows" in result.stderr
    assert run("predict", model_file, test_file, "-q").stderr == ""


def test_predict_scores_to_a_file(run, model_file, test_file, tmp_path, examples):
    result = run("predict", model_file, test_file, "--scores", "-o", tmp_path / "scores.txt")
    assert result.stdout == ""
    scores = np.loadtxt(tmp_path / "scores.txt")
    np.testing.assert_allclose(scores, smoothperf.load(model_file).decision_function(examples(200, 1)[0]), rtol=1e-12)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.txt"]


def test_predict_json(run_json, model_file, test_file, examples):
    found = run_json("predict", model_file, test_file)
    assert found["labels"] == smoothperf.load(model_file).predict(examples(200, 1)[0]).tolist()
    assert "scores" in run_json("predict", model_file, test_file, "--scores")


def test_predict_text_labels(run, csv_file, tmp_path):
    run("train", csv_file, "--label", "kind", "-o", tmp_path / "model")
    labels = run("predict", tmp_path / "model", csv_file, "--label", "kind").stdout.splitlines()
    assert set(labels) == {"ham", "spam"}
    assert len(labels) == 120


@pytest.fixture
def table_model(run, csv_file, tmp_path):
    run("train", csv_file, "--label", "kind", "-o", tmp_path / "model")
    return tmp_path / "model"


def without_labels(csv_file):
    return "".join(f"{line.rpartition(',')[0]}\n" for line in csv_file.read_text().splitlines())


def test_predict_needs_no_labels_in_a_table(run, csv_file, table_model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text(without_labels(csv_file))
    expected = run("predict", table_model, csv_file, "--label", "kind").stdout
    assert run("predict", table_model, new).stdout == expected
    result = run("predict", table_model, new, "--label", "kind")
    assert result.stdout == expected
    assert result.stderr == f"{new}: csv, 120 rows x 4 features\n"


def test_predict_needs_no_labels_in_archives_and_parquet(run, csv_file, table_model, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(csv_file)
    expected = run("predict", table_model, csv_file, "--label", "kind").stdout
    np.savez(tmp_path / "new.npz", X=frame.drop(columns="kind").to_numpy())
    frame.drop(columns="kind").to_parquet(tmp_path / "new.parquet")
    frame.assign(kind=None).to_parquet(tmp_path / "empty.parquet")
    assert run("predict", table_model, tmp_path / "new.npz").stdout == expected
    assert run("predict", table_model, tmp_path / "new.parquet").stdout == expected
    assert run("predict", table_model, tmp_path / "empty.parquet", "--label", "kind").stdout == expected


def test_columns_that_are_no_features_are_not_looked_at(run, csv_file, table_model, tmp_path):
    expected = run("predict", table_model, csv_file, "--label", "kind").stdout
    assert run("predict", table_model, csv_file).stdout == expected
    wide = tmp_path / "wide.csv"
    wide.write_text(csv_file.read_text().replace("ham", "0").replace("spam", "1"))
    assert run("predict", table_model, wide).stdout == expected
    message = run("predict", table_model, wide, "--label", "a", "-q", code=2).stderr
    assert "it lacks the column 'a' of training; new are 'kind': rename those that are meant" in message


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_judging_needs_labels(run, csv_file, table_model, tmp_path, command):
    new = tmp_path / "new.csv"
    new.write_text(without_labels(csv_file))
    assert "there is no column 'kind'" in run(command, table_model, new, "--label", "kind", "-q", code=2).stderr


def test_columns_are_found_in_any_order(run, csv_file, tmp_path):
    run("train", csv_file, "--label", "kind", "-o", tmp_path / "model")
    other = tmp_path / "other.csv"
    rows = [line.split(",") for line in csv_file.read_text().splitlines()]
    other.write_text("".join(",".join([row[2], row[0], row[4], row[3], row[1]]) + "\n" for row in rows))
    expected = run("predict", tmp_path / "model", csv_file, "--scores").stdout
    assert run("predict", tmp_path / "model", other, "--scores").stdout == expected
    other.write_text(csv_file.read_text().replace("a,b,c,d,kind", "a,B,c,e,kind", 1))
    message = run("predict", tmp_path / "model", other, "--label", "kind", "-q", code=2).stderr
    assert "it lacks the columns 'b', 'd' of training; new are 'B', 'e': rename those that are meant" in message


def test_a_file_without_the_last_features_fits(run, model_file, tmp_path):
    short = tmp_path / "short.svm"
    short.write_text("0 1:2.0\n0 2:1.0\n")
    X = np.array([[2.0, 0, 0, 0], [0, 1.0, 0, 0]])
    scores = run("predict", model_file, short, "--scores").stdout.split()
    np.testing.assert_allclose(np.array(scores, dtype=float), smoothperf.load(model_file).decision_function(X))


def test_more_features_than_the_model_knows_are_an_error(run, model_file, tmp_path):
    wide = tmp_path / "wide.svm"
    wide.write_text("1 9:2.0\n-1 2:1.0\n")
    assert "at least 9 features" in run("evaluate", model_file, wide, "-q", code=2).stderr


def test_evaluate_table(run, model_file, test_file, examples):
    result = run("evaluate", model_file, test_file)
    model, (X, y) = smoothperf.load(model_file), examples(200, 1)
    rows = dict(re.findall(r"^(.+?) {2,}(\d\.\d{4}) +\d\.\d{4} +\d\.\d{4}$", result.stdout, re.MULTILINE))
    assert float(rows["ROC area"]) == pytest.approx(roc_auc_score(y, model.decision_function(X)), abs=ROUNDED)
    assert float(rows["F1"]) == pytest.approx(f1_score(y, model.predict(X)), abs=ROUNDED)
    assert float(rows["PRBEP"]) == pytest.approx(model.score(X, y), abs=ROUNDED)
    assert len(rows) == 9
    assert "200 rows" in result.stdout
    assert "it flatters" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if str(test_file) not in line)


def test_evaluate_is_repeatable_and_follows_the_seed(run, model_file, test_file):
    first, again, other = (run("evaluate", model_file, test_file, "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_evaluate_json(run_json, model_file, test_file):
    found = run_json("evaluate", model_file, test_file, "--bootstrap", 100)
    assert set(found["measures"]) == {
        "prbep",
        "roc_area",
        "average_precision",
        "best_f1",
        "f1",
        "precision",
        "recall",
        "false_positive_rate",
        "accuracy",
    }
    for measure in found["measures"].values():
        assert 0 <= measure["low"] <= measure["high"] <= 1
        assert measure["low"] - 0.02 <= measure["value"] <= measure["high"] + 0.02
    assert found["data"]["rows"] == 200


def test_quiet_evaluation_is_the_tables_alone(run, model_file, test_file):
    result = run("evaluate", model_file, test_file, "-q")
    assert "rows" not in result.stdout
    assert "ROC area" in result.stdout
    assert result.stderr == ""


def test_report(run, run_json, model_file, test_file, tmp_path):
    page = tmp_path / "report.html"
    result = run("report", model_file, test_file, "-o", page, "--bootstrap", 20)
    text = page.read_text(encoding="utf-8")
    assert "<h1>fitted.model on test.svm</h1>" in text
    assert '<th scope="row">feature 1</th>' in text
    assert "<dt>Training rows</dt><dd>300, of which" in text
    assert "<dt>Training file</dt><dd>train.svm</dd>" in text
    assert re.search(rf"Saved: {re.escape(str(page))} \(\d+ kB\)", result.stdout)
    found = run_json("report", model_file, test_file, "-o", page, "--bootstrap", 20)
    assert found["bytes"] == page.stat().st_size
    assert found["report"] == str(page)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_names_of_files_are_escaped_in_the_report(run, model_file, test_file, tmp_path):
    hostile = tmp_path / "<script>alert(1)<.svm"
    hostile.write_bytes(test_file.read_bytes())
    run("report", model_file, hostile, "-o", tmp_path / "report.html", "--bootstrap", 1)
    assert "&lt;script&gt;alert(1)&lt;.svm" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_square_brackets_are_not_markup(run, train_file, tmp_path):
    odd = tmp_path / "a[bold]b.svm"
    odd.write_bytes(train_file.read_bytes())
    assert str(odd) in run("train", odd, "-o", tmp_path / "m[red].model").stdout


@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_bad_models_are_one_line(run, train_file, tmp_path, command):
    foreign = tmp_path / "foreign"
    foreign.write_text("hello")
    assert "foreign" in run(command, foreign, train_file, code=2).stderr
    assert "absent" in run(command, tmp_path / "absent", train_file, code=2).stderr


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_labels_that_the_model_does_not_know(run, model_file, tmp_path, command):
    other = tmp_path / "other.svm"
    other.write_text("0 1:2.0\n1 2:1.0\n")
    message = run(command, model_file, other, "-q", code=2).stderr
    assert "the model knows the labels -1, 1, but these data have 0, 1" in message
    other.write_text("1 1:2.0\n1 2:1.0\n")
    assert "these data have 1; both classes are needed" in run(command, model_file, other, "-q", code=2).stderr


@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_a_model_that_is_added_to_scores_is_for_python(command, run, test_file, examples, tmp_path):
    X, y = examples(300, 0)
    file = tmp_path / "model"
    smoothperf.MeasureClassifier(alpha=1e-2).fit(X, y, base_scores=0.1 * X[:, 1]).save(file)
    said = run(command, file, test_file, code=2).stderr
    assert "added to base_scores, which commands have no way to take: use it in Python" in said
