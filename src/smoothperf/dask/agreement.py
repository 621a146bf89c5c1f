"""Agreement of the blocks of a data set, and facts that only all of them together tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from ..estimators.problem import encode_labels
from .blocks import Summary
from .parts import LabelSettings


def agree(summaries: list[Summary], class_weight: Any = None, pos_label: Any = None) -> LabelSettings:
    """Make the blocks one data set: what the workers need to know of it."""
    n_features, zero_based = common_columns(summaries)
    classes = common_labels(summaries, pos_label)
    return LabelSettings(
        classes=classes,
        class_weights=weights_of_classes(class_weight, classes, summaries),
        weighted=any(summary.weighted is not None for summary in summaries),
        n_features=n_features,
        zero_based=zero_based,
        based=_all_based(summaries),
    )


def _all_based(summaries: list[Summary]) -> bool:
    """Whether blocks have an offset, which all must have then."""
    with_rows = [(number, each.based) for number, each in enumerate(summaries) if each.n_rows]
    first, based = with_rows[0]
    for number, other in with_rows:
        if other != based:
            given, missing = (first, number) if based else (number, first)
            raise ValueError(f"block {given} has base_scores but block {missing} has none; give them to all blocks.")
    return based


def class_counts(classes: NDArray[Any], summaries: list[Summary]) -> tuple[int, int]:
    """Number of rows of all blocks with the negative label, and with the positive one."""
    negative, positive = (
        sum(int(each.counts[each.kinds == label].sum()) for each in summaries if each.counts is not None)
        for label in classes
    )
    return negative, positive


def common_columns(summaries: list[Summary]) -> tuple[int, bool]:
    """The number of features of all blocks, and whether indices of parts in svmlight format count from 0."""
    zero_based = any(summary.zero_based for summary in summaries)
    widths = [_width(summary, zero_based) for summary in summaries]
    # A part in svmlight format does not say how many columns there are, only that there are at least so many.
    known = [number for number, summary in enumerate(summaries) if summary.zero_based is None]
    expected = widths[known[0]] if known else max(widths)
    for number, (summary, width) in enumerate(zip(summaries, widths, strict=True)):
        if width > expected or (width < expected and summary.zero_based is None):
            raise ValueError(
                f"block {number} has {width} features but block {known[0]} has {expected}; all must have as many."
            )
    return expected, zero_based


def _width(summary: Summary, zero_based: bool) -> int:
    return summary.n_features + int(zero_based and summary.zero_based is False)


def common_names(summaries: list[Summary]) -> list[str] | None:
    """The names of the features, which must be the same in all blocks that have names."""
    named = [(number, summary.feature_names) for number, summary in enumerate(summaries) if summary.feature_names]
    for number, names in named:
        if names != named[0][1]:
            raise ValueError(
                f"block {number} has other feature names than block {named[0][0]}, or in another order: "
                f"{_shown(names)} instead of {_shown(named[0][1])}."
            )
    return named[0][1] if len(named) == len(summaries) else None


def _shown(names: list[str] | None) -> str:
    names = names or []
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def common_labels(summaries: list[Summary], pos_label: Any = None) -> NDArray[Any]:
    """The negative and the positive label of all blocks together; one block may have only one of them."""
    found = [(number, each.kinds) for number, each in enumerate(summaries) if each.kinds is not None and each.n_rows]
    if not found:
        raise ValueError("no block has a row: at least one positive and one negative example are needed.")
    text = [number for number, kinds in found if kinds.dtype.kind == "U"]
    if text and len(text) < len(found):
        other = next(number for number, kinds in found if kinds.dtype.kind != "U")
        raise ValueError(f"the labels of block {text[0]} are text, but those of block {other} are not; use one kind.")
    seen: list[Any] = []
    for number, kinds in found:
        seen = sorted({*seen, *kinds.tolist()})
        if len(seen) > 2:
            raise ValueError(
                f"y must hold two kinds of labels, got {', '.join(map(repr, seen))} in blocks up to block {number}; "
                "wrap the classifier in OneVsRestClassifier for more."
            )
    classes, _ = encode_labels(np.unique(np.concatenate([kinds for _, kinds in found])), pos_label)
    return classes


def weights_of_classes(
    class_weight: Any, classes: NDArray[Any], summaries: list[Summary]
) -> tuple[float, float] | None:
    """The weights of the two classes, or None; each class must keep some weight."""
    counts, masses = (_by_class(classes, summaries, weighted=weighted) for weighted in (False, True))
    for name, mass in zip(("negative", "positive"), masses, strict=True):
        if not mass > 0.0:
            raise ValueError(f"sample_weight is 0 for every {name} example; each class needs some weight.")
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        first, second = (sum(counts) / (2.0 * count) for count in counts)
        return first, second
    first, second = compute_class_weight(class_weight, classes=classes, y=classes)
    return float(first), float(second)


def _by_class(classes: NDArray[Any], summaries: list[Summary], *, weighted: bool) -> list[float]:
    """Number of examples of each class, or their weight."""
    sums: list[list[float]] = [[], []]
    for summary in summaries:
        amounts: Any = summary.weighted if weighted and summary.weighted is not None else summary.counts
        for kind, amount in zip(summary.kinds if summary.kinds is not None else [], amounts, strict=True):
            sums[int(kind == classes[1])].append(float(amount))
    return [math.fsum(each) for each in sums]
