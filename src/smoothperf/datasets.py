"""Generated problems that behave like real ones, for demonstrations and tests without a download."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._validation import positive_number, whole_number

__all__ = ["make_rare_positives"]

Array = NDArray[np.float64]

#: The popularity of the word of rank r is 1 / (r + SHIFT): Zipf's law as corrected by Mandelbrot. The shift
#: flattens the head, as removing the stop words of a text does.
SHIFT = 100
#: One word in this many tells something about the label, but never fewer than MIN_INFORMATIVE.
WORDS_PER_INFORMATIVE = 400
MIN_INFORMATIVE = 10


def make_rare_positives(
    n_samples: int = 50_000,
    n_features: int = 20_000,
    *,
    positive_rate: float = 0.01,
    nonzeros: int = 40,
    noise: float = 0.5,
    random_state: int | np.random.Generator = 0,
) -> tuple[sp.csr_matrix, NDArray[np.int64]]:
    """Generate a sparse problem with rare positives that looks like text.

    A row is a document: words drawn by Zipf's law, weighted by log term frequency times inverse document
    frequency, scaled to norm 1. The positives are the documents that a linear model of a few words plus noise
    scores highest. So a ranking far better than chance can be learnt, but none is perfect on new rows.

    Parameters
    ----------
    n_samples, n_features : int
        Rows and columns; at least 2 and 1.
    positive_rate : float, default=0.01
        Share of positives, between 0 and 1. There are ``round(positive_rate * n_samples)`` of them.
    nonzeros : int, default=40
        Words drawn per row, on average; a word drawn twice is one non-zero, so rows have slightly fewer.
    noise : float, default=0.5
        Standard deviation of the noise, as a multiple of that of the linear model's scores.
    random_state : int or numpy.random.Generator, default=0
        Seed, or source of randomness.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
        Non-negative rows of Euclidean norm 1; the leftmost columns are the most popular words.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.datasets import make_rare_positives
    >>> X, y = make_rare_positives(2000, 500, positive_rate=0.05)
    >>> X.shape, int((y > 0).sum())
    ((2000, 500), 100)
    >>> clf = MeasureClassifier("roc_area", alpha=1e-3).fit(X[:1000], y[:1000])
    >>> 0.7 < clf.score(X[1000:], y[1000:]) < 1.0
    True
    """
    whole_number("n_samples", n_samples, at_least=2)
    whole_number("n_features", n_features, at_least=1)
    whole_number("nonzeros", nonzeros, at_least=1)
    n_positives = round(positive_number("positive_rate", positive_rate) * n_samples)
    if not 1 <= n_positives < n_samples:
        raise ValueError(
            f"positive_rate={positive_rate!r} makes {n_positives} of {n_samples} rows positive; "
            "both classes must occur."
        )
    if noise != 0.0:  # the one value that is allowed beside the positive numbers
        positive_number("noise", noise, hint="Or 0 for none.")

    rng = np.random.default_rng(random_state)
    popularity = 1.0 / np.arange(1 + SHIFT, 1 + SHIFT + n_features)
    popularity /= popularity.sum()
    X = _documents(rng, n_samples, popularity, nonzeros)
    n_informative = min(n_features, max(MIN_INFORMATIVE, n_features // WORDS_PER_INFORMATIVE))
    informative = rng.choice(n_features, n_informative, replace=False, p=popularity)
    model = np.zeros(n_features)
    model[informative] = rng.standard_normal(n_informative)
    scores = X @ model
    scores += noise * scores.std() * rng.standard_normal(n_samples)
    y = np.full(n_samples, -1)
    y[np.argpartition(scores, -n_positives)[-n_positives:]] = 1
    return X, y


def _documents(rng: np.random.Generator, n_samples: int, popularity: Array, mean_length: int) -> sp.csr_matrix:
    """Return rows of tf-idf weights with norm 1."""
    lengths = 1 + rng.poisson(mean_length - 1, n_samples)
    last = popularity.size - 1
    # The cumulative popularity may end a rounding error below 1.
    words = np.minimum(np.searchsorted(popularity.cumsum(), rng.random(lengths.sum()), side="right"), last)
    starts = np.concatenate([[0], lengths.cumsum()])
    X = sp.csr_matrix((np.ones(words.size), words, starts), shape=(n_samples, popularity.size))
    X.sum_duplicates()
    document_frequency = np.bincount(X.indices, minlength=popularity.size)
    # 1 + keeps a word that is in every document from vanishing, and with it a row from being all zero.
    X.data = np.log1p(X.data) * np.log(1.0 + n_samples / document_frequency[X.indices])
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X
