"""A cache folder of its own for every test, and files as users have them."""

import bz2

import numpy as np
import pytest

from reproduction.datasets import cache, folders


@pytest.fixture(autouse=True)
def cache_dir(tmp_path, monkeypatch):
    """Downloads and parsed files go to a folder of the test; small files are worth a parsed one."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(folders.CACHE_VARIABLE, str(folder))
    monkeypatch.delenv(folders.DATA_VARIABLE, raising=False)
    monkeypatch.setattr(cache, "WORTH_IT", 0)
    return folder


@pytest.fixture
def data_dir(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def write():
    """Write n examples in svmlight format, a quarter of them positive; the last index is the width."""

    def write(path, n=80, width=5, seed=0, labels=("-1", "+1")):
        rng = np.random.default_rng(seed)
        lines = []
        for i in range(n):
            first = rng.integers(1, width)
            lines.append(f"{labels[i % 4 == 0]} {first}:{rng.random():.3f} {width}:1")
        text = ("\n".join(lines) + "\n").encode()
        path.write_bytes(bz2.compress(text) if path.suffix == ".bz2" else text)
        return path

    return write
