r"""Cuts that meet a target: a precision, a recall, a false positive rate, or a number of predictions.

Without a confidence a target is met on the given rows. With one it is met on new rows, in at least that share of all
draws of the given rows, which must not have been trained on (docs/measures.md, and docs/maths.md, targets):

    recall, fpr   the cut is an order statistic of the scores of one class, so that the binomial test
                  (:mod:`smoothperf.cuts.confidence`) at the chosen cut is exact although the cut was chosen
    precision     cuts are tested from the highest scores downwards; each test hands its level on to the next if it
                  succeeds (Wiens' fallback procedure), so that all together are wrong with probability delta at most

Everything is O(n log n).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Array
from .._validation import positive_number, whole_number
from .confidence import bounds, chance_of_as_few, chance_of_as_many, checked_confidence, effective_number
from .sorted_scores import Cuts, ratio

#: Targets.
TARGETS = ("precision", "recall", "fpr", "k", "rate")
#: Sums of weights round: a rate that is lower than asked for by this share of it is not lower.
ROUNDING = 1e-12
#: Cuts to be tested for each halving of the number of predicted positives.
CUTS_PER_HALVING = 16


class TargetError(ValueError):
    """No cut of these scores meets the target, or none that can be promised to meet it.

    Parameters
    ----------
    reason : str
        The reason.
    possible : float, optional
        What can be promised in place of the target.
    remedy : str, optional
        What to do, after that.
    """

    def __init__(self, reason: str, possible: float | None = None, remedy: str = ""):
        super().__init__(reason if possible is None else f"{reason}: what can be is {possible:.4g}. {remedy}")
        self.reason = reason
        self.possible = possible


@dataclass(frozen=True)
class CutTable:
    """Weights above every cut, from everything predicted positive (first) to nothing (last).

    Attributes
    ----------
    rows : ndarray
        Number of rows with some weight.
    hits, false : ndarray
        Weight of the positives and of the negatives.
    squares : ndarray
        Sum of the squared weights of all rows.
    positives, negatives : float
        Effective number of the positives and of the negatives in all.
    positive_rows : int
        Number of the positives that have some weight.
    """

    rows: Array
    hits: Array
    false: Array
    squares: Array
    positives: float
    negatives: float
    positive_rows: int

    @classmethod
    def of(cls, cuts: Cuts, positive: NDArray[np.bool_], weights: Array | None) -> CutTable:
        """Count; weights are ones by default."""
        c = np.ones(positive.shape[0]) if weights is None else weights
        positives, negatives = (
            float(effective_number(c[members].sum(), (c[members] ** 2).sum())) for members in (positive, ~positive)
        )
        above = cuts.above
        hits, false = above(c * positive), above(c * ~positive)
        n_positive = int(np.count_nonzero(positive & (c > 0.0)))
        return cls(above((c > 0.0).astype(np.float64)), hits, false, above(c**2), positives, negatives, n_positive)

    @property
    def predicted(self) -> Array:
        """Weight of all rows above each cut."""
        return self.hits + self.false

    @property
    def precision(self) -> Array:
        """``hits / predicted``; 0 where nothing is predicted positive."""
        return ratio(self.hits, self.predicted)

    @property
    def recall(self) -> Array:
        """``hits / N+``."""
        return ratio(self.hits, self.hits[0])

    @property
    def fpr(self) -> Array:
        """``false / N-``."""
        return ratio(self.false, self.false[0])

    @property
    def trials(self) -> Array:
        """Effective number of rows above each cut."""
        trials: Array = effective_number(self.predicted, self.squares)
        return trials


def threshold_for_target(
    positive: NDArray[np.bool_],
    scores: Array,
    weights: Array | None = None,
    *,
    precision: float | None = None,
    recall: float | None = None,
    fpr: float | None = None,
    k: int | None = None,
    rate: float | None = None,
    confidence: float | None = None,
) -> float:
    """Return the threshold that meets one target, on given examples or, with a confidence, on new ones.

    precision
        The most predicted positives among all cuts whose precision is at least this.
    recall
        The fewest predicted positives whose recall is at least this.
    fpr
        The most predicted positives whose false positive rate is at most this; there may be none.
    k, rate
        The most predicted positives that are no more than k, or than this share of the examples; a confidence has no
        meaning for these.

    Examples
    --------
    >>> positive = np.array([True, True, False, True, False])
    >>> threshold_for_target(positive, np.array([5.0, 4.0, 3.0, 2.0, 1.0]), precision=0.75)
    1.5
    >>> positive, scores = np.arange(100) % 2 == 0, np.arange(100.0)
    >>> [threshold_for_target(positive, scores, recall=0.8, confidence=level) for level in (None, 0.9)]
    [19.5, 9.5]
    """
    targets = {"precision": precision, "recall": recall, "fpr": fpr, "k": k, "rate": rate}
    given = {name: value for name, value in targets.items() if value is not None}
    if len(given) != 1:
        got = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "none"
        raise ValueError(f"give exactly one of precision, recall, fpr, k and rate; got {got}.")
    confidence = checked_confidence(confidence)
    cuts = Cuts(scores)
    table = CutTable.of(cuts, positive, weights)
    if k is not None:
        return cuts.threshold(_at_most(whole_number("k", k, at_least=1), table, f"k={k!r}"))
    if rate is not None:
        return cuts.threshold(_at_rate(rate, table))
    if fpr is None and table.hits[0] == 0.0:
        raise ValueError("y has no positive example, so that no precision or recall can be reached; use k or rate.")
    if fpr is not None and table.false[0] == 0.0:
        raise ValueError("y has no negative example, so that there is no false positive rate; use k or rate.")
    ((name, value),) = given.items()
    wanted = share(name, value)
    if confidence is None:
        return cuts.threshold(_MET[name](wanted, table))
    return cuts.threshold(_PROMISED[name](wanted, table, confidence))


def checked_target(name: str, value: Any) -> float:
    """A target that rows may meet: a whole number for k, a share for the others, below 1 for fpr.

    Examples
    --------
    >>> checked_target("rate", 0.05)
    0.05
    """
    if name == "k":
        return whole_number("k", value, at_least=1)
    return share(name, value)


def check_count(target: Mapping[str, Any], rows: int) -> None:
    """Refuse a target of more positives than there are rows."""
    if (k := target.get("k")) is not None and whole_number("k", k, at_least=1) > rows:
        raise ValueError(f"k={k!r} is more than the {rows} rows there are; give a smaller k, or rate, a share.")


def expected_rates(
    positive: NDArray[np.bool_], predicted: NDArray[np.bool_], weights: Array | None = None, *, confidence: float = 0.9
) -> dict[str, Any]:
    """Return precision, recall and false positive rate of predictions, with what they are on new rows.

    Returns
    -------
    dict
        For "precision", "recall" and "fpr" the ``value`` on these rows (NaN if there is nothing to count), and the
        bounds ``low`` and ``high``: on new rows it is at least, or at most, that, each with the ``confidence``.

    Examples
    --------
    >>> positive, predicted = np.array([True] * 9 + [False] * 11), np.arange(20) < 10
    >>> {name: round(rate, 4) for name, rate in expected_rates(positive, predicted)["precision"].items()}
    {'value': 0.9, 'low': 0.6632, 'high': 0.9895}
    """
    c = np.ones(positive.shape[0]) if weights is None else weights

    def rate(hits: NDArray[np.bool_], among: NDArray[np.bool_]) -> dict[str, float]:
        total = float(c[among].sum())
        value = float(c[hits & among].sum()) / total if total > 0.0 else math.nan
        trials = float(effective_number(total, (c[among] ** 2).sum()))
        low, high = bounds(value * trials, trials, confidence) if total > 0.0 else (0.0, 1.0)
        return {"value": value, "low": low, "high": high}

    return {
        "confidence": confidence,
        "rows": int(positive.shape[0]),
        "precision": rate(positive, predicted),
        "recall": rate(predicted, positive),
        "fpr": rate(predicted, ~positive),
    }


def share(name: str, value: float | None) -> float:
    """A number above 0 and not above 1, as float."""
    number = positive_number(name, value)
    if number > 1.0:
        raise ValueError(f"{name} must lie above 0 and not above 1, got {value!r}; a percentage is divided by 100.")
    return number


def at_least(rates: Array, wanted: float) -> NDArray[np.bool_]:
    """Flags of rates that are at least as high as wanted, up to rounding.

    Quotients are compared, not products: they round as the user's decimal number does.
    """
    reached: NDArray[np.bool_] = rates >= wanted * (1.0 - ROUNDING)
    return reached


def at_most(rates: Array, wanted: float) -> NDArray[np.bool_]:
    """Flags of rates that are at most as high as wanted, up to rounding."""
    kept: NDArray[np.bool_] = rates <= wanted * (1.0 + ROUNDING)
    return kept


def _with_precision(wanted: float, table: CutTable) -> int:
    """The most predicted positives with at least this precision on these rows."""
    reached = table.precision
    good = np.flatnonzero(at_least(reached, wanted))
    if good.size == 0:
        best = int(reached.argmax())
        raise TargetError(
            f"precision={wanted:g} cannot be reached: the highest precision on these examples is "
            f"{reached[best]:.4g}, for {table.predicted[best]:.0f} predicted positives; ask for no more than that."
        )
    return int(good[0])


def _with_recall(wanted: float, table: CutTable) -> int:
    """The fewest predicted positives with at least this recall on these rows."""
    return int(np.flatnonzero(at_least(table.recall, wanted))[-1])


def _with_fpr(wanted: float, table: CutTable) -> int:
    """The most predicted positives with at most this false positive rate on these rows."""
    return int(np.flatnonzero(at_most(table.fpr, wanted))[0])


def _promised_precision(wanted: float, table: CutTable, confidence: float) -> int:
    """The most predicted positives among the cuts that are surely precise enough."""
    found = _surely_precise(wanted, table, confidence)
    if found is None:
        lower = (percent / 100 for percent in range(math.ceil(100 * wanted) - 1, 0, -1))
        possible = next((rate for rate in lower if _surely_precise(rate, table, confidence) is not None), 0.0)
        raise _not_promised(f"precision={wanted:g}", confidence, f"{table.rows[0]:.0f} rows", possible)
    return found


def _surely_precise(wanted: float, table: CutTable, confidence: float) -> int | None:
    """Test numbers of predicted positives in rising order, and return the cut of the largest that passes.

    The numbers N+, N+/2, N+/4, ... bring an equal part of delta each; a test that succeeds hands its level on.
    """
    delta, positives = 1.0 - confidence, table.positive_rows
    # With fewer rows not even a precision of 1 among them would be enough.
    fewest = math.log(delta) / math.log(wanted) if wanted < 1.0 else math.inf
    if fewest > positives:
        return None
    n_starts = math.floor(math.log2(positives / fewest)) + 1
    last = math.log2(min(table.rows[0], positives / wanted) / positives)  # with more predicted, too many are wrong
    steps = np.arange(-CUTS_PER_HALVING * (n_starts - 1), math.floor(CUTS_PER_HALVING * last) + 1)
    numbers = np.floor(positives * 2.0 ** (steps / CUTS_PER_HALVING))
    cuts = np.searchsorted(-table.rows, -numbers)  # the most rows that are no more than the number
    trials = table.trials[cuts]
    chances = chance_of_as_many(table.precision[cuts] * trials, trials, wanted)
    level, found = 0.0, None
    for step, cut, chance in zip(steps.tolist(), cuts.tolist(), chances.tolist(), strict=True):
        if step <= 0 and step % CUTS_PER_HALVING == 0:
            level += delta / n_starts
        if level > 0.0 and chance <= level:
            found = cut
        else:
            level = 0.0
    return found


def _promised_recall(wanted: float, table: CutTable, confidence: float) -> int:
    """The fewest predicted positives among the cuts whose recall is surely high enough."""
    delta, n = 1.0 - confidence, table.positives
    chances = chance_of_as_many(n * table.recall, n, wanted)
    good = np.flatnonzero(chances <= delta * (1.0 + ROUNDING))
    if good.size == 0:
        fewest = math.log(delta) / math.log(wanted) if wanted < 1.0 else math.inf
        raise _not_promised(f"recall={wanted:g}", confidence, f"{n:.0f} positive rows", delta ** (1.0 / n), fewest)
    return int(good[-1])


def _promised_fpr(wanted: float, table: CutTable, confidence: float) -> int:
    """The most predicted positives among the cuts whose false positive rate is surely low enough."""
    delta, n = 1.0 - confidence, table.negatives
    chances = chance_of_as_few(n * table.fpr, n, wanted)
    good = np.flatnonzero(chances <= delta * (1.0 + ROUNDING))
    if good.size == 0:
        fewest = math.log(delta) / math.log1p(-wanted) if wanted < 1.0 else math.inf
        raise _not_promised(f"fpr={wanted:g}", confidence, f"{n:.0f} negative rows", 1.0 - delta ** (1.0 / n), fewest)
    return int(good[0])


#: Functions that find the cut that meets a target, on the given rows and on new ones.
_MET = {"precision": _with_precision, "recall": _with_recall, "fpr": _with_fpr}
_PROMISED = {"precision": _promised_precision, "recall": _promised_recall, "fpr": _promised_fpr}


def _not_promised(
    target: str, confidence: float, rows: str, possible: float, fewest: float | None = None
) -> TargetError:
    if fewest is None:
        more = "Ask for that, "
    elif math.isinf(fewest):
        more = "Ask for that (no number of rows is enough for more), "
    else:
        more = f"Ask for that, give {math.ceil(fewest)} such rows or more, "
    return TargetError(
        f"{target} cannot be promised for new rows with confidence {confidence:g}, given these {rows}",
        possible,
        f"{more}be content with less confidence, or with confidence=None for what holds on these rows.",
    )


def _at_rate(rate: float, table: CutTable) -> int:
    wanted, predicted = share("rate", rate), table.predicted
    room = float(predicted[at_most(predicted / predicted[0], wanted)].max())
    if room == 0.0 and 1.0 / table.rows[0] > rate:
        raise TargetError(
            f"rate={rate!r} is less than one example of {table.rows[0]:.0f}; "
            "use a larger rate, or more validation data."
        )
    return _at_most(room, table, f"rate={rate!r}")


def _at_most(room: float, table: CutTable, target: str) -> int:
    """The cut with the most predicted positives that are no more than ``room``, and at least one."""
    cut = int(np.flatnonzero(table.predicted <= room)[0])
    if cut == table.predicted.size - 1:
        raise TargetError(
            f"{target} cannot be realised: the {table.rows[-2]:.0f} highest scores are equal, so that all of these "
            "examples or none is predicted positive; ask for at least as many."
        )
    return cut
