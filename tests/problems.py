"""Small training problems that several tests share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smoothperf import PRBEP, ErrorRate, ROCArea
from smoothperf.design import as_design
from smoothperf.objective import RegularizedRisk

MEASURES = [PRBEP(), ROCArea(), ROCArea(as_printed=True)]


@dataclass(frozen=True)
class TunedError(ErrorRate):
    """An error rate that cuts the training scores where it likes, as F-beta does; nothing knows it by name."""

    share: float = 0.25

    @property
    def name(self):
        """A name that no table has."""
        return "tuned"

    def cut(self, examples, scores):
        """A share of the way from the lowest to the highest score."""
        return float(np.min(scores) + self.share * np.ptp(scores))


def gaussians(n_positive=5, n_negative=7, n_features=3, *, shift=0.7, scale=1.0, seed=0):
    """Two overlapping Gaussian classes; labels in {-1, +1}, shuffled."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], [n_positive, n_negative]))
    X = rng.normal(size=(y.size, n_features)) + shift * (y[:, None] > 0)
    return scale * X, y


def problem(measure, X, y, alpha, weights=None):
    """The objective of a measure on a data set."""
    return RegularizedRisk(as_design(X), measure.bind(y, weights), alpha)
