"""Rows in several blocks in this process, as far away as code can tell: nobody else can look into their vectors."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np

from smoothperf.blocks import Blocks, Vectors


class FarVector:
    """Stands for a vector; the parts are for the blocks alone."""

    __array__ = None  # an array made of it would be an array of objects

    def __init__(self, parts):
        self._parts = parts


class FarVectors(Vectors):
    """Vectors that are cut into parts of given lengths."""

    def __init__(self, lengths):
        self.length, self._lengths = sum(lengths), list(lengths)

    def take(self):
        return FarVector([np.full(length, np.nan) for length in self._lengths])

    def constant(self, value):
        return FarVector([np.full(length, value) for length in self._lengths])

    def along(self, start, step, direction):
        parts = zip(start._parts, direction._parts, strict=True)
        return FarVector([one + step * other for one, other in parts])

    def inner(self, u, v):
        return float(sum(one @ other for one, other in zip(u._parts, v._parts, strict=True)))

    def scatter(self, array):
        return FarVector(np.split(np.asarray(array, dtype=np.float64), np.cumsum(self._lengths)[:-1]))

    def gather(self, vector):
        return np.concatenate(vector._parts)


class SeveralBlocks(Blocks):
    """Blocks of given lengths. What travels is pickled; ``calls`` counts rounds by method, and ``traffic`` bytes."""

    far = True

    def __init__(self, blocks, lengths):
        self._blocks, self.vectors = blocks, FarVectors(lengths)
        self.calls, self.traffic = Counter(), 0

    @classmethod
    def of(cls, measure, y, weights, lengths):
        """The blocks of a measure for labels in {-1, +1}."""
        cuts = np.cumsum(lengths)[:-1]
        labels = np.split(np.asarray(y) == 1, cuts)
        shares = [None] * len(lengths) if weights is None else np.split(np.asarray(weights, dtype=np.float64), cuts)
        return cls([measure.block(*part) for part in zip(labels, shares, strict=True)], lengths)

    def each(self, method, /, *arguments):
        self.calls[method] += 1
        replies = []
        for i, block in enumerate(self._blocks):
            local = [a._parts[i] if isinstance(a, FarVector) else self._sent(a) for a in arguments]
            replies.append(self._sent(getattr(block, method)(*local)))
        return replies

    def _sent(self, thing):
        message = pickle.dumps(thing)
        self.traffic += len(message)
        return pickle.loads(message)
