"""Columns of texts as features: what each word weighs in a text, by scikit-learn's TfidfVectorizer.

A word that occurs t times in a text, and in n_w of the n texts, weighs ``(1 + ln t) (1 + ln((1 + n) / (1 + n_w)))``,
divided by what makes the row's length 1. Vocabulary and inverse document frequencies are kept as lists.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .column import EncodedColumn

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

#: Settings that a user may change: numbers and names, so that model files can hold them, and no file names.
SETTINGS = frozenset(
    [
        "analyzer",
        "lowercase",
        "max_df",
        "max_features",
        "min_df",
        "ngram_range",
        "stop_words",
        "strip_accents",
        "sublinear_tf",
    ]
)
#: The tenth mention of a word says less than the first, and a word of one text alone tells nothing of others. The
#: length of 1, scikit-learn's default, lets long texts count no more than short ones.
DEFAULTS = {"sublinear_tf": True, "min_df": 2}
#: Cells with so many words on average are texts.
WORDS_OF_A_TEXT = 5.0
#: What the remedy for a column of texts does that is taken for one of words.
HINT = "makes features of their words"
#: What scikit-learn says where no word is left.
NO_WORDS = ("empty vocabulary", "no terms remain", "max_df corresponds")


def settings_for(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for a column, those of a user with the defaults.

    Examples
    --------
    >>> settings_for("body", {"min_df": 5})
    {'sublinear_tf': True, 'min_df': 5}
    """
    if unknown := sorted(set(given) - SETTINGS):
        raise ValueError(f"text has {unknown[0]!r} for {name!r}, which is none of {', '.join(sorted(SETTINGS))}.")
    return {**DEFAULTS, **given}


def learnt_text(name: str, texts: NDArray[Any], settings: dict[str, Any]) -> tuple[EncodedColumn, Any]:
    """Return a column of texts with the words that it has, and what they weigh, in general and in these texts.

    Examples
    --------
    >>> column, _ = learnt_text("body", np.array(["oil price", "oil and gas", "gas"]), {"min_df": 2})
    >>> column.feature_names, column.idf
    (['body: gas', 'body: oil'], [1.2876820724517808, 1.2876820724517808])
    """
    vectorizer = _vectorizer(settings)
    try:
        made = vectorizer.fit_transform(texts)
    except ValueError as error:
        if not any(words in str(error) for words in NO_WORDS):
            raise
        return EncodedColumn(name, "dropped", "its texts have no word in common"), None
    words = vectorizer.get_feature_names_out().tolist()
    return EncodedColumn(name, "text", words=words, idf=vectorizer.idf_.tolist(), settings=settings), made


def weighed(column: EncodedColumn, texts: NDArray[Any]) -> Any:
    """Return what words weigh in texts, as a sparse matrix with a column for each word."""
    vectorizer = _vectorizer({**settings_for(column.name, column.settings), "vocabulary": column.words})
    vectorizer.idf_ = np.array(column.idf)
    return vectorizer.transform(texts)


def are_texts(cells: list[str]) -> bool:
    """Tell whether cells are texts, and no words or names.

    Examples
    --------
    >>> are_texts(["customer 17", "customer 18"]), are_texts(["Crude oil rose again in New York."])
    (False, True)
    """
    some = cells[:1000]
    return bool(some) and sum(len(cell.split()) for cell in some) >= WORDS_OF_A_TEXT * len(some)


def remedy_for(name: str) -> str:
    """Return what to do about a column of texts that is taken for one of words.

    Examples
    --------
    >>> remedy_for("the body")
    "--text 'the body' or text=['the body'] makes features of their words"
    """
    return f"--text {shlex.quote(name)} or text=[{name!r}] {HINT}"


def _vectorizer(settings: Mapping[str, Any]) -> TfidfVectorizer:
    from sklearn.feature_extraction.text import TfidfVectorizer  # of use here alone

    return TfidfVectorizer(**settings)
