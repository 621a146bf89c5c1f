r"""Weights of a fitted linear model: its features by name, those that matter most first.

The score of a row x is ``sum_j w_j x_j + b``, higher for the positive label. A weight by itself depends on the unit of
its feature. Times the spread of that feature, the standard deviation of its column, it is by how much the score moves
when the feature moves by as much as it usually does: its contribution.

O(size of X) for the spreads, O(d) for the largest k of d: those are found without sorting all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from ..design.scaling import Scaling

if TYPE_CHECKING:
    from .linear import CertifiedModel


def weights_for_positive(model: CertifiedModel) -> Array:
    """Weights that are above 0 where a higher value speaks for the positive label; of a ranker, for a better place.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1, pos_label="ham").fit([[0.0], [1.0]], ["ham", "spam"])
    >>> bool(clf.coef_[0, 0] > 0.0), bool(weights_for_positive(clf)[0] < 0.0)
    (True, True)
    """
    weights: Array = getattr(model, "_sign", 1.0) * model.coef_.reshape(-1)
    return weights


def unscaled_weights(model: CertifiedModel) -> Array:
    """The same for features as they are, where those of a table are scaled for training."""
    return scaling_of(model).unscaled(weights_for_positive(model))


def unscaled_intercept(model: CertifiedModel) -> float:
    """The number that is added to the sum of these weights times features.

    Examples
    --------
    >>> import pandas as pd
    >>> from smoothperf import MeasureClassifier, TableEncoder
    >>> X = pd.DataFrame({"age": [30, 40, 50, 60]})
    >>> clf = MeasureClassifier(alpha=0.1, features=TableEncoder()).fit(X, [0, 0, 1, 1])
    >>> scores = X["age"] * unscaled_weights(clf)[0] + unscaled_intercept(clf)
    >>> np.allclose(scores, clf.decision_function(X))
    True
    """
    shift = scaling_of(model).shift
    moved = 0.0 if shift is None else float(unscaled_weights(model) @ shift)
    return float(getattr(model, "_sign", 1.0) * np.ravel(model.intercept_)[0]) - moved


def scaling_of(model: CertifiedModel) -> Scaling:
    """Return what was done to the features before training, so that weights are for these: nothing, but for tables."""
    scaling = getattr(getattr(model, "features_", None), "scaling_", None)
    return scaling if isinstance(scaling, Scaling) else Scaling()


def most_important(sizes: Array, count: int) -> NDArray[np.intp]:
    """Return where the ``count`` largest absolute values are, falling; zeros are not among them.

    Examples
    --------
    >>> most_important(np.array([0.5, 0.0, -2.0, 0.5]), 3)
    array([2, 0, 3])
    """
    sizes = np.abs(sizes)
    count = min(count, int(np.count_nonzero(sizes)))
    if count == 0:
        return np.zeros(0, dtype=np.intp)
    chosen = np.argpartition(-sizes, count - 1)[:count]
    return chosen[np.lexsort((chosen, -sizes[chosen]))]


def names_of(model: CertifiedModel, features: Iterable[int], known: Any = None) -> list[str]:
    """Return what to call some features, given by their places in ``coef_``.

    By name, if the features have names (``known`` takes their place); else as "feature 7",
    where 7 is the index in svmlight files for this model; else as "column 6", counted from 0 as NumPy does.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> names_of(MeasureClassifier(alpha=0.1).fit([[0.0], [1.0]], [0, 1]), [0])
    ['column 0']
    """
    names = model.feature_names if known is None else known
    if names is not None:
        return [str(names[feature]) for feature in features]
    zero_based: bool | None = getattr(model, "zero_based_", None)
    if zero_based is None:
        return [f"column {feature}" for feature in features]
    return [f"feature {feature + (not zero_based)}" for feature in features]
