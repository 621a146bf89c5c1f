"""Cells of values against sums over the values themselves, and the root that members find with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups import parts, run_group
from problems import searching
from smoothperf.dask.versions import projection as projection_group
from smoothperf.dask.versions.projection import Cells, Values, search_together


def filled(tau, v, weights):
    """``sum_i c_i clip(v_i - tau, 0, 1)``, as it is written."""
    return float(weights @ np.clip(v - tau, 0.0, 1.0))


@st.composite
def weighted_values(draw):
    """Values inside (low, high + 1), some of them tied, with weights."""
    low, width = draw(st.sampled_from([0.0, -3.3, 1e4])), draw(st.sampled_from([0.3, 1.0, 7.7, 40.0]))
    shares = draw(st.lists(st.one_of(st.floats(0.01, 0.99), st.sampled_from([0.25, 0.5])), min_size=1, max_size=30))
    v = low + (width + 1.0) * np.array(shares)
    weights = np.array([draw(st.sampled_from([1.0, 0.0, 0.3, 20.0])) for _ in shares])
    return v, weights, draw(st.sampled_from([0.0, 5.0])), low, low + width


def by_class(v, weights, above, *, first=3):
    """The values as members have them: in two arrays, of which one may be empty, and without weights if all are 1."""
    c = None if (weights == 1.0).all() else weights
    halves = (slice(None, first), slice(first, None))
    return Values(tuple((v[half].copy(), None if c is None else c[half].copy()) for half in halves), above)


@searching(30)
@given(problem=weighted_values(), share=st.floats(0.0, 1.0), place=st.floats(0.0, 1.0))
def test_cells_stand_for_their_values(problem, share, place):
    v, weights, above, low, high = problem
    values = by_class(v, weights, above)
    cells = Cells.of(low, high)
    assert cells.edge(cells.length - 1) < high <= cells.edge(cells.length) + 1e-11
    table = cells.table(values)
    excess = cells.excess_at_edges(table, above, 2.0)
    off = 1e-11 * (1.0 + weights.sum())
    for cell in {*range(0, cells.length, 17), cells.length}:
        assert excess[cell] == pytest.approx(filled(cells.edge(cell), v, weights) + above - 2.0, abs=off)
    # For a root in some cell, two examples take the place of all that are decided.
    cell = min(int(share * cells.length), cells.length - 1)
    few = map(np.append, cells.undecided(values, table, cell), cells.decided(table, cell, above))
    tau = cells.edge(cell) + place / cells.per_unit
    assert filled(tau, *few) == pytest.approx(filled(tau, v, weights) + above, abs=off)


@pytest.mark.parametrize("few", [0, projection_group.FEW])
@searching(15)
@given(problem=weighted_values(), share=st.floats(-0.1, 1.1))
def test_members_find_the_root_or_say_on_which_side_it_is(few, problem, share):
    v, weights, above, low, high = problem
    most, least = (filled(end, v, weights) + above for end in (low, high))
    wanted = least + share * (most - least)
    size = v.size
    slices = parts(size, [0, size // 2, size - size // 2])

    def program(communicator):
        part = slices[communicator.rank]
        own = by_class(v[part], weights[part], above if communicator.rank == 2 else 0.0)
        interval = (low + high) / 2.0, low, high
        return search_together(
            communicator, own, interval, wanted, certain=False, weighed=np.ones(2), cut_of=lambda sums: tuple(sums)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection_group, "FEW", few)
        roots = run_group(3, program)
    assert len(set(roots)) == 1
    root = roots[0]
    off = 1e-10 * (1.0 + weights.sum())
    if root.outside:
        assert (most < wanted + off) if root.outside < 0 else (least > wanted - off)
    else:
        assert (root.theta, root.looseness) == (3.0, 3.0)
        u = (1.0 - root.blend) * filled(root.tau, v, weights) + root.blend * filled(root.other, v, weights)
        assert u + above == pytest.approx(wanted, abs=off)


@pytest.mark.parametrize("start", [0.5, 0.9])
def test_the_first_member_says_where_sums_are_wanted(start):
    """In an interval too wide for cells each step is a round; others would take steps of their own from elsewhere."""
    low, high = 0.0, 1e4
    v = np.linspace(1.0, 9e3, 40)
    weights, slices = np.ones(40), parts(40, [0, 15, 25])

    def program(communicator):
        own = by_class(v[slices[communicator.rank]], weights[slices[communicator.rank]], 0.0)
        interval = high * (start if communicator.rank == 2 else 0.1), low, high
        return search_together(
            communicator, own, interval, 7.3, certain=False, weighed=np.ones(2), cut_of=lambda sums: tuple(sums)
        )

    roots = run_group(3, program)
    assert len(set(roots)) == 1
    assert filled(roots[0].tau, v, weights) == pytest.approx(7.3, abs=1e-9)
