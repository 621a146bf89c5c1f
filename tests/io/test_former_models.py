"""Model files of 0.1.0, in a folder beside this file, are read and predict the same bytes.

With that version, ``python test_former_models.py`` has written them, and what they predict. The rows to predict have
one number that is not zero, a power of two: their scores are the same bits on every machine.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import smoothperf
from smoothperf import MeasureClassifier, MeasureClassifierCV, MeasureRanker, MeasureRankerCV, Newton
from smoothperf.cli import app

FOLDER = Path(__file__).parent / "written_by_0_1_0"
KINDS = (
    "roc_area",
    "positive_no",
    "operating_point",
    "sparse",
    "newton",
    "calibrated",
    "isotonic",
    "ranker",
    "ranker_chosen",
)


def training():
    """60 rows of 4 columns, without a generator of random numbers, and labels that these tell apart but for a few."""
    i, j = np.arange(60)[:, None], np.arange(4)
    X = ((7 * i + 11 * j + i * i * (j + 1)) % 23 - 11.0) / 8.0
    return X, np.where(X @ [2.0, -1.0, 0.0, 1.0] + (np.arange(60) % 7 - 3.0) / 4.0 > 0.75, "yes", "no")


def new_rows():
    """Each with one number that is not zero."""
    return np.vstack([scale * np.eye(4) for scale in (0.25, 1.0, -2.0)])


def table(rows):
    """CSV with a column of words."""
    X, y = training()
    words = ["red", "blue", ""]
    lines = [f"{X[i, 0]},{words[i % 3]},{X[i, 1] if i % 5 else ''},{y[i]}" for i in rows]
    return "\n".join(["a,colour,b,bought", *lines]) + "\n"


def values(array):
    """Numbers as text that has all their bits."""
    return [value.hex() if isinstance(value, float) else value for value in np.asarray(array).tolist()]


def predictions(model):
    """Answers of a model on the new rows, by method."""
    names = ("decision_function", "predict", "predict_proba")
    found = {name: values(getattr(model, name)(new_rows()).ravel()) for name in names if hasattr(model, name)}
    return found | {"coef_": values(model.coef_.ravel())}


def models():
    """One of each kind."""
    X, y = training()
    graded = (X, (np.arange(60) * 5 // 7) % 3, np.arange(60) // 6)
    yield "roc_area", MeasureClassifier(alpha=1e-2).fit(sp.csr_matrix(X), y)
    yield "positive_no", MeasureClassifier("f1", alpha=1e-2, pos_label="no", bound="tight").fit(X, y)
    yield "operating_point", MeasureClassifier("prbep", alpha=1e-2).fit(X, y).set_operating_point(X, y, recall=0.9)
    yield "sparse", MeasureClassifier("log_loss", alpha=3e-2, l1_ratio=0.8, coef_bounds=(-1.0, {0: 0.5})).fit(X, y)
    yield "newton", MeasureClassifier("squared_hinge", alpha=1e-2, solver=Newton()).fit(X, y)
    yield "calibrated", MeasureClassifierCV("roc_area", cv=2, calibration="sigmoid").fit(X, y)
    yield "isotonic", MeasureClassifierCV("prbep", cv=2, calibration="isotonic", l1_ratio=[0.0, 0.5]).fit(X, y)
    yield "ranker", MeasureRanker("ndcg@3", alpha=1e-2).fit(*graded)
    yield "ranker_chosen", MeasureRankerCV("map", cv=2).fit(*graded)


def main():
    """Write everything."""
    expected = {}
    for name, model in models():
        model.save(FOLDER / f"{name}.model")
        expected[name] = predictions(smoothperf.load(FOLDER / f"{name}.model"))
    (FOLDER / "train.csv").write_text(table(range(60)))
    (FOLDER / "new.csv").write_text(table(range(0, 60, 4)))
    run("train", FOLDER / "train.csv", "-o", FOLDER / "table.model", "--label", "bought", "-m", "prbep", "-a", "1e-2")
    expected["table"] = predicted_table()
    (FOLDER / "train.csv").unlink()
    (FOLDER / "expected.json").write_text(json.dumps(expected) + "\n")


def run(*arguments):
    """Lines that a command prints."""
    found = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout.splitlines()


def predicted_table():
    """Labels and scores of the rows of a table."""
    given = ("predict", FOLDER / "table.model", FOLDER / "new.csv")
    return {"predict": run(*given), "scores": [*map(float, run(*given, "--scores"))]}


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_then(kind):
    then = json.loads((FOLDER / "expected.json").read_text())[kind]
    now = predictions(smoothperf.load(FOLDER / f"{kind}.model"))
    if "predict_proba" in then:  # exponentials may differ in the last bit from machine to machine
        chances = [[float.fromhex(value) for value in each.pop("predict_proba")] for each in (now, then)]
        np.testing.assert_allclose(*chances, rtol=1e-12)
    assert now == then


def test_a_model_of_a_table_with_words_predicts_as_then():
    then, now = json.loads((FOLDER / "expected.json").read_text())["table"], predicted_table()
    assert now["predict"] == then["predict"]
    np.testing.assert_allclose(now["scores"], then["scores"], rtol=1e-12)


if __name__ == "__main__":
    main()
