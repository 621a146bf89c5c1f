"""Blocks on workers: the same groups every time, products that are sums over workers, errors that name the block."""

import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from distributed.protocol.pickle import dumps
from smoothperf.measures.row_block import RiskBlock

from smoothperf.dask import RowsLostError, WorkerError, remote
from smoothperf.dask.agreement import common_columns, common_labels
from smoothperf.dask.inputs import sources
from smoothperf.dask.placement import Placement
from smoothperf.dask.server import Settings
from smoothperf.design import as_design
from smoothperf.io import StoreWriter, write_npz


class Probe:
    """A measure of which only the part with the rows is there."""

    def block(self, positive, weights):
        return ProbeBlock(positive, weights)


class ProbeBlock(RiskBlock):
    def fail(self, *arguments):
        raise ValueError("as it should")

    def unspeakable(self):
        return lambda: None

    def where(self, *vectors):
        return [vector.ctypes.data for vector in vectors]


def settings_for(placement, *, height=None):
    n_features, zero_based = common_columns(placement.summaries)
    return Settings(
        dumps(Probe()),
        common_labels(placement.summaries),
        class_weights=None,
        weighted=any(summary.weighted is not None for summary in placement.summaries),
        n_features=n_features,
        zero_based=zero_based,
        height=height,
    )


@pytest.fixture
def place(client):
    """A function that places blocks and begins."""
    placements = []

    def make(*what, **options):
        placement = Placement(client, sources(*what), n_threads=1, patience=5.0)
        placements.append(placement)
        return placement, *placement.begin(settings_for(placement, **options))

    yield make
    for placement in placements:
        placement.close()


def in_chunks(values, *bounds):
    return [values[begin:end] for begin, end in zip((0, *bounds), (*bounds, values.shape[0]), strict=True)]


def inputs(kind, X, y, weights, client, folder):
    """The same data in many forms; three blocks, of which the second has one class only."""
    if kind == "dense array":
        return [da.from_array(values, chunks=(150, *values.shape[1:])) for values in (X.toarray(), y, weights)]
    if kind == "array in columns":
        return [da.from_array(X.toarray(), chunks=(150, 7)), da.from_array(y, chunks=40), weights]
    if kind == "sparse array":
        parts = [
            da.from_delayed(dask.delayed(part), shape=part.shape, dtype=float, meta=X[:0])
            for part in in_chunks(X, 150, 300)
        ]
        return [da.concatenate(parts), da.from_array(y, chunks=-1), da.from_array(weights, chunks=100)]
    if kind == "data frame":
        frame = pd.DataFrame(X.toarray(), columns=[f"f{i}" for i in range(X.shape[1])])
        frame["y"], frame["weights"] = y, weights
        table = dd.from_pandas(frame, npartitions=3)
        return [table.drop(columns=["y", "weights"]), table["y"], table["weights"]]
    blocks = list(zip(*(in_chunks(values, 150, 300) for values in (X, y, weights)), strict=True))
    if kind == "delayed":
        return [[dask.delayed(block) for block in blocks]]
    if kind == "futures":
        return [[client.scatter(block, hash=False) for block in blocks]]
    if kind == "futures of parts":
        return [[client.scatter(part, hash=False) for part in column] for column in zip(*blocks, strict=True)]
    if kind == "tuples":
        return [blocks]
    raise AssertionError(kind)


KINDS = [
    "dense array",
    "array in columns",
    "sparse array",
    "data frame",
    "delayed",
    "futures",
    "futures of parts",
    "tuples",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_is_the_same_matrix(place, client, data, tmp_path, kind):
    X, y = data()
    weights = np.random.default_rng(1).random(X.shape[0])
    placement, design, blocks = place(*inputs(kind, X, y, weights, client, tmp_path))
    expected = as_design(X)
    rng = np.random.default_rng(0)
    w = rng.normal(size=X.shape[1])
    scores = design.matvec(w)
    assert design.shape == X.shape
    np.testing.assert_allclose(design.rmatvec(scores), expected.rmatvec(expected.matvec(w)), rtol=1e-12, atol=1e-13)
    assert design.frobenius_norm == pytest.approx(expected.frobenius_norm, rel=1e-13)
    assert design.row_norm == pytest.approx(expected.row_norm, rel=1e-13)
    totals = blocks.each("totals")
    assert len(totals) == 2
    assert sum(each.rows for each in totals) == X.shape[0]
    assert sum(each.positives for each in totals) == np.count_nonzero(y == 1)
    assert sum(each.weight for each in totals) == pytest.approx(weights.sum())
    assert sum(summary.n_rows for summary in placement.summaries) == X.shape[0]


def test_paths(place, data, tmp_path):
    X, y = data()
    parts = list(zip(in_chunks(X, 100, 200, 300), in_chunks(y, 100, 200, 300), strict=True))
    with StoreWriter(tmp_path / "0.store") as writer:
        writer.add(*parts[0])
        writer.n_features = X.shape[1]
    write_npz(tmp_path / "1.npz", *parts[1])
    for number in (2, 3):
        rows, labels = parts[number]
        lines = []
        for i in range(rows.shape[0]):
            row = rows[[i]]
            pairs = " ".join(f"{j + 1}:{value!r}" for j, value in zip(row.indices, row.data.tolist(), strict=True))
            lines.append(f"{labels[i]} {pairs}\n")
        (tmp_path / f"{number}.svm").write_text("".join(lines))
    paths = [tmp_path / "0.store", str(tmp_path / "1.npz"), tmp_path / "2.svm", tmp_path / "3.svm"]
    _, design, _ = place(paths)
    expected = as_design(X)
    w = np.random.default_rng(0).normal(size=X.shape[1])
    np.testing.assert_allclose(
        design.rmatvec(design.matvec(w)), expected.rmatvec(expected.matvec(w)), rtol=1e-12, atol=1e-13
    )


def test_vectors(place, data):
    X, y = data()
    _, design, blocks = place([(X[:100], y[:100]), (X[100:], y[100:])])
    vectors = design.vectors
    w, v = np.random.default_rng(0).normal(size=(2, X.shape[1]))
    f, q = design.matvec(w), design.matvec(v, out=vectors.take())
    assert vectors.length == X.shape[0]
    assert vectors.inner(f, q) == pytest.approx((X @ w) @ (X @ v), rel=1e-13)
    g = vectors.along(f, 0.5, q)
    assert vectors.norm(g) == pytest.approx(np.linalg.norm(X @ (w + 0.5 * v)), rel=1e-13)
    assert vectors.inner(vectors.constant(2.0), vectors.constant(3.0)) == 6.0 * X.shape[0]
    out = np.full(X.shape[1], np.nan)
    assert design.rmatvec(g, out=out) is out
    np.testing.assert_allclose(out, X.T @ (X @ (w + 0.5 * v)), rtol=1e-12, atol=1e-12)
    # The norm came along with the product, until somebody writes to the vector.
    assert vectors.norm(g) == pytest.approx(np.linalg.norm(X @ (w + 0.5 * v)), rel=1e-13)
    blocks.tell("weigh", f, 1.0, g)
    assert vectors.norm(g) == pytest.approx(np.linalg.norm(X @ w - 1.0), rel=1e-13)
    design.rmatvec(g)
    design.matvec(v, out=g)
    assert vectors.norm(g) == pytest.approx(np.linalg.norm(X @ v), rel=1e-13)
    with pytest.raises(NotImplementedError, match="lbfgs"):
        design.gram(np.arange(2), np.ones(2))


def test_the_norm_that_came_along_saves_a_round(place, data):
    X, y = data()
    placement, design, _ = place([(X[:100], y[:100]), (X[100:], y[100:])])
    scores = design.matvec(np.ones(X.shape[1]))
    design.rmatvec(scores)
    before = placement.servers.rounds
    design.vectors.norm(scores)
    assert placement.servers.rounds == before


def test_products_that_are_begun_before_they_are_asked_for(place, data, monkeypatch):
    """After a gradient whose product was wanted, the next one is multiplied at once; and nothing is mixed up."""
    monkeypatch.setattr(remote, "SHORT_PRODUCT", np.inf)
    X, y = data()
    placement, design, blocks = place([(X[:100], y[:100]), (X[100:], y[100:])])
    servers, vectors = placement.servers, design.vectors
    w = np.random.default_rng(0).normal(size=X.shape[1])
    scores = design.matvec(w)

    def gradient_at(level):
        g = vectors.take()
        blocks.complete("weigh", scores, level, g)
        return g

    def assert_right(g, level):
        np.testing.assert_allclose(design.rmatvec(g), X.T @ (X @ w - level), rtol=1e-12, atol=1e-12)
        assert vectors.norm(g) == pytest.approx(np.linalg.norm(X @ w - level), rel=1e-13)

    assert_right(gradient_at(1.0), 1.0)
    for level in (2.0, 3.0):
        g = gradient_at(level)
        assert g.product is not None
        before = servers.rounds
        assert_right(g, level)
        assert servers.rounds == before
    first, second = gradient_at(4.0), gradient_at(5.0)  # the product of the first one is not wanted
    assert second.product is None
    assert_right(second, 5.0)
    assert_right(first, 4.0)
    unwanted = gradient_at(6.0)
    assert vectors.inner(scores, scores) == pytest.approx(np.sum((X @ w) ** 2), rel=1e-13)
    assert_right(unwanted, 6.0)
    with pytest.raises(WorkerError, match="as it should"):
        blocks.complete("fail", vectors.take())
    assert_right(gradient_at(7.0), 7.0)
    assert_right(gradient_at(8.0), 8.0)
    g = gradient_at(9.0)
    blocks.tell("weigh", scores, 10.0, g)  # which makes another vector of it
    assert_right(g, 10.0)
    g = gradient_at(11.0)
    design.matvec(2.0 * w, out=g)
    np.testing.assert_allclose(design.rmatvec(g), X.T @ (X @ (2.0 * w)), rtol=1e-12, atol=1e-12)


def test_products_of_second_steps(place, data, monkeypatch):
    """A line search that takes its second step every time: the workers multiply the second gradient at once."""
    monkeypatch.setattr(remote, "SHORT_PRODUCT", np.inf)
    X, y = data()
    _, design, blocks = place([(X[:100], y[:100]), (X[100:], y[100:])])
    scores = design.matvec(np.ones(X.shape[1]))

    def came_along(n_steps):
        found = []
        for _ in range(n_steps):
            g = design.vectors.take()
            blocks.complete("weigh", scores, 1.0, g)
            found.append(g.product is not None)
        design.rmatvec(g)
        return found

    assert came_along(2) == [False, False]  # nothing is known
    assert came_along(2) == [False, True]
    assert came_along(2) == [False, True]
    assert came_along(1) == [False]
    assert came_along(1) == [True]
    assert came_along(3) == [True, True, False]
    assert came_along(3) == [False, False, True]
    design.rmatvec(scores)  # which is no gradient, and says nothing
    assert came_along(3) == [False, False, True]


def test_long_products_wait_until_they_are_asked_for(place, data, monkeypatch):
    monkeypatch.setattr(remote, "SHORT_PRODUCT", 0.0)
    X, y = data()
    _, design, blocks = place([(X[:100], y[:100]), (X[100:], y[100:])])
    scores = design.matvec(np.ones(X.shape[1]))
    for _ in range(3):
        g = design.vectors.take()
        blocks.complete("weigh", scores, 1.0, g)
        assert g.product is None
        design.rmatvec(g)


def test_memory_of_vectors_is_used_again(place, data):
    X, y = data()
    placement, design, blocks = place([(X[:100], y[:100]), (X[100:], y[100:])])
    vectors = design.vectors
    kept = vectors.constant(1.0)
    seen = set()
    for _ in range(50):
        a, b = vectors.constant(2.0), vectors.constant(3.0)
        for addresses in blocks.each("where", a, b):
            seen.update(addresses)
        del a, b
    assert len(seen) <= 2 * 4  # two workers, two vectors, and two that were not yet free
    assert max(placement.servers.ask("rows", "n_vectors")) <= 1 + 4
    assert vectors.inner(kept, kept) == X.shape[0]


def test_a_bias_is_a_column(place, data):
    X, y = data()
    _, design, _ = place([(X[:100], y[:100]), (X[100:], y[100:])], height=2.0)
    assert design.shape == (X.shape[0], X.shape[1] + 1)
    w = np.zeros(X.shape[1] + 1)
    w[-1] = 0.5
    scores = design.matvec(w)
    np.testing.assert_allclose(design.rmatvec(scores)[-1], 2.0 * X.shape[0], rtol=1e-13)


def test_repeated_placements_are_bit_identical(place, client, data):
    X, y = data(n=1000)
    bounds = range(130, 1000, 130)
    w = np.random.default_rng(0).normal(size=X.shape[1])
    results = []
    for _ in range(3):
        blocks = [
            client.scatter(block, hash=False)
            for block in zip(in_chunks(X, *bounds), in_chunks(y, *bounds), strict=True)
        ]
        placement, design, parts = place(blocks)
        scores = design.matvec(w)
        results.append((design.rmatvec(scores).tobytes(), design.vectors.inner(scores, scores)))
        assert [each.rows for each in parts.each("totals")] == [520, 480]
        assert len(set(placement.servers.addresses)) == 2
    assert results[0] == results[1] == results[2]


def test_blocks_without_rows(place, data):
    X, y = data()
    empty = (X[:0], y[:0])
    placement, design, _ = place([empty, (X[:100], y[:100]), empty, (X[100:], y[100:]), empty, empty])
    assert design.shape == X.shape
    assert len(placement.servers.links) == 2
    placement, design, _ = place([(X, y), empty])
    assert design.shape == X.shape
    assert len(placement.servers.links) == 1


def test_dense_empty_blocks(place, data):
    X, y = data()
    _, design, _ = place([(X.toarray(), y), (X[:0].toarray(), y[:0])])
    assert design.shape == X.shape


def test_errors_come_with_the_next_reply(place, data):
    X, y = data()
    _, design, blocks = place([(X[:100], y[:100]), (X[100:], y[100:])])
    blocks.tell("fail")
    blocks.tell("totals")
    with pytest.raises(WorkerError, match=r"(?s)totals failed on the worker inproc.*ValueError: as it should"):
        blocks.each("totals")
    assert len(blocks.each("totals")) == 2
    with pytest.raises(WorkerError, match="no attribute 'nonsense'"):
        blocks.each("nonsense")
    with pytest.raises(WorkerError, match="pickle"):
        blocks.each("unspeakable")
    scores = design.matvec(np.ones(X.shape[1]))
    assert design.vectors.inner(scores, scores) > 0.0


def test_workers_that_answer_are_told_from_those_that_are_gone(place, data):
    X, y = data()
    placement, _, blocks = place([(X[:100], y[:100]), (X[100:], y[100:])])
    servers = placement.servers
    assert servers.gone() == []
    blocks.tell("fail")  # whose error nobody has seen
    servers.links[0].send(("risk", "totals", [], [], True, []))  # whose reply nobody has read
    assert servers.gone() == []
    assert len(blocks.each("totals")) == 2
    servers.links[1].close()
    assert servers.gone() == [1]


def test_the_rows_go_when_the_client_does(client, data):
    X, y = data()

    def serving():
        return {thread for thread in threading.enumerate() if thread.name == "smoothperf-rows"}

    before = serving()  # of other tests, some may be about to end
    placement = Placement(client, sources([(X[:100], y[:100]), (X[100:], y[100:])]), n_threads=1, patience=5.0)
    ours = serving() - before
    placement.close()
    assert len(ours) == 2
    deadline = time.monotonic() + 10.0
    while ours & serving() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not ours & serving()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda X, y: (X, y[:-1]), "block 2 of 4: X has 100 rows but y has 99 labels"),
        (lambda X, y: (X, y, -np.ones(y.size)), "block 2 of 4: sample_weight must not be negative, got -1.0"),
        (lambda X, y: (X * np.nan, y), "block 2 of 4: X must be finite"),
        (lambda X, y: (X, np.where(y > 0, np.nan, 0.0)), "block 2 of 4: its label of row .* is missing"),
        (lambda X, y: "missing.npz", "block 2 of 4: missing.npz: "),
    ],
)
def test_errors_name_the_block(client, data, spoil, reason):
    X, y = data()
    blocks = list(zip(in_chunks(X, 100, 200, 300), in_chunks(y, 100, 200, 300), strict=True))
    blocks[3] = (X, y[:1])  # another problem, later
    blocks[2] = spoil(*blocks[2])
    with pytest.raises(ValueError, match=reason):
        Placement(client, sources(blocks), n_threads=1, patience=5.0)


def test_errors_of_the_users_own_code(client):
    def broken():
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="the user's own"):
        Placement(client, sources([dask.delayed(broken)()]), n_threads=1, patience=5.0)


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        ((np.eye(3), np.ones(3)), TypeError, "use smoothperf.MeasureClassifier, or dask.array.from_array"),
        (([],), ValueError, "empty list"),
        (([np.eye(3)],), TypeError, "list with a ndarray at position 0"),
        ((["a.store"], ["y"]), ValueError, "leave it out"),
        ((["a.store"], None, [1.0]), ValueError, "sample_weight comes with y"),
        (([("X", "y")], ["y", "z"]), ValueError, "y must be a list with an item for each of the 1 blocks of X, got 2"),
        ((da.ones((6, 2), chunks=3),), ValueError, "y is None"),
        ((da.ones(6, chunks=3), da.ones(6, chunks=3)), ValueError, "two-dimensional"),
        ((da.ones((6, 2), chunks=3), da.ones(5, chunks=3)), ValueError, "X has 6 rows but y has 5 entries"),
        (
            (dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=2), np.ones(2)),
            TypeError,
            "y must be a dask collection with the blocks of X, got a ndarray",
        ),
    ],
)
def test_what_cannot_be_blocks(arguments, error, reason):
    with pytest.raises(error, match=reason):
        sources(*arguments)


def test_numbers_of_blocks_must_match():
    table = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}), npartitions=2)
    with pytest.raises(ValueError, match=r"X has 2 blocks but y has 1; .*repartition"):
        sources(table[["a"]], table["y"].repartition(npartitions=1))


def test_no_worker_comes():
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(RowsLostError, match=r"has had no worker for 0.2 s; start some, or raise patience"),
    ):
        Placement(client, sources(["a.store"]), n_threads=1, patience=0.2)
