"""Models for Vespa: a ranking expression, of rank features and of functions of a rank profile."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..estimators.effects import NotAdditiveError, effects_of
from .expression import Language

#: A rank feature, such as bm25(title) or fieldMatch(title).completeness, or a function, as its parser reads them.
RANK_FEATURE = re.compile(r"[A-Za-z_]\w*(\([\w., ]*\))?(\.\w+)*", re.ASCII)


class _Vespa(Language):
    indent = ""

    def column(self, name: str) -> str:
        if not RANK_FEATURE.fullmatch(name):
            raise ValueError(
                f"Vespa reads {name!r} as no rank feature, such as bm25(title), and no function of a rank profile: "
                "give names of such for the columns, in their order."
            )
        return name

    def missing(self, column: str, empty: Sequence[str]) -> str:
        return " || ".join(self.equals(column, word) for word in empty) or f"isNan({column})"

    def equals(self, column: str, word: str) -> str:
        return f"{column} == {json.dumps(word, ensure_ascii=False)}"

    def date_part(self, column: str, part: str, first: str) -> str:
        raise NotAdditiveError(f"{column} is a column of dates, which Vespa's expressions cannot take apart.")

    def choice(self, cases: Sequence[tuple[str, str]], otherwise: str) -> str:
        return "".join(f"if ({asked}, {value}, " for asked, value in cases) + otherwise + ")" * len(cases)


def to_vespa(model: Any, *, names: Sequence[str] | None = None) -> str:
    """Return a linear or additive model as an expression for Vespa's rank profiles.

    Parameters
    ----------
    model : MeasureRanker or MeasureClassifier
        A fitted model.
    names : sequence of str, optional
        Rank features, or functions of the rank profile, in the order of the columns; by default the names of the
        columns.

    Returns
    -------
    str
        The expression; curves are choices among polynomials.

    Examples
    --------
    >>> from smoothperf import MeasureRanker
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> ranker = MeasureRanker("pairs", alpha=1.0).fit(X, y, qid=[0, 0, 1, 1])
    >>> print(to_vespa(ranker, names=["bm25(title)"]))
    0.0
    + 0.9... * bm25(title)
    """
    try:
        return _Vespa().total(effects_of(model, names))
    except NotAdditiveError as error:
        raise NotAdditiveError(
            f"{error} Vespa's expressions see one document at a time: normalisation within a query cannot be expressed."
        ) from error
