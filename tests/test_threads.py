"""The pool of threads, how rows are shared out, and that results do not depend on either beyond rounding."""

import multiprocessing
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from problems import MEASURES, problem
from smoothperf import LBFGS, MeasureClassifier, MeasureClassifierCV, threads
from smoothperf.design import as_design, sparse
from smoothperf.measures import bins, projection
from smoothperf.threads import n_threads, use_threads


@pytest.fixture
def eager(monkeypatch):
    """Threads for the smallest of problems."""
    monkeypatch.setattr(projection, "LEAST_ROWS", 50)
    monkeypatch.setattr(bins, "LEAST_ROWS", 50)
    monkeypatch.setattr(sparse, "LEAST_ENTRIES", 50)


def sparse_problem(measure, n=1500, d=20, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    X = sp.random(n, d, density=0.2, random_state=seed, format="csr")
    X = X + sp.csr_matrix(0.3 * (y[:, None] > 0) * (np.arange(d) < 3))
    return problem(measure, X.tocsr(), y, 1e-3)


def test_the_number_of_threads_is_a_matter_of_context():
    outside = n_threads()
    seen = []
    with use_threads(3):
        assert n_threads() == 3
        other = threading.Thread(target=lambda: seen.append(n_threads()))
        other.start()
        other.join()
        with use_threads(None):
            assert n_threads() == threads.available_cores()
        assert n_threads() == 3
    assert n_threads() == outside == seen[0]
    with pytest.raises(ValueError, match="n_threads must be a whole number of at least 1, got 0"), use_threads(0):
        pass


@pytest.mark.parametrize("number", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("least", [1, 3, 50, 1000])
def test_a_piece_for_each_thread_but_no_small_ones(n, number, least):
    with use_threads(number):
        pieces = threads.pieces(n, least=least)
    assert 1 <= pieces <= number
    assert pieces == 1 or n // pieces >= least
    assert pieces == number or n // (pieces + 1) < least


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("number", [2, 3, 7])
def test_sparse_products_are_the_same(number, format, eager):
    rng = np.random.default_rng(number)
    X = sp.random(311, 17, density=0.3, random_state=1, format=format)
    X.data[:] = rng.normal(size=X.data.size)
    design = as_design(X)
    w, g = rng.normal(size=17), rng.normal(size=311) * (rng.random(311) < 0.7)
    with use_threads(number):
        assert threads.pieces(design.n_entries, least=sparse.LEAST_ENTRIES) == number
        np.testing.assert_allclose(design.matvec(w), X @ w, rtol=0, atol=1e-13)
        np.testing.assert_allclose(design.rmatvec(g), X.T @ g, rtol=0, atol=1e-13)
        np.testing.assert_allclose(design.rmatvec(g, out=np.full(17, 7.0)), X.T @ g, rtol=0, atol=1e-13)
        np.testing.assert_allclose(design.matvec(w, out=np.full(311, 7.0)), X @ w, rtol=0, atol=1e-13)


def test_a_row_with_all_the_entries_goes_to_one_thread(eager):
    X = sp.csr_matrix((np.ones(400), (np.full(400, 3), np.arange(400))), shape=(9, 400))
    with use_threads(4):
        assert as_design(X).matvec(np.ones(400)).tolist() == [0.0, 0.0, 0.0, 400.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        assert as_design(X).rmatvec(np.arange(9.0)).tolist() == [3.0] * 400


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_run_is_the_same_up_to_rounding(measure, eager):
    results = []
    for number in (1, 3):
        with use_threads(number):
            results.append(LBFGS(tol=1e-4).run(sparse_problem(measure)))
    one, three = results
    assert one.n_iter > 3
    np.testing.assert_allclose(three.trace["objective"][:4], one.trace["objective"][:4], rtol=1e-11)
    assert three.objective == pytest.approx(one.objective, abs=1e-4)
    assert max(one.lower_bound, three.lower_bound) <= min(one.objective, three.objective)


@pytest.mark.parametrize("model", [MeasureClassifier(alpha=1e-2), MeasureClassifierCV(alphas=[1e-1, 1e-2], cv=3)])
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_estimators_use_the_threads_they_are_given_and_agree(model, measure, eager, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.3, 1, -1)
    X = sp.csr_matrix(rng.normal(size=(600, 8)) + 1.0 * (y[:, None] > 0))
    used = set()
    plain = threads.pieces

    def watched(n, *, least):
        used.add(n_threads())
        return plain(n, least=least)

    monkeypatch.setattr(threads, "pieces", watched)
    monkeypatch.setattr(threads, "available_cores", lambda: 5)  # what is used if nobody has said
    fitted = {}
    for number in (1, 2):
        used.clear()
        fitted[number] = clone(model).set_params(measure=measure, n_threads=number, tol=1e-5).fit(X, y)
        assert used == {number}
    one, two = fitted[1], fitted[2]
    assert max(one.lower_bound_, two.lower_bound_) <= min(one.objective_, two.objective_) + 1e-12
    np.testing.assert_allclose(two.coef_, one.coef_, atol=2 * np.sqrt(2e-5 / 1e-2))
    assert (two.predict(X) == one.predict(X)).mean() > 0.98


def _fit_in_child(queue):
    projection.LEAST_ROWS = sparse.LEAST_ENTRIES = 50
    with use_threads(3):
        queue.put(LBFGS(tol=1e-4).run(sparse_problem(MEASURES[0])).objective)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_fits_side_by_side_are_those_of_one_after_the_other(eager):
    rng = np.random.default_rng(0)
    X = sp.random(1500, 20, density=0.2, random_state=0, format="csr")
    y = X @ rng.normal(size=20) + 0.1 * rng.normal(size=1500) > 0.2
    alphas = [1e-1, 1e-2, 1e-3, 1e-4]

    def fitted(alpha):
        return MeasureClassifier("roc_area", alpha=alpha, n_threads=2).fit(X, y).coef_

    with ThreadPoolExecutor(4) as pool:
        for found, alone in zip(pool.map(fitted, 3 * alphas), 3 * [*map(fitted, alphas)], strict=True):
            np.testing.assert_allclose(found, alone, rtol=1e-6, atol=1e-9)


def test_a_child_that_inherits_the_pool_has_threads_of_its_own(eager):
    """The pool is in use, by another thread, when the process forks; its workers stay behind."""
    with use_threads(3):
        expected = LBFGS(tol=1e-4).run(sparse_problem(MEASURES[0])).objective
    design, stop = as_design(sp.random(20_000, 50, density=0.3, format="csr", random_state=0)), threading.Event()

    def keep_the_pool_busy():
        with use_threads(3):
            while not stop.is_set():
                design.matvec(np.ones(50))

    busy = threading.Thread(target=keep_the_pool_busy)
    busy.start()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(queue,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that forking a process with threads may end badly
        child.start()
    stop.set()
    busy.join()
    assert queue.get(timeout=60) == pytest.approx(expected, abs=1e-4)
    child.join()
