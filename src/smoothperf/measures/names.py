"""Measures by name, for the command line, configuration files and ``MeasureClassifier(measure=...)``.

A measure without parameters has one name; those of the others are read by :mod:`.parameters`. Other words that people
use for the same are understood, too. ``get_measure(m.name)`` is the measure m again, or one that is as good.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from .base import Measure
from .fractional import FBeta, Jaccard
from .goals import AveragePrecision, MatthewsCorrelation, PositivesAtTop
from .parameters import EXAMPLES, has_parameters, with_parameters
from .pointwise import BalancedErrorRate, ErrorRate
from .roc_area import ROCArea
from .smooth import LogLoss, SquaredHinge
from .top_k import PRBEP

#: Measures without parameters.
_PLAIN: dict[str, Callable[[], Measure]] = {
    "prbep": PRBEP,
    "roc_area": ROCArea,
    "error_rate": ErrorRate,
    "balanced_error_rate": BalancedErrorRate,
    "f1": FBeta,
    "jaccard": Jaccard,
    "log_loss": LogLoss,
    "squared_hinge": SquaredHinge,
    "average_precision": AveragePrecision,
    "pos@top": PositivesAtTop,
    "mcc": MatthewsCorrelation,
}
#: All names, those with parameters by example.
MEASURE_NAMES = (*_PLAIN, *EXAMPLES)
#: Of what is no measure of labels: functions that say what else it is, with a space before, or nothing.
HINTS: list[Callable[[Any], str]] = []
#: Other words that people use, for what stands before the @ or alone.
_ALIASES = {
    "auc": "roc_area",
    "auroc": "roc_area",
    "roc": "roc_area",
    "roc_auc": "roc_area",
    "ap": "average_precision",
    "acc": "error_rate",
    "accuracy": "error_rate",
    "error": "error_rate",
    "balanced_accuracy": "balanced_error_rate",
    "balanced_error": "balanced_error_rate",
    "break_even": "prbep",
    "break_even_point": "prbep",
    "breakeven": "prbep",
    "iou": "jaccard",
    "jaccard_index": "jaccard",
    "cross_entropy": "log_loss",
    "logistic": "log_loss",
    "logloss": "log_loss",
    "matthews_corrcoef": "mcc",
    "matthews_correlation": "mcc",
    "tpr": "recall",
    "sensitivity": "recall",
}


def get_measure(measure: str | Measure) -> Measure:
    """Return the measure of a given name; a Measure is passed through.

    Capital letters make no difference, and common other names are understood.

    Parameters
    ----------
    measure : str or Measure
        A name such as those in ``MEASURE_NAMES``, or a measure.

    Returns
    -------
    measure : Measure
        The measure.

    Examples
    --------
    >>> get_measure("prbep")
    PRBEP()
    >>> get_measure("precision@100"), get_measure("recall@5%")
    (PrecisionAtK(k=100), RecallAtK(k=0.05))
    >>> get_measure("f0.5")
    FBeta(beta=0.5)
    >>> get_measure("ROC AUC"), get_measure("recall_at_100")
    (ROCArea(), RecallAtK(k=100))
    """
    if isinstance(measure, Measure):
        return measure
    name = _settled(measure) if isinstance(measure, str) else ""
    if name in _PLAIN:
        return _PLAIN[name]()
    if (found := with_parameters(measure, name)) is not None:
        return found
    kind, at, parameters = name.partition("@")
    if at and (kind in _PLAIN or has_parameters(kind)):
        raise ValueError(f"measure {measure!r} cannot be read: {kind!r} has no {parameters!r}; write {kind!r} alone.")
    near = difflib.get_close_matches(name, [*MEASURE_NAMES, *_ALIASES], n=1)
    hint = next(filter(None, (hint(measure) for hint in HINTS)), f" Did you mean {near[0]!r}?" if near else "")
    known = ", ".join(map(repr, MEASURE_NAMES))
    raise ValueError(f"measure must be one of {known} or a Measure object, got {measure!r}.{hint}")


def is_measure(measure: Any) -> bool:
    """Return whether something is a measure of labels, or the name of one.

    Examples
    --------
    >>> is_measure("f0.5"), is_measure("ndcg@10")
    (True, False)
    """
    if not isinstance(measure, str):
        return isinstance(measure, Measure)
    name = _settled(measure)
    return name in _PLAIN or has_parameters(name)


def _settled(text: str) -> str:
    """The name that we use for what people write: ``ROC-AUC``, ``f1_score``, ``precision at 100``, ``tpr@fpr=1%``."""
    name = re.sub(r"[\s_-]+at[\s_-]+", "@", text.strip().lower())
    kind, at, parameters = name.partition("@")
    kind = re.sub(r"[\s-]+", "_", kind).removesuffix("_score")
    return _ALIASES.get(kind, kind) + at + re.sub(r"\s+", "", parameters)
