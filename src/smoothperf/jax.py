"""A loss for networks in JAX: under ``jit``, ``grad`` and ``vmap``. docs/networks.md says how.

Needs the extra ``jax``: ``pip install 'smoothperf[jax]'``.
"""

from __future__ import annotations

import functools
from typing import Any

try:
    import jax
except ImportError as _error:
    raise ImportError("smoothperf.jax needs jax, which is not installed: pip install 'smoothperf[jax]'.") from _error

import jax.numpy as jnp
import numpy as np

from .losses import BatchLoss
from .measures import Measure, QueryMeasure

__all__ = ["measure_loss"]


def measure_loss(
    scores: Any,
    targets: Any,
    measure: str | Measure | QueryMeasure = "roc_area",
    bound: str = "convex",
    *,
    smoothing: float = 1.0,
    sample_weight: Any = None,
    qid: Any = None,
) -> jax.Array:
    """Return a bound of ``1 - measure`` for a batch, smoothed, with its exact gradient by the scores.

    Parameters
    ----------
    scores, targets : array of shape (n,)
        Scores, larger for what is more likely positive, and labels in {0, 1} or {-1, 1}, or grades.
    measure, bound, smoothing
        As in :class:`smoothperf.torch.MeasureLoss`.
    sample_weight : array of shape (n,), optional
        Non-negative weights.
    qid : array of shape (n,), optional
        The query of each score, for measures of queries.

    Returns
    -------
    loss : array of shape ()
        A number.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from smoothperf.jax import measure_loss
    >>> value, slope = jax.value_and_grad(measure_loss)(jnp.array([0.5, 1.0, -2.0]), jnp.array([1, 0, 0]), "prbep")
    >>> float(value), slope
    (0.5625, Array([-0.75,  0.75,  0.  ], dtype=float32))
    """
    return _loss(BatchLoss(measure, bound, smoothing), scores, targets, sample_weight, qid)  # type: ignore[arg-type]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _loss(loss: BatchLoss, scores: Any, *others: Any) -> Any:
    return _evaluated(loss, scores, *others)[0]


def _evaluated(loss: BatchLoss, scores: Any, *others: Any) -> tuple[Any, Any]:
    """The loss and its gradient, from the processor."""
    dtype = jnp.promote_types(scores.dtype, jnp.float32)

    def work(scores: Any, targets: Any, weights: Any, qid: Any) -> tuple[Any, Any]:
        f, y, c = map(_column, (scores, targets, weights))
        values, gradients = loss(f, y, c, None if qid is None else np.asarray(qid))
        return values[0].astype(dtype), gradients[:, 0].astype(dtype)

    shapes = jax.ShapeDtypeStruct((), dtype), jax.ShapeDtypeStruct(scores.shape, dtype)
    value, gradient = jax.pure_callback(work, shapes, scores, *others, vmap_method="sequential")
    return value, gradient


def _column(values: Any) -> Any:
    return None if values is None else np.asarray(values, dtype=np.float64)[:, None]


def _forward(loss: BatchLoss, scores: Any, *others: Any) -> tuple[Any, Any]:
    value, gradient = _evaluated(loss, scores, *others)
    return value, (gradient, jnp.zeros((), scores.dtype))


def _backward(loss: BatchLoss, kept: Any, of_loss: Any) -> tuple[Any, ...]:
    gradient, of_scores = kept
    return (of_loss * gradient).astype(of_scores.dtype), None, None, None


_loss.defvjp(_forward, _backward)
