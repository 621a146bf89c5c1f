"""Measures by name, for the command line, configuration files and ``MeasureClassifier(measure=...)``.

A measure without parameters has one name. The others are written with what they are about behind an @: a count
(``precision@100``), a share (``precision@0.05`` or ``precision@5%``), costs (``error_rate@10:1``) or a rate to keep
(``recall@precision=0.9`` or ``recall@precision=90%``). F-beta is ``f`` with its beta, as everywhere: ``f1``, ``f2``,
``f0.5``.
``get_measure(m.name)`` is the measure m again, or one that is as good.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..confidence import CONFIDENCE
from .base import Measure
from .fractional import FBeta, Jaccard
from .goals import AveragePrecision, PrecisionAtRecall, RecallAtFPR, RecallAtPrecision
from .partial_roc import PartialROCArea
from .pointwise import BalancedErrorRate, ErrorRate
from .roc_area import ROCArea
from .smooth import LogLoss, SquaredHinge
from .top_k import PRBEP, PrecisionAtK, RecallAtK


def _number(text: str) -> int | float:
    """A count if it is written as a whole number, else a share, as a decimal number or in percent."""
    if text.isascii() and text.isdigit():
        return int(text)
    return float(text.removesuffix("%")) / 100.0 if text.endswith("%") else float(text)


def _costs(text: str) -> Measure:
    positive, negative = text.split(":")
    return ErrorRate(float(positive), float(negative))


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
}
#: f1, f2, f0.5, ...
_F_BETA = re.compile(r"f(\d+\.?\d*|\.\d+)")
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


def get_measure(measure: str | Measure) -> Measure:
    """Return the measure of a given name; a Measure is passed through.

    Examples
    --------
    >>> get_measure("prbep")
    PRBEP()
    >>> get_measure("precision@100"), get_measure("recall@5%")
    (PrecisionAtK(k=100), RecallAtK(k=0.05))
    >>> get_measure("f0.5")
    FBeta(beta=0.5)
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str):
        if measure in _PLAIN:
            return _PLAIN[measure]()
        beta = _F_BETA.fullmatch(measure)
        if beta is not None and float(beta[1]) > 0.0:
            return FBeta(float(beta[1]))
        for prefix, (example, make) in _WITH_PARAMETERS.items():
            if measure.startswith(prefix):
                return _made(make, measure, prefix, example)
    known = ", ".join(map(repr, MEASURE_NAMES))
    raise ValueError(f"measure must be one of {known} or a Measure object, got {measure!r}.")


def _made(make: Callable[[str], Measure], name: str, prefix: str, example: str) -> Measure:
    try:
        return make(name.removeprefix(prefix))
    except ValueError as error:
        raise ValueError(f"measure {name!r} cannot be read: {error} Write it like {example!r}.") from error
