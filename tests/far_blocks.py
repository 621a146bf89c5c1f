"""Rows in several blocks that pretend to be far away: vectors cannot be looked into, and whatever travels is copied."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np

from smoothperf.blocks import Blocks, Vectors
from smoothperf.design import Design, as_design


class Handle:
    """Stands for a vector. Only blocks know its parts."""

    __slots__ = ("_parts",)

    def __init__(self, parts):
        self._parts = parts

    def __array__(self, *args, **kwargs):
        raise TypeError("a vector that is far away was looked into")

    __len__ = __iter__ = __getitem__ = __bool__ = __float__ = __array__


def part(argument, number):
    """What block ``number`` is given for an argument: its part of a vector, or a copy of anything else."""
    return argument._parts[number] if isinstance(argument, Handle) else pickle.loads(pickle.dumps(argument))


def sizes_of(argument):
    """Numbers in the largest array of something that travels."""
    if isinstance(argument, np.ndarray):
        return argument.size
    return max(map(sizes_of, argument), default=1) if isinstance(argument, (tuple, list)) else 1


class FarVectors(Vectors):
    """Vectors in parts of given lengths."""

    def __init__(self, lengths):
        self.lengths = list(lengths)
        self.length = sum(self.lengths)

    def take(self):
        return self.constant(np.nan)

    def constant(self, value):
        return Handle([np.full(length, value) for length in self.lengths])

    def along(self, start, step, direction):
        return Handle([s + step * d for s, d in zip(start._parts, direction._parts, strict=True)])

    def inner(self, u, v):
        return math.fsum(float(a @ b) for a, b in zip(u._parts, v._parts, strict=True))

    def scattered(self, values):
        """The vector of given numbers."""
        bounds = np.cumsum(self.lengths)[:-1]
        return Handle([piece.copy() for piece in np.split(np.asarray(values, dtype=float), bounds)])

    @staticmethod
    def gathered(vector):
        """The numbers of a vector."""
        return np.concatenate(vector._parts)


class SeveralBlocks(Blocks):
    """Blocks of which each has some of the rows.

    ``rounds`` are the methods that were called, ``largest`` is the size of the largest array that travelled, and
    ``traffic`` the bytes of all arguments and replies, once for each block.
    """

    far = True

    def __init__(self, blocks, vectors):
        self.vectors = vectors
        self._blocks = blocks
        self.rounds = []
        self.largest = 0
        self.traffic = 0

    def each(self, method, /, *arguments):
        self.rounds.append(method)
        replies = []
        for number, block in enumerate(self._blocks):
            reply = pickle.dumps(getattr(block, method)(*(part(argument, number) for argument in arguments)))
            replies.append(pickle.loads(reply))
            self.traffic += len(reply) + sum(len(pickle.dumps(a)) for a in arguments if not isinstance(a, Handle))
        self.largest = max(self.largest, *map(sizes_of, replies), sizes_of(arguments))
        return replies


def in_blocks(measure, y, weights, lengths):
    """The blocks of a measure for rows that are split into pieces of given lengths."""
    positive = np.asarray(y) > 0
    pieces = list(itertools.pairwise([0, *np.cumsum(lengths)]))
    blocks = [measure.block(positive[a:b].copy(), None if weights is None else weights[a:b].copy()) for a, b in pieces]
    return SeveralBlocks(blocks, FarVectors(lengths))


class FarDesign(Design):
    """X in pieces of given numbers of rows."""

    wants_blas_threads = False
    vectors: FarVectors = None  # type: ignore[assignment]

    def __init__(self, X, vectors):
        whole = as_design(X)
        self.vectors = vectors
        self.shape, self.n_entries = whole.shape, whole.n_entries
        self.row_norm, self.frobenius_norm = whole.row_norm, whole.frobenius_norm
        self._pieces = [as_design(X[a:b]) for a, b in itertools.pairwise([0, *np.cumsum(vectors.lengths)])]

    def matvec(self, w, out=None):
        assert out is not None
        for piece, scores in zip(self._pieces, out._parts, strict=True):
            piece.matvec(w, out=scores)
        return out

    def rmatvec(self, g, out=None):
        result = np.zeros(self.shape[1]) if out is None else out
        result[:] = 0.0
        for piece, coefficients in zip(self._pieces, g._parts, strict=True):
            result += piece.rmatvec(coefficients)
        return result

    def gram(self, rows, weights):
        raise NotImplementedError("not for rows that are far away")
