"""Random problems for all tests: labels or grades with scores and weights, parts of a group, and data to train on.

``scored`` draws entry by entry, so hypothesis can make a failure small; ``random_scored`` makes one of any size from a
generator of random numbers. Both know ties, constants, clusters, single positives, extreme scales and every kind of
weights, and give each class some weight. ``random_ranked`` makes documents of queries likewise, and ``gaussians`` and
``graded`` make rows to train on: of two classes, and of queries.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from smoothperf import PRBEP, ErrorRate, ROCArea
from smoothperf.design import as_design
from smoothperf.optimise.objective import RegularizedRisk

MEASURES = [PRBEP(), ROCArea()]
#: Powers of ten.
SCALES = (-8, -3, 0, 2, 5, 8)
WEIGHTS = ("none", "whole", "real", "wide")
#: `make test-thorough` looks at so many times the generated cases that tests name, `make test` at a part of them.
THOROUGH = int(os.environ.get("THOROUGH", "1"))
PART = 0.6


def searching(cases):
    """Settings of hypothesis for a test that is worth so many cases."""
    times = THOROUGH if THOROUGH > 1 else PART
    return settings(max_examples=round(cases * times))


def thorough(*cases):
    """Cases of `make test-thorough` alone, beside which others come close; nothing in `make test`."""
    return cases if THOROUGH > 1 else ()


def frozen(values, dtype=np.float64):
    """An array that may not be written to."""
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


# --- labels with scores and weights -----------------------------------------------------------------------------


class Scored(NamedTuple):
    """Labels in {-1, +1}, scores and weights, none of which may be written to."""

    y: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None

    @property
    def positive(self):
        """The labels as kernels take them."""
        return frozen(self.y == 1, np.uint8)

    @property
    def c(self):
        """The weights, ones if there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @property
    def masses(self):
        """Of positives and of negatives."""
        return self.c[self.y == 1].sum(), self.c[self.y == -1].sum()

    def reach(self, margin=1.0):
        """The largest violation that a pair may have."""
        return float(np.ptp(self.scores)) + abs(margin)


def _some_of_each_class(y, weights):
    for members in (y == 1, y == -1):
        if not weights[members].any():
            weights[np.flatnonzero(members)[0]] = 1.0
    return frozen(weights)


@st.composite
def score_vectors(draw, n, scales=SCALES):
    """Ties (small whole numbers), constants and general position, times a power of ten, plus a shift at times."""
    whole = st.integers(-3, 3).map(float)
    general = st.floats(-3.0, 3.0, allow_subnormal=False)
    entry = draw(st.sampled_from([whole, general, st.one_of(whole, general), st.just(1.0)]))
    scale = 10.0 ** draw(st.sampled_from(scales))
    shift = draw(st.sampled_from([0.0, 0.0, 1.0, -7.5]))
    return frozen([scale * (shift + draw(entry)) for _ in range(n)])


@st.composite
def weight_vectors(draw, y, kinds=WEIGHTS):
    """None, or weights of a kind, with zeros among them."""
    kind = draw(st.sampled_from(kinds))
    if kind == "none":
        return None
    entry = {
        "whole": st.integers(0, 4).map(float),
        "real": st.one_of(st.just(0.0), st.floats(0.01, 10.0)),
        "wide": st.integers(-6, 6).map(lambda e: 10.0**e),
    }[kind]
    return _some_of_each_class(y, np.array([draw(entry) for _ in y]))


@st.composite
def scored(draw, most=8, *, least=2, scales=SCALES, weights=WEIGHTS):
    """A few examples of both classes."""
    labels = st.lists(st.sampled_from([-1, 1]), min_size=least, max_size=most).filter(lambda y: len(set(y)) == 2)
    y = frozen(draw(labels), np.int64)
    return Scored(y, draw(score_vectors(len(y), scales)), draw(weight_vectors(y, weights)))


def plainly_scored(most=8, *, scales=(0,)):
    """Only labels and scores."""
    return scored(most, scales=scales, weights=("none",)).map(lambda problem: problem[:2])


def random_weights(rng, y, kind):
    """None, or weights of a kind; also for very many examples."""
    n = len(y)
    if kind == "none":
        return None
    weights = {
        "whole": lambda: rng.integers(0, 4, size=n).astype(float),
        "real": lambda: rng.exponential(size=n) * (rng.random(n) < 0.9),
        "wide": lambda: 10.0 ** rng.integers(-6, 7, size=n),
        "alike": lambda: np.full(n, 0.3),
    }[kind]
    return _some_of_each_class(y, weights())


def random_scored(seed, most=40, *, n=None, scales=SCALES, weights=WEIGHTS):
    """Up to so many examples, or n of them, of both classes; in one out of three, classes follow on each other."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1)) if n is None else n
    y = np.where(rng.random(n) < rng.choice([0.0, 0.3, 0.5, 0.7, 1.0]), 1, -1)
    y[rng.permutation(n)[:2]] = 1, -1
    if rng.random() < 0.3:
        y.sort()
    kinds = [
        rng.integers(-3, 4, size=n) / 2.0,
        rng.normal(size=n) + 0.5 * y,
        np.ones(n),
        -1.0 * y,
        y + 1e-9 * rng.normal(size=n),
        rng.choice([0.0, 1.0, 1e3], size=n),
        np.exp(5.0 * rng.normal(size=n)) * rng.choice([-1.0, 1.0], size=n),
    ]
    scores = 10.0 ** rng.choice(scales) * (kinds[rng.integers(len(kinds))] + rng.choice([0.0, 1.0, -7.5]))
    return Scored(frozen(y, np.int64), frozen(scores), random_weights(rng, y, rng.choice(weights)))


def randomly_scored(most=40, **kinds):
    """The same as a strategy; only the number of the problem is made small."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_scored(seed, most, **kinds))


@st.composite
def member_lengths(draw, n):
    """Numbers of rows of one to four members, some of which may have none."""
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    return np.diff([0, *ends, n])


# --- grades of the documents of queries -------------------------------------------------------------------------


class Ranked(NamedTuple):
    """Grades, queries, weights that documents of a query share, and scores; and random numbers to go on with."""

    grades: np.ndarray
    qid: np.ndarray
    weights: np.ndarray | None
    scores: np.ndarray
    rng: np.random.Generator


def random_ranked(
    seed,
    most=6,
    *,
    kinds=4,
    best=2.0,
    ties=None,
    scales=(0,),
    shifts=(0.0, 1.0, 1e4),
    weights=("none", "whole", "real"),
):
    """One to four queries of up to so many documents, in any order, of which some do not count: the first one does.

    It has a document of grade 0 and one of the ``best`` grade; others have up to so many kinds of grades. With ``ties``
    of scores, without, or by chance.
    """
    rng = np.random.default_rng(seed)
    sizes = [most, *rng.integers(1, most + 1, size=rng.integers(0, 4))]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    if rng.random() < 0.7:
        qid = rng.permutation(qid)
    grades = rng.integers(0, rng.integers(2, kinds + 1), size=qid.size).astype(float)
    grades[np.flatnonzero(qid == 0)[:2]] = 0.0, best
    by_query = {
        "none": lambda: None,
        "whole": lambda: rng.integers(0, 4, size=len(sizes)) + (np.arange(len(sizes)) == 0.0),
        "real": lambda: rng.exponential(size=len(sizes)),
        "wide": lambda: 10.0 ** rng.integers(-6, 7, size=len(sizes)),
    }[rng.choice(weights)]()
    general, whole = rng.normal(size=qid.size), rng.integers(-2, 3, size=qid.size).astype(float)
    scores = {None: [general, whole, whole + 1e-9 * general], False: [general], True: [whole]}[ties]
    scores = 10.0 ** rng.choice(scales) * scores[rng.integers(len(scores))] + rng.choice(shifts)
    return Ranked(grades, qid, None if by_query is None else by_query[qid].astype(float), scores, rng)


def randomly_ranked(most=6, **kinds):
    """The same as a strategy; only the number of the problem is made small."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_ranked(seed, most, **kinds))


# --- data to train on -------------------------------------------------------------------------------------------


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


def gaussians(n_positive=5, n_negative=7, n_features=3, *, shift=0.7, scale=1.0, seed=0, informative=None):
    """Two overlapping Gaussian classes; labels in {-1, +1}, shuffled.

    Rows of many features are of the length of a few, and only some are ``informative``, as in text.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], [n_positive, n_negative]))
    X = rng.normal(size=(y.size, n_features))
    if informative is not None:
        X /= np.sqrt(n_features)
        return scale * (X + shift * (y[:, None] > 0) * (np.arange(n_features) < informative)), y
    return scale * (X + shift * (y[:, None] > 0)), y


def graded(
    n_queries=30, size=10, *, weights=(2.0, -1.0, 0.5, 0.0), shares=(0.6, 0.85), noise=1.0, spread=0.0, shuffled=False,
    seed=0,
):  # fmt: skip
    """Features, grades and numbers of queries: the sum of features with given weights, and noise, cut at shares of all.

    The features of a query have a ``spread`` in common, which says nothing about its documents. Rows come query by
    query, or shuffled.
    """
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), size)
    X = rng.normal(size=(qid.size, len(weights)))
    hidden = X @ weights + noise * rng.normal(size=qid.size)
    X += spread * rng.normal(size=(n_queries, 1))[qid]
    y = np.digitize(hidden, np.quantile(hidden, shares)).astype(float)
    rows = rng.permutation(qid.size) if shuffled else slice(None)
    return X[rows], y[rows], qid[rows]


def random_rows(rng, y, d):
    """Gaussians or whole numbers with many ties, some of them zero, in columns of equal or different scales."""
    n = y.size
    X = rng.normal(size=(n, d)) + rng.uniform(0, 2) * np.outer(y > 0, rng.normal(size=d))
    if rng.random() < 0.3:
        X = np.round(X)
    if rng.random() < 0.5:
        X *= rng.random(size=(n, d)) < rng.uniform(0.05, 0.9)
    if rng.random() < 0.2:
        X = X[rng.integers(0, n, size=n)]  # rows that are repeated, perhaps with different labels
    if rng.random() < 0.2:
        X += 10.0 ** rng.uniform(0, 4)  # far from the origin
    spread = rng.choice([0.0, 0.0, 1.0, 4.0])
    return X * 10.0 ** (rng.normal(size=d) * spread / 2 + rng.uniform(-spread, spread))


def problem(measure, X, y, alpha, weights=None):
    """The objective of a measure on a data set."""
    return RegularizedRisk(as_design(X), measure.bind(y, weights), alpha)
