"""Models for databases: an expression of SQL, with missing values, words, dates and the threshold in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._validation import choice
from ..estimators.effects import effects_of
from .expression import Language

#: Parts of dates, which each database writes in its own way.
DATES = {
    "sqlite": {
        "year": "CAST(strftime('%Y', {0}) AS INTEGER)",
        "month": "CAST(strftime('%m', {0}) AS INTEGER)",
        "weekday": "(CAST(strftime('%w', {0}) AS INTEGER) + 6) % 7",
        "days": "(julianday({0}) - julianday('{1}'))",
    },
    "postgresql": {
        "year": "EXTRACT(YEAR FROM {0})",
        "month": "EXTRACT(MONTH FROM {0})",
        "weekday": "(EXTRACT(ISODOW FROM {0}) - 1)",
        "days": "(EXTRACT(EPOCH FROM {0} - TIMESTAMP '{1}') / 86400.0)",
    },
}


class _SQL(Language):
    def __init__(self, dialect: str):
        self.dates = DATES[dialect]

    def column(self, name: str) -> str:
        return _quoted(name, '"')

    def missing(self, column: str, empty: Sequence[str]) -> str:
        return " OR ".join([f"{column} IS NULL", *(self.equals(column, word) for word in empty)])

    def equals(self, column: str, word: str) -> str:
        return f"{column} = {_quoted(word)}"

    def choice(self, cases: Sequence[tuple[str, str]], otherwise: str) -> str:
        return "CASE " + "".join(f"WHEN {asked} THEN {value} " for asked, value in cases) + f"ELSE {otherwise} END"

    def date_part(self, column: str, part: str, first: str) -> str:
        return self.dates[part].format(column, first.replace("T", " "))


def to_sql(model: Any, *, predict: str = "score", dialect: str = "sqlite", names: Sequence[str] | None = None) -> str:
    """Return a linear or additive model as one expression of SQL.

    Parameters
    ----------
    model : MeasureClassifier or MeasureRanker
        A fitted model.
    predict : {"score", "label"}, default="score"
        What the expression is: the score, which is above 0 where the positive label is predicted, or the label.
    dialect : {"sqlite", "postgresql"}, default="sqlite"
        How parts of dates are written; without dates it makes no difference.
    names : sequence of str, optional
        Names of the columns in the database; by default their own.

    Returns
    -------
    str
        The expression, for ``SELECT (...) FROM table``. Columns of numbers must be such; NULL is a missing value, and
        where a model knows none, its score is NULL.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], ["ham", "ham", "spam", "spam"])
    >>> print(to_sql(clf, predict="label", names=["caps"]))
    CASE WHEN (-1.4...)
      + 0.9... * "caps" > 0.0 THEN 'spam' ELSE 'ham' END
    """
    choice("predict", predict, ("score", "label"))
    language = _SQL(choice("dialect", dialect, tuple(DATES)))
    score = language.total(effects_of(model, names))
    if predict == "score":
        return score
    negative, positive = (_literal(label) for label in labels_of(model))
    return language.choice([(f"{score} > 0.0", positive)], negative)


def labels_of(model: Any) -> list[Any]:
    """Return the negative and the positive label of a model, as Python's own values."""
    pair = getattr(model, "label_pair", None)
    if pair is None:
        raise ValueError("predict='label' is for models that tell classes apart, and this one ranks: leave it out.")
    found: list[Any] = pair.tolist()
    return found


def _literal(label: Any) -> str:
    return _quoted(label) if isinstance(label, str) else repr(label)


def _quoted(text: str, mark: str = "'") -> str:
    if "\0" in text:
        raise ValueError(f"{text!r} holds the character of number 0, which SQL does not.")
    return f"{mark}{text.replace(mark, 2 * mark)}{mark}"
