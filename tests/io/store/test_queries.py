"""Stores whose rows are documents of queries: what they keep, and rankers that are trained from them."""

import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp

from problems import graded
from smoothperf import MeasureClassifier, MeasureRanker, MeasureRankerCV, regularization_path
from smoothperf.io import StoreError, StoreWriter, convert, open_store, read_data

SMALL = 1500  # bytes of a block


def documents(n_queries=30, size=8, seed=0):
    """Rows of queries that do not follow one another, with grades 0, 1 and 2."""
    X, y, qid = graded(n_queries, size, shuffled=True, seed=seed)
    return X.round(3), y.astype(int), qid


def write(path, X, y, qid, step=37, **options):
    with StoreWriter(path, **options) as writer:
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            writer.add(X[rows], y[rows], None if qid is None else qid[rows])
    return path


@pytest.fixture
def stored(tmp_path):
    X, y, qid = documents()
    return X, y, qid, write(tmp_path / "documents.store", X, y, qid, block_size=SMALL)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda qid: qid, "i"),
        (lambda qid: qid.astype(np.uint8), "i"),
        (lambda qid: -qid * 10**15, "i"),
        (lambda qid: qid + 0.5, "f"),
        (lambda qid: np.char.add("query ", qid.astype(str)), "U"),
        (lambda qid: np.char.add("query ", qid.astype(str)).astype(object), "U"),
    ],
)
def test_queries_of_all_types(tmp_path, make, kind):
    X, y, qid = documents()
    store = open_store(write(tmp_path / "a.store", X, y, make(qid), block_size=SMALL))
    assert store.has_queries
    assert store.qid().dtype.kind == kind
    np.testing.assert_array_equal(store.qid(), make(qid))
    np.testing.assert_array_equal(store.labels(), y)
    np.testing.assert_array_equal(read_data(store.path).qid, make(qid))


def test_rows_that_have_a_query_and_rows_that_have_none(tmp_path):
    for first, second in (([1, 1], None), (None, [1, 1]), ([1, 1], ["a", "a"]), ([1, 1], [0.5, 0.5])):
        with StoreWriter(tmp_path / "a.store") as writer:
            writer.add(np.eye(2), [0, 1], first)
            with pytest.raises(StoreError, match="rows from 3 on: "):
                writer.add(np.eye(2), [0, 1], second)
    for bad in ([1, 2, 3], [[1, 2]], [np.nan, 1.0], [1j, 2.0], [2**63, 1]):
        ids = np.array(bad, dtype=np.uint64 if bad[0] == 2**63 else None)
        with pytest.raises(StoreError, match="quer"), StoreWriter(tmp_path / "a.store") as writer:
            writer.add(np.eye(2), [0, 1], ids)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("format", ["svm", "csv", "parquet"])
def test_what_data_files_have(tmp_path, monkeypatch, format, words):
    monkeypatch.setattr("smoothperf.io.conversion.LEAST_ENTRIES", 50)
    X, y, qid = documents()
    ids = [f"q{number}" for number in qid] if words else qid.tolist()
    file, options = tmp_path / f"data.{format}", {}
    if format == "svm":
        if words:
            return
        lines = (
            f"{grade} qid:{query} " + " ".join(f"{at}:{value}" for at, value in enumerate(row, 1) if value)
            for row, grade, query in zip(X.tolist(), y, ids, strict=True)
        )
        file.write_text("\n".join(lines) + "\n")
    else:
        columns = {"query": ids, **dict(zip("abcd", X.T.tolist(), strict=True)), "grade": y.tolist()}
        options = {"label": "grade", "query": "query"}
        if format == "csv":
            rows = zip(*columns.values(), strict=True)
            file.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
        else:
            pa = pytest.importorskip("pyarrow")
            pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), file)
    store = open_store(convert(file, tmp_path / "a.store", block_size=SMALL, **options))
    expected = read_data(file, **options)
    assert len(store.blocks) > 3
    np.testing.assert_array_equal(store.qid(), ids)
    np.testing.assert_array_equal(store.qid(), expected.qid)
    assert store.qid().dtype.kind == expected.qid.dtype.kind
    np.testing.assert_array_equal(store.read().toarray(), X)
    again = open_store(convert(store.path, tmp_path / "b.store"))
    np.testing.assert_array_equal(again.qid(), ids)


def test_the_column_is_where_the_index_says(stored):
    _, _, qid, path = stored
    content = path.read_bytes()
    offset, length, *_ = struct.unpack("<QQII8s", content[-32:])
    told = json.loads(content[offset : offset + length])["queries"]
    assert told["offset"] % 64 == 0
    np.testing.assert_array_equal(np.memmap(path, "<i8", "r", told["offset"], qid.shape), qid)


def test_damage_is_noticed(stored):
    path = stored[-1]
    content = bytearray(path.read_bytes())
    content[open_store(path)._queries["offset"] + 9] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="the queries are damaged: their checksum is wrong"):
        open_store(path).qid()


@pytest.mark.parametrize("measure", ["ndcg@3", "pairs", "squared_loss", "precision@2"])
def test_one_block_gives_the_ranker_of_memory(tmp_path, measure):
    X, y, qid = documents()
    path = write(tmp_path / "one.store", X, y, qid)
    ranker = MeasureRanker(measure, alpha=1e-2)
    near, far = ranker.fit(sp.csr_matrix(X), y, qid=qid).coef_, MeasureRanker(measure, alpha=1e-2).fit(path)
    np.testing.assert_array_equal(far.coef_, near)
    np.testing.assert_allclose(far.predict(path), ranker.predict(sp.csr_matrix(X)), atol=1e-13)
    assert far.score(path) == pytest.approx(ranker.score(sp.csr_matrix(X), y, qid=qid), rel=1e-13)
    assert far.n_features_in_ == 4


def test_many_blocks_reach_the_same_optimum(stored):
    X, y, qid, path = stored
    weights = 1.0 + qid % 3
    assert len(open_store(path).blocks) > 3
    near = MeasureRanker("pairs", tol=1e-5).fit(X, y, qid=qid, sample_weight=weights)
    far = MeasureRanker("pairs", tol=1e-5).fit(path, sample_weight=weights)
    assert far.gap_ <= 1e-5
    assert far.objective_ == pytest.approx(near.objective_, abs=1e-5)
    others = MeasureRanker("pairs", alpha=1e-2).fit(path, 2 - y, group=[8] * 30)
    again = MeasureRanker("pairs", alpha=1e-2).fit(X, 2 - y, group=[8] * 30)
    np.testing.assert_allclose(others.coef_, again.coef_, atol=1e-6)


def test_a_path(stored):
    X, y, qid, path = stored
    for measure in ("ndcg@3", "pairs"):
        far = regularization_path(path, measure=measure, n_alphas=4)
        near = regularization_path(X, y, qid=qid, measure=measure, n_alphas=4)
        np.testing.assert_allclose(far.alphas, near.alphas, rtol=1e-12)
        assert (far.reached <= 1e-3).all()
        if measure == "pairs":
            assert (far.lower_bounds <= near.objectives).all()
            assert (near.lower_bounds <= far.objectives).all()
    assert regularization_path(path, y > 0, measure="roc_area", qid=qid, n_alphas=2).classes is None


def test_errors(stored, tmp_path):
    X, y, qid, path = stored
    without = write(tmp_path / "without.store", X, y, None)
    with pytest.raises(ValueError, match=r"without.store does not say which query a row belongs to: give qid"):
        MeasureRanker().fit(without)
    assert MeasureRanker("pairs").fit(without, qid=qid).gap_ <= 1e-3
    words = write(tmp_path / "words.store", X, np.where(y > 0, "good", "bad"), qid)
    with pytest.raises(ValueError, match=r"words.store has the labels 'bad', ...: grades must be numbers"):
        MeasureRanker().fit(words)
    assert MeasureClassifier().fit(words).gap_ <= 1e-3
    ranker = MeasureRanker("pairs").fit(path)
    with pytest.raises(ValueError, match="has 2 features, but the model expects 4"):
        ranker.predict(write(tmp_path / "narrow.store", X[:, :2], y, qid))
    with pytest.raises(ValueError, match="cross-validation needs the rows in memory"):
        MeasureRankerCV().fit(path, None)
    with pytest.raises(ValueError, match="y is None"):
        ranker.score(X, qid=qid)
    with pytest.raises(ValueError, match="y has"):
        ranker.fit(path, y[:5])
