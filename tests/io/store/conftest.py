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
    """Write a store of a matrix; ``block_size`` as for the writer."""

    def write(X, y, name="data.store", **options):
        path = tmp_path / name
        with StoreWriter(path, **options) as writer:
            writer.add(X, y)
            writer.n_features = X.shape[1]
        return path

    return write
