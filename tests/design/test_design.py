"""X as an operator: the same answer through every door, without copies, in double precision."""

import pickle
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from problems import searching
from smoothperf.design import BiasedDesign, CSCDesign, CSRDesign, DenseDesign, Design, as_design
from smoothperf.design.sparse import PRODUCTS_BEFORE_COPY, CompressedRows, Scratch

#: Values that every type holds exactly, so that all doors must lead to the very same products.
X = np.array(
    [
        [1.0, 0.0, -2.0, 3.0],
        [0.0, 0.0, 0.0, 0.0],
        [5.0, 7.0, 0.0, 0.0],
        [0.0, -1.0, 0.0, 4.0],
        [0.0, 0.0, 6.0, 0.0],
        [2.0, 2.0, 2.0, 2.0],
    ]
)


def wide_indices(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def unsorted(matrix):
    """The same matrix with the entries of each row (or column) the other way round."""
    data, indices = matrix.data.copy(), matrix.indices.copy()
    for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        data[begin:end], indices[begin:end] = data[begin:end][::-1].copy(), indices[begin:end][::-1].copy()
    return type(matrix)((data, indices, matrix.indptr), shape=matrix.shape)


def with_duplicates(matrix):
    """The same matrix with every entry x stored as two, x - 1 and 1."""
    data = np.column_stack([matrix.data - 1.0, np.ones_like(matrix.data)]).ravel()
    return type(matrix)((data, np.repeat(matrix.indices, 2), 2 * matrix.indptr), shape=matrix.shape)


def as_sums_of_absolute_values(matrix):
    """Row by row, counting every stored part of an entry."""
    coordinates = matrix.tocoo()
    return np.bincount(coordinates.row, weights=np.abs(coordinates.data), minlength=matrix.shape[0])


def strided(matrix):
    padded = np.full((2 * matrix.shape[0], 3 * matrix.shape[1]), np.nan)
    padded[::2, ::3] = matrix
    return padded[::2, ::3]


def backwards(matrix):
    return np.ascontiguousarray(matrix[::-1, ::-1])[::-1, ::-1]


DOORS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "negative strides": backwards,
    "float32": lambda A: A.astype(np.float32),
    "float32 Fortran": lambda A: np.asfortranarray(A, dtype=np.float32),
    "float16": lambda A: A.astype(np.float16),
    "int64": lambda A: A.astype(np.int64),
    "int8": lambda A: A.astype(np.int8),
    "big-endian": lambda A: A.astype(">f8"),
    "list": lambda A: A.tolist(),
    "CSR": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "CSR float32": lambda A: sp.csr_array(A.astype(np.float32)),
    "CSR int64 values": lambda A: sp.csr_array(A.astype(np.int64)),
    "CSR int64 indices": lambda A: wide_indices(sp.csr_array(A)),
    "CSR float32 int64": lambda A: wide_indices(sp.csr_array(A.astype(np.float32))),
    "CSR unsorted": lambda A: unsorted(sp.csr_array(A)),
    "CSR duplicates": lambda A: with_duplicates(sp.csr_array(A)),
    "CSC": sp.csc_array,
    "CSC matrix": sp.csc_matrix,
    "CSC float32": lambda A: sp.csc_array(A.astype(np.float32)),
    "CSC int64 indices": lambda A: wide_indices(sp.csc_array(A)),
    "CSC float32 int64": lambda A: wide_indices(sp.csc_array(A.astype(np.float32))),
    "CSC unsorted": lambda A: unsorted(sp.csc_array(A)),
    "CSC duplicates": lambda A: with_duplicates(sp.csc_array(A)),
    "COO": sp.coo_array,
    "COO matrix": sp.coo_matrix,
    "COO duplicates": lambda A: sp.coo_array(
        (np.tile(sp.coo_array(A).data / 2, 2), (np.tile(sp.coo_array(A).row, 2), np.tile(sp.coo_array(A).col, 2))),
        shape=A.shape,
    ),
    "LIL": sp.lil_array,
    "BSR": sp.bsr_array,
    "DOK": sp.dok_array,
}
every_door = pytest.mark.parametrize("enter", DOORS.values(), ids=DOORS.keys())


def arrays_of(thing):
    """The numpy arrays that something refers to."""
    if sp.issparse(thing) or isinstance(thing, CompressedRows):
        return [thing.data, thing.indices, thing.indptr]
    if isinstance(thing, Design):
        held = [value for value in vars(thing).values() if isinstance(value, (np.ndarray, CompressedRows))]
        return [array for value in held for array in arrays_of(value)]
    return [thing]


def locked(thing):
    for array in arrays_of(thing):
        array.flags.writeable = False
    return thing


def vectors(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])


# --- the same answer ---------------------------------------------------------------------------------------------


@every_door
def test_every_door_leads_to_the_same_gram_matrix(enter):
    design = as_design(enter(X))
    rows, weights = np.array([5, 0, 2, 1]), np.array([0.5, 2.0, 1.0, 3.0])
    result = design.gram(rows, weights)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, X[rows].T @ np.diag(weights) @ X[rows])
    np.testing.assert_array_equal(design.gram(rows[:0], weights[:0]), np.zeros((4, 4)))


@every_door
def test_every_door_leads_to_the_same_sizes_of_columns(enter):
    matrix = enter(X)
    design = as_design(matrix)
    sizes = np.sqrt((X**2).sum(axis=0) / (X != 0.0).sum(axis=0))
    if getattr(matrix, "nnz", 0) <= np.count_nonzero(X):
        np.testing.assert_array_equal(design.column_squares(), [(X != 0.0).sum(axis=0), (X**2).sum(axis=0)])
        np.testing.assert_allclose(design.column_sizes(), sizes, rtol=1e-14)
        np.testing.assert_allclose(BiasedDesign(design, 3.0).column_sizes(), [*sizes, 3.0], rtol=1e-14)
    else:  # entries in parts
        assert (design.column_sizes() > 0.0).all()
    assert design.column_sizes() is design.column_sizes()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_sizes_of_columns_without_entries_or_with_extreme_ones(form):
    columns = np.array([[0.0, 1e-150, 1e150, 2.0, 0.0], [0.0, 0.0, 1.0, 2.0, 0.0]])
    nan = np.nan
    np.testing.assert_array_equal(as_design(form(columns)).column_sizes(), [nan, nan, nan, 2.0, nan])
    np.testing.assert_array_equal(as_design(form(np.zeros((0, 3)))).column_sizes(), [nan] * 3)
    rare = np.ones((40, 2))
    rare[4:, 1] = 0.0
    np.testing.assert_array_equal(as_design(form(rare)).column_sizes(), [1.0, nan])


def test_gram_matrix_of_more_rows_than_a_block_holds():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7000, 20))
    rows, weights = np.flatnonzero(rng.random(7000) < 0.9), rng.random(7000)
    weights = weights[rows]
    expected = (A[rows] * weights[:, None]).T @ A[rows]
    for matrix in (A, A.astype(np.float32), sp.csr_array(A)):
        np.testing.assert_allclose(as_design(matrix).gram(rows, weights), expected, rtol=1e-6, atol=1e-5)


@every_door
def test_every_door_leads_to_the_same_products(enter):
    design = as_design(enter(X))
    w, g = vectors()
    assert isinstance(design, Design)
    assert design.shape == X.shape
    assert all(type(length) is int for length in design.shape)
    for result, expected in ((design.matvec(w), X @ w), (design.rmatvec(g), X.T @ g)):
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_leads_to_the_same_norms(door):
    matrix = DOORS[door](X)
    design = as_design(matrix)
    assert type(design.row_norm) is type(design.frobenius_norm) is float
    row_norm, frobenius_norm = np.linalg.norm(X, axis=1).max(), np.linalg.norm(X)
    if sp.issparse(matrix) and matrix.format in ("csr", "csc") and not matrix.has_canonical_format:
        # An entry may be stored in several parts: a bound from above, and not by more than the sums of absolute values.
        sums = as_sums_of_absolute_values(matrix)
        assert row_norm * (1 - 1e-14) <= design.row_norm <= sums.max() * (1 + 1e-14)
        assert frobenius_norm * (1 - 1e-14) <= design.frobenius_norm <= np.linalg.norm(sums) * (1 + 1e-14)
    else:
        assert design.row_norm == pytest.approx(row_norm, rel=1e-14)
        assert design.frobenius_norm == pytest.approx(frobenius_norm, rel=1e-14)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_norms_of_entries_in_parts_are_not_too_small(form):
    """The norm of the row is 3, that of its parts smaller; or larger, if parts cancel."""
    parts = (np.array([1.0, 1.0, 1.0]), np.array([0, 0, 0]), np.array([0, 3]))
    assert as_design(form(parts, shape=(1, 1))).row_norm >= 3.0
    assert as_design(form(parts, shape=(1, 1))).frobenius_norm >= 3.0


@every_door
def test_out_is_overwritten_and_returned(enter):
    design = as_design(enter(X))
    w, g = vectors(1)
    scores, weights = np.full(X.shape[0], np.nan), np.full(X.shape[1], np.nan)
    assert design.matvec(w, out=scores) is scores
    assert design.rmatvec(g, out=weights) is weights
    np.testing.assert_allclose(scores, X @ w, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(weights, X.T @ g, rtol=1e-14, atol=1e-14)
    scores[:], weights[:] = 3.0, 3.0
    design.matvec(np.zeros(X.shape[1]), out=scores)
    design.rmatvec(np.zeros(X.shape[0]), out=weights)
    assert not scores.any()
    assert not weights.any()


@every_door
def test_vectors_with_zeros_and_read_only_vectors(enter):
    design = as_design(enter(X))
    for kept in (1, 2, 4):
        w, g = vectors(kept)
        w[kept:], g[:-kept] = 0.0, 0.0
        np.testing.assert_allclose(design.matvec(locked(w)), X @ w, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(design.rmatvec(locked(g)), X.T @ g, rtol=1e-14, atol=1e-14)


def test_a_design_is_passed_through():
    design = as_design(X)
    assert as_design(design) is design


@pytest.mark.parametrize(
    ("matrix", "kind"), [(X, DenseDesign), (sp.csr_array(X), CSRDesign), (sp.csc_array(X), CSCDesign)]
)
def test_the_format_decides_the_design(matrix, kind):
    assert type(as_design(matrix)) is kind


@pytest.mark.parametrize("enter", [np.asarray, sp.csr_array, sp.csc_array], ids=["dense", "CSR", "CSC"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@searching(25)
@given(n=st.integers(1, 12), d=st.integers(1, 8), seed=st.integers(0, 10**6), zeros=st.floats(0.0, 1.0))
def test_the_two_products_are_adjoint(enter, dtype, n, d, seed, zeros):
    rng = np.random.default_rng(seed)
    A = (rng.normal(size=(n, d)) * (rng.random((n, d)) >= zeros)).astype(dtype)
    w, g = rng.normal(size=d), rng.normal(size=n) * (rng.random(n) >= zeros)
    design = as_design(enter(A))
    size = np.abs(g) @ np.abs(A.astype(float)) @ np.abs(w)
    assert design.matvec(w) @ g == pytest.approx(w @ design.rmatvec(g), abs=1e-14 * size)
    np.testing.assert_allclose(design.matvec(w), A.astype(float) @ w, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("density", [0.0, 0.001, 0.1, 0.3, 1.0])
def test_dense_matrices_of_several_blocks(dtype, order, density):
    """Few, some and all rows with a coefficient, over blocks of rows with and without any."""
    rng = np.random.default_rng(6)
    A = np.asarray(rng.normal(size=(3001, 70)), dtype=dtype, order=order)
    w, g = rng.normal(size=70), rng.normal(size=3001) * (rng.random(3001) < density)
    g[:1500] = 0.0
    design = as_design(A)
    wide = A.astype(np.float64)
    np.testing.assert_allclose(design.matvec(w), wide @ w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(design.rmatvec(g), wide.T @ g, rtol=0, atol=1e-11)
    assert design.row_norm == pytest.approx(np.linalg.norm(wide, axis=1).max(), rel=1e-13)
    assert design.frobenius_norm == pytest.approx(np.linalg.norm(wide), rel=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shares", ["mmmm", "fffm", "mnmm", "mmfm", "nmmn", "fnnf"])
def test_dense_blocks_of_which_many_few_or_no_rows_are_needed(dtype, shares):
    rng = np.random.default_rng(8)
    A = rng.normal(size=(936 * 3 + 50, 70)).astype(dtype)
    needed = np.repeat([{"m": 0.6, "f": 0.1, "n": 0.0}[each] for each in shares], 936)[: len(A)]
    g = rng.normal(size=len(A)) * (rng.random(len(A)) < needed)
    np.testing.assert_allclose(as_design(A).rmatvec(g), A.T.astype(float) @ g, rtol=0, atol=1e-11)


def test_dense_rows_longer_than_a_block():
    rng = np.random.default_rng(7)
    A = rng.normal(size=(3, 70_000)).astype(np.float32)
    w, g = rng.normal(size=70_000), np.array([0.0, 2.0, -1.0])
    design = as_design(A)
    np.testing.assert_allclose(design.matvec(w), A.astype(float) @ w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(design.rmatvec(g), A.T.astype(float) @ g, rtol=1e-14)


@pytest.mark.parametrize("enter", [np.asarray, sp.csr_array, sp.csc_array], ids=["dense", "CSR", "CSC"])
@pytest.mark.parametrize("shape", [(4, 0), (0, 3), (1, 1)])
def test_matrices_without_rows_columns_or_entries(enter, shape):
    design = as_design(enter(np.zeros(shape)))
    assert design.shape == shape
    assert design.row_norm == design.frobenius_norm == 0.0
    np.testing.assert_array_equal(design.matvec(np.ones(shape[1])), np.zeros(shape[0]))
    np.testing.assert_array_equal(design.rmatvec(np.ones(shape[0])), np.zeros(shape[1]))


@every_door
def test_a_constant_column_beside_every_door(enter):
    inner = as_design(enter(X))
    design = BiasedDesign(inner, 3.0)
    wide = np.column_stack([X, np.full(6, 3.0)])
    rng = np.random.default_rng(5)
    w, g = locked(rng.normal(size=5)), locked(rng.normal(size=6))
    assert design.shape == (6, 5)
    assert design.n_entries == inner.n_entries
    scores, weights = np.full(6, np.nan), np.full(5, np.nan)
    for result, expected in ((design.matvec(w), wide @ w), (design.matvec(w, out=scores), wide @ w)):
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
    for result, expected in ((design.rmatvec(g), wide.T @ g), (design.rmatvec(g, out=weights), wide.T @ g)):
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(scores, design.matvec(w))
    np.testing.assert_array_equal(weights, design.rmatvec(g))
    rows, coefficients = np.array([5, 0, 2, 1]), np.array([0.5, 2.0, 1.0, 3.0])
    expected = wide[rows].T @ np.diag(coefficients) @ wide[rows]
    np.testing.assert_allclose(design.gram(rows, coefficients), expected, rtol=1e-14)
    assert design.row_norm >= np.linalg.norm(wide, axis=1).max() * (1 - 1e-14)
    assert design.frobenius_norm >= np.linalg.norm(wide) * (1 - 1e-14)
    assert design.row_norm == pytest.approx(np.hypot(inner.row_norm, 3.0))
    assert design.frobenius_norm == pytest.approx(np.sqrt(inner.frobenius_norm**2 + 6 * 9.0))


# --- values that need not be read ---------------------------------------------------------------------------------


def level_rows(n=300, d=40, seed=0):
    """Rows with one value each, some of them empty, some of one entry, the last one empty too."""
    rng = np.random.default_rng(seed)
    pattern = rng.random((n, d)) < 0.3
    pattern[::7] = False
    pattern[-1] = False
    pattern[3] = np.arange(d) == 5
    return pattern * rng.normal(size=(n, 1))


def rows_of(design):
    return design._rows if isinstance(design, CSRDesign) else design._columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("widen", [lambda A: A, wide_indices], ids=["int32", "int64"])
def test_the_value_of_a_row_is_read_once(form, dtype, widen):
    A = level_rows().astype(dtype)
    matrix = widen(sp.csr_array(A)) if form == "csr" else widen(sp.csr_array(A)).T
    design = as_design(matrix)
    assert rows_of(design).row_values is not None
    wanted = matrix.toarray().astype(float)
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=wanted.shape[1]), rng.normal(size=wanted.shape[0])
    np.testing.assert_allclose(design.matvec(w), wanted @ w, rtol=0, atol=1e-13)
    np.testing.assert_allclose(design.rmatvec(g), wanted.T @ g, rtol=0, atol=1e-13)
    rows = np.array([8, 0, 3])
    expected = wanted[rows].T @ np.diag([1.0, 2.0, 3.0]) @ wanted[rows]
    np.testing.assert_allclose(design.gram(rows, np.array([1.0, 2.0, 3.0])), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("change", [0, 1234, -1])
def test_one_other_value_and_all_are_read(change):
    matrix = sp.csr_array(level_rows())
    matrix.data[change] += 1e-12
    assert as_design(matrix)._rows.row_values is None
    ones = sp.csr_array(level_rows() != 0.0, dtype=np.float64)
    assert as_design(ones)._rows.ones
    ones.data[change] = 1.0 + 1e-12
    assert not as_design(ones)._rows.ones


@pytest.mark.parametrize("n_columns", [1 << 16, (1 << 16) + 1])
@pytest.mark.parametrize("low_memory", [False, True])
def test_short_indices_after_some_products(n_columns, low_memory):
    rng = np.random.default_rng(3)
    matrix = sp.random(50, n_columns, density=1e-3, random_state=rng, format="csr")
    design = as_design(matrix, low_memory=low_memory)
    w, g = rng.normal(size=n_columns), rng.normal(size=50)
    first = design.matvec(w), design.rmatvec(g)
    assert design._rows.indices.dtype == np.int32
    for _ in range(PRODUCTS_BEFORE_COPY):
        later = design.matvec(w), design.rmatvec(g)
    copied = not low_memory and n_columns <= 1 << 16
    assert design._rows.indices.dtype == (np.uint16 if copied else np.int32)
    assert all((before == after).all() for before, after in zip(first, later, strict=True))
    assert np.shares_memory(design._rows.data, matrix.data)
    assert np.shares_memory(design._rows.indptr, matrix.indptr)
    if not copied:
        assert np.shares_memory(design._rows.indices, matrix.indices)


# --- double precision --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("enter", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_single_precision_is_summed_in_double(enter):
    A = np.array([[1e8, 1.0, -1e8]], dtype=np.float32)
    assert as_design(enter(A)).matvec(np.ones(3))[0] == 1.0
    assert as_design(enter(np.asarray(A.T, order="K"))).rmatvec(np.ones(3))[0] == 1.0


@pytest.mark.parametrize("enter", [np.asarray, sp.csr_array, sp.csc_array], ids=["dense", "CSR", "CSC"])
def test_norms_of_single_precision_are_computed_in_double(enter):
    rng = np.random.default_rng(9)
    A = rng.normal(size=(300, 40)).astype(np.float32)
    wide = A.astype(np.float64)
    design = as_design(enter(A))
    assert design.row_norm == pytest.approx(np.linalg.norm(wide, axis=1).max(), rel=1e-13)
    assert design.frobenius_norm == pytest.approx(np.linalg.norm(wide), rel=1e-13)
    large = np.array([[3e30, 4e30]], dtype=np.float32)  # the squares overflow in single precision
    design = as_design(enter(large))
    assert design.row_norm == pytest.approx(5e30, rel=1e-6)
    assert design.frobenius_norm == pytest.approx(5e30, rel=1e-6)


# --- the user's memory --------------------------------------------------------------------------------------------

USED_AS_THEY_ARE = {
    name: enter
    for name, enter in DOORS.items()
    if name.startswith(("C order", "Fortran", "strided", "negative", "float32", "CSR", "CSC")) and "values" not in name
    if "duplicates" not in name
}


@pytest.mark.parametrize("enter", USED_AS_THEY_ARE.values(), ids=USED_AS_THEY_ARE.keys())
def test_nothing_is_copied(enter):
    matrix = enter(X.copy())
    held = arrays_of(as_design(matrix))
    for array in arrays_of(matrix):
        assert any(np.shares_memory(array, mine) for mine in held)


@pytest.mark.parametrize("enter", USED_AS_THEY_ARE.values(), ids=USED_AS_THEY_ARE.keys())
def test_read_only_memory(enter):
    matrix = locked(enter(X.copy()))
    before = [array.copy() for array in arrays_of(matrix)]
    design = as_design(matrix)
    w, g = vectors(2)
    np.testing.assert_allclose(design.matvec(w), X @ w, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(design.rmatvec(g), X.T @ g, rtol=1e-14, atol=1e-14)
    for array, old in zip(arrays_of(matrix), before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_matrices_on_disk(tmp_path, dtype, order):
    written = np.memmap(tmp_path / "X.bin", dtype=dtype, mode="w+", shape=X.shape, order=order)
    written[:] = X
    written.flush()
    matrix = np.memmap(tmp_path / "X.bin", dtype=dtype, mode="r", shape=X.shape, order=order)
    design = as_design(matrix)
    w, g = vectors(3)
    assert any(np.shares_memory(matrix, mine) for mine in arrays_of(design))
    np.testing.assert_allclose(design.matvec(w), X @ w, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(design.rmatvec(g), X.T @ g, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("enter", [sp.csr_array, sp.csc_array], ids=["CSR", "CSC"])
def test_sparse_matrices_on_disk(tmp_path, enter):
    matrix = enter(X)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / name, getattr(matrix, name))
        setattr(matrix, name, np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    design = as_design(matrix)
    w, g = vectors(4)
    held = arrays_of(design)
    assert all(any(np.shares_memory(array, mine) for mine in held) for array in arrays_of(matrix))
    np.testing.assert_allclose(design.matvec(w), X @ w, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(design.rmatvec(g), X.T @ g, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("order", ["C", "F"])
def test_single_precision_is_never_widened_as_a_whole(order):
    """Peak memory of construction and of both products stays far below a double-precision copy (16 MB)."""
    A = np.ones((20_000, 100), dtype=np.float32, order=order)
    w, g = np.ones(100), np.ones(20_000)
    tracemalloc.start()
    design = as_design(A)
    design.matvec(w)
    design.rmatvec(g)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6


@pytest.mark.parametrize("enter", [sp.csr_array, sp.csc_array], ids=["CSR", "CSC"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_products_need_no_memory_beyond_their_results(enter, dtype):
    A = enter(sp.random(2000, 500, density=0.5, random_state=0, dtype=dtype))
    w, g, scores, weights = np.ones(500), np.ones(2000), np.empty(2000), np.empty(500)
    design = as_design(A)
    tracemalloc.start()
    design.matvec(w, out=scores)
    design.rmatvec(g, out=weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e5


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "shape"),
    [(np.ones(3), r"\(3,\)"), (5.0, r"\(\)"), (np.ones((2, 2, 2)), r"\(2, 2, 2\)"), ([1, 2], r"\(2,\)")],
)
def test_matrices_have_two_dimensions(matrix, shape):
    with pytest.raises(ValueError, match=rf"X must be two-dimensional.*{shape}"):
        as_design(matrix)


@pytest.mark.parametrize("form", [sp.coo_array, sp.csr_array], ids=["COO", "CSR"])
def test_sparse_vectors_are_not_matrices(form):
    vector = form(np.array([1.0, 0.0, 2.0]))
    if vector.ndim == 2:
        pytest.skip("SciPy before 1.15 makes a matrix of one row of it")
    with pytest.raises(ValueError, match=r"X must be two-dimensional.*\(3,\)"):
        as_design(vector)


@pytest.mark.parametrize("enter", [sp.csr_array, sp.csc_array], ids=["CSR", "CSC"])
@pytest.mark.parametrize("index", [-1, 99])
def test_indices_outside_the_matrix_are_refused(enter, index):
    """They would be read and written outside of memory."""
    matrix = enter(X)
    matrix.indices[2] = index
    with pytest.raises(ValueError, match="X has column or row indices outside"):
        as_design(matrix)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_those_of_the_matrix(make, dtype):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.4), 1).astype(dtype)
    design, chosen = as_design(make(X)), np.array([1, 4, 5, 11])
    for _ in range(20):  # after some products with it a design may have a copy of its indices
        design.matvec(np.ones(12))
    some, w, g = design.columns(chosen), rng.normal(size=4), rng.normal(size=30)
    assert design.gives_columns
    assert some.shape == (30, 4)
    np.testing.assert_allclose(some.matvec(w), X[:, chosen].astype(float) @ w, atol=1e-12)
    np.testing.assert_allclose(some.rmatvec(g), g @ X[:, chosen].astype(float), atol=1e-12)
    biased = BiasedDesign(design, 2.0)
    with_bias = biased.columns(np.append(chosen, 12))
    np.testing.assert_allclose(with_bias.matvec(np.append(w, 3.0)), some.matvec(w) + 6.0, atol=1e-12)
    assert biased.columns(chosen).shape == (30, 4)
    rows, wide = np.array([7, 0, 29, 3]), np.column_stack([X, np.full(30, 2.0)])
    for each in (design, biased):
        by_columns = each.by_columns(rows)
        assert by_columns.format == "csc"
        assert by_columns.data.dtype == np.float64
        np.testing.assert_array_equal(by_columns.toarray(), wide[rows, : each.shape[1]])


def test_scratch_is_the_same_memory_in_a_thread_and_another_in_the_next():
    scratch = Scratch()
    mine = scratch.take(4)
    assert np.shares_memory(mine, scratch.take(3))
    found = []
    thread = threading.Thread(target=lambda: found.append(scratch.take(4)))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, found[0])
    assert pickle.loads(pickle.dumps(scratch)).take(2).shape == (2,)
