"""Losses in JAX: their numbers are those of :mod:`smoothperf.losses`, under jit, grad and vmap."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="`make test-networks` has it")

import jax.numpy as jnp  # noqa: E402

from smoothperf.jax import measure_loss  # noqa: E402
from smoothperf.losses import BatchLoss  # noqa: E402


def batch(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).astype(np.float32), (rng.random(shape) < 0.3).astype(np.int32)


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("measure", ["roc_area", "prbep", "f1", "precision@10%"])
def test_value_and_gradient_compiled_or_not(measure, bound):
    scores, targets = batch(50)
    weights = np.random.default_rng(1).random(50).astype(np.float32)
    values, slopes = BatchLoss(measure, bound)(*(part.astype(float)[:, None] for part in (scores, targets, weights)))

    def loss(f):
        return measure_loss(f, targets, measure, bound, sample_weight=weights)

    for way in (jax.value_and_grad(loss), jax.jit(jax.value_and_grad(loss))):
        value, slope = way(jnp.asarray(scores))
        assert float(value) == pytest.approx(values[0], rel=1e-6)
        np.testing.assert_allclose(slope, slopes[:, 0], atol=1e-6)
    _, forwards = jax.jvp(loss, (jnp.asarray(scores),), (jnp.ones(50, np.float32),))
    assert float(forwards) == pytest.approx(slopes.sum(), abs=1e-5)


def test_batches_side_by_side():
    scores, targets = batch(3, 40)
    slopes = jax.jit(jax.vmap(jax.grad(lambda f, y: measure_loss(f, y, "prbep"))))(scores, targets)
    for row in range(3):
        one = jax.grad(lambda f, y: measure_loss(f, y, "prbep"))(scores[row], targets[row])
        np.testing.assert_allclose(slopes[row], one)


def test_half_precision_and_queries():
    scores, _ = batch(24)
    grades, qid = np.arange(24) % 4, np.arange(24) // 6
    value, slope = jax.value_and_grad(lambda f: measure_loss(f, grades, "ndcg@3", qid=qid))(
        jnp.asarray(scores, jnp.bfloat16)
    )
    assert value.dtype == jnp.float32
    assert slope.dtype == jnp.bfloat16
    rounded = np.asarray(jnp.asarray(scores, jnp.bfloat16), dtype=float)
    expected, _ = BatchLoss("ndcg@3")(rounded[:, None], grades[:, None] * 1.0, None, qid)
    assert float(value) == pytest.approx(expected[0], rel=1e-6)
