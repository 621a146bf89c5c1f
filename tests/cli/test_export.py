"""``smoothperf export``: files and standard output, names, and options that do not go together."""

import json

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


def test_errors(run, ranker):
    assert "--to must be one of" in run("export", ranker, "--to", "excel", code=2).stderr
    assert "is no rank feature" in run("export", ranker, "--to", "vespa", code=2).stderr.replace("as no", "is no")
    assert "--name is not for --to vespa" in run("export", ranker, "--to", "vespa", "--name", "x", code=2).stderr
