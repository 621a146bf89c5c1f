"""The weights of a model in its report: the features that move its scores most on the rows that judge it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from ..design.scaling import moments
from ..estimators.weights import (
    most_important,
    names_of,
    scaling_of,
    unscaled_intercept,
    unscaled_weights,
)

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from .labels import LabelContents

#: Most features that a report names, and those that are seen at once; the others are folded away.
MOST, SHOWN = 200, 20


@dataclass(frozen=True)
class LargestWeights:
    """The features with the largest contributions, falling.

    Attributes
    ----------
    names : list of str
        Their names.
    weights, spreads : ndarray
        Their weights, above 0 for the positive label, and the standard deviations of their columns on the reported
        rows.
    n_features, n_used : int
        Features in all, and those whose weight is not 0.
    total : float
        Sum of the sizes of all contributions, also of those that are not named.
    intercept : float
        Added to the weighted sum; above 0 for the positive label.
    """

    names: list[str]
    weights: Array
    spreads: Array
    n_features: int
    n_used: int
    total: float
    intercept: float

    @property
    def contributions(self) -> Array:
        """Weight times spread: by how much the score moves with one standard deviation of the feature."""
        return self.weights * self.spreads


def weights_of(model: MeasureClassifier, X: Any, feature_names: Any = None) -> LargestWeights:
    """Look at a model's weights beside the spreads of some rows.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> X = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]
    >>> weights_of(MeasureClassifier(alpha=0.1).fit(X, [0, 0, 1, 1]), X).names  # the other has no spread
    ['column 0']
    """
    weights = unscaled_weights(model)
    if hasattr(model, "features_"):
        feature_names = model.feature_names
    scale = scaling_of(model).scale
    spreads = moments(model.features_of(X))[1] * (1.0 if scale is None else scale)
    spreads[~np.isfinite(spreads)] = 0.0  # squares of very large values overflow; they say nothing then
    contributions = weights * spreads
    places = most_important(contributions, MOST)
    return LargestWeights(
        names=names_of(model, places.tolist(), feature_names),
        weights=weights[places],
        spreads=spreads[places],
        n_features=weights.shape[0],
        n_used=int(np.count_nonzero(weights)),
        total=float(np.abs(contributions).sum()),
        intercept=unscaled_intercept(model),
    )


def weights_section(contents: LabelContents) -> str:
    """Return the section."""
    weights = contents.weights
    if not weights.names:
        return f'<div class="card"><p>{_how_many(weights)} No feature moves the score on these examples.</p></div>'
    folded = ""
    if len(weights.names) > SHOWN:
        folded = (
            f"<details><summary>The next {len(weights.names) - SHOWN:,}</summary>"
            f"{_table(weights, SHOWN, len(weights.names))}</details>"
        )
    negative, positive = map(escape, contents.classes)
    share = np.abs(weights.contributions[:SHOWN]).sum() / weights.total
    part = (
        f" The first {min(SHOWN, len(weights.names))} make up {share:.0%} of all contributions."
        if share < 0.995
        else ""
    )
    return f"""<div class="card weights">
<p>{_how_many(weights)} The score of an example is the sum of weight times value over the features, \
{"plus" if weights.intercept >= 0 else "minus"} {abs(weights.intercept):.4g}; above 0 is called {positive}.</p>
<p class="aside">The contribution is the weight times the spread, which is the standard deviation of the feature on
these examples: by so much the score moves when the feature moves by as much as it usually does. Above 0, to the right,
a higher value speaks for {positive}; below 0 for {negative}.{part}</p>
{_table(weights, 0, SHOWN)}
{folded}
</div>"""


def _how_many(weights: LargestWeights) -> str:
    """Say how many features there are, and how many of them are in use."""
    if weights.n_used == 0:
        return f"All {weights.n_features:,} features have weight 0."
    if weights.n_used == weights.n_features:
        return f"{weights.n_features:,} features are in the model."
    return f"{weights.n_used:,} of {weights.n_features:,} features are in the model; the others have weight 0."


def _table(weights: LargestWeights, begin: int, end: int) -> str:
    widest = float(np.abs(weights.contributions[0]))
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="extra">{_number(weight)}</td>'
        f'<td class="extra">{_number(spread, signed=False)}</td><td>{_number(weight * spread)}</td>'
        f'<td class="lean" aria-hidden="true">{bar(weight * spread / widest)}</td></tr>'
        for name, weight, spread in zip(
            weights.names[begin:end], weights.weights[begin:end], weights.spreads[begin:end], strict=True
        )
    )
    return (
        '<table><thead><tr><th scope="col" class="first">feature</th><th scope="col" class="extra">weight</th>'
        '<th scope="col" class="extra">spread</th><th scope="col">contribution</th><td></td></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _number(value: float, *, signed: bool = True) -> str:
    return f"{value:{'+' if signed else ''}.3g}".replace("-", "\u2212")


def bar(share: float) -> str:
    """From the middle to one side; a share of 1 reaches the end."""
    kind, left = ("positive", 50.0) if share > 0.0 else ("negative", 50.0 - 50.0 * abs(share))
    return f'<i class="{kind}" style="left:{left:.2f}%;width:{50.0 * abs(share):.2f}%"></i>'
