"""Scorers of measures of queries."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from ..measures import QueryMeasure, get_query_measure


def get_query_scorer(measure: str | QueryMeasure) -> Any:
    """Return the scorer of a measure of queries, for any model whose ``predict`` orders documents.

    It needs scikit-learn's metadata routing, which hands on the query of each row: ``set_score_request(qid=True)``.

    Parameters
    ----------
    measure : str or QueryMeasure
        By name or as an object.

    Returns
    -------
    callable
        For scikit-learn's ``scoring=``.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GroupKFold, cross_validate
    >>> from smoothperf.scorers import get_query_scorer
    >>> X, qid = np.random.default_rng(0).normal(size=(60, 2)), np.repeat(range(6), 10)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scorer = get_query_scorer("ndcg@5").set_score_request(qid=True)
    ...     folds = {"cv": GroupKFold(3), "params": {"qid": qid, "groups": qid}}
    ...     scores = cross_validate(Ridge(), X, y, scoring=scorer, **folds)["test_score"]
    >>> bool(scores.min() > 0.9)
    True
    """
    return make_scorer(_score_queries, response_method="predict", measure=get_query_measure(measure))


def _score_queries(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    measure: QueryMeasure,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The measure, if it is known which rows belong together."""
    if qid is None:
        raise ValueError(
            f"qid is needed to compute {measure.name}: enable scikit-learn's metadata routing, call "
            "set_score_request(qid=True) of the scorer, and pass qid."
        )
    return measure.score(y, scores, qid, sample_weight)
