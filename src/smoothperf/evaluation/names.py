"""Titles of the scores of measures, as people write them."""

from __future__ import annotations

from ..measures import Measure

#: The measures of :meth:`~smoothperf.evaluation.Ranking.measures` by name, as people write them.
NAMES = {
    "prbep": "PRBEP",
    "roc_area": "ROC area",
    "average_precision": "average precision",
    "best_f1": "F1, best threshold",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "false_positive_rate": "false positive rate",
    "accuracy": "accuracy",
}
#: Titles of the scores of measures to train for, where that is not their name.
TITLES = {
    "error_rate": "accuracy",
    "balanced_error_rate": "balanced accuracy",
    "jaccard": "Jaccard",
    "mcc": "MCC",
    "log_loss": "minus log loss",
    "squared_hinge": "minus squared hinge",
    "squared_loss": "minus squared loss",
    "pooled_squared_loss": "minus pooled squared loss",
    "ndcg": "NDCG",
    "reciprocal_rank": "reciprocal rank",
}


def title_of(measure: str) -> str:
    """Return the title of the score of a measure, of :data:`NAMES` or to train for.

    Parameters
    ----------
    measure : str
        Name of a measure.

    Returns
    -------
    str
        Its title.

    Examples
    --------
    >>> [title_of(name) for name in ("prbep", "f2", "precision@100", "roc_area@0.1", "error_rate", "error_rate@10:1")]
    ['PRBEP', 'F2', 'precision@100', 'ROC area@0.1', 'accuracy', 'accuracy with costs 10:1']
    >>> title_of("ndcg@10, linear gains"), title_of("roc_area, by pairs")
    ('NDCG@10, linear gains', 'ROC area, by pairs')
    """
    measure, comma, unusual = measure.partition(", ")
    if comma:
        return f"{title_of(measure)}, {unusual}"
    kind, at, parameters = measure.partition("@")
    if not at and kind.startswith("f") and kind[1:].replace(".", "", 1).isdigit():
        return kind.upper()
    if kind == "error_rate" and at:
        return f"accuracy with costs {parameters}"
    return {**NAMES, **TITLES}.get(kind, kind) + at + parameters


def column_of(measure: Measure) -> str:
    """Return the name in :data:`NAMES` under which the score of a measure is found, or else its own name.

    Parameters
    ----------
    measure : Measure
        A measure.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> from smoothperf import ErrorRate, PrecisionAtK
    >>> column_of(ErrorRate()), column_of(PrecisionAtK(100))
    ('accuracy', 'precision@100')
    """
    return "accuracy" if measure.name == "error_rate" else measure.name
