"""The choice among candidates on rows that stay on the workers: folds are masks of the rows where they lie.

The client runs the choice of rows in memory, of which it has labels, weights and scores, but no features. Where that
trains a candidate, all members of a group do, on the rows of theirs that a mask leaves: the client tells them each
alpha, and they send it the scores of those of their rows that are held out. When a group breaks, the program of a split
begins again, with the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from .._arrays import Array
from ..communicator import Communicator
from ..design import Design
from ..design.dense import DenseDesign
from ..design.sparse import RowBlocks, Scratch
from ..estimators.choice import Choice, Chosen, loosened
from ..measures import Examples
from ..optimise import Callback, ConvexSolver
from ..tasks.base import HeldOut, Rows
from ..tasks.label_choice import LabelCandidate
from ..tasks.labels import LabelRows, LabelTask
from ..tasks.path import PathTraining
from .design import SharedDesign
from .parts import LabelPart
from .rows import SomeRows, StackedDesigns

#: Has all members run a program, and this process its own form of it, whose result it returns.
Group = Callable[[Any, Any], Any]


class DistantRows(LabelRows):
    """Labels, weights and an offset of rows whose features are with the members of a group.

    Attributes
    ----------
    group : callable
        Has its members run a program.
    """

    group: Group

    @classmethod
    def of(cls, group: Group, pair: NDArray[Any], class_weight: Any) -> DistantRows:
        """Those of all members, in the order of blocks: n labels, weights and offsets, as there are some."""
        positive, weights, offset = group(_send_labels, _gathered_labels)
        rows = cls(np.empty((positive.size, 0)), pair, positive, weights, class_weight, offset)
        rows.group = group
        return rows

    def mean_squares(self) -> Array:
        """Mean squares of the columns, with the weights that count in training."""
        program = partial(_squares, class_weights=_class_weights(self))
        sums: Array = self.group(program, program)
        return sums / self.known.weight


def _send_labels(part: LabelPart, communicator: Communicator) -> list[Array]:
    columns = (part.positive, part.weights, part.offset)
    return communicator.gather(np.concatenate([np.asarray(one, float) for one in columns if one is not None]))


def _gathered_labels(part: LabelPart, communicator: Communicator) -> tuple[Any, Array | None, Array | None]:
    given = [True, part.weights is not None, part.offset is not None]
    columns = np.hstack([each.reshape(sum(given), -1) for each in _send_labels(part, communicator)])
    positive, weights, offset = (columns[sum(given[:k])] if is_there else None for k, is_there in enumerate(given))
    assert positive is not None
    return positive > 0.0, weights, offset


def _squares(part: LabelPart, communicator: Communicator, class_weights: tuple[float, float] | None) -> Array:
    weights = _weights(part, class_weights)
    return communicator.allreduce(
        weighted_squares(part.design, np.ones(part.positive.size) if weights is None else weights)
    )


def weighted_squares(design: Design, weights: Array) -> Array:
    """``sum_i weights_i x_ij^2`` of each column j; the numbers of a block are copied.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from smoothperf.design import as_design
    >>> X = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> weighted_squares(as_design(X), np.ones(2)), weighted_squares(as_design(sp.csr_array(X)), np.ones(2))
    (array([ 1., 13.]), array([ 1., 13.]))
    """
    sums = np.zeros(design.shape[1])
    if isinstance(design, StackedDesigns):
        for rows, part in design._with_rows():
            sums += weighted_squares(part, weights[rows])
    elif isinstance(design, DenseDesign):
        for rows, block in design._blocks():
            sums += np.einsum("i,ij,ij->j", weights[rows], block, block, dtype=np.float64)
    else:
        assert isinstance(design, RowBlocks)
        for rows, entries in design._blocks():
            squared = replace(entries, data=np.square(entries.data, dtype=np.float64), ones=False, row_values=None)
            squared.scatter(weights[rows], sums, Scratch(), clear=False)
    return sums


def _class_weights(rows: LabelRows) -> tuple[float, float] | None:
    """Weights of the two classes among some rows."""
    if rows.class_weight is None:
        return None
    negative, positive = compute_class_weight(rows.class_weight, classes=rows.pair, y=rows.targets)
    return float(negative), float(positive)


def _weights(part: LabelPart, class_weights: tuple[float, float] | None) -> Array | None:
    """Weights of rows times those of their classes."""
    if class_weights is None:
        return part.weights
    by_class = np.where(part.positive, class_weights[1], class_weights[0])
    return by_class if part.weights is None else part.weights * by_class


class MemberRows(LabelRows):
    """Rows of one member of a group that are trained on."""

    def __init__(self, design: Design, known: Examples, offset: Array | None):
        Rows.__init__(self, design, offset)
        self.known = known


class GroupTraining(PathTraining[Examples, LabelCandidate]):
    """A candidate on rows of a group, for one alpha after another; all members make it, and ask it the same."""

    def __init__(self, task: LabelTask, candidate: LabelCandidate, rows: MemberRows, solver: ConvexSolver):
        super().__init__(task, candidate, rows, solver, choosing=True)
        here = rows.design
        assert isinstance(here, SharedDesign)
        self.design = SharedDesign(task.design(candidate, here.here), here.communicator)


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A program for all members: candidates along falling alphas, which the client tells, on rows that a mask leaves.

    Attributes
    ----------
    task, candidates, solver
        The choice.
    n_rows : int
        Of all members.
    train, test : ndarray of uint8 or None
        Masks of all rows, in bits; None for all of them, and for none held out.
    class_weights : tuple of float or None
        Of the rows to train on.
    final : ConvexSolver or None
        The solver of a fit to be finished, whose scores are gathered, too.
    """

    task: LabelTask
    candidates: Sequence[LabelCandidate]
    solver: ConvexSolver
    n_rows: int
    class_weights: tuple[float, float] | None
    train: NDArray[np.uint8] | None = None
    test: NDArray[np.uint8] | None = None
    final: ConvexSolver | None = None

    def serve(self, part: LabelPart, communicator: Communicator) -> None:
        """The program of a worker."""
        for training, held_out in self.trainings(part, communicator):
            alpha, weights = math.nan, None
            while not math.isnan(told := float(communicator.broadcast(np.empty(1))[0])):
                alpha, weights = told, training.path.solve(told).coef
                self.scores(training.candidate, held_out, weights, communicator)
            if self.final is not None:
                assert weights is not None
                scores = training.finish(alpha, weights, self.final, None).scores
                assert scores is not None
                communicator.gather(scores)

    def trainings(
        self, part: LabelPart, communicator: Communicator
    ) -> Iterator[tuple[GroupTraining, LabelPart | None]]:
        """Each candidate on the rows of a member, and those of its rows that are held out."""
        before = held_out = part
        if self.train is not None and self.test is not None:
            lengths = [int(each[0]) for each in communicator.allgather(np.array([float(part.positive.size)]))]
            begin = sum(lengths[: communicator.rank])
            before, held_out = (
                some_of(part, np.unpackbits(bits, count=self.n_rows)[begin : begin + part.positive.size].astype(bool))
                for bits in (self.train, self.test)
            )
        known = Examples(before.positive, _weights(before, self.class_weights), communicator)
        rows = MemberRows(SharedDesign(before.design, communicator), known, before.offset)
        for candidate in self.candidates:
            yield GroupTraining(self.task, candidate, rows, self.solver), None if self.test is None else held_out

    def scores(
        self, candidate: LabelCandidate, held_out: LabelPart | None, weights: Array, communicator: Communicator
    ) -> Array:
        """Scores of all rows that are held out, for the client."""
        if held_out is None:
            return np.empty(0)
        scores = self.task.design(candidate, held_out.design).matvec(weights)
        every = communicator.gather(scores if held_out.offset is None else scores + held_out.offset)
        return np.concatenate(every) if every else scores


def some_of(part: LabelPart, chosen: NDArray[np.bool_]) -> LabelPart:
    """Some rows of a member, where they lie."""
    weights, offset = (None if each is None else each[chosen] for each in (part.weights, part.offset))
    return LabelPart(SomeRows(part.design, chosen), part.positive[chosen], weights, offset)


class GroupChoice(Choice[Examples, LabelCandidate]):
    """:class:`~smoothperf.estimators.choice.Choice` where the members of a group have the rows."""

    task: LabelTask

    def train_and_score(
        self,
        rows: Rows[Examples],
        train: Any,
        test: Any,
        solver: ConvexSolver,
        tell: Callable[[LabelCandidate, float], None],
    ) -> HeldOut[Examples, LabelCandidate]:
        """Have all members train on a part of their rows; the scores of the others are gathered here."""
        assert isinstance(rows, DistantRows)
        masks = [_mask(numbers, rows.positive.size) for numbers in (train, test)]
        before, after = (rows.part(np.flatnonzero(mask)) for mask in masks)
        held_out: HeldOut[Examples, LabelCandidate] = HeldOut(np.flatnonzero(masks[1]), after.known, after.judged)
        fold = Fold(
            task=self.task,
            candidates=self.candidates,
            solver=solver,
            n_rows=rows.positive.size,
            class_weights=_class_weights(before),
            train=np.packbits(masks[0]),
            test=np.packbits(masks[1]),
        )

        def lead(part: LabelPart, communicator: Communicator) -> None:
            for training, none_here in fold.trainings(part, communicator):
                candidate = training.candidate

                def order(alpha: float) -> None:
                    tell(candidate, alpha)  # noqa: B023 (called here)
                    communicator.broadcast(np.array([alpha]))

                score = partial(fold.scores, candidate, none_here, communicator=communicator)
                self.follow(training, held_out, score, order)
                communicator.broadcast(np.array([math.nan]))

        rows.group(fold.serve, lead)
        return held_out

    def fit_to_all(
        self,
        rows: Rows[Examples],
        candidate: LabelCandidate,
        index: int,
        solver: ConvexSolver,
        callback: Callback | None,
    ) -> Chosen[LabelCandidate]:
        """Have all members fit the model of a candidate at a strength; its scores are gathered here."""
        assert isinstance(rows, DistantRows)
        fold = Fold(
            task=self.task,
            candidates=[candidate],
            solver=loosened(solver),
            n_rows=rows.positive.size,
            class_weights=_class_weights(rows),
            final=solver,
        )

        def lead(part: LabelPart, communicator: Communicator) -> Chosen[LabelCandidate]:
            [(training, _)] = fold.trainings(part, communicator)
            for place in range(index + 1):
                alpha = self.alpha(training, place)
                communicator.broadcast(np.array([alpha]))
                weights = training.path.solve(alpha).coef
            communicator.broadcast(np.array([math.nan]))
            result = training.finish(alpha, weights, solver, callback)
            assert result.scores is not None
            scores = np.concatenate(communicator.gather(result.scores))
            return Chosen(candidate, index, training, replace(result, scores=scores))

        chosen: Chosen[LabelCandidate] = rows.group(fold.serve, lead)
        return chosen


def _mask(numbers: Any, n_rows: int) -> NDArray[np.bool_]:
    """Rows by number as a mask, which has each once."""
    mask = np.zeros(n_rows, dtype=bool)
    mask[numbers] = True
    numbers = np.asarray(numbers)
    if numbers.dtype != bool and np.count_nonzero(mask) != numbers.size:
        raise ValueError("cv names a row twice in one part; on a cluster folds are masks, which have each row once.")
    return mask
