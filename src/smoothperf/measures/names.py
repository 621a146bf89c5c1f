"""Measures by name, for the command line, configuration files and ``MeasureClassifier(measure=...)``.

A measure without parameters has one name. The others are written with what they are about behind an @: a count
(``precision@100``), a share (``precision@0.05`` or ``precision@5%``), costs (``error_rate@10:1``) or a rate to keep
(``recall@precision=0.9`` or ``recall@precision=90%``). F-beta is ``f`` with its beta, as everywhere: ``f1``, ``f2``,
``f0.5``; beyond 9 with a point, ``f11.0``, as f11 is f1 with a slip. Other words that people use for the same are
understood, too. ``get_measure(m.name)`` is the measure m again, or one that is as good.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..cuts.confidence import CONFIDENCE
from .at_k import PrecisionAtK, RecallAtK
from .base import Measure
from .fractional import FBeta, Jaccard
from .goals import AveragePrecision, MatthewsCorrelation, PrecisionAtRecall, RecallAtFPR, RecallAtPrecision
from .partial_roc import PartialROCArea
from .pointwise import BalancedErrorRate, ErrorRate
from .roc_area import ROCArea
from .smooth import LogLoss, SquaredHinge
from .top_k import PRBEP


def _number(text: str) -> int | float:
    """A count if it is written as a whole number, else a share, as a decimal number or in percent."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return float(text.removesuffix("%")) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number.") from None


def _costs(text: str) -> Measure:
    """``10:1``."""
    positive, colon, negative = text.partition(":")
    if not colon:
        raise ValueError(f"{text!r} is not two costs, of a missed positive and of a false one.")
    return ErrorRate(float(_number(positive)), float(_number(negative)))


def _rate_and_confidence(text: str) -> tuple[float, float | None]:
    """``0.9`` or ``90%``, and what may follow: ``,confidence=0.95`` or ``,confidence=none``."""
    rate, more, level = text.partition(",confidence=")
    confidence = (None if level == "none" else _number(level)) if more else CONFIDENCE
    return float(_number(rate)), confidence


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
    "mcc": MatthewsCorrelation,
}
#: f1, f2, f0.5, ...
_F_BETA = re.compile(r"f(\d|\d*\.\d+)")
#: Measures with parameters: how their names begin, an example, and what makes one of the rest of the name. The first
#: that fits is it.
_WITH_PARAMETERS: dict[str, tuple[str, Callable[[str], Measure]]] = {
    "recall@precision=": ("recall@precision=0.9", lambda text: RecallAtPrecision(*_rate_and_confidence(text))),
    "precision@recall=": ("precision@recall=0.8", lambda text: PrecisionAtRecall(*_rate_and_confidence(text))),
    "recall@fpr=": ("recall@fpr=0.01", lambda text: RecallAtFPR(*_rate_and_confidence(text))),
    "precision@": ("precision@100", lambda text: PrecisionAtK(_number(text))),
    "recall@": ("recall@5%", lambda text: RecallAtK(_number(text))),
    "roc_area@": ("roc_area@0.1", lambda text: PartialROCArea(_number(text))),
    "error_rate@": ("error_rate@10:1", _costs),
}
#: All names, those with parameters by example.
MEASURE_NAMES = (*_PLAIN, *(example for example, _ in _WITH_PARAMETERS.values()))


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
    wanted = f"measure must be one of {_listed(MEASURE_NAMES)} or a Measure object, got {measure!r}."
    if not isinstance(measure, str):
        raise ValueError(wanted + _of_rankings(measure))
    name = _settled(measure)
    if name in _PLAIN:
        return _PLAIN[name]()
    beta = _F_BETA.fullmatch(name)
    if beta is not None and float(beta[1]) > 0.0:
        return FBeta(float(beta[1]))
    for prefix, (_, make) in _WITH_PARAMETERS.items():
        if name.startswith(prefix):
            return _made(make, measure, name, prefix)
    kind, at, parameters = name.partition("@")
    if at and (kind in _PLAIN or _F_BETA.fullmatch(kind)):
        raise ValueError(f"measure {measure!r} cannot be read: {kind!r} has no {parameters!r}; write {kind!r} alone.")
    near = difflib.get_close_matches(name, [*MEASURE_NAMES, *_ALIASES], n=1)
    hint = _of_rankings(measure) or (f" Did you mean {near[0]!r}?" if near else "")
    raise ValueError(wanted + hint)


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
    return name in _PLAIN or _F_BETA.fullmatch(name) is not None or name.startswith(tuple(_WITH_PARAMETERS))


def _of_rankings(measure: Any) -> str:
    """Say so if something is a measure of rankings."""
    from .queries.names import is_query_measure  # which asks whether names are ours

    return " It is a measure of rankings: use MeasureRanker, or get_query_scorer." if is_query_measure(measure) else ""


def _settled(text: str) -> str:
    """The name that we use for what people write: ``ROC-AUC``, ``f1_score``, ``precision at 100``, ``tpr@fpr=1%``."""
    name = re.sub(r"[\s_-]+at[\s_-]+", "@", text.strip().lower())
    kind, at, parameters = name.partition("@")
    kind = re.sub(r"[\s-]+", "_", kind).removesuffix("_score")
    return _ALIASES.get(kind, kind) + at + re.sub(r"\s+", "", parameters)


def _made(make: Callable[[str], Measure], written: str, name: str, prefix: str) -> Measure:
    try:
        return make(name.removeprefix(prefix))
    except ValueError as error:
        fitting = [example for example, _ in _WITH_PARAMETERS.values() if example.startswith(prefix)]
        examples = sorted(fitting, key=lambda example: "=" in example)  # the plainest first
        raise ValueError(f"measure {written!r} cannot be read: {error} Write it like {_listed(examples)}.") from error


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
