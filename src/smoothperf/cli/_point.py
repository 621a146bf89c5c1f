"""``--at``: where to cut, such as ``precision=0.9`` or ``rate=5%``, and what to expect there."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ._errors import fail

EXAMPLES = "precision=0.9, recall=0.8, fpr=1%, k=500 or rate=5%"
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TARGET",
        show_default=False,
        help=f"Where to predict positive: {EXAMPLES}. The first three hold for new rows, with 90 % confidence.",
    ),
]


def operating_point(text: str | None) -> dict[str, Any] | None:
    """Read a target, as keyword arguments of ``set_operating_point``.

    Examples
    --------
    >>> operating_point("rate=5%"), operating_point("recall=0.8,confidence=none"), operating_point(None)
    ({'rate': 0.05}, {'recall': 0.8, 'confidence': None}, None)
    """
    if text is None:
        return None

    from ..cuts.targets import TARGETS, checked_target

    target, more, confidence = text.partition(",confidence=")
    name, _, number = target.partition("=")
    name = name.strip()
    value = _number(number)
    if name not in TARGETS or value is None:
        fail(f"--at must be one of {EXAMPLES}, got {text!r}.")
    if name == "k" and value.is_integer():
        value = int(value)
    try:
        point: dict[str, Any] = {name: checked_target(name, value)}
    except ValueError as error:
        fail(f"--at {text}: {error}")
    if more:
        level = None if confidence == "none" else _number(confidence)
        if confidence != "none" and (level is None or not 0.0 < level < 1.0):
            fail(f"--at {text}: confidence must lie between 0 and 1, or be none, got {confidence!r}.")
        point["confidence"] = level
    return point


def _number(text: str) -> float | None:
    """``0.05`` or ``5%``; None for anything else."""
    percent = text.strip().endswith("%")
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        return None
    return value / 100.0 if percent else value


def expectations(expected: dict[str, Any], where: str) -> list[str]:
    """Say what the threshold does, and what new rows will show."""
    names = {"precision": "precision", "recall": "recall", "fpr": "false positive rate"}
    sure = f"{100 * expected['confidence']:g} %"
    lines = [f"Threshold chosen on {where}; new rows will show, each with {sure} confidence:"]
    for name, title in names.items():
        rate = expected[name]
        bound = f"at most {rate['high']:.4f}" if name == "fpr" else f"at least {rate['low']:.4f}"
        lines.append(f"  {title} {bound} ({rate['value']:.4f} there)")
    return lines
