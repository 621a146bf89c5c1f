"""The general door: any function of missed and false positives, against all labelings and the special measures."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from problems import plainly_scored, searching
from smoothperf import LBFGS, Contingency, FBeta
from smoothperf.design import as_design
from smoothperf.measures import contingency
from smoothperf.objective import RegularizedRisk


def squares(b, c):
    """Convex, and far above 1."""
    return b**2 + 0.5 * c**2 * b


def at_most_two(b, c):
    """Neither convex nor concave."""
    return np.minimum(b + c, 2) / 2.0


def number_by_number(b, c):
    """A function that cannot take arrays."""
    return 0.3 * max(b - c, 0) + (0.1 if b == c and b > 0 else 0.0)


every_delta = pytest.mark.parametrize("delta", [squares, at_most_two, number_by_number], ids=lambda d: d.__name__)


@every_delta
@searching(12)
@given(problem=plainly_scored(), other=st.lists(st.floats(-3.0, 3.0), min_size=8, max_size=8))
def test_exact_risk_is_the_maximum_over_all_labelings(delta, problem, other):
    y, scores = problem
    risk = Contingency(delta).bind(y)
    result = risk.exact(scores)
    assert result.value == pytest.approx(oracles.contingency_risk(y, scores, delta), abs=1e-10)
    assert risk.exact_value(scores) == pytest.approx(result.value, abs=1e-10)
    assert result.plane.gradient @ scores + result.plane.offset == pytest.approx(result.value, abs=1e-10)
    elsewhere = np.array(other[: len(y)])
    assert (
        result.plane.gradient @ elsewhere + result.plane.offset <= oracles.contingency_risk(y, elsewhere, delta) + 1e-10
    )


@every_delta
@searching(12)
@given(
    problem=plainly_scored(),
    other=st.lists(st.floats(-3.0, 3.0), min_size=8, max_size=8),
    deviation=st.sampled_from([1e-9, 1e-4, 0.03, 1.0, 100.0]),
)
def test_smoothed_risk_keeps_its_promises(delta, problem, other, deviation):
    y, scores = problem
    risk = Contingency(delta).bind(y)
    result, exact = risk.smoothed(scores, deviation / risk.diameter), risk.exact_value(scores)
    rounding = result.plane.rounding * (1.0 + np.abs(scores).max())
    assert exact - deviation * (1 + 1e-12) - rounding <= result.value <= exact + rounding
    assert result.value <= result.height + rounding
    assert result.height == pytest.approx(result.plane.gradient @ scores + result.plane.offset, abs=rounding)
    assert result.exact == (exact, exact)
    elsewhere = np.array(other[: len(y)])
    plane = result.plane.gradient @ elsewhere + result.plane.offset
    assert plane <= oracles.contingency_risk(y, elsewhere, delta) + result.plane.rounding * (
        1.0 + np.abs(elsewhere).max()
    )


@every_delta
@searching(12)
@given(problem=plainly_scored(), deviation=st.floats(0.05, 2.0))
def test_gradient_is_that_of_finite_differences(delta, problem, deviation):
    y, scores = problem
    risk = Contingency(delta).bind(y)
    mu, step = deviation / risk.diameter, 1e-5
    differences = oracles.central_differences(lambda f: risk.smoothed(f, mu).value, scores, step)
    gradient = risk.smoothed(scores, mu).plane.gradient
    assert (np.abs(gradient - differences) <= risk.lipschitz(mu) * step + 1e-7).all()


@every_delta
@searching(12)
@given(problem=plainly_scored(), move=st.lists(st.floats(-0.3, 0.3), min_size=8, max_size=8))
def test_gradient_changes_no_faster_than_the_lipschitz_constant(delta, problem, move):
    y, scores = problem
    risk = Contingency(delta).bind(y)
    mu = 0.3 / risk.diameter
    move = np.array(move[: len(y)])
    change = risk.smoothed(scores + move, mu).plane.gradient - risk.smoothed(scores, mu).plane.gradient
    assert np.linalg.norm(change) <= risk.lipschitz(mu) * np.linalg.norm(move) + 1e-9


@pytest.mark.parametrize("delta", [squares, number_by_number])
def test_smoothed_value_is_that_of_the_definition(delta):
    """A generic solver for every number of flips in a class, and a soft maximum over the table."""
    import cvxpy as cp

    y, scores = np.array([1, -1, 1, -1, -1]), np.array([0.4, 0.1, -0.6, -0.8, 0.9])
    risk = Contingency(delta).bind(y)
    mu = 0.2 / risk.diameter
    gains = []
    for label in (1, -1):
        a = -2.0 / 5 * label * scores[y == label]
        gains.append([])
        for count in range(a.size + 1):
            beta = cp.Variable(a.size)
            goal = cp.Maximize(a @ beta - mu / 2 * cp.sum_squares(beta - 0.5))
            gains[-1].append(cp.Problem(goal, [cp.sum(beta) == count, beta >= 0, beta <= 1]).solve(solver=cp.CLARABEL))
    cells = np.array([[delta(b, c) + gains[0][b] + gains[1][c] for c in range(4)] for b in range(3)])
    nu = contingency.SOFT_SHARE * mu * 5 / 8 / np.log(12)
    expected = cells.max() + nu * np.log(np.mean(np.exp((cells - cells.max()) / nu)))
    assert risk.smoothed(scores, mu).value == pytest.approx(expected, abs=1e-7)


@searching(12)
@given(problem=plainly_scored(), seed=st.integers(0, 1000))
def test_whole_weights_stand_for_copies(problem, seed):
    y, scores = problem
    weights = np.random.default_rng(seed).integers(1, 4, size=len(y))
    measure = Contingency(squares)
    many_y, many_scores = oracles.copies(y, weights, scores)
    weighted, copied = measure.bind(y, weights), measure.bind(many_y)
    assert weighted.diameter == copied.diameter
    assert weighted.exact_value(scores) == pytest.approx(copied.exact_value(many_scores), abs=1e-10)
    pairs = (
        (weighted.exact(scores), copied.exact(many_scores)),
        (weighted.smoothed(scores, 0.05), copied.smoothed(many_scores, 0.05)),
    )
    for one, many in pairs:
        assert one.value == pytest.approx(many.value, abs=1e-9)
        np.testing.assert_allclose(one.plane.gradient, oracles.sum_over_copies(many.plane.gradient, weights), atol=1e-9)
    assert measure.score(y, scores, weights) == measure.score(many_y, many_scores)
    assert measure.threshold(y, scores, weights) == measure.threshold(many_y, many_scores)


def test_weights_must_be_whole():
    for use in (
        lambda w: Contingency(squares).bind([1, -1], w),
        lambda w: Contingency(squares).score([1, -1], [1, 0], w),
    ):
        with pytest.raises(ValueError, match=r"sample_weight must be whole numbers, got 1\.5 at position 1"):
            use([1.0, 1.5])


def test_many_rows_are_worked_on_in_parts(monkeypatch):
    y, scores = np.repeat([1, -1], [9, 14]), np.random.default_rng(0).normal(size=23)
    whole = Contingency(at_most_two).bind(y)
    expected = whole.exact_value(scores), whole.smoothed(scores, 0.01)
    monkeypatch.setattr(contingency, "CELLS_AT_A_TIME", 20)
    parts = Contingency(at_most_two).bind(y)
    assert parts.exact_value(scores) == expected[0]
    result = parts.smoothed(scores, 0.01)
    assert result.value == pytest.approx(expected[1].value, abs=1e-14)
    np.testing.assert_allclose(result.plane.gradient, expected[1].plane.gradient, atol=1e-15)


def test_score_and_threshold():
    y, scores = [1, 1, -1, -1, -1], [3.0, 1.0, 2.0, 0.5, -1.0]
    measure = Contingency(lambda b, c: (b + c) / 5)
    assert measure.score(y, scores) == pytest.approx(1 - 2 / 5)
    assert measure.threshold(y, scores) in (0.75, 2.5)  # equally good
    assert Contingency(lambda b, c: (5 * b + c) / 13).threshold(y, scores) == 0.75
    assert Contingency(lambda b, c: (b + 5 * c) / 17).threshold(y, scores) == 2.5


def test_training_with_the_loss_of_f1_is_training_for_f1():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(200) < 0.4, 1, -1)
    X, positives = rng.normal(size=(200, 4)) + 0.5 * y[:, None], int((y == 1).sum())
    general = Contingency(lambda b, c: (b + c) / (2 * positives - b + c))
    results = [
        LBFGS(tol=1e-4).run(RegularizedRisk(as_design(X), measure.bind(y), 1e-2)) for measure in (general, FBeta())
    ]
    assert all(result.gap <= 1e-4 for result in results)
    assert results[0].objective == pytest.approx(results[1].objective, abs=2e-4)


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (lambda b, c: 1.0 + 0 * b * c, r"must be 0 for 0 missed positives and 0 false positives, got 1\.0"),
        (lambda b, c: b / (b + c), "must be 0 for 0 missed positives and 0 false positives, got nan"),
        (
            lambda b, c: b - c,
            r"a finite number that is not negative for 0 missed positives and 1 false positives, got -1",
        ),
        (lambda b, c: np.where(b == 2, np.inf, 0.0 * c), "for 2 missed positives and 0 false positives, got inf"),
        (lambda b, c: None, "delta fails for 0 missed positives and 0 false positives"),
        (lambda b, c: 1 // max(0, b), "delta fails for 0 missed positives and 0 false positives"),
    ],
)
def test_losses_that_make_no_sense_are_refused(delta, message):
    with pytest.raises(ValueError, match=message):
        Contingency(delta).bind([1, 1, -1, -1])


def test_delta_must_be_a_function():
    with pytest.raises(ValueError, match=r"delta must be a function of two numbers, got 0\.5"):
        Contingency(0.5)


def test_large_tables_warn_and_larger_ones_are_refused(monkeypatch):
    y = np.repeat([1, -1], [10, 20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Contingency(squares).bind(y)
    monkeypatch.setattr(contingency, "MANY_CELLS", 200)
    with pytest.warns(UserWarning, match="10 positives and 20 negatives make a table of 2.3e\\+02 losses"):
        Contingency(squares).bind(y)
    monkeypatch.setattr(contingency, "_memory", lambda: 1000.0)
    with pytest.raises(ValueError, match="does not fit into memory; train on a sample"):
        Contingency(squares).bind(y)


def test_contingency_is_a_value():
    measure = Contingency(squares)
    copy = pickle.loads(pickle.dumps(measure))
    assert copy == measure
    assert hash(copy) == hash(measure)
    assert measure != Contingency(at_most_two)
    assert measure.name == "contingency"
    assert measure.fits_bias
    risk = pickle.loads(pickle.dumps(measure)).bind([1, -1])
    assert not risk.shift_invariant
