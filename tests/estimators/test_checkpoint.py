"""Checkpoints: a fit that was killed leaves a model that predicts, and that the next fit goes on from."""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from problems import gaussians, graded
from smoothperf import MeasureClassifier, MeasureRanker, Status, load
from smoothperf._files import written_whole
from smoothperf.cli import app
from smoothperf.estimators import checkpoint
from smoothperf.estimators.checkpoint import CheckpointWarning
from smoothperf.io import StoreWriter
from smoothperf.io.model_file import ModelFileError


@pytest.fixture(scope="module")
def data():
    return gaussians(80, 160, 6, seed=3)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "so-far"


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)


class Crash:
    """A callback that ends everything at an iteration."""

    def __init__(self, at):
        self._left = at

    def __call__(self, row):
        self._left -= 1
        if self._left < 0:
            raise ZeroDivisionError


def classifier(**options):
    return MeasureClassifier(**{"measure": "prbep", "alpha": 1e-3, "tol": 1e-5, **options})


def crashed(model, file, data, at, **rows):
    """Fit until it crashes, and return the model that is left."""
    with pytest.raises(ZeroDivisionError):
        model.set_params(checkpoint=file, callback=Crash(at)).fit(*data, **rows)
    return load(file)


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
@pytest.mark.parametrize("measure", ["roc_area", "error_rate"])
def test_a_fit_goes_on(file, always, measure, solver):
    data = gaussians(160, 320, 12, seed=2)
    options = {"measure": measure, "solver": solver, "tol": 1e-3, "max_iter": 5000}
    whole = classifier(**options).fit(*data)
    left = crashed(classifier(**options), file, data, at=3 * whole.n_iter_ // 4)
    assert left.gap_ == left.objective_ - left.lower_bound_ > 1e-3
    assert left.lower_bound_ <= whole.objective_
    assert left.result_.status is Status.STOPPED
    assert left.score(*data) > 0.6
    again = left.set_params(warm_start=True).fit(*data)
    assert again.result_.trace.rows[0].objective <= whole.result_.trace.rows[0].objective
    assert again.n_iter_ < whole.n_iter_ or solver != "lbfgs"  # others gain less from weights without planes
    assert again.gap_ <= 1e-3


@pytest.mark.parametrize("measure", ["prbep", "f1"])
def test_a_fit_of_the_tight_bound_goes_on(data, file, always, measure):
    options = {"measure": measure, "bound": "tight", "max_iter": 5000}
    whole = classifier(**options).fit(*data)
    left = crashed(classifier(**options), file, data, at=whole.n_iter_ - 3)
    assert np.isnan([left.lower_bound_, left.gap_, left.stationarity_gap_]).all()
    assert left.score(*data) > 0.6
    again = left.set_params(warm_start=True).fit(*data)
    assert again.result_.status is Status.STATIONARY
    assert again.n_iter_ < whole.n_iter_
    assert again.objective_ <= again.result_.trace["objective"][0] + 1e-12  # where it goes on from


@pytest.mark.parametrize("measure", ["pairs", "ndcg@5"])
def test_a_ranker_goes_on(file, always, measure):
    X, y, qid = graded(40, seed=0)
    options = {"measure": measure, "tol": 1e-4, "solver": "lbfgs"}
    whole = MeasureRanker(**options).fit(X, y, qid=qid)
    left = crashed(MeasureRanker(**options), file, (X, y), whole.n_iter_ - 2, qid=qid)
    assert left.score(X, y, qid=qid) > 0.6
    assert left.set_params(warm_start=True).fit(X, y, qid=qid).n_iter_ < whole.n_iter_


def test_writing_does_not_change_the_fit(data, file, always):
    plain = classifier().fit(*data)
    kept = classifier(checkpoint=file).fit(*data)
    assert kept.coef_.tobytes() == plain.coef_.tobytes()
    assert kept.result_.n_matvec == plain.result_.n_matvec
    assert kept.result_.n_rmatvec == plain.result_.n_rmatvec


def test_what_is_kept_is_the_best_so_far(data, always):
    """Iterates of the cutting plane method rise and fall."""
    models, best = [], []

    def look(row):
        best.append(row.gap + row.lower_bound)

    classifier(solver="bmrm", checkpoint=models.append, callback=look).fit(*data)
    assert len(models) == len(best) > 10
    for model, value in zip(models, best, strict=True):
        assert model.objective_ == pytest.approx(value, abs=1e-12)
        coef = model.coef_[0]
        risk = model.objective_ - 5e-4 * coef @ coef
        assert risk >= 0.0


def test_models_are_written_once_a_minute(data, monkeypatch):
    now, models = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def tick(row):
        now[0] += 7.0

    fitted = classifier(checkpoint=models.append, callback=tick).fit(*data)
    assert len(models) == 1 + fitted.n_iter_ // 9


def test_a_file_is_not_overwritten_by_accident(data, file):
    classifier(checkpoint=file, max_iter=3, tol=1.0).fit(*data)
    before = file.read_bytes()
    with pytest.raises(ModelFileError, match="there is a model already; go on from it with warm_start=True, remove"):
        classifier(checkpoint=file).fit(*data)
    assert file.read_bytes() == before
    again = load(file)
    assert again.checkpoint is None
    again.set_params(warm_start=True, checkpoint=file).fit(*data)


def test_parameters(data, tmp_path):
    with pytest.raises(ValueError, match="checkpoint must be a path or a function, got 7"):
        classifier(checkpoint=7).fit(*data)
    with pytest.raises(ModelFileError, match="cannot be written"):
        classifier(checkpoint=tmp_path / "no" / "folder").fit(*data)


class Full:
    """A file on a disk without room."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_no_room_later_loses_nothing(data, file, always, monkeypatch, tmp_path):
    written = []

    @contextmanager
    def on_a_full_disk(path):
        written.append(path)
        with written_whole(path) as opened:
            yield Full(opened) if len(written) > 3 else opened

    monkeypatch.setattr("smoothperf.io.model_file.written_whole", on_a_full_disk)
    with pytest.warns(CheckpointWarning, match=r"No space left on device\. The fit goes on\."):
        fitted = classifier(checkpoint=file).fit(*data)
    assert fitted.gap_ <= 1e-5
    assert os.listdir(tmp_path) == [file.name]
    assert load(file).objective_ >= fitted.objective_


# --- on the command line ----------------------------------------------------------------------------------------------

#: The command line, with a checkpoint at every iteration.
EAGER = """
import sys
from smoothperf.estimators import checkpoint
checkpoint.SECONDS = 0.0
from smoothperf.cli import app
app(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_kill_9_and_resume(data, file, tmp_path):
    X, y = data
    model, train = tmp_path / "model", tmp_path / "train.store"
    with StoreWriter(train) as writer:
        writer.add(X, y)
    arguments = ["train", train, "-o", model, "--threads", "1", "-m", "prbep", "-a", "1e-3", "--checkpoint", file]
    endless = ["--solver", "nesterov", "--tol", "1e-300", "--max-iter", "100000000"]
    command = [str(each) for each in (sys.executable, "-c", EAGER, *arguments, *endless)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        times = set()
        deadline = time.monotonic() + 60
        while len(times) < 5 and time.monotonic() < deadline:  # several have been written
            if file.exists():
                times.add(file.stat().st_mtime_ns)
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(times) == 5
    assert not model.exists()
    assert load(file).predict(X).shape == y.shape
    arguments = [*map(str, arguments), "--tol", "1e-5"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert f"go on with --resume {file}, remove it, or name another." in " ".join(done.stderr.split())
    done = CliRunner().invoke(app, [*arguments, "--resume", str(file)])
    assert done.exit_code == 0, done.output
    assert abs(load(model).objective_ - classifier().fit(X, y).objective_) <= 1e-5


def test_the_command_line_keeps_models_for_features_as_they_are(data, file, always, tmp_path):
    """It trains scaled and shifted ones."""
    X, y = data
    X = 5.0 + X * np.geomspace(1.0, 1e3, 6)
    rows = tmp_path / "train.csv"
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.assign(label=y).to_csv(rows, index=False)
    arguments = ["train", rows, "--label", "label", "-m", "prbep", "-a", "1e-3", "--tol", "1e-5"]

    def run(*more):
        done = CliRunner().invoke(app, [str(each) for each in (*arguments, *more)])
        assert done.exit_code == 0, done.output

    run("-o", tmp_path / "whole", "--checkpoint", file)
    whole, left = load(tmp_path / "whole"), load(file)
    assert left.result_.gap <= 10.0 * whole.gap_
    np.testing.assert_allclose(left.raw_scores(frame), whole.raw_scores(frame), atol=0.1)
    np.testing.assert_array_equal(left.feature_names_in_, whole.feature_names_in_)
    assert np.mean(left.predict(frame) == whole.predict(frame)) > 0.95
    run("-o", tmp_path / "again", "--resume", file)
    again = load(tmp_path / "again")
    assert again.n_iter_ < whole.n_iter_
    assert not again.warm_start


def test_a_model_of_other_features_is_not_gone_on_with(data, file, tmp_path):
    X, y = data
    classifier(tol=1.0).fit(X[:, :4], y).save(file)
    rows = tmp_path / "train.csv"
    np.savetxt(rows, np.column_stack([y, X]), delimiter=",", header="label,a,b,c,d,e,f", comments="")
    arguments = ["train", rows, "--label", "label", "-a", "1e-3", "--resume", file, "-o", tmp_path / "model"]
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 2
    assert "a MeasureClassifier with 4 features cannot be gone on with here" in " ".join(done.stderr.split())
