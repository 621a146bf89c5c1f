r"""Additive models as what they are to a person: a base, and an effect of each column, which add up to the score.

A score is linear in features, ``b + sum_k w_k z_k``. Where transformers have made those of columns one by one, what a
column ``x_j`` adds is a function of it alone: a line, a curve, a step (:class:`~smoothperf.features.pieces.Pieces`).
The weights are followed backwards, from the last transformer to the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .._arrays import Array
from ..features import Shapes
from ..features.pieces import Pieces
from .weights import names_of, weights_for_positive


class NotAdditiveError(ValueError):
    """A model's score is no sum over columns, or of transformers that nobody here can read."""


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a column.

    Attributes
    ----------
    name : str
        Name of the column.
    pieces : Pieces
        What a number adds to the score.
    missing : float or None
        What a missing one adds; None if none may be missing.
    """

    name: str
    pieces: Pieces
    missing: float | None = None

    @property
    def used(self) -> bool:
        """Whether the column makes any difference."""
        return bool(self.pieces.coefs.any()) or bool(self.missing)


@dataclass(frozen=True)
class Effects:
    """The effects of all columns.

    Attributes
    ----------
    base : float
        The score where all effects are 0.
    columns : list of Effect
        One for each column, in their order.
    """

    base: float
    columns: list[Effect]


def effects_of(model: Any, names: Sequence[str] | None = None) -> Effects:
    """Return the effects of a model's columns; scores are higher for the positive label, and above 0 predict it.

    Parameters
    ----------
    model : MeasureClassifier or MeasureRanker
        A fitted model.
    names : sequence of str, optional
        Names of its columns, in place of those that it has.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> found = effects_of(clf)
    >>> bool(found.base + found.columns[0].pieces.at(2.5) == clf.decision_function([[2.5]])[0])
    True
    """
    stages, weights = stages_of(model), weights_for_positive(model)
    base = getattr(model, "_sign", 1.0) * float(np.ravel(model.intercept_)[0])
    effects: list[Effect] = []
    if stages and isinstance(stages[-1], Shapes):
        effects = _of_shapes(stages.pop(), weights)
    else:
        effects = [Effect("", Pieces.line(float(weight))) for weight in weights]
    for stage in reversed(stages):
        shifts, scales = affine(stage)
        effects = [
            Effect("", effect.pieces.of_scaled(shift, scale), effect.missing)
            for effect, shift, scale in zip(effects, shifts.tolist(), scales.tolist(), strict=True)
        ]
    if names is None:
        names = names_of(model, range(len(effects)))
    if len(names) != len(effects):
        raise ValueError(f"there are {len(names)} names, but the model has {len(effects)} columns.")
    return Effects(base, [Effect(name, e.pieces, e.missing) for name, e in zip(names, effects, strict=True)])


def stages_of(model: Any) -> list[Any]:
    """Return the transformers that make the features of a model, one after the other."""
    if getattr(model, "has_base_scores_", False):
        raise NotAdditiveError("the model was fitted with base_scores, which are no column: it is added to them.")
    return _stages(getattr(model, "features_", None))


def _stages(features: Any) -> list[Any]:
    if isinstance(features, Pipeline):
        return [stage for _, step in features.steps for stage in _stages(step)]
    return [] if features is None or features == "passthrough" else [features]


def _of_shapes(shapes: Shapes, weights: Array) -> list[Effect]:
    parts = [weights[shapes.source_ == j] for j in range(len(shapes.curves_))]
    return [
        Effect("", curve.pieces(part), curve.at_missing(part))
        for curve, part in zip(shapes.curves_, parts, strict=True)
    ]


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
            f"they are, {', '.join(sorted(kind.__name__ for kind in SCALERS))} and Shapes it is known how."
        )
    shift, scale = SCALERS[type(stage)](stage)
    d = stage.n_features_in_
    return (np.zeros(d) if shift is None else shift), (np.ones(d) if scale is None else scale)
