"""Small files of examples and a model, as a user would have them."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from smoothperf.cli import app

ENVIRONMENT = {"COLUMNS": "80", "TERM": "dumb"}


def _examples(n, seed):
    """Four features, the first of them useful; a quarter is positive."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.25, 1, -1)
    X = rng.standard_normal((n, 4)).round(3)
    X[:, 0] += 3.0 * (y > 0)
    return X, y


@pytest.fixture
def run():
    """Run a command; the exit code must be the expected one, unless that is None, and errors must be one line."""

    def run(*arguments, code=0):
        result = CliRunner().invoke(app, list(map(str, arguments)), env=ENVIRONMENT, prog_name="smoothperf")
        assert code is None or result.exit_code == code, (result.stdout, result.stderr, result.exception)
        if code == 2:
            assert result.stdout == ""
            assert result.stderr.count("\n") == 1, result.stderr
            assert result.stderr.startswith("smoothperf"), result.stderr
        assert "Traceback" not in result.stderr
        return result

    return run


@pytest.fixture
def run_json(run):
    """Run a command with --json; standard output must be one JSON document."""

    def run_json(*arguments, code=0):
        return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=pytest.fail)

    return run_json


@pytest.fixture(scope="session")
def examples():
    """Return what the files hold: ``examples(300, 0)`` is train.svm, ``examples(200, 1)`` test.svm."""
    return _examples


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


def _svmlight(folder, name, n, seed):
    path = folder / name
    dump_svmlight_file(*_examples(n, seed), str(path), zero_based=False)
    return path


@pytest.fixture(scope="session")
def train_file(folder):
    return _svmlight(folder, "train.svm", 300, 0)


@pytest.fixture(scope="session")
def test_file(folder):
    return _svmlight(folder, "test.svm", 200, 1)


@pytest.fixture(scope="session")
def csv_file(folder):
    X, y = _examples(120, 2)
    path = folder / "mails.csv"
    lines = [",".join([*map(str, row), "spam" if label > 0 else "ham"]) for row, label in zip(X, y, strict=True)]
    path.write_text("a,b,c,d,kind\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def model_file(folder, train_file):
    path = folder / "fitted.model"
    result = CliRunner().invoke(app, ["train", str(train_file), "-m", "prbep", "-a", "1e-3", "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path
