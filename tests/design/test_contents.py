"""What tells the entries of one matrix from those of another: exact, whatever the form of the matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from groups import parts, run_group
from problems import searching
from smoothperf.design import BiasedDesign, SharedDesign, as_design
from smoothperf.design.base import Design
from smoothperf.design.contents import contents

MATRICES = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.one_of(st.sampled_from([0.0, -0.0, 1.0, 1e100, 1e-100]), st.floats(-1e8, 1e8)),
)


@searching(100)
@given(MATRICES, st.integers(0, 6))
def test_form_and_parts_do_not_matter(X, cut):
    found = contents(as_design(X))
    for same in (np.asfortranarray(X), X + 0.0, sp.csr_array(X), sp.csc_array(X), np.repeat(X, 2, axis=1)[:, ::2]):
        assert contents(as_design(same)) == found
    parts = [contents(as_design(X[:cut])) if cut else 0]
    if cut < len(X):
        parts.append(contents(as_design(X[cut:]), cut))
    assert sum(parts) % 2**64 == found
    columns = np.column_stack([X, np.full(len(X), 0.5)])
    assert contents(BiasedDesign(as_design(X), 0.5), 3) == contents(as_design(columns), 3)


@searching(100)
@given(MATRICES, st.data())
def test_every_bit_counts(X, data):
    i, j = (data.draw(st.integers(0, size - 1)) for size in X.shape)
    changed = X.copy()
    changed[i, j] = np.nextafter(X[i, j], np.inf)
    assert contents(as_design(changed)) != contents(as_design(X))
    for other in (X[::-1], X[:, ::-1]):
        assert (contents(as_design(other)) == contents(as_design(X))) == bool(np.all(other == X))


def test_float32_is_the_same_number():
    X = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    assert contents(as_design(X)) == contents(as_design(X.astype(np.float64))) == contents(as_design(sp.csr_array(X)))


def test_many_pieces():
    """Long rows, empty rows, indices of two bytes."""
    X = sp.random_array((500, 400), density=0.4, rng=0, format="csr")
    X.data[: X.indptr[20]] = 0.0
    X.eliminate_zeros()
    found = contents(as_design(X.toarray()))
    assert (
        contents(as_design(X)) == contents(as_design(X).with_short_indices()) == contents(as_design(X.tocsc())) == found
    )


def test_whole_numbers_differ_too():
    """Their bits end with many zeros, which must not be all that is compared."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(2000, 4, 4)).astype(np.float64)
    assert len({contents(as_design(each)) for each in X}) == len({each.tobytes() for each in X})


def test_unknown_designs():
    class Strange(Design):
        def matvec(self, w, out=None): ...

        def rmatvec(self, g, out=None): ...

        def column_squares(self): ...

        def gram(self, rows, weights): ...

        def dense(self, rows): ...

    with pytest.raises(TypeError, match="the entries of a Strange cannot be read"):
        contents(Strange())


@pytest.mark.parametrize("height", [None, 2.0])
def test_rows_of_a_group_are_those_in_one_place(height):
    """The first member has no row, and entries fill all 64 bits."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    biased = (lambda rows: BiasedDesign(as_design(rows), height)) if height else as_design
    lengths = [0, 20, 0, 30]

    def member(together):
        return contents(SharedDesign(biased(X[parts(50, lengths)[together.rank]]), together))

    assert set(run_group(len(lengths), member)) == {contents(biased(X))}
