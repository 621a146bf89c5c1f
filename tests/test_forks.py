"""Children forked while other threads are at work: these threads are gone in them, and what they held is free."""

import os
import signal
import threading
import time
import traceback
import warnings
from contextlib import ExitStack

import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from problems import gaussians
from smoothperf import MeasureClassifier, threads
from smoothperf.threads import cached_property, one_blas_thread

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

#: Seconds that a child may take; one that waits for a thread that it does not have would take for ever.
LIMIT = 60


@pytest.fixture(autouse=True)
def before():
    """Numbers of threads of BLAS outside of fits: two, where it has as many."""
    with threadpool_limits(2, "blas"):
        yield blas_threads()


def in_child(work):
    """Fork, have the child do some work, and say whether it did: not if there was an error, or no end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that forking a process with threads may end badly
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIMIT)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Meanwhile:
    """Another thread that does something, and has begun; it may ask for how long it should."""

    def __init__(self, work):
        self.begun, self.enough = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=work, args=(self,))

    def __enter__(self):
        self._thread.start()
        assert self.begun.wait(LIMIT)
        return self

    def __exit__(self, *_):
        self.enough.set()
        self._thread.join()

    def wait(self):
        self.begun.set()
        self.enough.wait(LIMIT)


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def fit():
    X, y = gaussians(20, 40, 3)
    MeasureClassifier(alpha=0.1, tol=1e-2).fit(sp.csr_matrix(X), y)


def test_a_fit_in_a_child_while_another_thread_changes_the_limit():
    def hold(meanwhile):
        with threads._lock:
            meanwhile.begun.set()
            time.sleep(0.3)

    with Meanwhile(hold):
        assert in_child(fit)


def test_a_child_has_no_limit_of_threads_that_it_does_not_have(before):
    def run(meanwhile):
        with one_blas_thread():
            meanwhile.wait()

    def work():
        assert blas_threads() == before
        fit()
        assert blas_threads() == before

    with Meanwhile(run):
        assert blas_threads() == {1}
        assert in_child(work)
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_a_run_that_forks_goes_on_in_both_and_ends_in_both(before):
    run = one_blas_thread()

    def work():
        assert blas_threads() == {1}
        run.__exit__(None, None, None)
        assert blas_threads() == before
        fit()
        assert blas_threads() == before

    with run:
        assert in_child(work)
    assert blas_threads() == before


def test_the_last_run_undoes_the_limit_though_the_thread_that_made_it_lives_on(before):
    def run(meanwhile):
        with one_blas_thread():
            meanwhile.wait()

    def first_to_come(meanwhile):
        with one_blas_thread():
            meanwhile.begun.set()
            left.wait(LIMIT)
        gone.set()
        meanwhile.enough.wait(LIMIT)

    left, gone = threading.Event(), threading.Event()
    with Meanwhile(first_to_come):
        with Meanwhile(run):
            left.set()
            assert gone.wait(LIMIT)
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_a_limit_that_is_there_is_left_to_whoever_made_it(before):
    with ExitStack() as limit:
        limit.enter_context(threadpool_limits(1, "blas"))
        with one_blas_thread():
            limit.close()
    assert blas_threads() == before


def test_what_is_computed_once_is_computed_in_a_child_while_another_thread_computes_it():
    class Once:
        def __init__(self, work):
            self.work = work

        @cached_property
        def done(self):
            return self.work()

    def ask():
        assert Once(lambda: 1).done == 1

    def compute(meanwhile):
        _ = Once(meanwhile.wait).done

    with Meanwhile(compute):
        assert in_child(ask)


def test_fits_in_children_while_another_thread_fits(before):
    def fit_on(meanwhile):
        while not meanwhile.enough.is_set():
            fit()
            meanwhile.begun.set()

    with Meanwhile(fit_on):
        assert all(in_child(fit) for _ in range(10))
    assert blas_threads() == before
