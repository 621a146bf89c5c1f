"""Blocks on workers: the same groups every time, products that are sums over workers, errors that name the block."""

import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from smoothperf.dask import RowsLostError
from smoothperf.dask.agreement import agree
from smoothperf.dask.design import SharedDesign
from smoothperf.dask.inputs import sources
from smoothperf.dask.placement import Placement
from smoothperf.design import as_design
from smoothperf.io import write_npz
from smoothperf.io.store import StoreWriter
from smoothperf.measures import Examples


@pytest.fixture
def place(client):
    """A function that places blocks."""
    placements = []

    def make(*what):
        placements.append(Placement(client, sources(*what), n_threads=1, patience=5.0))
        return placements[-1]

    yield make
    for placement in placements:
        placement.close()


def ask(placement, question):
    """The result of a program on the client, which all members run with their design and examples."""

    def program(part, communicator):
        return question(
            SharedDesign(part.design, communicator), Examples(part.positive, part.weights, communicator), communicator
        )

    return placement.run(agree(placement.summaries), program, program)


def product(w):
    """A question: ``X^T X w``, and the design of the client."""

    def question(design, examples, communicator):
        return design.rmatvec(design.matvec(w)), design

    return question


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
    placement = place(*inputs(kind, X, y, weights, client, tmp_path))
    expected = as_design(X)
    w = np.random.default_rng(0).normal(size=X.shape[1])

    def question(design, examples, communicator):
        return design.rmatvec(design.matvec(w)), design, examples, communicator.allgather(np.array([design.shape[0]]))

    found, design, examples, lengths = ask(placement, question)
    np.testing.assert_allclose(found, expected.rmatvec(expected.matvec(w)), rtol=1e-12, atol=1e-13)
    assert design.frobenius_norm == pytest.approx(expected.frobenius_norm, rel=1e-13)
    assert design.row_norm == pytest.approx(expected.row_norm, rel=1e-13)
    assert len(lengths) == 3
    assert lengths[0] == 0
    assert sum(lengths) == X.shape[0]
    assert (examples.count, examples.positives) == (X.shape[0], np.count_nonzero(y == 1))
    assert examples.weight == pytest.approx(weights.sum())
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
    w = np.random.default_rng(0).normal(size=X.shape[1])
    found, _ = ask(place(paths), product(w))
    expected = as_design(X)
    np.testing.assert_allclose(found, expected.rmatvec(expected.matvec(w)), rtol=1e-12, atol=1e-13)


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
        placement = place(blocks)
        results.append(ask(placement, product(w))[0].tobytes())
        assert len(set(placement.homes)) == 2
    assert results[0] == results[1] == results[2]


def test_blocks_without_rows(place, data):
    X, y = data()
    empty = (X[:0], y[:0])
    w = np.ones(X.shape[1])
    for blocks, members in (
        ([empty, (X[:100], y[:100]), empty, (X[100:], y[100:]), empty, empty], 2),
        ([(X, y), empty], 1),
        ([(X.toarray(), y), (X[:0].toarray(), y[:0])], 1),
    ):
        placement = place(blocks)
        found, _ = ask(placement, product(w))
        np.testing.assert_allclose(found, X.T @ (X @ w), rtol=1e-12, atol=1e-12)
        assert len(placement.homes) == members


def test_rows_are_made_ready_once(place, data):
    """They stay on their workers while one group follows another."""
    X, y = data()
    placement = place([(X[:100], y[:100]), (X[100:], y[100:])])

    def program(part, communicator):
        return np.concatenate(communicator.allgather(np.array([float(id(part.design))])))[1:]

    first, *others = (placement.run(agree(placement.summaries), program, program) for _ in range(3))
    for other in others:
        np.testing.assert_array_equal(other, first)
    assert placement.losses == 0


def test_the_rows_go_when_the_client_is_done(client, data):
    X, y = data()
    placement = Placement(client, sources([(X[:100], y[:100]), (X[100:], y[100:])]), n_threads=1, patience=5.0)
    keys = {future.key for future in placement._rows.values()}

    def there():
        return {key for held in client.has_what().values() for key in held} & keys

    assert there() == keys
    placement.close()
    deadline = time.monotonic() + 10.0
    while there() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not there()


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
        ((np.eye(3), np.ones(3)), TypeError, "use the estimator of smoothperf itself, or dask.array.from_array"),
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


def test_labels_of_another_length():
    with pytest.raises(ValueError, match="X has 6 rows but y has 5 entries; they must match"):
        sources(da.zeros((6, 2), chunks=(3, 2)), np.zeros(5))


def test_no_worker_comes():
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(RowsLostError, match=r"has had no worker for 0.2 s; start some, or raise patience"),
    ):
        Placement(client, sources(["a.store"]), n_threads=1, patience=0.2)
