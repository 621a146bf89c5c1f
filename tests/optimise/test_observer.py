"""Observers see the weights of every iterate, in whatever space a solver works, and change nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

from smoothperf import BMRM, LBFGS, PRBEP, Nesterov, Newton
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


def objective(n_features):
    rng = np.random.default_rng(0)
    X = sp.random(60, n_features, density=0.2, random_state=1, format="csr")
    y = np.where(rng.random(60) < 0.3, 1, -1)
    return RegularizedRisk(as_design(X), PRBEP().bind(y), 1e-2)


@pytest.mark.parametrize("solver", [LBFGS(), Nesterov(), BMRM(), Newton()], ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("n_features", [20, 300], ids=["weights", "rows"])
def test_observers_see_the_weights_and_change_nothing(solver, n_features):
    seen = []
    order = []

    def observe(row, weights):
        order.append(("observer", row.iteration))
        seen.append((row, weights().copy()))

    plain = solver.run(objective(n_features))
    J = objective(n_features)
    watched = solver.run(J, callback=lambda row: order.append(("callback", row.iteration)), observer=observe)
    assert [row.iteration for row, _ in seen] == list(range(watched.n_iter + 1))
    assert order[:4] == [("observer", 0), ("callback", 0), ("observer", 1), ("callback", 1)]
    assert (plain.n_iter, plain.n_matvec, plain.n_rmatvec) == (watched.n_iter, watched.n_matvec, watched.n_rmatvec)
    np.testing.assert_array_equal(plain.trace["passes"], watched.trace["passes"])
    np.testing.assert_allclose(plain.coef, watched.coef)
    for row, weights in seen:
        assert weights.shape == (n_features,)
        # The trace has J at these weights, or a value a little above it.
        assert J.exact(weights) <= row.objective + 1e-9
    assert min(J.exact(weights) for _, weights in seen) == pytest.approx(watched.objective, abs=1e-9)


def test_columns_that_a_trace_does_not_have():
    with pytest.raises(KeyError, match=r"a trace has the columns iteration, .*, not 'loss'"):
        LBFGS().run(objective(20)).trace["loss"]
