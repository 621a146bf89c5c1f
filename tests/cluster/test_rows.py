"""Blocks on a worker: loaded from anything, checked, and one design of many without copies."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from smoothperf.dask import blocks, rows
from smoothperf.dask.agreement import common_columns, common_labels, common_names, weights_of_classes
from smoothperf.design import CSRDesign, DenseDesign, as_design
from smoothperf.io import StoreWriter, write_npz

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [1.0, 1.0, 4.0]])
Y = np.array([0, 1, 1])


def problem(source):
    found = blocks.load(source)
    assert isinstance(found, blocks.Summary), "the block was taken"
    return found.problem


@pytest.mark.parametrize(
    "matrix",
    [X, X.astype(np.float32), X.astype(int), sp.csr_matrix(X), sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X)],
)
def test_blocks_in_memory(matrix):
    block = blocks.load((matrix, Y))
    np.testing.assert_array_equal(rows.settle(block, 3, None).matvec(np.arange(3.0)), X @ np.arange(3.0))
    summary = block.summary
    assert (summary.n_rows, summary.n_features, summary.problem, summary.weighted) == (3, 3, None, None)
    assert summary.kinds.tolist() == [0, 1]
    assert summary.counts.tolist() == [1, 2]


def test_dense_blocks_become_sparse_where_that_pays():
    assert isinstance(blocks.load((X, Y)).X, DenseDesign)
    wide = np.zeros((3, 12))
    wide[:, :3] = X
    assert isinstance(blocks.load((wide, Y)).X, CSRDesign)


def test_rows_are_not_copied():
    matrix = sp.random(50, 20, density=0.5, format="csr")
    parts = [as_design(matrix[:20]), as_design(matrix[20:])]
    design = rows.stacked(parts)
    assert all(
        np.shares_memory(ours._rows.data, theirs)
        for ours, (_, blocks) in zip(parts, design._parts, strict=True)
        for theirs in [blocks.data]
    )
    dense = np.random.default_rng(0).normal(size=(30, 4))
    assert np.shares_memory(blocks.load((dense, np.arange(30) % 2)).X._matrix, dense)


def test_arrays_that_begin_anywhere_are_moved():
    def shifted(values):
        memory = np.zeros(values.nbytes + 1, dtype=np.uint8)[1:]
        moved = memory.view(values.dtype).reshape(values.shape)
        moved[:] = values
        assert not moved.flags.aligned
        return moved

    sparse = sp.csr_array(X)
    for name in ("data", "indices", "indptr"):
        setattr(sparse, name, shifted(getattr(sparse, name)))
    for matrix in (shifted(X), sparse):
        block = blocks.load((matrix, Y, shifted(np.ones(3))))
        arrays = [block.weights]
        arrays += [block.X._matrix] if matrix is not sparse else [block.X._rows.data, block.X._rows.indices]
        assert all(array.flags.aligned for array in arrays)
        np.testing.assert_array_equal(block.X.matvec(np.arange(3.0)), X @ np.arange(3.0))


@pytest.mark.parametrize("kinds", ["c", "d", "ccc", "dd", "ccdcc", "dcs", "s"])
def test_stacked_designs_are_one(kinds, tmp_path):
    rng = np.random.default_rng(0)
    parts, whole = [], []
    for number, kind in enumerate(kinds):
        matrix = sp.random(10 + number, 7, density=0.4, format="csr", rng=rng)
        whole.append(matrix)
        if kind == "s":
            with StoreWriter(tmp_path / f"{number}.store") as writer:
                writer.add(matrix, np.arange(matrix.shape[0]) % 2)
                writer.n_features = 7
            parts.append(blocks.load(tmp_path / f"{number}.store").X)
            here = rows.settle(blocks.load(tmp_path / f"{number}.store"), 7, None)
            assert here._rows.indices.dtype == np.int32  # no shorter copy of what is in a file
        else:
            parts.append(as_design(matrix if kind == "c" else matrix.toarray()))
    design, expected = rows.stacked(parts), as_design(sp.vstack(whole, format="csr"))
    assert design.shape == expected.shape
    assert design.row_norm == pytest.approx(expected.row_norm, rel=1e-14)
    assert design.frobenius_norm == pytest.approx(expected.frobenius_norm, rel=1e-14)
    w, g = rng.normal(size=7), rng.normal(size=design.shape[0])
    some, weights = np.array([1, design.shape[0] - 1, 3]), rng.normal(size=3)
    for out in (None, "nan"):
        outs = [None if out is None else np.full(length, np.nan) for length in design.shape]
        np.testing.assert_allclose(design.matvec(w, out=outs[0]), expected.matvec(w), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(design.rmatvec(g, out=outs[1]), expected.rmatvec(g), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(design.gram(some, weights), expected.gram(some, weights), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(design.column_squares(), expected.column_squares(), rtol=1e-13)


def test_data_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"b": np.float32})
    frame["yes"] = [True, False, True]
    block = blocks.load((frame, pd.Series(["ham", "spam", "spam"]), pd.Series([1.0, 2.0, 0.5])))
    assert block.summary.feature_names == ["a", "b", "c", "yes"]
    assert block.summary.kinds.tolist() == ["ham", "spam"]
    assert block.summary.weighted.tolist() == [1.0, 2.5]
    np.testing.assert_array_equal(block.X.matvec(np.ones(4)), [4.0, 4.0, 7.0])
    assert blocks.load((pd.DataFrame(X), Y)).summary.feature_names is None
    frame["colour"] = ["red", "blue", "red"]
    assert "the columns colour hold no numbers" in problem((frame, Y))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ((X, Y[:2]), "X has 3 rows but y has 2 labels"),
        ((X, Y, [1.0, 2.0]), "sample_weight has 2 entries but there are 3"),
        ((X, Y, [1.0, -2.0, 1.0]), "sample_weight must not be negative, got -2.0 at position 1"),
        ((X, Y, [1.0, np.nan, 1.0]), "sample_weight must be finite"),
        ((np.where(X == 3.0, np.nan, X), Y), "X must be finite"),
        ((sp.csr_array(np.where(X == 3.0, np.inf, X)), Y), "X must be finite"),
        ((X[0], Y), "X must be two-dimensional"),
        ((X, np.array([1.0, np.nan, 0.0])), "label of row 2 is missing"),
        ((X, np.array([1, None, "a"], dtype=object)), "its labels are of the types NoneType, int, str"),
        ((X, np.column_stack([Y, Y])), "labels have the shape (3, 2)"),
        ((X,), "a block must be (X, y), (X, y, weights) or (X, y, weights, base_scores), got a tuple of 1"),
        (3.5, "a block must be (X, y), (X, y, weights) or (X, y, weights, base_scores), got a float"),
        ((X.astype(complex), Y), "X must hold real numbers"),
        ("no/such/file", "no/such/file"),
    ],
)
def test_problems_are_told(source, reason):
    assert reason in problem(source)


def test_files(tmp_path):
    write_npz(tmp_path / "a.npz", sp.csr_matrix(X), Y)
    (tmp_path / "b.svm").write_text("0 1:1 3:2\n1 2:3 3:1\n1 1:1 2:1 3:4\n")
    for name in ("a.npz", "b.svm"):
        block = blocks.load(str(tmp_path / name))
        np.testing.assert_array_equal(rows.settle(block, 3, None).matvec(np.arange(3.0)), X @ np.arange(3.0))
        assert block.summary.counts.tolist() == [1, 2]
    (tmp_path / "damaged.store").write_bytes((tmp_path / "a.npz").read_bytes()[:50])
    assert "damaged" in problem(tmp_path / "damaged.store")


def parts_of_text(folder, *texts):
    parts = []
    for number, text in enumerate(texts):
        (folder / f"{number}.svm").write_text(text)
        parts.append(blocks.load(folder / f"{number}.svm"))
    return parts


def test_parts_of_one_text_count_alike(tmp_path):
    # Index 0 occurs in the last part only, and the third has no entry at all.
    blocks = parts_of_text(tmp_path, "1 2:1 3:5\n", "-1 1:2\n", "1\n", "-1 0:7 1:1\n")
    width, zero_based = common_columns([block.summary for block in blocks])
    assert (width, zero_based) == (4, True)
    design = rows.stacked([rows.settle(block, width, zero_based) for block in blocks])
    np.testing.assert_array_equal(design.matvec(np.array([1.0, 10.0, 100.0, 1000.0])), [5100.0, 20.0, 0.0, 17.0])


def test_parts_that_count_from_one(tmp_path):
    blocks = parts_of_text(tmp_path, "1 2:1 3:5\n", "1\n", "-1 1:2\n")
    width, zero_based = common_columns([block.summary for block in blocks])
    assert (width, zero_based) == (3, False)
    design = rows.stacked([rows.settle(block, width, zero_based) for block in blocks])
    np.testing.assert_array_equal(design.matvec(np.array([1.0, 10.0, 100.0])), [510.0, 0.0, 2.0])


def summary(n_features=3, kinds=(0, 1), counts=(2, 3), **more):
    return blocks.Summary(5, n_features, np.array(kinds), np.array(counts[: len(kinds)]), **more)


def test_blocks_must_have_the_same_columns():
    assert common_columns([summary(3), summary(2, zero_based=False)]) == (3, False)
    with pytest.raises(ValueError, match="block 1 has 2 features but block 0 has 3"):
        common_columns([summary(3), summary(2)])
    with pytest.raises(ValueError, match="block 0 has 4 features but block 1 has 3"):
        common_columns([summary(4, zero_based=False), summary(3)])


def test_feature_names_must_be_the_same():
    named = summary(feature_names=["a", "b", "c"])
    assert common_names([named, named]) == ["a", "b", "c"]
    assert common_names([named, summary()]) is None
    with pytest.raises(ValueError, match=r"block 1 has other feature names than block 0.* b, a, c instead of a, b, c"):
        common_names([named, summary(feature_names=["b", "a", "c"])])


def test_labels_of_all_blocks():
    assert common_labels([summary(kinds=(1,)), summary(kinds=(0,))]).tolist() == [0, 1]
    assert common_labels([summary(kinds=("spam",)), summary(kinds=("ham", "spam"))]).tolist() == ["ham", "spam"]
    for kinds, reason in [
        ([(0, 1), (2,)], "two kinds of labels, got 0, 1, 2 in blocks up to block 1"),
        ([(1,), (1,)], "one class only, all .*1"),
        ([(0, 1), ("1",)], "the labels of block 1 are text, but those of block 0 are not"),
    ]:
        with pytest.raises(ValueError, match=reason):
            common_labels([summary(kinds=each) for each in kinds])
    with pytest.raises(ValueError, match="no block has a row"):
        common_labels([blocks.Summary()])


def test_class_weights():
    parts = [summary(kinds=(1,), counts=(2,)), summary(counts=(1, 3))]
    classes = np.array([0, 1])
    assert weights_of_classes(None, classes, parts) is None
    assert weights_of_classes("balanced", classes, parts) == (6 / 2, 6 / 10)
    assert weights_of_classes({1: 4.0}, classes, parts) == (1.0, 4.0)
    weighted = [summary(weighted=np.array([0.0, 1.0])), summary(weighted=np.array([0.0, 2.0]))]
    with pytest.raises(ValueError, match="sample_weight is 0 for every negative example"):
        weights_of_classes(None, classes, weighted)
    weights_of_classes(None, classes, [*weighted, summary()])
