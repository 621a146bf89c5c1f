"""Values with weights: their level, and those that fill a weight."""

from __future__ import annotations

import numpy as np

from .._arrays import Array


def weighted_level(values: Array, weights: Array, wanted: float) -> float:
    """The level of values with weights: each round drops half of those that are left."""
    while values.size > 1:
        half = values.size // 2
        order = np.argpartition(values, values.size - half)
        upper_weight = weights[order[-half:]].sum()
        if upper_weight < wanted:
            wanted -= upper_weight
            order = order[:-half]
        else:
            order = order[-half:]
        values, weights = values[order], weights[order]
    return float(values[0])


def filled(values: Array, weights: Array | None, level: float, room: float) -> Array:
    """``u``: 1 for values above a level; of those at it the first ones get 1, as far as there is room for their weight.

    At most one of these gets a part, and with unit weights and whole room none.
    """
    u = (values > level).astype(np.float64)
    if room > 0.0:
        at = np.flatnonzero(values == level)
        c = np.ones(at.size) if weights is None else weights[at]
        # A running sum tells how many fit, but rounds too much to tell what is left for the next one.
        whole = int(np.searchsorted(np.cumsum(c), room, side="right"))
        u[at[:whole]] = 1.0
        left = room - float(c[:whole].sum())
        if whole < at.size:
            u[at[whole]] = min(1.0, max(0.0, left / c[whole]))
    return u
