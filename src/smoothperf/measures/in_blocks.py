"""Risks of rows in blocks: what puts the replies of the blocks together.

A :class:`~smoothperf.measures.row_block.RiskBlock` has the labels and weights of some rows, and lives where they are.
A :class:`BlockRisk` knows the totals only. It evaluates by rounds of calls of the blocks (:mod:`smoothperf.blocks`),
whose replies it puts together in the order of the blocks. In memory there is one block, and a round is a call.
"""

from __future__ import annotations

import math

from ..blocks import Blocks, Vector
from .base import Risk
from .row_block import Totals


class BlockRisk(Risk):
    """A risk that knows its rows by what their blocks reply.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`RiskBlock`.
    """

    def __init__(self, blocks: Blocks):
        self._blocks = blocks
        parts = blocks.each("totals")
        self._n_blocks = len(parts)
        self._totals = Totals.of(parts)
        self.n_examples = self._totals.rows

    def weighed(self, scores: Vector) -> Vector:
        """``C f``, from which the weighted mean of the scores was taken first if a shift changes nothing."""
        result = self._blocks.vectors.take()
        self._blocks.tell("weigh", scores, self._mean(scores) if self.shift_invariant else 0.0, result)
        return result

    def _mean(self, scores: Vector) -> float:
        """Weighted mean of the scores."""
        return math.fsum(self._blocks.each("weighted_sum", scores)) / self._totals.weight
