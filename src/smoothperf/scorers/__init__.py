"""Scorers of the measures, for scikit-learn's ``scoring=``: model selection by what you will be judged by.

They are scikit-learn's own scorer objects, so everything that takes a scorer takes them, and
``scorers.prbep.set_score_request(sample_weight=True)`` routes weights to them. Any binary classifier can be scored.
Measures that compare scores take its ``decision_function``, or its ``predict_proba`` if it has no other; measures of
decisions (error rates, F-beta and the like) take its ``predict``; log loss and squared hinge, which depend on how far
scores are from 0, take its ``decision_function``. The larger label is positive, or ``get_scorer(measure,
pos_label=...)``. Measures of queries take ``predict``, and the query of each row by metadata routing.
"""

from .labels import (
    average_precision,
    balanced_error_rate,
    error_rate,
    get_scorer,
    log_loss,
    prbep,
    roc_area,
    squared_hinge,
)
from .queries import get_query_scorer

__all__ = [
    "average_precision",
    "balanced_error_rate",
    "error_rate",
    "get_query_scorer",
    "get_scorer",
    "log_loss",
    "prbep",
    "roc_area",
    "squared_hinge",
]
