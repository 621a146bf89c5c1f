"""The generated problem: its shape, its statistics, and what it says to wrong arguments."""

import numpy as np
import pytest
import scipy.sparse as sp

from smoothperf import LBFGS, ROCArea
from smoothperf.datasets import make_rare_positives
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk


def test_shape_labels_and_rate():
    X, y = make_rare_positives(3000, 700, positive_rate=0.02)
    assert isinstance(X, sp.csr_matrix)
    assert X.shape == (3000, 700)
    assert X.has_canonical_format
    assert X.data.min() > 0.0
    assert set(np.unique(y)) == {-1, 1}
    assert (y > 0).sum() == 60


def test_rows_have_unit_norm():
    X, _ = make_rare_positives(500, 300)
    np.testing.assert_allclose(sp.linalg.norm(X, axis=1), 1.0, rtol=1e-12)


def test_number_of_nonzeros_and_popularity_of_words():
    X, _ = make_rare_positives(5000, 5000, nonzeros=30)
    assert 27 < X.nnz / 5000 <= 30
    popularity = np.bincount(X.indices, minlength=5000)
    first, middle, last = popularity[:100].mean(), popularity[1000:1100].mean(), popularity[-100:].mean()
    # Zipf's law with the shift of 100: 1/150 to 1/1150 to 1/5050; about, as a word drawn twice counts once.
    assert first / middle == pytest.approx(1150 / 150, rel=0.2)
    assert middle / last == pytest.approx(5050 / 1150, rel=0.2)


def test_same_seed_same_data_other_seed_other_data():
    (X, y), (X_again, y_again) = (make_rare_positives(300, 100, random_state=7) for _ in range(2))
    assert abs(X - X_again).max() == 0.0
    np.testing.assert_array_equal(y, y_again)
    X_other, _ = make_rare_positives(300, 100, random_state=8)
    assert abs(X - X_other).max() > 0.0


def test_a_generator_is_used_and_advanced():
    rng = np.random.default_rng(7)
    X, _ = make_rare_positives(300, 100, random_state=rng)
    X_seeded, _ = make_rare_positives(300, 100, random_state=7)
    X_next, _ = make_rare_positives(300, 100, random_state=rng)
    assert abs(X - X_seeded).max() == 0.0
    assert abs(X - X_next).max() > 0.0


def test_neither_hopeless_nor_perfect():
    X, y = make_rare_positives(8000, 2000, positive_rate=0.02)
    train, test = slice(4000), slice(4000, None)
    result = LBFGS().run(RegularizedRisk(as_design(X[train]), ROCArea().bind(y[train]), 1e-3))
    assert 0.85 < ROCArea().score(y[test], X[test] @ result.coef) < 0.999


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (50, 1000)])
def test_small_problems(shape):
    X, y = make_rare_positives(*shape, positive_rate=0.5, nonzeros=1, noise=0)
    assert X.shape == shape
    assert 0 < (y > 0).sum() < shape[0]
    assert np.isfinite(X.data).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 1}, "n_samples must be a whole number of at least 2, got 1"),
        ({"n_features": 0}, "n_features must be a whole number of at least 1, got 0"),
        ({"n_features": 2.5}, "n_features must be a whole number"),
        ({"nonzeros": 0}, "nonzeros must be a whole number of at least 1"),
        ({"positive_rate": 0}, "positive_rate must be a finite number above 0"),
        ({"positive_rate": 1.0}, "makes 100 of 100 rows positive; both classes must occur"),
        ({"positive_rate": 0.001}, "makes 0 of 100 rows positive; both classes must occur"),
        ({"noise": -1.0}, r"noise must be a finite number above 0, got -1.0. Or 0 for none."),
        ({"noise": float("nan")}, "noise must be a finite number"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_rare_positives(**{"n_samples": 100, "n_features": 50, "positive_rate": 0.1, **arguments})
