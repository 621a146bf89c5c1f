"""A measure as a loss of the scores of a batch: what networks are trained with, in whatever library.

A risk knows scores alone, so a network needs its value and its gradient there, one evaluation of O(n) or O(n log n),
and nothing else. A batch is a sample of the data: numbers of examples become shares, and a batch that is repeated twice
has the same loss. Scores have the unit in which a positive is to be 1 above the negatives, for all measures alike: that
of :attr:`~smoothperf.measures.risk.Risk.score_scale`. The smoothing is what it may take off the risk, ``mu D``.
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _validation as check
from ._arrays import Array
from ._warnings import warn
from .measures import Examples, Measure, Queries, QueryMeasure, Risk, get_measure, get_query_measure
from .measures.names import is_measure
from .measures.queries.names import is_query_measure
from .threads import pieces, use_threads

#: Scores for which a thread pays.
LEAST_SCORES = 1 << 13


class EmptyBatchWarning(UserWarning):
    """A batch has nothing to judge, such as one without positives; its loss is 0, and nothing is learnt from it.

    Examples
    --------
    >>> import warnings
    >>> from smoothperf.losses import BatchLoss, EmptyBatchWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", EmptyBatchWarning)
    ...     values, gradients = BatchLoss("roc_area")(np.ones((3, 1)), np.zeros((3, 1)))
    >>> values, bool(gradients.any())
    (array([0.]), False)
    """


@dataclass(frozen=True)
class BatchLoss:
    """The smoothed risk of a measure, and its gradient, for the batches that come.

    Parameters
    ----------
    measure : str, Measure or QueryMeasure
        What to be good at, by name or not.
    bound : {"convex", "tight"}, default="convex"
        Which bound of ``1 - measure``.
    smoothing : float, default=1.0
        The most by which a smoothed risk is below the risk; of no effect where that is smooth.

    Examples
    --------
    >>> from smoothperf.losses import BatchLoss
    >>> loss = BatchLoss("prbep")
    >>> scores, targets = np.array([[0.5], [1.0], [-2.0]]), np.array([[1.0], [0.0], [0.0]])
    >>> values, gradients = loss(scores, targets)
    >>> values.round(4), gradients[:, 0].round(4)
    (array([0.5625]), array([-0.75,  0.75,  0.  ]))
    >>> twice, _ = loss(np.tile(scores, (2, 1)), np.tile(targets, (2, 1)))
    >>> bool(np.isclose(twice[0], values[0]))
    True
    """

    measure: Measure | QueryMeasure
    bound: str = "convex"
    # (Measured on the rows that choose in benchmarks/networks.py, of eight data sets twice: with 0.25, 0.5, 1 and 2 the
    # average precision is .601, .603, .607 and .602 for partial ROC area, .597, .598, .607 and .604 for PRBEP.)
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        known = get_query_measure if is_query_measure(self.measure) and not is_measure(self.measure) else get_measure
        measure: Measure | QueryMeasure = known(self.measure)  # type: ignore[arg-type]
        if isinstance(measure, Measure) and measure.as_share(2.0**60) != measure:
            raise ValueError(
                f"measure {measure.name!r} has a number of examples, but a batch is a sample of the data; "
                "name the share of them that is meant, as in 'precision@5%'."
            )
        object.__setattr__(self, "measure", measure)
        check.choice("bound", self.bound, ("convex", "tight"))
        check.positive_number("smoothing", self.smoothing)

    def __call__(
        self, scores: Array, targets: Array, weights: Array | None = None, qid: NDArray[Any] | None = None
    ) -> tuple[Array, Array]:
        """Return the losses of the columns of a batch, and their gradients.

        Parameters
        ----------
        scores, targets : ndarray of shape (n, L)
            One column for each loss.
        weights : ndarray of shape (n, L), optional
            Non-negative weights.
        qid : ndarray of shape (n,), optional
            The query of each example, for measures of queries.

        Returns
        -------
        losses : ndarray of shape (L,)
            What is to be minimised.
        gradients : ndarray of shape (n, L)
            Derivatives by the scores.
        """
        columns = range(scores.shape[1])
        threads = min(len(columns), pieces(scores.size, least=LEAST_SCORES))

        def losses_of(column: int) -> tuple[float, Array]:
            c = None if weights is None else weights[:, column]
            return self._evaluate(scores[:, column], targets[:, column], c, qid)

        def alone(column: int) -> tuple[float, Array]:
            with use_threads(1):
                return losses_of(column)

        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(alone, columns))
        else:
            found = [losses_of(column) for column in columns]
        gradients = np.empty(scores.shape)
        for column, (_, gradient) in enumerate(found):
            gradients[:, column] = gradient
        return np.array([value for value, _ in found]), gradients

    def _evaluate(
        self, scores: Array, targets: Array, weights: Array | None, qid: NDArray[Any] | None
    ) -> tuple[float, Array]:
        risk = self._risk(targets, weights, qid)
        if risk is None:
            _say_once(
                f"a batch has nothing to judge for {self.measure.name}, such as one without positives or without "
                "negatives: its loss is 0. Make batches larger, or draw them so that both are in each."
            )
            return 0.0, np.zeros(scores.shape)
        f = risk.score_scale * scores
        if not np.isfinite(scores).all():  # of half precision, after an overflow: scalers of gradients look for it
            return math.nan, np.full(scores.shape, math.nan)
        smoothed = risk.smoothed(f, self.smoothing / risk.diameter if risk.diameter > 0.0 else 1.0)
        value, gradient = smoothed.value, smoothed.plane.gradient
        if self.bound == "tight":
            free = risk.loss_free(f)
            value, gradient = value - free.value, gradient - free.plane.gradient
        return value, risk.score_scale * gradient

    def _risk(self, targets: Array, weights: Array | None, qid: NDArray[Any] | None) -> Risk | None:
        """The risk of a batch; None if there is nothing to judge."""
        if isinstance(self.measure, QueryMeasure):
            return _risk_of_queries(self.measure, targets, weights, qid)
        positive = _positives(targets)
        counted = positive if weights is None else positive[weights != 0.0]
        if not 0 < np.count_nonzero(counted) < counted.size:
            return None
        return self.measure.risk(Examples(positive, check.weights_of(weights, positive)))


def _risk_of_queries(
    measure: QueryMeasure, grades: Array, weights: Array | None, qid: NDArray[Any] | None
) -> Risk | None:
    if qid is None:
        raise ValueError(f"measure {measure.name!r} is about queries: qid says which one each score belongs to.")
    pairs = np.unique(np.stack([qid, grades]), axis=1)
    if pairs.shape[1] == np.unique(qid).size:  # each has documents of one grade only
        return None
    queries = Queries.of(grades, qid, weights)
    return measure.risk(queries) if measure.counted(queries).size else None


def _positives(targets: Array) -> NDArray[np.bool_]:
    """Mask of the positives of labels in {0, 1} or {-1, 1}, of which there may be one class only."""
    positive: NDArray[np.bool_] = targets == 1.0
    if all(np.count_nonzero(positive | (targets == negative)) < targets.size for negative in (0.0, -1.0)):
        values = ", ".join(f"{value:g}" for value in np.unique(targets)[:5])
        raise ValueError(f"targets must hold labels in {{0, 1}} or {{-1, +1}}, got the values {values}.")
    return positive


@functools.cache
def _say_once(message: str) -> None:
    warn(message, EmptyBatchWarning)
