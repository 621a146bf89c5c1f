"""Linear models for search engines: a weight for each feature, and a mean and a deviation for its normaliser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array
from ..estimators.effects import NotAdditiveError, affine, stages_of
from ..estimators.weights import names_of, weights_for_positive
from ..features import Shapes, TableEncoder


@dataclass(frozen=True)
class LinearFeature:
    """A feature of an engine, whose score is ``weight (x - mean) / deviation``.

    Attributes
    ----------
    name : str
        Its name there.
    weight : float
        Its weight, above 0 for a better place.
    mean, deviation : float
        Of its normaliser; 0 and 1 for none.
    """

    name: str
    weight: float
    mean: float = 0.0
    deviation: float = 1.0

    @property
    def normalised(self) -> bool:
        """Whether there is a normaliser."""
        return (self.mean, self.deviation) != (0.0, 1.0)


def linear_features(model: Any, names: Sequence[str] | None, engine: str) -> list[LinearFeature]:
    """Return the features of a linear model, without those of weight 0; what an engine cannot do is an error."""
    stages, weights = stages_of(model), weights_for_positive(model)
    d = weights.size
    if names is None:
        names = names_of(model, range(d))
    if stages and isinstance(stages[-1], Shapes):
        raise NotAdditiveError(f"{engine} has weights of features as they are, or normalised, and no curves.")
    shifts, scales = np.zeros(d), np.ones(d)
    if stages and isinstance(stages[0], TableEncoder):
        shifts, scales = _of_table(stages.pop(0), engine)
    try:
        for stage in stages:
            shift, scale = affine(stage)
            shifts, scales = shifts + scales * shift, scales * scale
    except NotAdditiveError as error:
        raise NotAdditiveError(
            f"{engine} knows one mean and deviation for each feature, the same for all queries; but {error} "
            "Normalisation within a query cannot be expressed: train on features as the engine logs them."
        ) from error
    if len(names) != d:
        raise ValueError(f"there are {len(names)} names, but the model has {d} columns.")
    found = zip(names, weights.tolist(), shifts.tolist(), scales.tolist(), strict=True)
    used = [LinearFeature(str(name), *numbers) for name, *numbers in found if numbers[0] != 0.0]
    if not used:
        raise ValueError("all weights of the model are 0, so it ranks nothing.")
    return used


def _of_table(encoder: TableEncoder, engine: str) -> tuple[Array, Array]:
    """Shifts and scales of the columns of a table, which must be numbers that are always there."""
    for column in encoder.columns_:
        if column.feature_names and (column.kind != "number" or column.has_missing):
            what = {"words": "words", "date": "dates", "text": "texts"}.get(
                column.kind, "numbers, some of them missing"
            )
            raise NotAdditiveError(
                f"{engine} has features that are numbers, and column {column.name!r} is one of {what}: fill it, leave "
                "it out with --drop, or train on features as the engine logs them."
            )
    scaling = encoder.scaling_
    d = len(encoder.get_feature_names_out())
    return (
        np.zeros(d) if scaling.shift is None else scaling.shift,
        np.ones(d) if scaling.scale is None else scaling.scale,
    )
