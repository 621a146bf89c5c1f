"""Second derivatives of smoothed risks, for Newton's steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array


class RowsOfX(Protocol):
    """X as second derivatives need it."""

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, d)``."""

    def gram(self, rows: NDArray[np.intp], weights: Array) -> Array:
        """``sum_i weights_i x_i x_i^T`` over some rows."""

    def rmatvec(self, g: Array) -> Array:
        """``X^T g``."""


@dataclass(frozen=True, slots=True)
class Curvature:
    """The second derivative of a smoothed risk by the scores: ``C = diag(k) - k k^T / sum(k)``, or ``diag(k)``.

    Attributes
    ----------
    rows : ndarray of int
        The examples with ``k_i > 0``.
    change : ndarray of float64
        Change of the gradient on these rows with mu, at the same scores and as long as the rows stay the same.
    weights : ndarray of float64
        ``k`` on these rows.
    centred : bool
        Whether it has the second term: labels are exchanged for one another, so that a shift changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from smoothperf import LogLoss
    >>> from smoothperf.design import as_design
    >>> risk, scores = LogLoss().bind([1, -1]), np.zeros(2)
    >>> curvature = risk.curvature(scores, risk.smoothed(scores, mu=0.0), mu=0.0, following=0.0)
    >>> curvature.weights   # p (1 - p) / n, with p = 1/2
    array([0.125, 0.125])
    >>> curvature.hessian(as_design(np.array([[1.0], [3.0]])))[0]   # (1 + 9) / 8
    array([[1.25]])
    """

    rows: NDArray[np.intp]
    weights: Array
    change: Array
    centred: bool = True

    def hessian(self, X: RowsOfX) -> tuple[Array, float]:
        """``X^T C X``, a weighted covariance of the rows, and the trace of ``X^T diag(k) X``; O(rows d^2).

        The rounding of the former is relative to the latter.

        Parameters
        ----------
        X : Design
            The rows of all examples.

        Returns
        -------
        hessian : ndarray of shape (d, d)
            The second derivative by the weights.
        trace : float
            The magnitude that its rounding is relative to.
        """
        hessian = X.gram(self.rows, self.weights)
        trace = float(np.trace(hessian))
        total = float(self.weights.sum())
        if self.centred and total > 0.0:
            coefficients = np.zeros(X.shape[0])
            coefficients[self.rows] = self.weights
            mean = X.rmatvec(coefficients) / total
            hessian -= total * np.outer(mean, mean)
        return hessian, trace
