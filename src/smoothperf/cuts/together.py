r"""Cuts of several vectors of scores that are best together, by a measure of the counts of all labels added up.

A linear-fractional measure is ``N / D`` with sums ``N = sum_l N_l(t_l)`` and ``D = sum_l D_l(t_l)`` over labels, cut at
``t_l``. Its maximum F* is where

    max_t  sum_l N_l(t_l) - F* D_l(t_l)  =  0

which each label maximises by itself. Dinkelbach's method takes F at the cuts found so far, and finds better cuts for
it, until there are none: a few rounds, each O(n L). For F1, ``N_l - F D_l = 2 TP - F (predicted + positives)``: a label
is worth predicting where the chance of a hit is above F / 2, whatever label it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._arrays import Array
from .sorted_scores import Counts

#: Rounds of Dinkelbach's method, which converges faster than Newton's: a handful are needed.
MOST_ROUNDS = 100


def cuts_together(tables: Sequence[Counts], terms: Callable[[Counts], tuple[Array, Array]]) -> tuple[list[int], float]:
    """Return the place of the best cut of each label, and the measure there.

    Parameters
    ----------
    tables : sequence of Counts
        The weights above each cut of each label.
    terms : callable
        Numerator and denominator at each cut.

    Returns
    -------
    cuts : list of int
        Places in the tables; of equally good ones that with the fewest predicted positive.
    measure : float
        The highest that cuts of these scores can have.

    Examples
    --------
    >>> two = [Counts(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])), Counts(np.zeros(2), np.arange(2.0))]
    >>> cuts_together(two, lambda table: (2.0 * table.tp, table.tp + table.fp + table.tp[-1]))
    ([1, 0], 1.0)
    """
    pairs = [terms(table) for table in tables]
    best = 0.0
    for _ in range(MOST_ROUNDS):
        cuts = [int(np.argmax(above - best * below)) for above, below in pairs]
        above, below = (sum(float(pair[i][cut]) for pair, cut in zip(pairs, cuts, strict=True)) for i in (0, 1))
        found = above / below if below > 0.0 else 0.0
        if found <= best:
            break
        best = found
    return cuts, best
