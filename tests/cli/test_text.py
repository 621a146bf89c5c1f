"""Tables with texts: from training to what uses the model."""

import csv

import numpy as np
import pandas as pd
import pytest

import smoothperf

TEXT = "crude barrel price rose fell wheat harvest tonnes bank rate of the in and"
WORDS = np.array(TEXT.split())


@pytest.fixture(scope="module")
def mails(tmp_path_factory):
    """A number, a text, and whether it is about oil."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(6, 12))) for _ in range(80)]
    rows = [[round(rng.normal(), 2), text, "oil" if "crude" in text else "other"] for text in texts]
    path = tmp_path_factory.mktemp("mails") / "mails.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["size", "the body", "about"], *rows])
    return path


def test_texts_from_training_to_the_report(run, run_json, mails, tmp_path):
    model, options = tmp_path / "model", ["--label", "about", "--pos-label", "oil"]
    missed = run("train", mails, *options, "-a", "1e-2", "-o", model, code=None)
    assert "Note: column 'the body' is dropped: its cells are texts; --text 'the body' or" in missed.stderr
    options += ["--text", "the body"]
    said = run("train", mails, *options, "-m", "f1", "--bound", "convex", "--folds", "2", "-o", model)
    assert "the body  text    14 words" in said.stdout
    columns = run_json("train", mails, *options, "-a", "1e-2", "-o", model)["data"]["columns"]
    assert columns[1] == {
        "name": "the body",
        "kind": "text",
        "features": 14,
        "missing": False,
        "words": 14,
        "rare_words": 0,
    }
    assert run_json("weights", model, "--top", "1")["weights"][0]["feature"] == "the body: crude"
    labels = run("predict", model, mails).stdout.splitlines()
    assert labels == smoothperf.load(model).predict(pd.read_csv(mails)).tolist()
    found = run_json("evaluate", model, mails, "--label", "about", "--bootstrap", "5")
    assert found["measures"]["roc_area"]["value"] > 0.95
    run("report", model, mails, "--label", "about", "--bootstrap", "5", "-o", tmp_path / "report.html")
    assert "the body: crude" in (tmp_path / "report.html").read_text(encoding="utf-8")
    for to in ("sql", "python", "scorecard"):
        assert "column 'the body' is text, and what a word adds" in run("export", model, "--to", to, code=2).stderr
    assert "column 'the body' is one of texts" in run("export", model, "--to", "solr", code=2).stderr
    refused = run("train", mails, *options, "--features", "additive", "-q", "-o", model, code=2).stderr
    assert "its features of texts are sparse, and stay as they are: leave out --features" in refused


def test_a_table_of_a_text_alone(run, mails, tmp_path):
    options = ["--label", "about", "--drop", "size", "-o", tmp_path / "model"]
    missed = run("train", mails, *options, code=2).stderr
    assert "no column has values that occur in more than one row: its cells are texts; --text 'the body'" in missed
    run("train", mails, *options, "-a", "1e-2", "--text", "the body")
