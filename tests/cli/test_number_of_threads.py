"""``--threads``: as many as were asked for, and one line for what is not a number of threads."""

import pytest
from sklearn.datasets import dump_svmlight_file

import smoothperf
from smoothperf import threads
from smoothperf.comparison import table

COMMANDS = {
    "train": ["train", "-o", "model", "-a", "1e-2", "-m", "prbep"],
    "train, auto": ["train", "-o", "model", "-a", "auto", "--folds", 2],
    "path": ["path", "--n-alphas", 2, "-m", "prbep"],
    "compare": ["compare", "--folds", 2, "--bootstrap", 2, "-m", "prbep", "--bound", "convex"],
}


@pytest.fixture(scope="module")
def few_rows(examples, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "few.svm"
    dump_svmlight_file(*examples(60, 0), str(path), zero_based=False)
    return path


@pytest.fixture
def used(monkeypatch, tmp_path):
    """Numbers of threads that are allowed wherever work is shared out, as PRBEP does; 5 where nobody has said."""
    monkeypatch.chdir(tmp_path)
    seen = set()
    plain = threads.pieces

    def watched(n, *, least):
        seen.add(threads.n_threads())
        return plain(n, least=least)

    monkeypatch.setattr(threads, "pieces", watched)
    monkeypatch.setattr(threads, "available_cores", lambda: 5)
    monkeypatch.setattr(table, "TREES", ((4, 2),))  # whose threads are OpenMP's, slow where others are busy
    return seen


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
def test_so_many_threads_are_used(run, few_rows, used, arguments):
    command, *others = arguments
    run(command, few_rows, *others)
    assert used == {5}
    used.clear()
    run(command, few_rows, *others, "--threads", 2)
    assert used == {2}


def test_the_model_does_not_keep_the_number(run, few_rows, tmp_path):
    run("train", few_rows, "-o", tmp_path / "model", "--threads", 2)
    assert smoothperf.load(tmp_path / "model").n_threads is None


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("number", [0, "two"])
def test_what_is_no_number_of_threads(run, few_rows, used, arguments, number):
    command, *others = arguments
    message = run(command, few_rows, *others, "--threads", number, code=2).stderr
    assert message.startswith(f"smoothperf {command}: Invalid value for '--threads': ")
    assert used == set()
