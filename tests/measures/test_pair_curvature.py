"""Second derivatives of the smoothed risk of pairs: one pair at a time, and differences of gradients."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from problems import random_ranked, searching
from query_oracles import positions
from smoothperf.design import as_design
from smoothperf.measures import pair_curvature
from smoothperf.measures.queries import Queries
from smoothperf.measures.query_pairs import QueryROCArea


class Drawn:
    """Documents of queries without ties, by a seed, with features."""

    def __init__(self, seed, weighting="queries"):
        drawn = random_ranked(seed, 8, best=2.5, ties=False, shifts=(0.0,))
        self.grades, self.qid, self.weights, self.f, rng = drawn
        shape = self.f.size, 3
        self.X = rng.normal(size=shape) * (rng.random(size=shape) < 0.7)
        self.by_pairs = weighting == "pairs"
        self.risk = QueryROCArea(weighting).bind(self.grades, self.qid, self.weights)

    def matrix(self, mu, following=None):
        """C, one pair at a time."""
        C, total = np.zeros((self.f.size, self.f.size)), 0.0
        for rows in positions(self.qid):
            pairs = [(i, j) for i, j in product(rows, rows) if self.grades[i] > self.grades[j]]
            if not pairs:
                continue
            weight = 1.0 if self.weights is None else self.weights[rows[0]]
            total += weight * (len(pairs) if self.by_pairs else 1.0)
            for i, j in pairs:
                if 0.0 < 1.0 - (self.f[i] - self.f[j]) < mu:
                    edge = np.zeros(self.f.size)
                    edge[[i, j]] = 1.0, -1.0
                    C += weight / (1.0 if self.by_pairs else len(pairs)) / (following or mu) * np.outer(edge, edge)
        return C / total


seeds = st.integers(0, 10**6)


@pytest.mark.parametrize("weighting", ["queries", "pairs"])
@searching(25)
@given(seed=seeds, mu=st.sampled_from([0.05, 0.5, 2.0, 50.0]), block=st.sampled_from([1, 20, 10**6]))
def test_hessian_one_pair_at_a_time(weighting, seed, mu, block):
    drawn = Drawn(seed, weighting)
    risk, f, X = drawn.risk, drawn.f, drawn.X
    curvature = risk.curvature(f, risk.smoothed(f, mu), mu, 0.7 * mu)
    C = drawn.matrix(mu, 0.7 * mu)
    np.testing.assert_array_equal(np.sort(curvature.rows), np.flatnonzero(np.diag(C)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_curvature, "BLOCK", block)
        patch.setattr(pair_curvature, "LEAST_ROWS", 1)
        for form in (np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array):
            hessian, trace = curvature.hessian(as_design(form(X)))
            np.testing.assert_allclose(hessian, X.T @ C @ X, atol=1e-12 * (1.0 + trace))
            np.testing.assert_array_equal(hessian, hessian.T)
            assert trace == pytest.approx(np.trace(X.T @ np.diag(np.diag(C)) @ X), rel=1e-12, abs=1e-300)


@searching(25)
@given(seed=seeds, mu=st.sampled_from([0.05, 0.5, 2.0]))
def test_it_is_the_derivative_of_the_gradient(seed, mu):
    drawn = Drawn(seed)
    risk, f, step = drawn.risk, drawn.f, 1e-7
    C = drawn.matrix(mu)
    x = 1.0 - (f[:, None] - f)
    if min(np.abs(x).min(), np.abs(x - mu).min()) < 1e-4:
        return  # where pairs come on the ramp or leave it, there is no derivative
    for direction in np.random.default_rng(seed).normal(size=(3, f.size)):
        ahead, behind = (risk.smoothed(f + s * direction, mu).plane.gradient for s in (step, -step))
        np.testing.assert_allclose(C @ direction, (ahead - behind) / (2.0 * step), atol=1e-6 * (1.0 + np.abs(C).max()))


@pytest.mark.parametrize("ratio", [0.999, 1.001])
def test_change_is_that_of_the_gradient_when_mu_changes(ratio):
    compared = 0
    for seed in range(40):
        drawn = Drawn(seed)
        risk, f, mu = drawn.risk, drawn.f, 0.6
        if not np.array_equal(drawn.matrix(mu) != 0.0, drawn.matrix(ratio * mu) != 0.0):
            continue
        before, after = (risk.smoothed(f, width).plane.gradient for width in (mu, ratio * mu))
        curvature = risk.curvature(f, risk.smoothed(f, mu), mu, ratio * mu)
        change = np.zeros(f.size)
        change[curvature.rows] = curvature.change
        np.testing.assert_allclose(after - before, change, atol=1e-13)
        compared += bool(curvature.rows.size)
    assert compared > 10


def worst_and_best(grades, qid):
    """The first document of the lowest grade of each query, and the last one of the highest."""
    found = set()
    for rows in positions(qid):
        rows = np.asarray(rows)
        found |= {int(rows[grades[rows].argmin()]), int(rows[::-1][grades[rows[::-1]].argmax()])}
    return sorted(found)


@pytest.mark.parametrize("weighting", ["queries", "pairs"])
@searching(25)
@given(seed=seeds, enough=st.sampled_from([1, 4, 10**6]))
def test_what_to_begin_with_is_that_of_all_pairs_of_some_documents(weighting, seed, enough):
    drawn = Drawn(seed, weighting)
    X, n = drawn.X, drawn.f.size
    drawn.f = np.zeros(n)
    curvature = drawn.risk.first_curvature(enough)
    some = np.sort(curvature.rows)
    assert set(worst_and_best(drawn.grades, drawn.qid)) <= set(some)
    if enough == 1:
        np.testing.assert_array_equal(some, worst_and_best(drawn.grades, drawn.qid))
    elif enough == 10**6:
        np.testing.assert_array_equal(some, np.arange(n))
    assert not curvature.change.any()
    # Edges between documents that were left out are taken from the graph of all, on a ramp of two margins.
    C = np.where(np.outer(np.isin(np.arange(n), some), np.isin(np.arange(n), some)), drawn.matrix(2.0), 0.0)
    np.fill_diagonal(C, 0.0)
    C -= np.diag(C.sum(axis=1))
    hessian, trace = curvature.hessian(as_design(X))
    np.testing.assert_allclose(hessian, (n / some.size) ** 2 * X.T @ C @ X, atol=1e-12 * (1.0 + trace))


def test_nothing_on_the_ramp():
    """As with scores that are all equal, whose pairs are all beyond it."""
    risk = QueryROCArea().bind([0, 1, 2, 1], [0, 0, 0, 1])
    curvature = risk.curvature(np.zeros(4), risk.smoothed(np.zeros(4), 0.1), 0.1, 0.05)
    assert curvature.rows.size == curvature.change.size == 0
    hessian, trace = curvature.hessian(as_design(np.ones((4, 2))))
    assert trace == 0.0
    assert not hessian.any()


def test_none_in_a_group():
    class Two(type(Queries.of([0, 1], [0, 0]).together)):
        size = 2

    queries = Queries.of([0, 1], [0, 0], together=Two())
    with pytest.raises(NotImplementedError, match="has no second derivatives"):
        QueryROCArea().risk(queries).curvature(np.zeros(2), None, 0.1, 0.1)
