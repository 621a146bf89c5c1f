"""A loss for networks in JAX: under ``jit``, ``grad`` and ``vmap``. docs/networks.md says how.

Needs the extra ``jax``: ``pip install 'smoothperf[jax]'``.
"""

from __future__ import annotations

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
    loss = BatchLoss(measure, bound, smoothing)  # type: ignore[arg-type]
    dtype = jnp.promote_types(scores.dtype, jnp.float32)
    batch = jax.lax.stop_gradient((scores.astype(dtype), targets, sample_weight))

    def work(batch: Any, qid: Any) -> tuple[Any, Any]:
        f, y, c = (None if part is None else np.asarray(part, dtype=np.float64)[:, None] for part in batch)
        values, gradients = loss(f, y, c, None if qid is None else np.asarray(qid))  # type: ignore[arg-type]
        return values[0].astype(dtype), gradients[:, 0].astype(dtype)

    shapes = jax.ShapeDtypeStruct((), dtype), jax.ShapeDtypeStruct(scores.shape, dtype)
    value, gradient = jax.pure_callback(work, shapes, batch, qid, vmap_method="sequential")
    return value + gradient @ (scores - batch[0])  # 0, with a derivative
