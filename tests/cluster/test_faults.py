"""Workers that are killed in the middle of a fit: it ends with the same optimum, or with an error that says why."""

import os
import signal

import dask
import numpy as np
import pytest
import scipy.sparse as sp

import smoothperf
from smoothperf.dask import MeasureClassifier, RowsLostError, placement
from smoothperf.io import write_npz

ALPHA, TOL = 1e-4, 1e-5


def recipe():
    """A function that makes a block, the same wherever it is made; workers, which have no tests, are sent its code."""

    def make_block(number):
        rng = np.random.default_rng(number)
        X = sp.random(300, 30, density=0.2, format="csr", rng=rng, data_rvs=rng.standard_normal)
        scores = X @ np.sin(np.arange(30.0)) + 0.5 * rng.standard_normal(300)
        return X, scores > np.quantile(scores, 0.8)

    return make_block


make_block = recipe()


class Killer:
    """A callback that kills a worker after some iterations, once; by default the first."""

    def __init__(self, client, victim=None, *, at=10):
        pids = client.run(os.getpid)
        self._pid = pids[victim or min(pids)]
        self._at = at
        self.rows = []

    def __call__(self, row):
        self.rows.append(row)
        if row.iteration == self._at:
            os.kill(self._pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def expected():
    """The optimum, by the rows in memory."""
    blocks = [make_block(number) for number in range(4)]
    X, y = sp.vstack([X for X, _ in blocks], format="csr"), np.concatenate([y for _, y in blocks])
    return smoothperf.MeasureClassifier("prbep", ALPHA, tol=TOL).fit(X, y)


def assert_same_optimum(fit, expected):
    assert fit.gap_ <= TOL
    assert fit.result_.status is smoothperf.Status.CONVERGED
    assert fit.lower_bound_ <= expected.objective_
    assert expected.lower_bound_ <= fit.objective_


def test_killed_workers(processes, expected, tmp_path, caplog):
    client = processes(3)  # one cluster for all, as it takes seconds to start
    killer = Killer(client)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, callback=killer)
    clf.fit([dask.delayed(make_block)(number) for number in range(4)])
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ == 1
    assert "is gone" in caplog.text
    # The trace goes on where it was.
    rows = clf.result_.trace.rows
    assert [row.iteration for row in rows] == list(range(len(rows)))
    assert rows == killer.rows
    assert np.all(np.diff(clf.result_.trace["seconds"]) > 0.0)
    assert np.all(np.diff(clf.result_.trace["passes"]) > 0)
    assert clf.n_iter_ == len(rows) - 1

    paths = []
    for number in range(4):
        paths.append(tmp_path / f"{number}.npz")
        write_npz(paths[-1], *make_block(number))
    clf.set_params(callback=Killer(client)).fit(paths)
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ >= 1

    # What only the dead worker had, and nobody can make again.
    victim, *_ = sorted(client.nthreads())
    blocks = [client.scatter(make_block(number), workers=[victim], hash=False) for number in range(4)]
    clf.set_params(callback=Killer(client, victim))
    with pytest.raises(RowsLostError, match=r"block \d was on a worker that is gone, .*client.scatter has no recipe"):
        clf.fit(blocks)


class DyingLink:
    """Stands for the death of a worker: its connection breaks when a number of messages have gone through."""

    def __init__(self, monkeypatch, after, *, again_and_again=False):
        self.left = after
        connect = placement.Placement._connect

        def connected(this, group, hosted):
            summaries, link = connect(this, group, hosted)
            if link is not None and group == 0:
                receive = link.receive

                def dying():
                    self.left -= 1
                    if self.left == 0 or (again_and_again and self.left < 0):
                        link._socket.close()
                    return receive()

                link.receive = dying
            return summaries, link

        monkeypatch.setattr(placement.Placement, "_connect", connected)


@pytest.mark.parametrize("after", [1, 120, 320])
def test_a_tight_fit_goes_on_after_a_loss(client, monkeypatch, after):
    """In the start, at the change to the steps, or in the middle of one."""
    blocks = [make_block(number) for number in range(4)]
    X, y = sp.vstack([X for X, _ in blocks], format="csr"), np.concatenate([y for _, y in blocks])
    options = {"alpha": 1e-3, "bound": "tight", "tol": 1e-4}
    expected = smoothperf.MeasureClassifier("prbep", **options).fit(X, y)
    monkeypatch.setattr("smoothperf.dask.training.SECONDS", 0.0)
    link = DyingLink(monkeypatch, after)
    clf = MeasureClassifier("prbep", client=client, **options).fit([dask.delayed(make_block)(i) for i in range(4)])
    assert link.left <= 0
    assert clf.n_losses_ == 1
    assert clf.result_.status is smoothperf.Status.STATIONARY
    assert clf.stationarity_gap_ <= 1e-4
    assert clf.objective_ == pytest.approx(expected.objective_, abs=0.01)
    rows = clf.result_.trace.rows
    assert [row.iteration for row in rows] == list(range(clf.n_iter_ + 1))
    assert np.all(np.diff(clf.result_.trace["passes"]) >= 0)


@pytest.mark.parametrize("after", [1, 2, 3, 50, 51, 52])
def test_a_connection_may_break_at_any_time(client, expected, monkeypatch, after):
    DyingLink(monkeypatch, after)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, patience=5.0)
    clf.fit([dask.delayed(make_block)(number) for number in range(4)])
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ == 1


@pytest.mark.parametrize(
    ("what", "reason"), [("rows", "blocks 0 to 0 came out differently"), ("labels", "blocks 0 to 0 had other labels")]
)
def test_a_block_that_comes_out_differently_is_an_error(client, monkeypatch, tmp_path, what, reason):
    def of_chance(number):
        X, y = make_block(number)
        made = tmp_path / f"{number}"
        if made.exists():
            return (2.0 * X, y) if what == "rows" else (X, ~y)
        made.touch()
        return X, y

    DyingLink(monkeypatch, 20)
    with pytest.raises(RowsLostError, match=reason):
        MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, patience=5.0).fit(
            [dask.delayed(of_chance, pure=False)(number) for number in range(2)]
        )


def test_when_no_worker_can_be_used_any_more(client, monkeypatch):
    DyingLink(monkeypatch, 20, again_and_again=True)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, patience=0.3)
    with pytest.raises(RowsLostError, match=r"has had no worker for 0\.3 s"):
        clf.fit([dask.delayed(make_block)(number) for number in range(4)])
