"""Measures with parameters, by name.

They are written with what they are about behind an @: a count (``precision@100``), a share (``precision@0.05`` or
``precision@5%``), costs (``error_rate@10:1``) or a rate to keep (``recall@precision=0.9`` or ``recall@precision=90%``).
F-beta is ``f`` with its beta, as everywhere: ``f1``, ``f2``, ``f0.5``; beyond 9 with a point, ``f11.0``, as f11 is f1
with a slip.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..cuts.confidence import CONFIDENCE
from .at_k import PrecisionAtK, RecallAtK
from .base import Measure
from .fractional import FBeta
from .goals import PrecisionAtRecall, RecallAtFPR, RecallAtPrecision
from .partial_roc import PartialROCArea
from .pointwise import ErrorRate


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
#: An example of each.
EXAMPLES = tuple(example for example, _ in _WITH_PARAMETERS.values())


def has_parameters(name: str) -> bool:
    """Whether a name begins like that of a measure with parameters.

    Examples
    --------
    >>> has_parameters("f0.5"), has_parameters("f11"), has_parameters("precision@many")
    (True, False, True)
    """
    return _F_BETA.fullmatch(name) is not None or name.startswith(tuple(_WITH_PARAMETERS))


def with_parameters(written: str, name: str) -> Measure | None:
    """Return the measure of a name that was written so, in our own words; None if none begins like it.

    Examples
    --------
    >>> with_parameters("Recall@5 %", "recall@5%"), with_parameters("prbep", "prbep")
    (RecallAtK(k=0.05), None)
    """
    beta = _F_BETA.fullmatch(name)
    if beta is not None and float(beta[1]) > 0.0:
        return FBeta(float(beta[1]))
    for prefix, (_, make) in _WITH_PARAMETERS.items():
        if name.startswith(prefix):
            return _made(make, written, name, prefix)
    return None


def _made(make: Callable[[str], Measure], written: str, name: str, prefix: str) -> Measure:
    try:
        return make(name.removeprefix(prefix))
    except ValueError as error:
        fitting = [example for example, _ in _WITH_PARAMETERS.values() if example.startswith(prefix)]
        examples = sorted(fitting, key=lambda example: "=" in example)  # the plainest first
        raise ValueError(
            f"measure {written!r} cannot be read: {error} Write it like {', '.join(map(repr, examples))}."
        ) from error
