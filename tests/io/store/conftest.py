"""Data sets that are small, with everything in them that a store must keep."""

import numpy as np
import pytest
import scipy.sparse as sp

from smoothperf.io import StoreWriter


def _sparse_data(n=400, d=30, seed=0):
    """Rows of various lengths, empty ones among them, an empty last column, and a quarter of positives."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.2, random_state=seed, format="lil")
    X[::17] = 0.0
    X[:, -1] = 0.0
    X = sp.csr_matrix(X)
    X.data[:] = rng.normal(size=X.data.size)
    y = np.where(np.asarray(X[:, :3].sum(axis=1)).ravel() + 0.3 * rng.normal(size=n) > 0.3, 1, -1)
    return X, y


@pytest.fixture(scope="session")
def sparse_data():
    return _sparse_data


@pytest.fixture
def write_store(tmp_path):
    """Write a store of a matrix, some rows at a time."""

    def write(X, y, qid=None, sample_weight=None, name="data.store", step=37, **options):
        path = tmp_path / name
        with StoreWriter(path, **options) as writer:
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                writer.add(X[rows], *(None if each is None else each[rows] for each in (y, qid, sample_weight)))
            writer.n_features = X.shape[1]
        return path

    return write
