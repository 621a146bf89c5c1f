"""Penalty and bounds of the weights of a model in words, as far as they are not the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier

#: So many features are named.
NAMED = 5


def has_bounds(model: MeasureClassifier) -> bool:
    """Whether weights were kept within bounds."""
    return bool(model.positive) or model.coef_bounds is not None


def penalty_words(model: MeasureClassifier) -> dict[str, str]:
    """Return names and values of what is not the default.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> penalty_words(MeasureClassifier(l1_ratio=0.5, coef_bounds=(-1.0, None), penalty_factors={"age": 0.0}))
    {'l1_ratio': '0.5', 'Bounds of weights': '-1 to any', 'Penalty factors': 'age: 0'}
    """
    words = {}
    if ratio := float(getattr(model, "l1_ratio_", model.l1_ratio)):
        words["l1_ratio"] = f"{ratio:g}"
    if model.positive:
        words["Signs of weights"] = "none is negative, towards the positive label"
    if model.coef_bounds is not None:
        words["Bounds of weights"] = _bounds(model.coef_bounds)
    if model.penalty_factors is not None:
        words["Penalty factors"] = _numbers(model.penalty_factors)
    if getattr(model, "has_base_scores_", False):
        words["Added to"] = "scores of another model (base_scores)"
    return words


def _bounds(bounds: Any) -> str:
    if isinstance(bounds, Mapping):
        return _named({name: " to ".join(map(_numbers, pair)) for name, pair in bounds.items()})
    return " to ".join(map(_numbers, bounds))


def _numbers(values: Any) -> str:
    if values is None:
        return "any"
    if hasattr(values, "to_dict"):  # a Series of pandas
        values = values.to_dict()
    if isinstance(values, Mapping):
        return _named({name: _numbers(value) for name, value in values.items()})
    return f"{float(values):g}" if np.ndim(values) == 0 else "one for each feature"


def _named(words: Mapping[Any, str]) -> str:
    """Features and what is said of them, the first few."""
    shown = [f"{name}: {value}" for name, value in list(words.items())[:NAMED]]
    more = len(words) - len(shown)
    return ", ".join(shown) + (f", and {more} more features" if more else "")
