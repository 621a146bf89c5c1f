"""Additive models as one expression: a sum over columns, each a choice among polynomials, in any language.

A language says how a column, a number, a choice and a question are written; the sum and the order of questions are the
same in all. Sums are nested in groups, as parsers of databases limit how deep a left-hand side may be.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..estimators.effects import AnyEffect, DateEffect, Effect, Effects, WordsEffect
from ..features.pieces import Pieces

#: Terms of a sum on one level.
GROUP = 50


class Language(ABC):
    """The words of a language; expressions are text."""

    #: Indentation of the terms of a sum.
    indent = "  "

    @abstractmethod
    def column(self, name: str) -> str:
        """Refer to a column."""

    @abstractmethod
    def missing(self, column: str, empty: Sequence[str]) -> str:
        """Ask whether a column has no value, or one of some words that mean that."""

    @abstractmethod
    def choice(self, cases: Sequence[tuple[str, str]], otherwise: str) -> str:
        """Take the value of the first condition that holds."""

    @abstractmethod
    def equals(self, column: str, word: str) -> str:
        """Ask whether a column has a word."""

    @abstractmethod
    def date_part(self, column: str, part: str, first: str) -> str:
        """Take year, month, weekday, or days since the first date, of a date."""

    def effect(self, effect: AnyEffect) -> str:
        """Write what a column adds to the score."""
        column = self.column(effect.name)
        match effect:
            case Effect():
                value = self.function(column, effect.pieces)
            case WordsEffect():
                value = self.lookup(column, effect)
            case DateEffect():
                parts = {self.date_part(column, part, effect.first): it for part, it in effect.parts.items()}
                value = " + ".join(self.function(part, it) for part, it in parts.items() if it.coefs.any())
        if effect.missing is None:
            return value
        empty = effect.empty if isinstance(effect, WordsEffect) else ()
        return self.choice([(self.missing(column, empty), number(effect.missing))], value)

    def function(self, column: str, pieces: Pieces) -> str:
        """Write a function of a number."""
        parts = [
            polynomial(column, origin, coefs)
            for origin, coefs in zip(pieces.origins.tolist(), pieces.coefs.tolist(), strict=True)
        ]
        cases = [
            (f"{column} < {number(end)}", part) for end, part in zip(pieces.breaks.tolist(), parts[:-1], strict=True)
        ]
        return self.choice(cases, parts[-1]) if cases else parts[-1]

    def lookup(self, column: str, effect: WordsEffect) -> str:
        """Write what words add."""
        cases = [(self.equals(column, word), number(value)) for word, value in effect.words.items()]
        return self.choice(cases, number(effect.other)) if cases else number(effect.other)

    def total(self, effects: Effects) -> str:
        """Write the score."""
        terms = [number(effects.base), *(self.effect(effect) for effect in effects.columns if effect.used)]
        return self._sum(terms)

    def _sum(self, terms: Sequence[str]) -> str:
        while len(terms) > GROUP:
            groups = [terms[begin : begin + GROUP] for begin in range(0, len(terms), GROUP)]
            terms = [group[0] if len(group) == 1 else f"({self._sum(group)})" for group in groups]
        return f"\n{self.indent}+ ".join(terms)


def number(value: float) -> str:
    """Return a number as text that reads as exactly that one, with brackets if it is negative.

    Examples
    --------
    >>> number(0.1), number(-2.0)
    ('0.1', '(-2.0)')
    """
    if not math.isfinite(value):
        raise ValueError("a weight of the model is so large that it has no finite effect.")
    return f"({value!r})" if value < 0.0 or math.copysign(1.0, value) < 0.0 else repr(value)


def polynomial(column: str, origin: float, coefs: Sequence[float]) -> str:
    """Return a polynomial about an origin, as Horner has it.

    Examples
    --------
    >>> polynomial("x", 2.0, [1.0, 0.5, 0.25, 0.0])
    '1.0 + (x - 2.0) * (0.5 + (x - 2.0) * 0.25)'
    >>> polynomial("x", 0.0, [0.0, 0.5, 0.0, 0.0])
    '0.5 * x'
    """
    degree = max((k for k, coef in enumerate(coefs) if coef != 0.0), default=0)
    x = column if origin == 0.0 else f"({column} {'+' if origin < 0.0 else '-'} {number(abs(origin))})"
    if degree == 1 and coefs[0] == 0.0:
        return f"{number(coefs[1])} * {x}"
    text = number(coefs[degree])
    for k in range(degree - 1, -1, -1):
        text = f"{number(coefs[k])} + {x} * {f'({text})' if k < degree - 1 else text}"
    return text
