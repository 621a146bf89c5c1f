r"""Proximal steps with the Hessian itself, where few rows have curvature.

The smoothed risk of a top-k measure is curved in the scores of those rows only whose label is in doubt, and the smaller
mu, the fewer they are (:mod:`smoothperf.optimise.newton`). So the model of (proximal-step) can have

    B = sigma I + X_a^T (diag(k) - k k^T / sum(k)) X_a,      sigma = damping * (mean of X_a's part of the diagonal)

in place of what L-BFGS has gathered; the gradient is that of the mu to follow (newton-predictor). A sweep of
coordinate descent reads the entries of the active rows, a small part of X; where columns are few, B is formed. Neither
counts as a pass.

Why: without curvature in the penalty the bound pays ``J max_i (|a_i| / s_i - 1)``, so that a gap of 1e-3 takes a
gradient that is right to a thousandth in every column. L-BFGS gets there long after J has settled; a few exact steps
do. (PRBEP on three sets of text, l1_ratio=1, to 1e-3: 49, 837 and 572 passes with L-BFGS, of which the last two ended
at 1000 iterations with gaps of 1.6e-3 and 1.3e-3; 19, 93 and 54 with this, and all converged.)

Some directions have no curvature at all, and ramps end: the damping holds steps back. It falls where whole steps are
taken and grows where the search wants much shorter ones. (The same for all columns: in proportion to the diagonal of
the Hessian it took up to 5 times the passes on text, where most columns have no entry in active rows, though fewer
on features of very different sizes.)
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from .objective import LARGEST_SCORE, Point
from .proximal_model import no_columns, proximal_step
from .segments import PenalisedRun

#: Rows with curvature are few up to this share of all. (Measured with an l1_ratio of 1 and 0.5: with 0.2, PRBEP on w8a
#: and squared hinge take up to 14 times as long; without a limit, log loss takes 1.5 to 2.5 times as long on text, but
#: about half as long on a9a with an l1_ratio of 1.)
FEW_ROWS = 0.5
#: Up to so many columns B is formed however few the rows are: linear systems then solve the model where columns
#: resemble each other, which sweeps do not. (Measured with an l1_ratio of 1 on halves of the breast cancer data as they
#: come: error rate with alphas of 1e-3 and 1e-4 and squared hinge with 1e-4 ended at 1000 iterations, and take 103, 163
#: and 19. With 400 in place of 120, 300 columns that resemble each other take 0.1 to 0.9 times the iterations, and 0.3
#: to 7 times the seconds.)
FEW_COLUMNS = 120
#: The damping to begin with, and at least. (Columns that resemble each other need steps in directions with a millionth
#: of the mean curvature.)
FIRST_DAMPING, LEAST_DAMPING = 0.1, 1e-12
#: A step is whole, or short, and what the damping is multiplied by then.
WHOLE, SHORT, EASE, BRAKE = 0.7, 0.3, 0.3, 4.0
#: As :data:`smoothperf.optimise.proximal.MODEL_ACCURACY`. (Measured with PRBEP on three sets of text: 1e-3 takes up to
#: twice the time, 3e-2 up to 1.5 times.)
ACCURACY = 1e-2


class RowModel:
    """Steps by the Hessian of the rows with curvature, from one iteration to the next."""

    def __init__(self) -> None:
        self._damping = FIRST_DAMPING

    def step(self, run: PenalisedRun, point: Point, mu: float, units: Array) -> Array | None:
        """``z`` of (proximal-step) for the mu to follow, about; None where too many rows have curvature, or none."""
        if not (run.risk.has_curvature and run.design.gives_columns):
            return None
        curvature = run.risk.curvature(point.scores, point.risk, point.mu, mu)
        n, d = run.design.shape
        if not 0 < curvature.rows.size <= FEW_ROWS * n:
            return None
        X = run.design.by_columns(curvature.rows)
        X.data /= np.repeat(units, np.diff(X.indptr))
        slope = point.slope / units
        if np.any(curvature.change):
            slope += X.T @ curvature.change
        values = X.data * np.sqrt(curvature.weights)[X.indices]
        trace = float(values @ values)
        columns = X.indptr.astype(np.int32), X.indices.astype(np.int32), values, curvature.rows.size
        if 2 * d * d <= values.size or d <= FEW_COLUMNS:
            low_rank = curvature.hessian(run.design)[0] / np.outer(units, units), np.eye(d)
            columns = no_columns(d)
        elif curvature.centred:
            u = (X.T @ curvature.weights)[:, None]
            low_rank = u, u / -curvature.weights.sum()
        else:
            low_rank = np.empty((d, 0)), np.empty((d, 0))
        sigma = self._damping * trace / d or 1.0
        z = proximal_step(point.coef, run.penalty, units, slope, sigma, low_rank, columns, ACCURACY)
        if not float(np.abs(z).max()) * math.sqrt(d) * max(run.design.frobenius_norm, 1.0) <= LARGEST_SCORE:
            return None  # so little curvature that scores would become too large
        return z

    def learn(self, step: float) -> None:
        """Ease the damping, or brake, by how far the search has gone on the way to z."""
        if step >= WHOLE:
            self._damping = max(self._damping * EASE, LEAST_DAMPING)
        elif step < SHORT:
            self._damping *= BRAKE
