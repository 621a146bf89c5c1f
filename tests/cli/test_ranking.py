"""Rankings on the command line: queries in svmlight, CSV and Parquet files, and every command for them."""

import json
import re

import numpy as np
import pytest

from problems import graded
from smoothperf import NDCG, MeasureRanker, QueryROCArea, load
from smoothperf.cli.kinds.rankings import ranks_within
from smoothperf.estimators.weights import unscaled_weights
from smoothperf.measures import get_query_measure

NAMES = np.array(["red shoes", "green tea", "old map"])


def _documents(n_queries, seed):
    """Three features, two of them useful within a query, with an offset that differs; grades 0, 1 and 2."""
    X, y, qid = graded(n_queries, 6, weights=(2.0, -1.0, 0.0), shares=(0.65, 0.9), spread=3.0, shuffled=True, seed=seed)
    return X.round(3), y.astype(int), qid


def _svmlight(X, y, qid):
    lines = zip(X.tolist(), y.tolist(), qid.tolist(), strict=True)
    return "".join(f"{g} qid:{q} " + " ".join(f"{j}:{v}" for j, v in enumerate(x, 1)) + "\n" for x, g, q in lines)


def _csv(X, y, qid):
    rows = zip(X.tolist(), y.tolist(), [f"{NAMES[q % 3]} {q // 3}" for q in qid], strict=True)
    lines = [f"doc{at},{q},{','.join(map(str, x))},{g}" for at, (x, g, q) in enumerate(rows)]
    return "doc,search,a,b,c,grade\n" + "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranking")
    for name, size, seed in (("train", 24, 0), ("test", 12, 1)):
        documents = _documents(size, seed)
        (folder / f"{name}.svm").write_text(_svmlight(*documents))
        (folder / f"{name}.csv").write_text(_csv(*documents))
    return folder


@pytest.fixture(scope="module")
def ranker(files):
    from typer.testing import CliRunner

    from smoothperf.cli import app

    path = files / "pairs.model"
    arguments = ["train", str(files / "train.svm"), "-m", "pairs", "-a", "1e-2", "-o", str(path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return path


# --- train ------------------------------------------------------------------------------------------------------------


def test_queries_make_a_ranker_that_is_chosen(run, files, tmp_path):
    text = run("train", files / "train.svm", "-o", tmp_path / "model", "--folds", 2).stdout
    assert "Queries: 24 with 6 to 6 documents, " in text
    assert "Choosing what to train with, to be good at NDCG@10\n" in text
    assert re.search(
        r"Chose \S+, (convex|tight)(, \w+)?, alpha \S+: NDCG@10 0\.9\d+ on queries held out \(2 folds, 3", text
    )
    model = load(tmp_path / "model")
    X, y, qid = _documents(12, 1)
    assert model.score(X, y, qid=qid) > 0.9


def test_the_average_is_said_and_saved(run, run_json, files, tmp_path):
    arguments = ["train", files / "train.svm", "-o", tmp_path / "model", "--folds", 2]
    shares = run_json(*arguments)["choice"]["averaged"]
    assert len(shares) > 1
    assert sum(shares.values()) == pytest.approx(1.0)
    assert load(tmp_path / "model").averaged_ == pytest.approx(shares)
    text = run(*arguments).stdout
    words = "; ".join(f"{share:.0%} {name}" for name, share in shares.items())
    assert f"Averaged with what may be as good, by chance: {words}\n" in text
    assert "\nObjective of the chosen one " in text
    single = run(*arguments, "-m", "pairs", "--bound", "convex").stdout
    assert "Averaged" not in single
    assert "\nObjective 0" in single


def test_the_same_ranker_from_csv_with_words_as_queries(run_json, files, tmp_path):
    arguments = ["-m", "pairs", "-a", "1e-2", "-o", tmp_path / "model"]
    columns = ["--label", "grade", "--query", "search"]
    found = run_json("train", files / "train.svm", *arguments)
    coef = load(tmp_path / "model").coef_
    table = run_json("train", files / "train.csv", *arguments, *columns)
    np.testing.assert_allclose(unscaled_weights(load(tmp_path / "model")), coef, rtol=1e-6)
    assert table["objective"] == pytest.approx(found["objective"])
    assert found["data"]["queries"] == table["data"]["queries"] == 24
    assert (found["trained_with"], found["bound"], found["converged"]) == ("roc_area", "convex", True)


def test_parquet_with_queries(run, run_json, files, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.read_csv(files / "train.csv").drop(columns="doc").to_parquet(tmp_path / "train.parquet")
    columns = ["--label", "grade", "--query", "search"]
    run("train", tmp_path / "train.parquet", *columns, "-m", "pairs", "-a", "1e-2", "-o", tmp_path / "model")
    assert run_json("evaluate", tmp_path / "model", files / "test.csv", *columns)["measures"]["ndcg"]["value"] > 0.9


def test_measures_of_both_kinds_are_meant_within_queries(run, files, tmp_path):
    text = run("train", files / "train.svm", "-m", "precision@2", "-a", "1e-2", "-o", tmp_path / "model").stdout
    assert "Training for precision@2 within queries, alpha 0.01" in text
    assert re.search(r"^precision@2 within queries on these rows: 0\.\d+$", text, re.M)


def test_a_measure_of_labels_leaves_queries_alone(run, files, tmp_path):
    arguments = ["-m", "f1", "--pos-label", "2", "-a", "1e-2", "-o", tmp_path / "model"]
    result = run("train", files / "train.svm", *arguments)
    assert "Note: the queries of" in result.stderr
    assert type(load(tmp_path / "model")).__name__ == "MeasureClassifier"


def test_validation_queries_of_the_same_names_are_others(run_json, files, tmp_path):
    arguments = ["--validation", files / "test.svm", "-m", "pairs", "-o", tmp_path / "model"]
    found = run_json("train", files / "train.svm", *arguments)
    assert found["choice"]["held_out"] == str(files / "test.svm")
    assert 0.9 < found["choice"]["score"] <= 1.0


def test_a_store_keeps_queries(run, run_json, files, tmp_path):
    run("convert", files / "train.svm", tmp_path / "train.store")
    chosen = [
        run_json("train", file, "--scale", "none", "-o", tmp_path / "model")["choice"]
        for file in (tmp_path / "train.store", files / "train.svm")
    ]
    assert chosen[0] == chosen[1]
    arguments = ["-m", "pairs", "-a", "1e-2", "--scale", "none", "-o", tmp_path / "model"]
    found = run_json("train", tmp_path / "train.store", *arguments)
    assert found["objective"] == pytest.approx(run_json("train", files / "train.svm", *arguments)["objective"])
    judged = [
        run_json("evaluate", tmp_path / "model", file, "--bootstrap", 5)["measures"]["ndcg"]["value"]
        for file in (tmp_path / "train.store", files / "train.svm")
    ]
    assert judged[0] == judged[1]


def test_a_checkpoint_of_a_ranker(run, files, tmp_path):
    arguments = ["train", files / "train.svm", "-m", "pairs", "-a", "1e-3", "--checkpoint", tmp_path / "state"]
    run(*arguments, "-o", tmp_path / "one")
    assert load(tmp_path / "state").n_features_in_ == load(tmp_path / "one").n_features_in_
    run(*arguments, "--resume", tmp_path / "one", "-o", tmp_path / "two")
    assert load(tmp_path / "two").gap_ <= 1e-3
    assert load(tmp_path / "two").n_iter_ < load(tmp_path / "one").n_iter_


# --- bad input --------------------------------------------------------------------------------------------------------

WRONG = {
    "no queries": ("1 1:1\n0 1:2\n", ["-m", "ndcg@5"], "ndcg@5 is a measure of rankings, and"),
    "one grade": ("1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:2\n", [], "no query has documents of two grades, of 2 queries"),
    "negative grade": ("1 qid:1 1:1\n-1 qid:1 1:2\n", [], "grades are numbers, 0 or more, but row 2 has -1"),
    "huge grade": ("999 qid:1 1:1\n0 qid:1 1:2\n", [], "row 1 has the grade 999, so that its gain, 2^grade - 1,"),
    "infinite grade": ("inf qid:1 1:1\n0 qid:1 1:2\n", [], "line 1: the label 'inf' is not finite"),
    "a row without query": ("1 qid:1 1:1\n0 1:2\n", [], "line 2: there is no query in this line"),
    "a measure of nothing": ("1 qid:1 1:1\n", ["-m", "ndgc"], "Of rankings there are 'ndcg', "),
    "no number of places": ("1 qid:1 1:1\n", ["-m", "ndcg@0"], "measure 'ndcg@0' cannot be read"),
    "where to cut": ("1 qid:1 1:1\n0 qid:1 1:2\n", ["--at", "recall=0.9"], "--at is for classes, and these rows"),
    "balanced": ("1 qid:1 1:1\n0 qid:1 1:2\n", ["--balanced"], "--balanced is for classes, and these rows"),
    "positive label": ("1 qid:1 1:1\n0 qid:1 1:2\n", ["--pos-label", "1"], "--pos-label is for classes"),
    "a column of svmlight": ("1 qid:1 1:1\n", ["--query", "q"], "has no named columns, so query='q' means nothing"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "reason"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said(run, tmp_path, text, options, reason):
    (tmp_path / "bad.svm").write_text(text)
    message = run("train", tmp_path / "bad.svm", *options, "-o", tmp_path / "model", code=2).stderr
    assert reason in message
    assert not (tmp_path / "model").exists()


def test_too_few_queries_to_choose_by(run, tmp_path):
    (tmp_path / "few.svm").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    result = run("train", tmp_path / "few.svm", "-o", tmp_path / "model", code=None)
    assert result.exit_code == 2
    message = "--folds 5 needs at least 5 queries whose order makes a difference to ndcg@10, but there are 1: use"
    assert message in result.stderr


WRONG_TABLES = {
    "no such column": ("q,a,y\n1,1,0\n1,2,1\n", "r", "there is no column 'r' for the queries; there are 'q', 'a', 'y'"),
    "missing query": ("q,a,y\n1,1,0\n,2,1\n", "q", "line 3: the query, column 'q', is missing"),
    "missing word": ("q,a,y\nred,1,0\nNA,2,1\n", "q", "line 3: the query, column 'q', is missing"),
    "missing beside words": ("q,a,y\n1,x,0\n,y,1\n", "q", "line 3: the query, column 'q', is missing"),
    "label as query": ("q,a,y\n1,1,0\n", "y", "the column 'y' cannot hold both the labels and the queries"),
    "grades in words": ("q,a,y\n1,1,bad\n1,2,good\n", "q", "grades are numbers, 0 or more, but row 1 has 'bad'"),
    "a grade that is nan": ("q,a,y\n1,1,0\n1,2,nan\n", "q", "grades are numbers, 0 or more, but row 2 has 'nan'"),
    "no features": ("q,y\n1,1\n1,0\n", "q", "there are no features beside the queries, column 'q'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "query", "reason"), WRONG_TABLES.values(), ids=WRONG_TABLES.keys())
def test_what_is_wrong_with_a_table_is_said(run, tmp_path, text, query, reason):
    (tmp_path / "bad.csv").write_text(text)
    arguments = ["--label", "y", "--query", query, "-o", tmp_path / "model"]
    assert reason in run("train", tmp_path / "bad.csv", *arguments, code=2).stderr


def test_a_measure_of_labels_with_a_query_column(run, files, tmp_path):
    arguments = ["--label", "grade", "--query", "search", "-m", "prbep", "-o", tmp_path / "model"]
    assert "prbep is not a measure of rankings" in run("train", files / "train.csv", *arguments, code=2).stderr


def test_models_and_data_must_be_of_one_kind(run, files, ranker, model_file, train_file, tmp_path):
    plain = tmp_path / "plain.svm"
    plain.write_text("1 1:1 2:1 3:1\n0 1:2 2:2 3:2\n")
    assert "does not say which rows belong to the same query" in run("evaluate", ranker, plain, code=2).stderr
    classes = run("evaluate", model_file, files / "test.csv", "--label", "grade", "--query", "search", code=2)
    assert "--query is for models that rank" in classes.stderr
    assert "--ranks is for models that rank" in run("predict", model_file, train_file, "--ranks", code=2).stderr
    assert "--threshold is for classes" in run("predict", ranker, files / "test.svm", "--threshold", 1, code=2).stderr
    assert "--ranks needs queries" in run("predict", ranker, plain, "--ranks", "-q", code=2).stderr


# --- predict ----------------------------------------------------------------------------------------------------------


def test_scores_and_ranks(run, run_json, files, ranker):
    X, _, qid = _documents(12, 1)
    scores = load(ranker).predict(X)
    printed = run("predict", ranker, files / "test.svm", "--quiet").stdout.splitlines()
    np.testing.assert_allclose([float(line) for line in printed], scores)
    header, first, *_ = run("predict", ranker, files / "test.svm", "--ranks", "-q").stdout.splitlines()
    assert header == "query,score,rank"
    query, score, rank = map(float, first.split(","))
    assert (query, rank) == (qid[0], 1 + int((scores[qid == qid[0]] > scores[0]).sum()))
    assert score == pytest.approx(scores[0], rel=1e-12)  # of sparse rows, which are summed up in another order
    found = run_json("predict", ranker, files / "test.svm", "--ranks")
    np.testing.assert_array_equal(found["queries"], qid)
    np.testing.assert_array_equal(found["ranks"], ranks_within(qid, scores))


def test_ranks_are_one_more_than_there_are_higher_scores():
    rng = np.random.default_rng(0)
    qid, scores = rng.integers(5, size=60), rng.integers(4, size=60).astype(float)
    expected = [1 + int((scores[qid == q] > s).sum()) for q, s in zip(qid, scores, strict=True)]
    np.testing.assert_array_equal(ranks_within(qid, scores), expected)


def test_an_id_column_beside_ranks(run, files, tmp_path):
    columns = ["--query", "search"]
    # One word for each row tells nothing, so that the column is left out.
    run("train", files / "train.csv", "--label", "grade", *columns, "-m", "pairs", "-a", 1e-2, "-o", tmp_path / "model")
    printed = run("predict", tmp_path / "model", files / "test.csv", "--id", "doc", "--ranks", *columns, "-q").stdout
    assert printed.startswith("doc,query,score,rank\ndoc0,")
    assert run("predict", tmp_path / "model", files / "test.csv", "--id", "doc", "-q").stdout.startswith("doc,score\n")


# --- evaluate ---------------------------------------------------------------------------------------------------------


def test_all_measures_with_intervals_of_queries(run, run_json, files, ranker):
    found = run_json("evaluate", ranker, files / "test.svm", "--bootstrap", 200)["measures"]
    X, y, qid = _documents(12, 1)
    scores = load(ranker).predict(X)
    assert next(iter(found)) == "roc_area"
    for name in ("roc_area", "ndcg@10", "average_precision", "reciprocal_rank"):
        assert found[name]["value"] == pytest.approx(get_query_measure(name).score(y, scores, qid))
        assert found[name]["low"] <= found[name]["value"] <= found[name]["high"]
    assert "precision@10" not in found  # ten documents of six are all of them: no order is better than another
    text = run("evaluate", ranker, files / "test.svm", "--bootstrap", 20).stdout
    assert re.search(r"^NDCG@10 +0\.\d{4} +0\.\d{4} +[01]\.\d{4} +\d+ *$", text, re.M)


# --- report, compare, path --------------------------------------------------------------------------------------------


def test_report_of_a_ranker(run_json, files, ranker, tmp_path):
    columns = ["--label", "grade", "--query", "search"]
    run_json("train", files / "train.csv", *columns, "-m", "pairs", "-a", 1e-2, "-o", tmp_path / "model")
    found = run_json("report", tmp_path / "model", files / "test.csv", *columns, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert found["bytes"] == len(page.encode())
    assert "green tea" in page
    assert "best single feature" in page


def test_compare_rankers(run_json, files, monkeypatch):
    from smoothperf.comparison import rankings

    monkeypatch.setattr(rankings, "C_GRID", (1e-2, 1.0))
    monkeypatch.setattr(rankings, "TREES", ((2, 2), (2, 4)))
    found = run_json("compare", files / "train.svm", "--test", files / "test.svm", "--bootstrap", 20, code=None)
    names = [line["name"] for line in found["models"]]
    assert names[:4] == ["for NDCG@10", "pairs", "Ridge", "LogisticRegression"]
    assert found["models"][0]["measures"]["ndcg@10"]["value"] > 0.9
    assert any(verdict.startswith("NDCG@10: ") for verdict in found["verdicts"])


@pytest.mark.parametrize("measure", ["ndcg@3", "pairs"])
def test_path_of_rankers(run_json, files, measure, tmp_path):
    arguments = ["-m", measure, "--n-alphas", 4, "--alpha-ratio", 1e-4, "--figure", tmp_path / "path.png"]
    found = run_json("path", files / "train.svm", *arguments)
    assert len(found["alphas"]) == len(found["validation_scores"]) == 4
    assert max(found["validation_scores"]) > 0.85
    tight = measure == "ndcg@3"
    assert max(found["stationarity_gaps" if tight else "gaps"]) <= 1e-3
    assert (found["lower_bounds"][0] is None) == tight
    assert (tmp_path / "path.png").stat().st_size > 1000


def test_path_judged_on_another_file(run, files):
    arguments = ["--validation", files / "test.svm", "--n-alphas", 2, "--alpha-ratio", 1e-2]
    assert "best NDCG@10 on the 12 queries held out" in run("path", files / "train.svm", *arguments).stdout


def test_one_document_for_machines(run, files, ranker):
    assert json.loads(run("evaluate", ranker, files / "test.svm", "--json", "--bootstrap", 5).stdout)["bootstrap"] == 5


@pytest.mark.parametrize(
    ("measure", "name", "title"),
    [
        (NDCG(10, gain="linear"), "ndcg@10", "NDCG@10, linear gains"),
        (QueryROCArea("pairs"), "roc_area", "ROC area, by pairs"),
    ],
)
def test_an_unusual_measure_is_not_taken_for_the_usual_one(run, run_json, files, tmp_path, measure, name, title):
    X, y, qid = _documents(24, 0)
    y = np.where(qid % 3 == 0, np.minimum(y, 1), y)  # not as many pairs in all queries
    (tmp_path / "data.svm").write_text(_svmlight(X, y, qid))
    model = MeasureRanker(measure, alpha=1e-2).fit(X * [1.0, 0.0, 0.0], y, qid=qid)
    model.save(tmp_path / "model")
    text = run("evaluate", tmp_path / "model", tmp_path / "data.svm", "--bootstrap", 5).stdout
    usual = title.partition(", ")[0]
    values = [re.search(rf"^{each} +(0\.\d{{4}}) ", text, re.M)[1] for each in (title, usual)]
    scores = model.predict(X)
    expected = [each.score(y, scores, qid) for each in (measure, get_query_measure(name))]
    assert values == [f"{value:.4f}" for value in expected]
    assert values[0] != values[1]
    run("report", tmp_path / "model", tmp_path / "data.svm", "-o", tmp_path / "page.html", "--bootstrap", 5)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"trained for {title}, judged" in page
    assert page.count(f">{title}<") >= 1
    assert page.count(f">{usual}<") >= 1


def test_huge_grades(run, files, tmp_path, monkeypatch):
    """They are for measures that do not look at their size."""
    from smoothperf.comparison import table

    monkeypatch.setattr(table, "C_GRID", (1e-2, 1.0))
    X, y, qid = _documents(24, 0)
    data, model = tmp_path / "huge.svm", tmp_path / "model"
    data.write_text(_svmlight(X, 2000 * y, qid))
    run("train", data, "-m", "pairs", "--folds", 2, "-o", model)
    text = run("evaluate", model, data, "--bootstrap", 5).stdout
    assert "ROC area" in text
    assert "NDCG" not in text
    run("report", model, data, "-o", tmp_path / "page.html", "--bootstrap", 5)
    assert "NDCG@10, linear gains" in (tmp_path / "page.html").read_text("utf-8")
    run("path", data, "-m", "precision@3", "--n-alphas", 2, "--alpha-ratio", 1e-2)
    assert "ROC" in run("compare", data, "-m", "pairs", "--folds", 2, "--bootstrap", 5, code=None).stdout
    error = run("train", data, "-o", model, code=2).stderr
    assert "2^grade - 1, is too large; use grades up to 232, or a measure that does not look at their size" in error


def test_a_path_holds_out_queries_that_count(run, files):
    error = run("path", files / "train.svm", "-m", "precision@6", "-q", code=2).stderr
    assert "the order of no query makes a difference to precision@6, so none can be held out; use --holdout 0" in error


def test_the_solver_is_that_of_the_interface(run, run_json, files, tmp_path):
    arguments = ["train", files / "train.svm", "-m", "pairs", "-a", "1e-3", "--tol", "1e-5", "-o", tmp_path / "model"]
    found = {name: run_json(*arguments, *options)["iterations"] for name, options in
             {"none": [], "auto": ["--solver", "auto"], "lbfgs": ["--solver", "lbfgs"]}.items()}  # fmt: skip
    assert found["none"] == found["auto"] == found["lbfgs"]
    assert run_json(*arguments)["solver"] == "auto"
    path = ["path", files / "train.svm", "-m", "pairs", "--n-alphas", 2, "--alpha-ratio", 1e-2]
    assert max(run_json(*path, "--solver", "auto")["gaps"]) <= 1e-3
    error = run(*arguments[:4], "-o", tmp_path / "model", "--solver", "newton", code=None).stderr
    assert "needs second derivatives of a form that" in error


def test_messages_name_options(run, files, tmp_path):
    model, table = ["-o", tmp_path / "model"], files / "train.csv"
    columns = ["--label", "grade", "--query", "search"]
    plain = ["train", files / "train.svm", *model]
    validation = ["-a", ".1", "--validation", files / "test.svm"]
    error = run(*plain, *validation, "-m", "ndcg@5", code=2).stderr
    assert error == "smoothperf: --validation is for a choice: leave out --alpha.\n"
    assert "or, if rows are not to be ranked, say with --at" in run(*plain, *validation, code=2).stderr
    assert "means nothing; leave out query= or --query" in run(*plain, "--query", "q", code=2).stderr
    assert "say with label= or --label which column" in run("train", table, *model, "--query", "search", code=2).stderr
    flat = tmp_path / "flat.csv"
    flat.write_text("q,a,y\n1,1,0\n1,2,0\n")
    error = run("train", flat, *model, "--label", "y", "--query", "q", code=2).stderr
    assert error.endswith("nothing can be learnt about their order. Check the columns of --label and --query.\n")
    for options in (columns, columns[:2]):
        error = run("train", table, *model, *options, "-m", "ncdg@10", code=2).stderr
        assert error.endswith("Did you mean 'ndcg@10'?\n")
        assert ("prbep" in error) == (options != columns)  # with queries, measures of labels are not in the list
