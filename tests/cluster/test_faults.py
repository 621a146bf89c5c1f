"""Workers that are killed in the middle of a fit: it ends with the same optimum, or with an error that says why."""

import os
import signal

import dask
import numpy as np
import pytest
import scipy.sparse as sp

import smoothperf
from smoothperf.dask import MeasureClassifier, RowsLostError, placement

ALPHA, TOL = 1e-4, 1e-5


def make_block(number):
    """Rows that come out the same wherever they are made."""
    rng = np.random.default_rng(number)
    X = sp.random(300, 30, density=0.2, format="csr", rng=rng, data_rvs=rng.standard_normal)
    scores = X @ np.sin(np.arange(30.0)) + 0.5 * rng.standard_normal(300)
    return X, scores > np.quantile(scores, 0.8)


class Killer:
    """A callback that kills workers after some iterations, once."""

    def __init__(self, client, *, at, how_many=1):
        self._pids = sorted(client.run(os.getpid).items())[:how_many]
        self._at = at
        self.rows = []

    def __call__(self, row):
        self.rows.append(row)
        if row.iteration == self._at:
            for _, pid in self._pids:
                os.kill(pid, signal.SIGKILL)


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
    client = processes(2)
    # Delayed blocks; one worker of two dies, and the other takes its rows.
    killer = Killer(client, at=10)
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

    # Paths; all workers die, and new ones read the files again.
    paths = []
    for number in range(4):
        X, y = make_block(number)
        paths.append(tmp_path / f"{number}.npz")
        smoothperf.io.write_npz(paths[-1], X, y)
    clf.set_params(callback=Killer(client, at=10, how_many=2)).fit(paths)
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ >= 1

    # Futures that only the dead worker had.
    client.wait_for_workers(1)
    blocks = [client.scatter(make_block(number), hash=False) for number in range(4)]
    clf.set_params(callback=Killer(client, at=10, how_many=2))
    with pytest.raises(RowsLostError, match=r"block \d was on a worker that is gone, .*client.scatter has no recipe"):
        clf.fit(blocks)


class DyingLink:
    """Stands for the death of a worker: its connection breaks when a number of messages have gone through."""

    def __init__(self, monkeypatch, after):
        self.left = after
        connect = placement.Placement._connect

        def connected(this, group, hosted):
            summaries, link = connect(this, group, hosted)
            if link is not None and group == 0:
                receive = link.receive

                def dying():
                    self.left -= 1
                    if self.left == 0:
                        link._socket.close()
                    return receive()

                link.receive = dying
            return summaries, link

        monkeypatch.setattr(placement.Placement, "_connect", connected)


@pytest.mark.parametrize("after", [1, 2, 3, 5, 8, 50, 51, 52, 53])
def test_a_connection_may_break_at_any_time(client, expected, monkeypatch, after):
    DyingLink(monkeypatch, after)
    clf = MeasureClassifier("prbep", ALPHA, tol=TOL, client=client, patience=5.0)
    clf.fit([dask.delayed(make_block)(number) for number in range(4)])
    assert_same_optimum(clf, expected)
    assert clf.n_losses_ == 1
