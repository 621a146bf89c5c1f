"""Rankers on workers: certified as in memory, whatever blocks do to queries, and after a worker is gone."""

import itertools

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from sklearn.base import clone

import smoothperf
from problems import graded
from promises import hold_tight_ranker
from smoothperf import NDCG, Status, ZeroModelWarning
from smoothperf.dask import MeasureRanker, WorkerError
from smoothperf.dask.blocks import Summary
from smoothperf.dask.connection import Connection
from smoothperf.dask.parts import PlacedRows, moves_of
from smoothperf.dask.queries import DOCUMENTS, QuerySettings
from smoothperf.dask.rows import SomeRows
from smoothperf.design import as_design
from smoothperf.io import StoreWriter


def documents(n_queries=36, size=7, seed=0):
    """Rows query by query, with grades 0 to 3."""
    return graded(n_queries, size, shares=(0.5, 0.7, 0.9), spread=1.0, seed=seed)


ORDERS = {
    "queries in blocks": lambda n: np.arange(n),
    "queries split by blocks": lambda n: np.roll(np.arange(n), 3),
    "in any order": lambda n: np.random.default_rng(1).permutation(n),
}


def in_blocks(X, y, qid, weights=None, number=4):
    columns = [X, y, qid] + ([] if weights is None else [weights])
    cuts = np.linspace(0, len(y), number + 1).astype(int)
    return [dask.delayed(tuple(column[begin:end] for column in columns)) for begin, end in itertools.pairwise(cuts)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("measure", ["pairs", "squared_loss", NDCG(5), "precision@3", "recall@3"], ids=str)
def test_convex_fits_are_certified_and_agree_with_memory(client, measure, order):
    X, y, qid = documents()
    weights = 1.0 + qid % 3 if order == "in any order" else None
    rows = ORDERS[order](len(y))
    X, y, qid = X[rows], y[rows], qid[rows]
    weights = None if weights is None else weights[rows]
    options = {"alpha": 0.02, "bound": "convex", "tol": 1e-3}
    near = smoothperf.MeasureRanker(measure, **options).fit(X, y, qid=qid, sample_weight=weights)
    far = MeasureRanker(measure, client=client, **options).fit(in_blocks(X, y, qid, weights))
    assert far.result_.status is Status.CONVERGED
    assert far.gap_ <= 1e-3
    assert far.lower_bound_ <= near.objective_
    assert near.lower_bound_ <= far.objective_
    risk = smoothperf.measures.get_query_measure(measure).bind(y, qid, weights)
    exact = 0.01 * far.coef_ @ far.coef_ + risk.exact_value(X @ far.coef_)
    assert far.objective_ == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("solver", ["nesterov", "bmrm"])
def test_other_solvers(client, solver):
    X, y, qid = documents()
    fit = MeasureRanker("pairs", 0.02, tol=1e-2, solver=solver, client=client).fit(in_blocks(X, y, qid))
    assert fit.gap_ <= 1e-2


@pytest.mark.parametrize("measure", ["ndcg@3", NDCG(5, tight_target="order"), "mrr"], ids=str)
def test_the_tight_bound_is_that_of_memory(client, measure):
    X, y, qid = documents()
    blocks = in_blocks(X, y, qid, number=5)
    hold_tight_ranker(MeasureRanker(measure, 1e-2, client=client).fit(blocks), X, y, qid, given=(blocks,))


def test_repeated_fits_are_bit_identical_and_one_block_is_memory(client):
    X, y, qid = documents()
    first, second = (MeasureRanker("ndcg@5", client=client).fit(in_blocks(X, y, qid)) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.result_.n_matvec == second.result_.n_matvec
    alone = MeasureRanker("pairs", client=client).fit(in_blocks(X, y, qid, number=1))
    near = smoothperf.MeasureRanker("pairs", solver="lbfgs", n_threads=1).fit(X, y, qid=qid)
    np.testing.assert_array_equal(alone.coef_, near.coef_)


def test_inputs_of_all_kinds(client, tmp_path):
    X, y, qid = documents()
    rows = ORDERS["queries split by blocks"](len(y))
    X, y, qid = X[rows], y[rows], qid[rows]
    words = np.array([f"query {number}" for number in qid])
    chunks = 50
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=5)
    index = frame.divisions
    paths = []
    for number, part in enumerate(np.array_split(np.arange(len(y)), 3)):
        paths.append(tmp_path / f"{number}.store")
        with StoreWriter(paths[-1]) as writer:
            writer.add(X[part], y[part], qid[part])
    texts = []
    for number, part in enumerate(np.array_split(np.arange(len(y)), 3)):
        texts.append(tmp_path / f"{number}.svm")
        lines = (
            f"{y[i]:g} qid:{qid[i]} " + " ".join(f"{at}:{value!r}" for at, value in enumerate(X[i].tolist(), 1))
            for i in part
        )
        texts[-1].write_text("\n".join(lines) + "\n")

    def series(values):
        return dd.from_pandas(pd.Series(values), npartitions=5).repartition(divisions=index)

    def array(values):
        return da.from_array(values, chunks=(chunks, *values.shape[1:]))

    for arguments in (
        (array(X), array(y), array(qid)),
        (array(X), y, words),
        (frame, series(y), series(words)),
        (paths,),
        (texts,),
        ([dask.delayed(sp.csr_matrix(X[:99])), dask.delayed(X[99:])], [y[:99], y[99:]], [words[:99], words[99:]]),
    ):
        fit = MeasureRanker("pairs", 0.01, client=client).fit(*arguments)
        assert fit.gap_ <= 1e-3
        risk = smoothperf.QueryROCArea().bind(y, qid)
        exact = 0.005 * fit.coef_ @ fit.coef_ + risk.exact_value(X @ fit.coef_)
        assert fit.objective_ == pytest.approx(exact, rel=1e-9)
        expected = smoothperf.QueryROCArea().score(y, X @ fit.coef_, qid)
        assert fit.score(*arguments) == pytest.approx(expected, rel=1e-12)
        if len(arguments) == 3 and hasattr(arguments[0], "compute"):
            scores = fit.predict(arguments[0])
            assert hasattr(scores, "dask")
            np.testing.assert_allclose(scores.compute(scheduler="synchronous"), X @ fit.coef_, atol=1e-12)
    assert list(MeasureRanker("pairs", client=client).fit(frame, series(y), series(qid)).feature_names_in_) == [*"abcd"]


def test_the_model_needs_no_cluster(client, tmp_path):
    X, y, qid = documents()
    fit = MeasureRanker("ndcg@3", client=client, n_threads=1).fit(in_blocks(X, y, qid))
    fit.save(tmp_path / "model")
    loaded = smoothperf.load(tmp_path / "model")
    assert type(loaded) is smoothperf.MeasureRanker
    np.testing.assert_array_equal(loaded.predict(X), fit.predict(X))
    copy = clone(fit)
    assert copy.client is client
    assert not hasattr(copy, "coef_")


def test_warm_start_callback_and_a_zero_model(client):
    X, y, qid = documents()
    blocks = in_blocks(X, y, qid)
    fit = MeasureRanker("pairs", client=client, tol=1e-4, warm_start=True).fit(blocks)
    first = fit.n_iter_
    assert fit.fit(blocks).n_iter_ < first
    seen = []
    MeasureRanker("pairs", client=client, callback=lambda row: seen.append(row) or len(seen) == 3).fit(blocks)
    assert len(seen) == 3
    with pytest.warns(ZeroModelWarning, match="all documents have the same score"):
        MeasureRanker(NDCG(3), 1e9, bound="convex", client=client).fit(blocks)


@pytest.mark.parametrize(("measure", "order"), [("pairs", "in any order"), ("ndcg@5", "queries split by blocks")])
def test_checkpoints(client, tmp_path, measure, order):
    X, y, qid = documents()
    rows = ORDERS[order](len(y))
    X, y, qid = X[rows], y[rows], qid[rows]
    models = []
    options = {"measure": measure, "alpha": 1e-3, "tol": 1e-4, "client": client}
    whole = MeasureRanker(**options, checkpoint=models.append).fit(in_blocks(X, y, qid))
    models[0].save(tmp_path / "so-far")
    assert smoothperf.load(tmp_path / "so-far").predict(X).shape == y.shape
    # The same blocks on another number of workers, of which each has other queries then.
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as alone,
    ):
        whole.set_params(client=alone, warm_start=True, checkpoint=None)
        first = whole.n_iter_
        assert whole.fit(in_blocks(X, y, qid)).n_iter_ < first
        assert whole.result_.reached <= 1e-4


def test_scores_of_blocks_that_do_not_fit(client):
    X, y, qid = documents()
    ranker = MeasureRanker("pairs", 0.1, client=client).fit(in_blocks(X, y, qid))
    with pytest.raises(ValueError, match=r"block 1 of 2: .*features"):
        ranker.score([(X, y, qid), (X[:, :2], y, qid)])
    with pytest.raises(ValueError, match="block 0 of 1: X must be finite"):
        ranker.score([(X * np.nan, y, qid)])


class Closer:
    """A callback that closes a worker after some iterations, once."""

    def __init__(self, cluster, *, at):
        self._cluster, self._at = cluster, at

    def __call__(self, row):
        if row.iteration == self._at:
            self._cluster.sync(self._cluster.workers[0].close, nanny=False, executor_wait=False)


@pytest.mark.parametrize(
    ("measure", "at", "order"),
    [("pairs", 0, "in any order"), ("pairs", 5, "queries split by blocks"), ("ndcg@5", 3, "in any order")],
)
def test_a_fit_goes_on_after_a_loss(monkeypatch, measure, at, order):
    """The rows of split queries are sent again, too."""
    X, y, qid = documents()
    rows = ORDERS[order](len(y))
    X, y, qid = X[rows], y[rows], qid[rows]
    monkeypatch.setattr("smoothperf.dask.program.SECONDS", 0.0)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        ranker = MeasureRanker(measure, 1e-3, tol=1e-4, client=client, callback=Closer(cluster, at=at))
        ranker.fit(in_blocks(X, y, qid))
        assert ranker.n_losses_ == 1
        if measure != "pairs":
            hold_tight_ranker(ranker, X, y, qid, given=(in_blocks(X, y, qid),))
    if measure == "pairs":
        near = smoothperf.MeasureRanker(measure, 1e-3, tol=1e-4).fit(X, y, qid=qid)
        assert ranker.gap_ <= 1e-4
        assert ranker.lower_bound_ <= near.objective_
        assert near.lower_bound_ <= ranker.objective_


@pytest.mark.parametrize("after", [1, 2, 3, 10])
def test_a_connection_may_break_at_any_time(client, monkeypatch, after):
    X, y, qid = documents()
    left, receive = [after], Connection.receive

    async def breaking(connection, kind):
        left[0] -= 1
        if left[0] == 0:
            connection._comm.abort()
        return await receive(connection, kind)

    monkeypatch.setattr(Connection, "receive", breaking)
    rows = ORDERS["in any order"](len(y))
    fit = MeasureRanker("pairs", client=client).fit(in_blocks(X[rows], y[rows], qid[rows]))
    assert left[0] < 0
    assert fit.gap_ <= 1e-3


def test_what_cannot_be_fitted(client, tmp_path):
    X, y, qid = documents()
    blocks = in_blocks(X, y, qid)

    def fit(*arguments, measure="ndcg@5", **options):
        return MeasureRanker(measure, client=client, **options).fit(*arguments)

    with pytest.raises(ValueError, match=r"block 0 of 1: a block must be \(X, y, qid\) or \(X, y, qid, weights\), got"):
        fit(dask.delayed((X, y)))
    with pytest.raises(ValueError, match="y is given but qid is None"):
        fit(da.from_array(X), y)
    with pytest.raises(ValueError, match=r"block 1 of 4: y must hold grades of relevance, 0 or more; got -1"):
        fit(in_blocks(X, np.where(np.arange(len(y)) == 70, -1.0, y), qid))
    with pytest.raises(ValueError, match="a document of grade 2000 would gain inf"):
        fit(in_blocks(X, 2000.0 * (y > 1), qid))
    with pytest.raises(ValueError, match="no query has documents of two grades, of 36 queries with 252"):
        fit(in_blocks(X, qid % 3, qid))
    with pytest.raises(ValueError, match="sample_weight must be the same for all documents of a query"):
        fit(in_blocks(X, y, qid, np.arange(len(y), dtype=float)))
    with pytest.raises(ValueError, match=r"block 0 of 4: qid has .* entries but there are"):
        fit([dask.delayed((X[:9], y[:9], qid[:8])), *blocks[1:]])
    with pytest.raises(ValueError, match="whole numbers in block 0 and words in block 1; convert them"):
        fit([dask.delayed((X, y, qid)), dask.delayed((X, y, qid.astype(str)))])
    with pytest.raises(ValueError, match="grades of relevance are numbers"):
        fit(in_blocks(X, np.where(y > 0, "good", "bad"), qid))
    with pytest.raises(ValueError, match='"newton" needs all rows in memory; use "lbfgs"'):
        fit(blocks, measure="pairs", solver="newton")
    (tmp_path / "a.svm").write_text("1 1:2\n0 1:1\n")
    with pytest.raises(ValueError, match=r"a\.svm: it does not say which query a row belongs to"):
        fit([tmp_path / "a.svm"])
    with pytest.raises(ValueError, match="no query has more than 7 documents"):
        fit(blocks, measure="precision@7")
    # Weights of a query that agree in each block, but not in both: known only when its rows are together.
    weights = np.where(np.arange(len(y)) < 130, 1.0, 2.0)
    with pytest.raises(WorkerError, match="sample_weight must be the same for all documents of a query"):
        fit([dask.delayed((X[part], y[part], qid[part], weights[part])) for part in (slice(130), slice(130, None))])


def test_rows_of_split_queries_go_to_the_first_that_has_them():
    X, y, qid = documents(6, 5)
    X = np.round(64.0 * X) / 64.0  # which single precision has, too
    rows = np.random.default_rng(0).permutation(30)
    X, y, qid = X[rows], y[rows], qid[rows]
    settings = QuerySettings(weighted=True, n_features=4, zero_based=False)
    weights = 1.0 + qid
    pieces = [slice(0, 12), slice(12, 15), slice(15, 15), slice(15, 30)]
    kinds = [np.asarray, sp.csr_matrix, np.asarray, np.float32]
    members = [
        PlacedRows([(make(X[at]), y[at], qid[at], weights[at])], DOCUMENTS)
        for make, at in zip(kinds, pieces, strict=True)
    ]
    moves = moves_of([member.summaries for member in members])
    parts = {}
    for number, member in enumerate(members):
        if not member.summaries[0].n_rows:
            continue
        given = [ids for origin, _, ids in moves if origin == number]
        guests = [block for origin, target, ids in moves if target == number for block in members[origin].lend(ids)]
        parts[number] = member.part(settings, given, guests)
    owners = [set(part.qid.tolist()) for part in parts.values()]
    assert sum(map(len, owners)) == len(set().union(*owners)) == 6
    v, w = np.arange(4.0), np.ones(4)
    found = sorted(
        zip(
            np.concatenate([part.qid for part in parts.values()]).tolist(),
            np.concatenate([part.grades for part in parts.values()]).tolist(),
            np.concatenate([part.weights for part in parts.values()]).tolist(),
            np.concatenate([part.design.matvec(v) for part in parts.values()]).round(5).tolist(),
            strict=True,
        )
    )
    assert found == sorted(zip(qid.tolist(), y.tolist(), weights.tolist(), (X @ v).round(5).tolist(), strict=True))
    sums = sum(part.design.rmatvec(np.ones(part.design.shape[0]), out=w.copy()) for part in parts.values())
    np.testing.assert_allclose(sums, X.sum(axis=0), atol=1e-5)


def test_some_rows():
    X = np.random.default_rng(0).normal(size=(9, 3))
    chosen = np.arange(9) % 3 > 0
    design, out = SomeRows(as_design(X), chosen), np.full(6, np.nan)
    assert design.shape == (6, 3)
    assert design.matvec(np.ones(3), out=out) is out
    np.testing.assert_allclose(out, X[chosen].sum(axis=1))
    np.testing.assert_allclose(design.rmatvec(np.arange(6.0)), np.arange(6.0) @ X[chosen])
    rows, weights = np.array([1, 4]), np.array([2.0, 3.0])
    np.testing.assert_allclose(design.gram(rows, weights), as_design(X[chosen]).gram(rows, weights))
    assert design.row_norm >= np.linalg.norm(X[chosen], axis=1).max()


def test_nothing_moves_where_nothing_is_split():
    blocks = [Summary(keys=np.array(ids)) for ids in (["a"], ["a", "b"], [], ["c"])]
    assert moves_of([blocks[:2], blocks[2:3], blocks[3:]]) == []
    assert moves_of([blocks]) == []
