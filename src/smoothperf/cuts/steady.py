"""The cut amid those whose smoothed loss is close to the least: that of F-beta, the Jaccard index and error rates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import expit

from .._arrays import Array
from .threshold_search import SLACK, Ordering, between

#: The loss of a cut, of the weights of the positives and of the negatives above it. In a group more positives
#: must never be worse, and more negatives never better.
Loss = Callable[[Array, Array], Array]

#: Smoothed losses are close to the least if they exceed it by less than this share of it; the loss of the chosen cut
#: exceeds the least by no more than the second.
NEAR, FAR = 0.05, 0.1
#: Standard deviation of the kernel that smooths, in log-odds. (Measured on generated problems and 15 sets, confirmed on
#: 8 others: with 0.2 cuts move more, with 0.5 F1 is lower on new rows; with FAR 0.3 they move more where few are good.)
WIDTH = 0.3
#: Steps of the log-odds, and what is added to both sides of the odds, as a share of the smaller class.
STEP, OUTSIDE = 1.0 / 32.0, 0.05


def steady_cut(scores: Ordering, positive: NDArray[np.bool_], loss: Loss) -> float:
    """Return a threshold amid those whose smoothed loss is close to the least (docs/maths.md, steady-cut).

    The loss of a finite sample is a jagged function of the cut, and flat about its minimum, so that the place of the
    least value hangs on single examples, and on rounding. Hence the loss is smoothed, and the places where it is then
    close to the least are averaged, in log-odds of what is predicted positive. Losses between two cuts are
    interpolated, so that examples with almost equal scores count as those with equal ones do. Where the best cut is the
    only good one, as between classes that scores separate, it is taken; of equally good ones the lowest.

    Parameters
    ----------
    scores : Ordering
        Scores with their weights.
    positive : ndarray of bool
        The positives among them.
    loss : callable
        See :data:`Loss`.
    """
    c = np.ones(positive.shape[0]) if scores.weights is None else scores.weights
    columns = c * positive, c * ~positive
    classes = scores.totals(columns)
    whole = sum(classes)
    outside = OUTSIDE * max(min(classes), SLACK * whole)
    rounding = SLACK * float(loss(*(np.array([0.0, weight]) for weight in classes)).max())

    def place(predicted: Array) -> Array:
        """Log-odds of the weight that is predicted positive, finite also for none and for all."""
        odds: Array = np.log((predicted + outside) / (np.maximum(whole - predicted, 0.0) + outside))
        return odds

    steps = int(place(np.array([whole]))[0] / STEP)
    places = STEP * np.arange(-steps, steps + 1.0)
    wanted = (whole + 2.0 * outside) * expit(places) - outside

    def may_matter(sums: Array, beyond: Array) -> NDArray[np.intp]:
        """Values, or cells of them, that hold one of the places, or where a cut can reach what cuts below them do."""
        (_, hits, false), (_, _, fewest_false) = beyond + sums, beyond
        reached = loss(hits, false)
        can_be_best = np.minimum(loss(hits, fewest_false), reached) <= reached.min() + rounding
        at_or_below, above = (np.searchsorted(wanted, each, side="right") for each in (hits + false, beyond[1:].sum(0)))
        return np.flatnonzero(can_be_best | (at_or_below > above))

    values, sums, beyond = scores.tables(columns, may_matter)
    _, hits, false = np.append(beyond + sums, np.zeros((3, 1)), axis=1)  # below each value, and above all
    losses = loss(hits, false)
    least, at = float(losses.min()), place(hits + false)

    weight = np.append(beyond[1:].sum(0), hits + false)
    order = weight.argsort(kind="stable")
    between_cuts = np.interp(wanted, weight[order], np.append(loss(*beyond[1:]), losses)[order])
    smooth = gaussian_filter1d(between_cuts, WIDTH / STEP, mode="nearest")
    closeness = np.maximum((1.0 + NEAR) * smooth.min() - smooth, 0.0)
    middle = closeness @ places / closeness.sum() if closeness.any() else at[losses.argmin()]
    good = losses <= (1.0 + FAR) * least + rounding
    chosen = float(np.append(values, math.inf)[np.where(good, np.abs(at - middle), math.inf).argmin()])
    below, _, lowest, highest = scores.neighbours(chosen)
    return between(below, chosen, lowest, highest)
