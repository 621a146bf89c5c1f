"""Numbers and arrays that kernels must not be left alone with: too large, not finite, too short."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from smoothperf import LBFGS, MeasureClassifier, kernels
from smoothperf.design import as_design
from smoothperf.io import StoreWriter
from smoothperf.kernels import _best_flips, _flips, _roc_area, _roc_bins, _top_k
from smoothperf.measures import get_measure
from smoothperf.optimise import Start
from smoothperf.optimise.objective import LARGEST_SCORE, RegularizedRisk

MEASURES = ["roc_area", "roc_area@0.1", "prbep", "precision@5", "recall@5%", "f1", "jaccard", "error_rate"]
SMOOTH = ["log_loss", "squared_hinge"]


def data_with_a_large_column(size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    X[:, 3] *= size
    return X, X[:, 0] + 0.5 * rng.normal(size=60) > 0


# --- X that is too large ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "alpha", "solver"),
    [(1e152, 1e-4, "bmrm"), (1e150, 1e-9, "lbfgs"), (1e73, 1e-4, "bmrm"), (1.0, 1e-200, "lbfgs")],
)
def test_x_is_refused_where_its_squares_over_alpha_cannot_be_held(size, alpha, solver):
    X, y = data_with_a_large_column(size)
    model = MeasureClassifier("roc_area", alpha=alpha, solver=solver)
    with pytest.raises(ValueError, match=rf"X is too large for alpha={alpha:g}.*[Ss]cale the columns"):
        model.fit(X, y)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, np.asfortranarray])
def test_so_it_is_whatever_holds_it(make):
    X, y = data_with_a_large_column(1e100)
    with pytest.raises(ValueError, match="Scale the columns"):
        MeasureClassifier().fit(make(X), y)


def test_so_it_is_in_a_store(tmp_path):
    X, y = data_with_a_large_column(1e100)
    with StoreWriter(tmp_path / "large.store") as writer:
        writer.add(X, y)
    with pytest.raises(ValueError, match="Scale the columns"):
        MeasureClassifier().fit(tmp_path / "large.store")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::smoothperf.ZeroModelWarning")
@pytest.mark.parametrize("solver", ["lbfgs", "nesterov", "bmrm"])
@pytest.mark.parametrize("measure", MEASURES)
def test_x_that_is_nearly_too_large_is_survived(measure, solver):
    alpha = 1e-6
    X, y = data_with_a_large_column(1.0)
    X[:, 3] *= np.sqrt(LARGEST_SCORE * alpha) / np.linalg.norm(X) / 10.0
    model = MeasureClassifier(measure, alpha=alpha, solver=solver, max_iter=30).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite([model.objective_, model.lower_bound_]).all()
    assert 0.0 <= model.gap_ <= model.objective_ * (1 + 1e-9)


@pytest.mark.parametrize("columns", [3, 200])
@pytest.mark.parametrize("weight", [np.nan, np.inf, 1e200])
def test_a_start_is_finite(columns, weight):
    rng = np.random.default_rng(1)
    objective = RegularizedRisk(
        as_design(rng.normal(size=(20, columns))), get_measure("prbep").bind(np.arange(20) % 2), 0.1
    )
    start = np.zeros(columns)
    start[1] = weight
    with pytest.raises(ValueError, match="start must be finite"):
        LBFGS().run(objective, start)


@pytest.mark.parametrize("part", ["slopes", "offsets", "gram", "weights"])
def test_planes_of_an_earlier_run_are_finite(part):
    X, y = data_with_a_large_column(1.0)
    objective = RegularizedRisk(as_design(X), get_measure("roc_area").bind(y), 1e-3)
    planes = LBFGS().run(objective, keep_planes=10).planes
    odd = replace(planes, **{part: np.full_like(getattr(planes, part), np.nan)})
    with pytest.raises(ValueError, match="planes must be finite"):
        LBFGS().run(objective, Start(planes=odd))


@pytest.mark.parametrize("weight", [1e308, 1e71, 1e-74, 5e-324])
@pytest.mark.parametrize("measure", MEASURES)
def test_weights_whose_products_cannot_be_held_are_refused(measure, weight):
    X, y = data_with_a_large_column(1.0)
    with pytest.raises(ValueError, match=r"sample_weight adds up to .* multiply all weights"):
        MeasureClassifier(measure).fit(X, y, np.full(60, weight))


# --- scores that are not finite --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n", [40, 3000])
@pytest.mark.parametrize("measure", [*MEASURES, "balanced_error_rate", *SMOOTH])
def test_scores_that_are_not_finite_are_refused_or_survived(measure, n):
    """The result is of no use; but there is one, and no memory is touched that belongs to others."""
    rng = np.random.default_rng(2)
    y = rng.random(n) < 0.3
    y[:2] = True, False
    plain = rng.normal(size=n)
    for weights in (None, rng.random(n) + 0.1):
        risk = get_measure(measure).bind(y, weights)
        mu = 1e-3 / (risk.diameter or 1.0)
        hint = risk.smoothed(plain, mu).hint
        for odd in (np.nan, np.inf, -np.inf, 1e308):
            for some in (slice(None), slice(n // 2, n // 2 + 1), slice(0, n, 3)):
                scores = plain.copy()
                scores[some] = odd
                for evaluate in (
                    risk.exact,
                    risk.exact_value,
                    lambda f: risk.smoothed(f, mu),  # noqa: B023
                    lambda f: risk.smoothed(f, mu, hint, plain),  # noqa: B023
                ):
                    with contextlib.suppress(ValueError, OverflowError, ZeroDivisionError):
                        evaluate(scores)
        before = risk.smoothed(plain, mu)
        assert np.isfinite(before.plane.gradient).all()


def test_bins_see_a_score_that_is_nan():
    scores = np.linspace(-1.0, 1.0, 1000)
    labels = np.zeros(1000, dtype=np.uint8)

    def range_of(scores):
        return _roc_bins.bin_moments(scores, labels, None, 1.0, 0.0, 1.0, -1.0, 1.0, np.empty((4, 4, 2, 4)))

    assert range_of(scores) == (-1.0, 1.0)
    for at in (0, 7, 995, 999):
        odd = scores.copy()
        odd[at] = np.nan
        assert range_of(odd) == (-np.inf, np.inf)


# --- arrays that are too short ---------------------------------------------------------------------------------------

ROWS = np.array([0, 2, 3], dtype=np.int32), np.array([0, 2, 1], dtype=np.int32), np.ones(3)
ONE, TWO, THREE, FOUR = np.zeros(1), np.zeros(2), np.zeros(3), np.zeros(4)
LABELS = np.array([1, 0, 1], dtype=np.uint8)
TABLE = np.zeros((3, 4))
LINE = (1.0, 0.0, 0.0)
SHORT_OF = {
    "gather: out": lambda: kernels.gather(*ROWS, False, None, THREE, ONE, 1),
    "gather: data": lambda: kernels.gather(*ROWS[:2], TWO, False, None, THREE, TWO, 1),
    "gather: levels": lambda: kernels.gather(*ROWS, False, ONE, THREE, TWO, 1),
    "gather: indices": lambda: kernels.gather(ROWS[0], ROWS[1][:2], TWO, False, None, THREE, TWO, 1),
    "scatter: g": lambda: kernels.scatter(*ROWS, False, None, ONE, THREE, True, 1, np.empty(9)),
    "half_gram: rows": lambda: kernels.half_gram(*ROWS, np.array([2]), ONE, np.zeros((3, 3))),
    "half_gram: weights": lambda: kernels.half_gram(*ROWS, np.array([0, 1]), ONE, np.zeros((3, 3))),
    "row_norms: data": lambda: kernels.row_norms(ROWS[0], TWO, True),
    "sum_and_squares: out": lambda: kernels.sum_and_squares(THREE, 1.0, THREE, 3, 0, TWO),
    "sum_and_squares: terms": lambda: kernels.sum_and_squares(FOUR, 1.0, FOUR, 2, 3, FOUR.copy()),
    "inner_products: p": lambda: kernels.inner_products(THREE, THREE, TWO, 3, 0),
    "differences: s": lambda: kernels.differences(THREE, THREE, THREE, THREE, 3, 0, TWO, THREE.copy()),
    "two_loop: order": lambda: kernels.two_loop(TABLE, TABLE, THREE, np.array([3]), 1.0, 4, 0, FOUR.copy()),
    "two_loop: curvatures": lambda: kernels.two_loop(TABLE, TABLE, TWO, np.array([0]), 1.0, 4, 0, FOUR.copy()),
    "two_loop: p": lambda: kernels.two_loop(TABLE, TABLE, THREE, np.array([0]), 1.0, 4, 0, THREE.copy()),
    "pointwise: gradient": lambda: kernels.pointwise_hinges(THREE, LABELS, None, 1.0, 1.0, 1.0, 1.0, TWO, 1),
    "pointwise: labels": lambda: kernels.pointwise_hinges(THREE, LABELS[:2], None, 1.0, 1.0, 1.0, 1.0, THREE.copy(), 1),
    "logistic: gradient": lambda: kernels.logistic_losses(THREE, LABELS, None, None, 1.0, None, TWO, 1),
    "logistic: logs": lambda: kernels.logistic_losses(THREE, LABELS, THREE, None, 1.0, None, THREE.copy(), 1),
    "logistic: direction": lambda: kernels.logistic_losses(THREE, LABELS, None, None, 1.0, TWO, THREE.copy(), 1),
    "squared hinges: weights": lambda: kernels.squared_hinges(THREE, LABELS, TWO, 1.0, None, THREE.copy(), 1),
    "huber_sums: out": lambda: kernels.huber_sums(THREE, None, THREE, 1.0, TWO),
    "ramp table": lambda: _roc_area.RampTable(np.zeros(0), None),
    "ramp table: weights": lambda: _roc_area.RampTable(THREE, TWO),
    "sweep_bins: bins": lambda: _roc_area.sweep_bins(THREE, np.zeros((3, 4)), 1.0, THREE.copy()),
    "collect: kept": lambda: _top_k.collect(THREE, LABELS, None, *LINE, 0.0, 1.0, TWO, TWO, 1),
    "sample: scores": lambda: _top_k.sample(THREE, LABELS, *LINE, 2, THREE.copy()),
    "cells: weights": lambda: _top_k.weigh_cells(THREE, TWO, 0.0, 1.0, FOUR.copy()),
    "moments: labels": lambda: _roc_bins.bin_moments(THREE, LABELS[:2], None, *LINE, 0.0, 1.0, np.zeros((2, 4, 2, 4))),
    "lines: lines": lambda: _roc_bins.bin_lines(np.zeros((4, 2, 4)), 1.0, 2, np.zeros((3, 2, 2))),
    "flip_along: gradient": lambda: _flips.flip_along(THREE, LABELS, None, TABLE, TABLE, 1.0, TWO.copy()),
    "flip_along: table": lambda: _flips.flip_along(
        THREE, LABELS, None, np.zeros((3, 0)), np.zeros((3, 0)), 1.0, THREE.copy()
    ),
    "prefix_sums: first": lambda: _best_flips.prefix_sums(THREE, None, None, THREE.copy(), FOUR.copy()),
}


@pytest.mark.parametrize("call", SHORT_OF.values(), ids=SHORT_OF.keys())
def test_kernels_refuse_arrays_that_are_too_short(call):
    with pytest.raises(ValueError, match=r"length|row|entries"):
        call()


#: What we say, or NumPy for dense arrays.
UNFIT = r"does not fit|do not fit|is needed|mismatch|broadcast"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, np.asarray])
def test_designs_refuse_vectors_of_another_length(make, dtype):
    design = as_design(make(np.eye(4, 6, dtype=dtype)))
    for length in (0, 5, 7):
        with pytest.raises(ValueError, match=UNFIT):
            design.matvec(np.zeros(length))
    for length in (0, 3, 5):
        with pytest.raises(ValueError, match=UNFIT):
            design.rmatvec(np.ones(length))
    with pytest.raises(ValueError, match=UNFIT):
        design.matvec(np.zeros(6), out=np.empty(3))
    with pytest.raises(ValueError, match=UNFIT):
        design.rmatvec(np.ones(4), out=np.empty(5))


@pytest.mark.parametrize("indptr", [[0, 3, 2, 3], [0, 2, 9, 3]])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix])
def test_pointers_that_do_not_ascend_are_refused(make, indptr):
    X = make((3, 3))
    X.data, X.indices, X.indptr = np.ones(3), np.arange(3, dtype=np.int32), np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="check_format"):
        as_design(X)
