"""Models as plain Python, which needs nothing but Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..estimators.effects import AnyEffect, DateEffect, Effects, WordsEffect, effects_of
from .expression import Language, number
from .sql import labels_of

HEAD = '''"""{what}

A row is {row}; None, NaN and "" are missing values.
"""
'''
DATES = '''
from datetime import datetime


def _date(x):
    """Return a date, or a text of one as ISO 8601 has it, as datetime, to the second."""
    return None if x in (None, "") or x != x else datetime.fromisoformat(str(x)).replace(microsecond=0)
'''
SCORE = '''

def score(row):
    """Return the score of a row."""
    return (
        {score}
    )
'''
PREDICT = '''

def predict(row):
    """Return the label of a row."""
    return {positive!r} if score(row) > 0.0 else {negative!r}
'''
#: Numbers that a date is made of.
PARTS = {
    "year": "x.year",
    "month": "x.month",
    "weekday": "x.weekday()",
    "days": "((x - datetime.fromisoformat({0!r})).total_seconds() / 86400.0)",
}


class _Python(Language):
    indent = "        "

    def __init__(self, effects: Effects):
        self.keys = {
            id(effect): repr(effect.name) if effects.named else place for place, effect in enumerate(effects.columns)
        }

    def column(self, name: str) -> str:
        return "x"

    def missing(self, column: str, empty: Sequence[str]) -> str:
        return f"{column} in {(None, '', *empty)!r} or {column} != {column}"

    def equals(self, column: str, word: str) -> str:
        return f"{column} == {word!r}"

    def choice(self, cases: Sequence[tuple[str, str]], otherwise: str) -> str:
        return "(" + "".join(f"{value} if {asked} else " for asked, value in cases) + f"{otherwise})"

    def lookup(self, column: str, effect: WordsEffect) -> str:
        words = ", ".join(f"{word!r}: {number(value)}" for word, value in effect.words.items())
        if any(word.lstrip("-").isdigit() for word in effect.words):  # whole numbers, which others may keep as floats
            column = f"(int({column}) if isinstance({column}, float) and {column} % 1.0 == 0.0 else {column})"
        return f"{{{words}}}.get(str({column}).strip(), {number(effect.other)})"

    def date_part(self, column: str, part: str, first: str) -> str:
        return PARTS[part].format(first)

    def effect(self, effect: AnyEffect) -> str:
        value = f"row[{self.keys[id(effect)]}]"
        return f"(lambda x: {super().effect(effect)})({f'_date({value})' if isinstance(effect, DateEffect) else value})"


def to_python(model: Any, *, names: Sequence[str] | None = None) -> str:
    """Return a linear or additive model as a module of Python that imports nothing but the standard library.

    Parameters
    ----------
    model : MeasureClassifier or MeasureRanker
        A fitted model.
    names : sequence of str, optional
        Names of the columns, by which a row is asked for them; by default their own, or their places.

    Returns
    -------
    str
        A function ``score(row)``, above 0 where the positive label is predicted, and ``predict(row)``, the label.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], ["ham", "ham", "spam", "spam"])
    >>> module = {}
    >>> exec(to_python(clf, names=["caps"]), module)
    >>> module["predict"]({"caps": 2.5})
    'spam'
    """
    effects = effects_of(model, names)
    ranks = getattr(model, "label_pair", None) is None
    what = "Scores are higher for a better place."
    if not ranks:
        negative, positive = labels_of(model)
        what = "Scores are above 0 where the positive label is predicted."
    rows = "a mapping of names of columns to values" if effects.named else "a sequence of values"
    text = HEAD.format(what=what, row=rows)
    if any(isinstance(effect, DateEffect) and effect.used for effect in effects.columns):
        text += DATES
    text += SCORE.format(score=_Python(effects).total(effects))
    return text if ranks else text + PREDICT.format(negative=negative, positive=positive)
