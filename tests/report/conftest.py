"""Reports that several tests look at."""

import numpy as np
import pytest

from smoothperf import MeasureClassifier
from smoothperf.report import gather


def overlapping(n, seed=0):
    """Two features, one of them useful; a fifth is positive."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.2, "spam", "ham")
    X = rng.standard_normal((n, 2))
    X[:, 0] += 1.5 * (y == "spam")
    return X, y


@pytest.fixture(scope="session")
def fitted():
    X, y = overlapping(400)
    return MeasureClassifier("prbep", alpha=1e-3).fit(X, y)


@pytest.fixture(scope="session")
def judged():
    return overlapping(600, seed=1)


@pytest.fixture(scope="session")
def contents(fitted, judged):
    return gather(fitted, *judged, model_name="spam.model", data_name="mails.csv", n_resamples=50)
