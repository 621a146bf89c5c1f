r"""Additive models as what they are to a person: a base, and an effect of each column, which add up to the score.

A score is linear in features, ``b + sum_k w_k z_k``. Where transformers have made those of columns one by one, what a
column ``x_j`` adds is a function of it alone: a line, a curve, a step (:class:`~smoothperf.features.pieces.Pieces`), a
number for each word. The weights are followed backwards, from the last transformer to the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils import check_array

from .._arrays import Array
from ..features import EncodedColumn, Shapes, TableEncoder, TableShapes
from ..features.column import numbers_of
from ..features.pieces import Pieces
from ..io.labels import MISSING
from .weights import names_of, weights_for_positive

#: Numbers that a date is made of.
DATE_PARTS = ("year", "month", "weekday", "days")


class NotAdditiveError(ValueError):
    """A model's score is no sum over columns, or of transformers that nobody here can read."""


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a column of numbers.

    Attributes
    ----------
    name : str
        Name of the column.
    pieces : Pieces
        What a number adds to the score.
    missing : float or None
        What a missing value adds; None if none may be missing.
    """

    name: str
    pieces: Pieces
    missing: float | None = None

    @property
    def used(self) -> bool:
        """Whether the column makes any difference."""
        return bool(self.pieces.coefs.any()) or bool(self.missing)


@dataclass(frozen=True, eq=False)
class WordsEffect:
    """The effect of a column of words.

    Attributes
    ----------
    name : str
        Name of the column.
    words : dict of str to float
        What each word adds to the score.
    other : float
        What a word adds that training did not have.
    missing : float
        What a missing one adds.
    empty : tuple of str
        Words that stand for a missing one.
    """

    name: str
    words: dict[str, float]
    other: float
    missing: float
    empty: tuple[str, ...] = ("",)

    @property
    def used(self) -> bool:
        """Whether the column makes any difference."""
        return any([*self.words.values(), self.other, self.missing])


@dataclass(frozen=True, eq=False)
class DateEffect:
    """The effect of a column of dates: the sum of those of its parts.

    Attributes
    ----------
    name : str
        Name of the column.
    first : str
        The date from which days count.
    parts : dict of str to Pieces
        What year, month, weekday (Monday is 0) and days since the first date add.
    missing : float
        What a missing date adds.
    """

    name: str
    first: str
    parts: dict[str, Pieces]
    missing: float

    @property
    def used(self) -> bool:
        """Whether the column makes any difference."""
        return any(part.coefs.any() for part in self.parts.values()) or bool(self.missing)


AnyEffect = Effect | WordsEffect | DateEffect


@dataclass(frozen=True)
class Effects:
    """The effects of all columns.

    Attributes
    ----------
    base : float
        The score where all effects are 0.
    columns : list of Effect, WordsEffect or DateEffect
        One for each column, in their order.
    named : bool
        Whether columns have names of their own, or are known by their places.
    of_table : bool
        Whether the columns are those of a table, of numbers, words and dates, not of a matrix.
    """

    base: float
    columns: list[AnyEffect]
    named: bool
    of_table: bool


def effects_of(model: Any, names: Sequence[str] | None = None, weights: Array | None = None) -> Effects:
    """Return the effects of a model's columns; scores are higher for the positive label, and above 0 predict it.

    Parameters
    ----------
    model : MeasureClassifier or MeasureRanker
        A fitted model.
    names : sequence of str, optional
        Names of its columns, in place of those that it has.
    weights : ndarray, optional
        Weights of its features, in place of those that it has; effects are linear in them.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> found = effects_of(clf)
    >>> bool(found.base + found.columns[0].pieces.at(2.5) == clf.decision_function([[2.5]])[0])
    True
    """
    stages = stages_of(model)
    weights = weights_for_positive(model) if weights is None else weights
    base = getattr(model, "_sign", 1.0) * float(np.ravel(model.intercept_)[0])
    encoder = stages.pop(0) if stages and isinstance(stages[0], TableEncoder) else None
    effects = [Effect("", Pieces.line(float(weight))) for weight in weights]
    if stages and isinstance(stages[-1], Shapes):
        effects = _of_shapes(stages.pop(), weights)
    for stage in reversed(stages):
        scales = zip(*(numbers.tolist() for numbers in affine(stage)), strict=True)
        effects = [
            replace(effect, pieces=effect.pieces.of_scaled(*scale))
            for effect, scale in zip(effects, scales, strict=True)
        ]
    known = encoder is not None or getattr(model, "feature_names_in_", None) is not None
    columns: list[AnyEffect] = list(effects) if encoder is None else _of_table(encoder, effects)
    if names is None:
        names = [e.name for e in columns] if encoder is not None else _column_names(model, len(columns))
    elif len(names) != len(columns):
        raise ValueError(f"there are {len(names)} names, but the model has {len(columns)} columns.")
    else:
        known = True
    return Effects(
        base, [replace(e, name=name) for name, e in zip(names, columns, strict=True)], known, encoder is not None
    )


def _column_names(model: Any, count: int) -> list[str]:
    """Names of columns, not of the features that are made of them."""
    if getattr(model, "features_", None) is None:
        return names_of(model, range(count))
    return [str(name) for name in getattr(model, "feature_names_in_", [f"column {j}" for j in range(count)])]


def band_of(model: Any, names: Sequence[str] | None = None) -> list[tuple[AnyEffect, ...]]:
    """Return for each column the effects whose values, as the length of a vector, are half the width of its band.

    None for a column if nothing is known (:mod:`~smoothperf.estimators.fold_models`).
    """
    rows = [effects_of(model, names, weights).columns for weights in getattr(model, "coef_band_", ())]
    return list(zip(*rows, strict=True)) if rows else [()] * len(effects_of(model, names).columns)


def half_width(band: Sequence[Any], heights: Callable[[Any], Array]) -> Array | None:
    """Return half the width of a band at some places, given what effects add there; None without a band."""
    return np.linalg.norm([heights(effect) for effect in band], axis=0) if band else None


def bends(model: Any) -> bool:
    """Return whether features are curves of columns, whose weights say nothing by themselves."""
    if getattr(model, "features_", None) is None or getattr(model, "has_base_scores_", False):
        return False
    return any(isinstance(stage, Shapes) for stage in stages_of(model))


def stages_of(model: Any) -> list[Any]:
    """Return the transformers that make the features of a model, one after the other."""
    if getattr(model, "has_base_scores_", False):
        raise NotAdditiveError("the model was fitted with base_scores, which are no column: it is added to them.")
    return _stages(getattr(model, "features_", None))


def _stages(features: Any) -> list[Any]:
    if isinstance(features, Pipeline):
        return [stage for _, step in features.steps for stage in _stages(step)]
    if isinstance(features, TableShapes):
        return [features.encoder_, features.shapes_]
    return [] if features is None or features == "passthrough" else [features]


def _of_shapes(shapes: Shapes, weights: Array) -> list[Effect]:
    parts = [weights[shapes.source_ == j] for j in range(len(shapes.curves_))]
    return [
        Effect("", curve.pieces(part), curve.at_missing(part))
        for curve, part in zip(shapes.curves_, parts, strict=True)
    ]


def _of_table(encoder: TableEncoder, effects: Sequence[Effect]) -> list[AnyEffect]:
    """Effects of the columns of a table, of those of the features that an encoder makes of them."""
    columns, begin = list[AnyEffect](), 0
    for column in encoder.columns_:
        end = begin + len(column.feature_names)
        functions, begin = [effect.pieces for effect in effects[begin:end]], end
        if column.kind == "text":
            raise NotAdditiveError(
                f"column {column.name!r} is text, and what a word adds to the score depends on the other words of the "
                "row: only 'smoothperf predict' and smoothperf.load predict with such a model."
            )
        if column.kind == "words":
            columns.append(_of_words(column, functions, tuple(sorted({*MISSING, *encoder.missing}))))
        elif column.n_numbers:
            columns.append(_of_numbers(column, functions))
    return columns


def _of_words(column: EncodedColumn, functions: Sequence[Pieces], empty: tuple[str, ...]) -> WordsEffect:
    none = sum(function.at(0.0) for function in functions)  # of a word that training did not have
    each = [none + function.at(1.0) - function.at(0.0) for function in functions]
    missing = each.pop() if column.has_missing else none
    words = dict(zip(column.words or [], each, strict=False))
    return WordsEffect(column.name, words, each[-1] if column.rare else none, missing, empty)


def _of_numbers(column: EncodedColumn, functions: Sequence[Pieces]) -> Effect | DateEffect:
    n = column.n_numbers
    shifts, scales = column.shift or [0.0] * n, column.scale or [1.0] * n
    scaled = [
        f.of_scaled(shift, scale) if (shift, scale) != (0.0, 1.0) else f
        for f, shift, scale in zip(functions[:n], shifts, scales, strict=True)
    ]
    # What of a value that is there the feature for missing ones adds belongs to the first function.
    flag = functions[n] if column.has_missing else Pieces.line(0.0)
    scaled[0] = scaled[0].plus(flag.at(0.0))
    jump = flag.at(1.0) - flag.at(0.0)
    if column.kind == "number":
        return Effect(column.name, scaled[0], scaled[0].at(column.median) + jump)
    filled = numbers_of(column, np.array(["NaT"], dtype="datetime64[s]"))[0, :n]
    missing = sum(f.at(float(value)) for f, value in zip(scaled, filled, strict=True)) + jump
    return DateEffect(column.name, str(column.first), dict(zip(DATE_PARTS, scaled, strict=True)), missing)


#: Scalers of scikit-learn, as shift and scale of ``(x - shift) / scale``.
SCALERS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    StandardScaler: lambda it: (it.mean_, it.scale_),
    MaxAbsScaler: lambda it: (None, it.scale_),
    MinMaxScaler: lambda it: (-it.min_ / it.scale_, 1.0 / it.scale_),
    RobustScaler: lambda it: (it.center_, it.scale_),
}


def affine(stage: Any) -> tuple[Array, Array]:
    """Return shift and scale of each column for a transformer that makes ``(x - shift) / scale`` of it.

    Examples
    --------
    >>> affine(MinMaxScaler().fit([[1.0], [3.0]]))
    (array([1.]), array([2.]))
    """
    if type(stage) not in SCALERS or getattr(stage, "clip", False):
        raise NotAdditiveError(
            f"its features are made by {type(stage).__name__}, which is no function of one column each: of columns as "
            f"they are, {', '.join(sorted(kind.__name__ for kind in SCALERS))}, TableEncoder and Shapes it is known."
        )
    shift, scale = SCALERS[type(stage)](stage)
    d = stage.n_features_in_
    return (np.zeros(d) if shift is None else shift), (np.ones(d) if scale is None else scale)


def column_values(model: Any, X: Any) -> list[NDArray[Any]]:
    """Return the columns of rows that a model has effects of: numbers, words and dates, each as such."""
    stages = stages_of(model)
    if stages and isinstance(stages[0], TableEncoder):
        table = stages[0]._table(X, reset=False)
        return [stages[0]._values(table, column) for column in stages[0].columns_ if column.feature_names]
    return list(check_array(X, ensure_all_finite="allow-nan", dtype=np.float64).T)


def added_by(effect: AnyEffect, values: NDArray[Any]) -> Array:
    """Return what values of a column add to the scores of their rows.

    Examples
    --------
    >>> effect = WordsEffect("town", {"Rome": 1.0}, other=-1.0, missing=0.0)
    >>> added_by(effect, np.array(["Rome", "", "Oslo"], dtype=object))
    array([ 1.,  0., -1.])
    """
    if isinstance(effect, WordsEffect):
        known = {**dict.fromkeys(["", *effect.empty], effect.missing), **effect.words}
        return np.array([known.get(word, effect.other) for word in values.tolist()], dtype=np.float64)
    if isinstance(effect, DateEffect):
        missing, parts = np.isnat(values), parts_of(effect, values)
        added = sum((pieces(parts[part]) for part, pieces in effect.parts.items()), np.zeros(values.shape))
    else:
        missing = np.isnan(values)
        added = effect.pieces(np.where(missing, 0.0, values))
    return np.where(missing, np.nan if effect.missing is None else effect.missing, added)


def parts_of(effect: DateEffect, dates: NDArray[Any]) -> dict[str, Array]:
    """Return year, month, weekday, and days since the first date, of dates."""
    return dict(
        zip(DATE_PARTS, numbers_of(EncodedColumn(effect.name, "date", first=effect.first), dates).T, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Drawing:
    """The effect of a column, or of a part of its dates, to be drawn.

    Attributes
    ----------
    name : str
        What it is the effect of.
    places : ndarray or list of str
        Numbers, or words.
    heights : ndarray
        What they add, less the mean.
    half_width : ndarray or None
        Half the width of the band there.
    ticks : ndarray
        Where rows are, if they are known.
    """

    name: str
    places: Any
    heights: Array
    half_width: Array | None
    ticks: Array


def drawable(model: Any, X: Any = None) -> list[Drawing]:
    """Return the effects that can be drawn, less their means over rows, or else over what is drawn."""
    effects = effects_of(model).columns
    columns: Sequence[Any] = [None] * len(effects) if X is None else column_values(model, X)
    found: list[Drawing] = []
    for effect, band, values in zip(effects, band_of(model), columns, strict=True):
        if isinstance(effect, WordsEffect) and effect.used:
            found.append(_drawn_words(effect, band, values))
        elif isinstance(effect, DateEffect):
            parts = None if values is None else parts_of(effect, values[~np.isnat(values)])
            for part, pieces in effect.parts.items():
                bands = [other.parts[part] for other in band if isinstance(other, DateEffect)]
                found += _drawn(f"{effect.name} {part}", pieces, bands, None if parts is None else parts[part])
        elif isinstance(effect, Effect):
            bands = [other.pieces for other in band if isinstance(other, Effect)]
            found += _drawn(effect.name, effect.pieces, bands, None if values is None else values[~np.isnan(values)])
    return found


def _drawn_words(effect: WordsEffect, band: Sequence[AnyEffect], values: NDArray[Any] | None) -> Drawing:
    def heights(effect: WordsEffect) -> Array:
        added = np.array([*effect.words.values(), effect.other])
        return added - float((added if values is None else added_by(effect, values)).mean())

    return Drawing(effect.name, [*effect.words, "other"], heights(effect), half_width(band, heights), np.zeros(0))


def _drawn(name: str, pieces: Pieces, band: Sequence[Pieces], values: Array | None) -> list[Drawing]:
    ends = pieces.breaks if values is None else values
    if (not pieces.coefs[:, 1:].any() and np.ptp(pieces.coefs[:, 0]) == 0.0) or ends.size == 0:
        return []
    low, high = (ends.min(), ends.max()) if values is None else np.quantile(values, [0.005, 0.995])
    margin = 0.0 if values is not None else 0.05 * (high - low) or 1.0
    places, _ = pieces.over_grid(low - margin, high + margin)

    def heights(pieces: Pieces) -> Array:
        added = pieces(places)
        return added - float((added if values is None else pieces(values)).mean())

    ticks = np.zeros(0) if values is None else np.unique(np.quantile(values, np.linspace(0.005, 0.995, 60)))
    return [Drawing(name, places, heights(pieces), half_width(band, heights), ticks)]
