"""Checkpoints: a run that was killed goes on, and nothing else is ever gone on from."""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from typer.testing import CliRunner

from problems import gaussians
from smoothperf import Checkpoint, MeasureClassifier, load
from smoothperf._files import written_whole
from smoothperf.cli import app
from smoothperf.io import StoreWriter
from smoothperf.io.checkpoint import CheckpointError, CheckpointWarning

ALPHA = 1e-3


@pytest.fixture(scope="module")
def data():
    return gaussians(80, 160, 6, seed=3)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.checkpoint"


def classifier(**options):
    return MeasureClassifier(**{"measure": "prbep", "alpha": ALPHA, "tol": 1e-5, **options})


def interrupted(data, file, after, **options):
    """Write a checkpoint at every iteration and stop after some."""
    stop = classifier(
        checkpoint=Checkpoint(file, seconds=1e-9), callback=lambda row: row.iteration >= after, **options
    ).fit(*data)
    assert stop.gap_ > 1e-5
    return stop


@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
@pytest.mark.parametrize("measure", ["prbep", "roc_area"])
def test_a_run_goes_on(file, measure, solver):
    data = gaussians(160, 320, 12, seed=2)
    options = {"measure": measure, "solver": solver, "tol": 1e-4, "max_iter": 5000}
    whole = classifier(**options).fit(*data)
    first = interrupted(data, file, after=whole.n_iter_ // 2, **options)
    second = classifier(checkpoint=Checkpoint(file, resume=True), **options).fit(*data)
    assert second.gap_ <= 1e-4
    assert abs(second.objective_ - whole.objective_) <= 1e-4
    start = second.result_.trace.rows[0]
    assert start.objective <= first.objective_ + 1e-5  # it may be an upper bound
    # The planes came along: the first bound is about as good as the last one was.
    assert start.lower_bound >= first.lower_bound_ - 0.2 * first.gap_
    assert second.n_iter_ < whole.n_iter_ or solver == "nesterov"  # whose momentum is gone


def test_more_columns_than_rows(tmp_path, file):
    """Vectors live in the space of the rows then, and so do the planes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400))
    y = np.repeat([0, 1], 30)
    X[30:, :5] += 0.3
    whole = classifier(alpha=1e-1, tol=1e-4).fit(X, y)

    def crash(row):
        if row.iteration == 5:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        classifier(alpha=1e-1, tol=1e-4, checkpoint=Checkpoint(file, seconds=1e-9), callback=crash).fit(X, y)
    again = classifier(alpha=1e-1, tol=1e-4, checkpoint=Checkpoint(file, resume=True)).fit(X, y)
    assert abs(again.objective_ - whole.objective_) <= 1e-4


def test_writing_does_not_change_the_run(data, file):
    plain = classifier().fit(*data)
    kept = classifier(checkpoint=Checkpoint(file, seconds=1e-9)).fit(*data)
    assert kept.coef_.tobytes() == plain.coef_.tobytes()
    assert kept.result_.n_matvec == plain.result_.n_matvec
    assert kept.result_.n_rmatvec == plain.result_.n_rmatvec


def test_the_last_state_is_the_model(data, file):
    fitted = classifier(checkpoint=file).fit(*data)
    again = classifier(checkpoint=Checkpoint(file, resume=True)).fit(*data)
    assert again.n_iter_ <= 2
    assert again.result_.trace.rows[0].objective <= fitted.objective_ + 1e-5


def test_nothing_is_left_to_do_after_a_fit_that_has_ended(file):
    """More planes carry weight than are kept, and mu has shrunk a long way: both come along."""
    data = gaussians(300, 700, 60, shift=0.1, seed=1)
    options = {"alpha": 1e-6, "max_iter": 5000}
    whole = classifier(checkpoint=file, **options).fit(*data)
    assert whole.n_iter_ > 100
    again = classifier(checkpoint=Checkpoint(file, resume=True), **options).fit(*data)
    assert again.n_iter_ == 0
    assert again.gap_ == pytest.approx(whole.gap_, rel=1e-3)
    assert again.coef_.tobytes() == whole.coef_.tobytes()


@pytest.mark.parametrize(("solver", "after"), [("lbfgs", 12), ("nesterov", 40), ("newton", 9)])
def test_smoothing_goes_on_where_it_was(data, file, solver, after):
    first = interrupted(data, file, after, solver=solver)
    last = first.result_.smoothing
    assert last < first.result_.trace.rows[0].mu
    before = file.read_bytes()
    options = {"checkpoint": Checkpoint(file, resume=True), "solver": solver, "callback": lambda row: True}
    again = classifier(**options).fit(*data)
    assert again.result_.trace.rows[0].mu == last
    file.write_bytes(before)
    fixed = classifier(**options, smoothing=0.5).fit(*data)
    assert fixed.result_.trace.rows[0].mu == 0.5  # as the user says


def test_a_checkpoint_is_not_overwritten_by_accident(data, file):
    interrupted(data, file, after=3)
    before = file.read_bytes()
    with pytest.raises(CheckpointError, match="there is a checkpoint already; resume from it, remove it, or name"):
        classifier(checkpoint=file).fit(*data)
    assert file.read_bytes() == before


def test_without_a_file_a_run_begins(data, file):
    fitted = classifier(checkpoint=Checkpoint(file, resume=True)).fit(*data)
    assert fitted.coef_.tobytes() == classifier().fit(*data).coef_.tobytes()
    assert file.exists()


def swap(X):
    return np.vstack([X[1::-1], X[2:]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: ((X, y), {"measure": "roc_area"}), "with another measure: PRBEP"),
        (lambda X, y: ((X, y), {"bound": "tight"}), "with another bound: convex, not tight"),
        (lambda X, y: ((X, y), {"alpha": 2e-3}), "with another alpha: 0.001, not 0.002"),
        (lambda X, y: ((X[1:], y[1:]), {}), r"of other data: their shape: \[240, 6\], not \[239, 6\]"),
        (lambda X, y: ((sp.csr_matrix(X * (X > 0)), y), {}), "of other data: their entries"),
        (lambda X, y: ((X * 1.01, y), {}), "of other data: their entries"),
        (lambda X, y: ((swap(X), y), {}), "of other data: their entries"),
        (lambda X, y: ((X[:, ::-1], y), {}), "of other data: their entries"),
        (lambda X, y: ((X, y), {"measure": "error_rate"}), "with another measure: PRBEP"),
        (lambda X, y: ((X, -y), {}), "of other data: their labels"),
        (lambda X, y: ((X, y, np.linspace(1, 2, 240)), {}), "of other data: their labels"),
    ],
)
def test_other_problems_are_refused(data, file, change, message):
    interrupted(data, file, after=3)
    changed, options = change(*data)
    with pytest.raises(CheckpointError, match=message) as caught:
        classifier(checkpoint=Checkpoint(file, resume=True), **options).fit(*changed)
    assert str(caught.value).startswith(f"{file}: ")


def test_the_same_data_in_another_form_are_the_same_data(data, file, tmp_path):
    X, y = data
    interrupted((sp.csr_matrix(X), y), file, after=3)
    with StoreWriter(tmp_path / "s") as writer:
        writer.add(sp.csr_matrix(X), y)
    begin = file.read_bytes()
    for same in [(X, y), (np.asfortranarray(X), y), (sp.csc_matrix(X), y), (tmp_path / "s",)]:
        file.write_bytes(begin)
        fitted = classifier(checkpoint=Checkpoint(file, resume=True), n_threads=2).fit(*same)
        assert abs(fitted.objective_ - classifier().fit(X, y).objective_) <= 1e-5


def test_no_column_hides_the_others(data, file):
    """A sum of all entries, or a norm, does not see small columns beside one of 1e8."""
    X, y = data
    X = np.column_stack([np.full(len(X), 1e8), X])
    other = X.copy()
    other[:, 1:] = np.random.default_rng(0).permutation(other[:, 1:])
    interrupted((other, y), file, after=3)
    with pytest.raises(CheckpointError, match="of other data: their entries"):
        classifier(checkpoint=Checkpoint(file, resume=True)).fit(X, y)


def test_the_height_of_the_constant_feature_counts(data, file):
    options = {"measure": "error_rate", "alpha": 1e-4}
    interrupted(data, file, after=1, **options)
    with pytest.raises(CheckpointError, match="of other data: their entries"):
        classifier(checkpoint=Checkpoint(file, resume=True), intercept_scaling=2.0, **options).fit(*data)


def test_damaged_files_are_refused(data, file):
    interrupted(data, file, after=3)
    content = file.read_bytes()
    middle = content.find(b"planes.slopes.npy") + 300
    flipped = bytearray(content)
    flipped[middle] ^= 1
    for wrong in (b"", content[:100], content[:-1], content[: len(content) // 2], bytes(flipped), b"hello" * 100):
        file.write_bytes(wrong)
        with pytest.raises(CheckpointError, match="truncated, damaged, or not a checkpoint") as caught:
            classifier(checkpoint=Checkpoint(file, resume=True)).fit(*data)
        assert "\n" not in str(caught.value)


def test_other_versions_are_refused(data, file, monkeypatch):
    for version, message in [(1, r"written in version 1 .*remove it to begin anew"), (3, r"version 3 .*upgrade")]:
        with monkeypatch.context() as patch:
            patch.setattr("smoothperf.io.checkpoint_file.VERSION", version)
            file.unlink(missing_ok=True)
            interrupted(data, file, after=3)
        with pytest.raises(CheckpointError, match=message):
            classifier(checkpoint=Checkpoint(file, resume=True)).fit(*data)


def test_parameters(data, file):
    with pytest.raises(ValueError, match="seconds must be a finite number above 0, got 0"):
        Checkpoint(file, seconds=0)
    with pytest.raises(ValueError, match="checkpoint must be a path or a Checkpoint, got 7"):
        classifier(checkpoint=7).fit(*data)
    assert clone(classifier(checkpoint=Checkpoint(file))).checkpoint == Checkpoint(file)


def test_model_files_do_not_keep_it(data, file, tmp_path):
    fitted = classifier(checkpoint=file).fit(*data)
    fitted.save(tmp_path / "model")
    assert load(tmp_path / "model").checkpoint is None


# --- no room ----------------------------------------------------------------------------------------------------------


class Full:
    """A file on a disk without room."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def full_disk(monkeypatch):
    """A disk that is full from the given checkpoint on."""

    def fill(first):
        written = []

        @contextmanager
        def on_a_full_disk(path):
            written.append(path)
            with written_whole(path) as file:
                yield Full(file) if len(written) > first else file

        monkeypatch.setattr("smoothperf.io.checkpoint_file.written_whole", on_a_full_disk)

    return fill


def test_no_room_at_the_beginning_is_an_error(data, file, full_disk, tmp_path):
    full_disk(0)
    with pytest.raises(CheckpointError, match="the checkpoint cannot be written: No space left on device"):
        classifier(checkpoint=file).fit(*data)
    assert os.listdir(tmp_path) == []


def test_no_room_later_loses_nothing(data, file, full_disk, tmp_path):
    full_disk(3)
    with pytest.warns(
        CheckpointWarning, match="No space left on device; the one before is as it was, and the fit goes on"
    ):
        fitted = classifier(checkpoint=Checkpoint(file, seconds=1e-9)).fit(*data)
    assert fitted.gap_ <= 1e-5
    assert os.listdir(tmp_path) == [file.name]
    full_disk(first=1000)
    again = classifier(checkpoint=Checkpoint(file, resume=True)).fit(*data)
    assert abs(again.objective_ - fitted.objective_) <= 1e-5


# --- the real thing ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_kill_9_and_resume(data, tmp_path):
    X, y = data
    file, model = tmp_path / "fit.checkpoint", tmp_path / "model"
    with StoreWriter(tmp_path / "train.store") as writer:
        writer.add(X, y)
    command = [
        *(sys.executable, "-m", "smoothperf", "train", tmp_path / "train.store", "-o", model, "--threads", "1"),
        *("-m", "prbep", "-a", "1e-3", "--checkpoint", file, "--every", "0.01", "--json"),
    ]
    endless = ["--solver", "nesterov", "--tol", "1e-300", "--max-iter", "100000000"]
    process = subprocess.Popen([*map(str, command), *endless], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        inodes = set()
        deadline = time.monotonic() + 60
        while len(inodes) < 5 and time.monotonic() < deadline:  # several checkpoints have been written
            if file.exists():
                inodes.add(file.stat().st_mtime_ns)
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(inodes) == 5
    assert not model.exists()
    arguments = [*map(str, command[3:]), "--tol", "1e-5"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert done.stderr.strip().endswith("go on with --resume, remove it, or name another file.")
    done = CliRunner().invoke(app, [*arguments, "--resume"])
    assert done.exit_code == 0, done.output
    assert abs(load(model).objective_ - classifier().fit(X, y).objective_) <= 1e-5
