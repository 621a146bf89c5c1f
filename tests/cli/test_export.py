"""``smoothperf export``: files and standard output, names, and options that do not go together."""

import json
import sqlite3
import sys

import numpy as np
import pytest

import smoothperf


@pytest.fixture
def ranker(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    smoothperf.MeasureRanker("pairs").fit(X, (X[:, 1] > 0).astype(int), qid=np.repeat(np.arange(4), 10)).save(
        tmp_path / "search.model"
    )
    return tmp_path / "search.model"


def test_engines(run, run_json, ranker, tmp_path):
    (tmp_path / "names").write_text("a\nb\nc\n")
    found = json.loads(run("export", ranker, "--to", "solr", "--names", tmp_path / "names").stdout)
    assert (found["name"], list(found["params"]["weights"])) == ("search", ["a", "b", "c"])
    result = run("export", ranker, "--to", "opensearch", "--name", "mine", "-o", tmp_path / "model.json")
    assert result.stdout == ""
    assert "Saved:" in result.stderr
    assert json.loads((tmp_path / "model.json").read_text())["model"]["name"] == "mine"
    text = run_json("export", ranker, "--to", "vespa", "--names", tmp_path / "names")["text"]
    assert text.count("* ") == 3


def test_rankers_of_tables_have_normalisers(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2)) * [1.0, 100.0] + [5.0, 0.0]
    lines = [f"{int(a + b / 50 > 5)},{i // 10},{a:.3f},{b:.1f}" for i, (a, b) in enumerate(rows)]
    (tmp_path / "search.csv").write_text("\n".join(["grade,query,bm25,clicks", *lines, ""]))
    table = (tmp_path / "search.csv", "--label", "grade", "--query", "query")
    run("train", *table, "-m", "pairs", "-a", "1e-2", "-o", tmp_path / "r")
    found = json.loads(run("export", tmp_path / "r", "--to", "opensearch").stdout)["model"]["model"]
    data = np.array([line.split(",")[2:] for line in lines], dtype=float)
    added = 0.0
    for place, name in enumerate(("bm25", "clicks")):
        norm = found["feature_normalizers"][name]["standard"]
        added = added + found["definition"][name] * (data[:, place] - norm["mean"]) / norm["standard_deviation"]
    scores = np.array(run("predict", tmp_path / "r", tmp_path / "search.csv").stdout.split(), dtype=float)
    assert np.ptp(added - scores) <= 1e-9
    assert "bm25" in run("export", tmp_path / "r", "--to", "vespa").stdout


def test_sql_and_python(run, model_file, test_file, tmp_path):
    scores = [float(line) for line in run("predict", model_file, test_file, "--scores").stdout.split()]
    data = smoothperf.io.read_data(test_file)
    rows = data.X.toarray()
    expression = run("export", model_file, "--to", "sql").stdout
    columns = ", ".join(f'? AS "feature {j}"' for j in range(1, 5))
    with sqlite3.connect(":memory:") as database:
        found = [database.execute(f"SELECT {expression} FROM (SELECT {columns})", row).fetchone()[0] for row in rows]
    np.testing.assert_allclose(found, scores, rtol=0.0, atol=1e-9)
    run("export", model_file, "--to", "python", "-o", tmp_path / "model.py")
    module = {}
    exec((tmp_path / "model.py").read_text(), module)
    np.testing.assert_allclose([module["score"](row) for row in rows], scores, rtol=0.0, atol=1e-9)
    assert "THEN 1 ELSE -1 END" in run("export", model_file, "--to", "sql", "--predict", "label").stdout


def test_onnx_is_a_file_and_an_extra(run, model_file, tmp_path, monkeypatch):
    assert "say where it goes with --output" in run("export", model_file, "--to", "onnx", code=2).stderr
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install" in run("export", model_file, "--to", "onnx", "-o", tmp_path / "m.onnx", code=2).stderr


def test_errors(run, ranker):
    assert "--to must be one of" in run("export", ranker, "--to", "excel", code=2).stderr
    assert "is no rank feature" in run("export", ranker, "--to", "vespa", code=2).stderr.replace("as no", "is no")
    assert "--name is not for --to vespa" in run("export", ranker, "--to", "vespa", "--name", "x", code=2).stderr
