"""The command line as a process of its own: signals, pipes, exit codes, and how soon help is there."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import smoothperf

COMMAND = [sys.executable, "-m", "smoothperf"]


@pytest.fixture(autouse=True)
def interruptible():
    """Processes that are started in the background ignore Ctrl-C, and those that they start inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(*arguments):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


@pytest.fixture
def endless(train_file, tmp_path):
    """A training that nobody can finish, when its first iteration has been reported."""
    model = tmp_path / "model"
    process = start(
        "train",
        train_file,
        "-m",
        "prbep",
        "-a",
        "1e-7",
        "--tol",
        "1e-300",
        "--max-iter",
        10**9,
        "--solver",
        "nesterov",
        "-o",
        model,
    )
    first = process.stderr.readline()
    assert first.startswith("iteration")
    yield process, model
    process.kill()
    process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_ctrl_c_saves_the_best_model_so_far_and_says_so_in_plain_text(endless):
    process, model = endless
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Ctrl-C: stopping after this iteration" in errors
    assert not {"\x1b", "\r"} & set(out + errors)  # as neither is a terminal
    text = " ".join(out.split())
    assert "Interrupted: this is the best model so far." in text
    gap = float(re.search(r"at most (\S+) above the optimum", text)[1])
    loaded = smoothperf.load(model)
    assert loaded.gap_ == pytest.approx(gap, rel=0.05)
    assert loaded.result_.status is smoothperf.Status.STOPPED
    assert "Traceback" not in errors


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_ctrl_c_while_the_choice_is_made(tmp_path):
    """There is no model to save yet."""
    many = tmp_path / "many.svm"
    rows = (f"{i % 2} " + " ".join(f"{j}:{(i * j) % 97}" for j in range(1, 40)) for i in range(4000))
    many.write_text("\n".join(rows))
    process = start("train", many, "-m", "prbep", "--tol", "1e-9", "-o", tmp_path / "model", "--json")
    assert process.stderr.readline().startswith("split 1 of 5: log_loss, convex, alpha")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "smoothperf: interrupted; nothing was written."
    assert not {"\x1b", "\r"} & set(out + errors)
    assert json.loads(out) == {"command": "train", "interrupted": True, "model": None}
    assert not (tmp_path / "model").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_ctrl_c_while_modules_are_imported(tmp_path):
    (tmp_path / "typer").mkdir()
    (tmp_path / "typer" / "__init__.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    done = subprocess.run(
        [*COMMAND, "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "smoothperf: interrupted; nothing was written.\n"


def test_ctrl_c_while_reading_writes_nothing(tmp_path):
    pipe = tmp_path / "never.svm"
    os.mkfifo(pipe)
    process = start("train", pipe, "-o", tmp_path / "model", "--format", "svmlight")
    with open(pipe, "w", encoding="utf-8"):  # returns when the other side has opened it, and keeps it waiting
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "smoothperf: interrupted; nothing was written."
    assert "Traceback" not in errors
    assert not (tmp_path / "model").exists()


def test_piped_output_has_no_control_characters(train_file, tmp_path):
    process = start("train", train_file, "-a", "1e-3", "-o", tmp_path / "model")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert not {"\x1b", "\r"} & set(out + errors)


def test_a_reader_that_has_seen_enough_is_no_error(model_file, tmp_path):
    many = tmp_path / "many.svm"
    many.write_text("1 1:0.5\n" * 60_000)
    process = start("predict", model_file, many, "-q")
    with process, process.stderr as errors:
        process.stdout.readline()
        process.stdout.close()
        assert errors.read() == ""
    assert process.returncode == 0


def test_help_comes_without_the_libraries_that_training_needs():
    code = (
        "import sys; import smoothperf.cli; smoothperf.cli.app(['--help'], standalone_mode=False); "
        "heavy = {'numpy', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Train a linear model" in done.stdout


def test_a_model_is_judged_without_what_only_training_needs(train_file, model_file):
    code = (
        f"import sys; import smoothperf.cli; "
        f"smoothperf.cli.app(['evaluate', {str(model_file)!r}, {str(train_file)!r}], standalone_mode=False); "
        "slow = {'sklearn.model_selection', 'sklearn.calibration', 'sklearn.linear_model'} & set(sys.modules); "
        "assert not slow, slow"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_only_tables_need_pandas(train_file, tmp_path):
    # scikit-learn imports it, too, where it can: so it is hidden, not looked for.
    code = f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ImportError("there is no pandas here")

sys.meta_path.insert(0, Hidden())
import smoothperf.cli
smoothperf.cli.app(['train', {str(train_file)!r}, '-a', '1e-3', '-q', '-o', {str(tmp_path / "model")!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_shows_live_progress(train_file, tmp_path):
    import os
    import pty

    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [
            *COMMAND,
            "train",
            str(train_file),
            "-m",
            "prbep",
            "-a",
            "1e-6",
            "--tol",
            "1e-6",
            "-o",
            str(tmp_path / "model"),
        ],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(controller, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    process.communicate(timeout=60)
    os.close(controller)
    assert b"\x1b[" in seen
    assert b"gap" in seen
