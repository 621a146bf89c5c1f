"""``--threads``: as many as were asked for, and one line for what is not a number of threads."""

import pytest

import smoothperf
from smoothperf import threads

COMMANDS = {
    "train": ["train", "-o", "model", "-a", "1e-2"],
    "train, auto": ["train", "-o", "model", "-a", "auto", "--folds", 2],
    "path": ["path", "--n-alphas", 2],
    "compare": ["compare", "--folds", 2, "--bootstrap", 2],
}


@pytest.fixture
def used(monkeypatch, tmp_path):
    """Numbers of threads that are allowed wherever work is shared out; 5 where nobody has said."""
    monkeypatch.chdir(tmp_path)
    seen = set()
    plain = threads.pieces

    def watched(n, *, least):
        seen.add(threads.n_threads())
        return plain(n, least=least)

    monkeypatch.setattr(threads, "pieces", watched)
    monkeypatch.setattr(threads, "available_cores", lambda: 5)
    return seen


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
def test_so_many_threads_are_used(run, train_file, used, arguments):
    command, *others = arguments
    run(command, train_file, *others)
    assert used == {5}
    used.clear()
    run(command, train_file, *others, "--threads", 2)
    assert used == {2}


def test_the_model_does_not_keep_the_number(run, train_file, tmp_path):
    run("train", train_file, "-o", tmp_path / "model", "--threads", 2)
    assert smoothperf.load(tmp_path / "model").n_threads is None


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("number", [0, "two"])
def test_what_is_no_number_of_threads(run, train_file, used, arguments, number):
    command, *others = arguments
    message = run(command, train_file, *others, "--threads", number, code=2).stderr
    assert message.startswith(f"smoothperf {command}: Invalid value for '--threads': ")
    assert used == set()
