"""BLAS threads during a run."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from problems import gaussians
from smoothperf import LBFGS, PRBEP
from smoothperf.design import as_design
from smoothperf.optimise.path import QuadraticPath
from smoothperf.threads import one_blas_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize(
    "X", [sp.eye(50, format="csr"), sp.eye(50, format="csc"), np.eye(50)], ids=["csr", "csc", "dense"]
)
def test_small_products_get_one_thread_and_what_was_set_comes_back(X):
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with one_blas_thread(unless=as_design(X).wants_blas_threads):
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_large_dense_products_keep_their_threads():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with one_blas_thread(unless=as_design(np.zeros((1 << 10, 1 << 10))).wants_blas_threads):
            assert blas_threads() == before


def test_the_search_between_two_runs_of_a_path_gets_one_thread(monkeypatch):
    """It multiplies scores as well."""
    X, y = gaussians(60, 140, 4)
    risk = PRBEP().bind(y)
    continuation = QuadraticPath(as_design(sp.csr_matrix(X)), risk, LBFGS())
    seen, smoothed = set(), risk.smoothed
    monkeypatch.setattr(
        risk, "smoothed", lambda *args, **options: seen.update(blas_threads()) or smoothed(*args, **options)
    )
    with threadpool_limits(2, "blas"):
        for alpha in (1e-1, 1e-2):
            continuation.solve(alpha)
    assert seen == {1}
