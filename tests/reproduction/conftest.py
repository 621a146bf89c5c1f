"""A folder with small files under the names of the paper's sets, and experiments of a second."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from reproduction import show
from reproduction.datasets import folders
from reproduction.experiments import Setup
from reproduction.settings import QUICK

TINY = dataclasses.replace(
    QUICK,
    alphas=(1e-2, 1e-3),
    smooth_seconds=0.3,
    bmrm_seconds=0.3,
    rate_accuracies=(1e-1, 3e-2, 1e-2),
    rate_alphas=(1e-1, 1e-2, 1e-3),
    rate_seconds=0.1,
    hard_alphas=(0.4, 0.2, 0.1),
    hard_accuracies=(0.1, 0.05),
    entropy_sizes=(20, 40),
)


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv(folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(folders.DATA_VARIABLE, raising=False)


@pytest.fixture
def no_drawing(monkeypatch):
    """Figures are made, but not drawn, which takes seconds: their files are empty."""
    monkeypatch.setattr(show, "_save", lambda figure, path: (path.touch(), path)[1])


@pytest.fixture(scope="session")
def small_data(tmp_path_factory):
    """Two of the sets that a quick run looks for, as small files; the third is not there. And one of the others."""
    folder = tmp_path_factory.mktemp("data")
    for name, n, width, seed in (
        ("a9a", 300, 20, 0),
        ("a9a.t", 200, 20, 1),
        ("rcv1-c11", 300, 30, 2),
        ("worm", 10, 5, 3),
    ):
        rng = np.random.default_rng(seed)
        y = np.where(rng.random(n) < 0.3, 1, -1)
        X = rng.standard_normal((n, width)).round(3) * (rng.random((n, width)) < 0.5)
        X[:, 0] += 1.5 * (y > 0)
        dump_svmlight_file(X, y, str(folder / f"{name}.svm"), zero_based=False)
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory, small_data):
    """The folder of a whole run, with what was told on the way."""
    from reproduction import experiments

    folder = tmp_path_factory.mktemp("results")
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(folders.CACHE_VARIABLE, str(folder / "cache"))
        setup = Setup(folder, small_data, TINY, told.append)
        experiments.run_table1(setup)
        experiments.run_rates(setup)
        for measure in ("prbep", "roc_area"):
            experiments.run_methods(setup, measure)
        experiments.write_about(setup, 60.0)
    show.show(folder)
    return folder, told
