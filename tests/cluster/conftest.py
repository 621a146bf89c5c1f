"""A cluster for tests, of workers in this process, which start at once, and rows for them."""

import dask
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster

# Dask looks a hundred times a second at what each worker does, for pages that nobody sees here, and fifty times at how
# busy it is: up to half of the time that these tests take.
dask.config.set({"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"})


@pytest.fixture(scope="session")
def client():
    """Two workers in this process."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def data():
    """A function that makes sparse rows of which some are positive."""

    def make(n=400, d=30, *, rate=0.2, density=0.2, seed=0, labels=(-1, 1)):
        rng = np.random.default_rng(seed)
        X = sp.random(n, d, density=density, format="csr", random_state=rng, data_rvs=rng.standard_normal)
        direction = rng.standard_normal(d)
        scores = X @ direction + 0.5 * rng.standard_normal(n)
        positive = scores > np.quantile(scores, 1.0 - rate)
        return X, np.asarray(labels)[positive.astype(int)]

    return make
