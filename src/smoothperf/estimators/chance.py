"""The cut of a choice, unless chance leads to one as good.

By F-beta the best constant model calls everything positive. So where scores tell little, and positives are few, the
best cut on held-out rows is below the lowest of these, and may call half of all rows positive. *Chance* is the measure
at the best cut of the same scores in random order. What was found counts if it exceeds the mean of that by more than
its standard deviation, the standard error of a measure of so few. Else the cut is where as many are called positive as
there are. (Measured on generated tables of 2,000 rows with 3 to 40 positives, from noise to clear: on new rows F1 is
.082 with the best cuts and .080 with this rule, and 38 % and 7 % are called positive. The standard error over the
splits in its place has .080 and 13 %: a cut that is low enough is a little better than a constant in all of them.)

With fewer than 15 positives F1, Jaccard and mcc are always cut there, and the question is only whether to warn.
(Measured on generated scores of 40 to 2,000 rows with 2 to 60 positives, from noise to clear: below 15 these measures
are higher on new rows by .004 to .015 than at their own best cut, which calls 1.2 to 30 times as many rows positive as
there are. F-beta with beta 2, which wants more of them, is lower.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._arrays import Array
from .._warnings import warn
from ..measures import PRBEP, Examples, FBeta, Jaccard, MatthewsCorrelation
from ..tasks.base import HeldOut
from ..tasks.label_choice import FEW_EXAMPLES, LabelCandidate, LabelChoice, stacked_scores

#: Random orders.
ORDERS = 20
#: With fewer positives than so many these measures are cut where as many are called positive as there are.
VERY_FEW, BALANCED = 15, (FBeta(), Jaccard(), MatthewsCorrelation())


def cut_beyond_chance(
    task: LabelChoice, splits: Sequence[HeldOut[Examples, LabelCandidate]], key: tuple[LabelCandidate, int]
) -> float:
    """The best threshold for the scores of held-out rows, or where as many are called positive as there are."""
    measure, cut = task.measure, task.cut_of(splits, key)
    positive, scores, weights = stacked_scores(splits, key, once=True)
    n_positive = int(positive.sum())
    nothing = measure.score(positive, np.full(scores.shape, -1.0), weights)
    # By error rates and costs it may be best to find nothing; and many positives tell enough.
    if not measure.judges_decisions or nothing != 0.0 or n_positive >= min(FEW_EXAMPLES, scores.size - n_positive):
        return cut

    few = n_positive < VERY_FEW and measure in BALANCED
    cut_by = PRBEP() if few else measure

    def best(scores: Array) -> float:
        return measure.score(positive, scores - cut_by.tuned_threshold(positive, scores, weights), weights)

    rng = np.random.default_rng(0)
    chance = np.array([best(rng.permutation(scores)) for _ in range(ORDERS)])
    as_many = PRBEP().tuned_threshold(*stacked_scores(splits, key))
    if best(scores) > chance.mean() + chance.std():
        return as_many if few else cut
    warn(
        f"With {n_positive} positives no cut of the held-out rows is better by {measure.name} than chance and its "
        "standard error: as many are called positive as there are. Only more rows would tell where to cut.",
        UserWarning,
    )
    return as_many
