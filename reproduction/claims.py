"""Claims of the paper's section 4, set by set, with verdicts that are computed from the results.

Rules, in the words of the claims:

- *faster*: each mu is measured at its own best objective plus eps, so that a mu that ends early is compared where it
  ended. The figure is BMRM's CPU time to that level divided by its own; if BMRM never came there, BMRM's whole time
  divided by its own, with ">".
- *within eps*: the best objective with 1 and with 100 times mu, less J, the best that any method found.
- *same path*: the median over ten levels, evenly on a logarithmic scale from half of the way down to eps, of the time
  with 1 divided by that with 100 times mu. Nearly the same if between 1/1.25 and 1.25.
- *faster but worse*: the time with 1 divided by that with 1000 times mu, each to its own best objective plus eps; and
  the best objective of the latter less J. Faster if 1.25 at least, worse if by more than eps. Beside it, because it is
  not the same: the ratio of the times to one objective, that which 1000 times mu reaches.
- *test measure*: the time from which on the test score stays within 0.002 of the lower of both final scores; BMRM's
  divided by that with 100 times mu. Orders of magnitude if 10 at least.
- *entropy*: the iterations at the largest n divided by those at the smallest. Grows if by more than 1.25.

Times below the resolution of the clock count as a millisecond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .results import Comparison, Curve, Results
from .runs import CUTTING_PLANES, FACTORS
from .settings import EPS

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "partly", "does not hold", "cannot be told"
#: Times and counts that differ by less than this factor are nearly the same.
NEARLY = 1.25
COMPARABLE_SCORE = 0.002
ORDER_OF_MAGNITUDE = 10.0
LEVELS = 10
SHORTEST = 1e-3
ONE, HUNDRED, THOUSAND = FACTORS

CLAIMS = {
    "faster": "For all values of mu, smoothing converges significantly faster than BMRM.",
    "within eps": "With mu and 100 mu the solution is at most eps away from BMRM's.",
    "same path": "The trajectories with mu and 100 mu are nearly identical.",
    "faster but worse": "1000 mu converges significantly faster, but to a worse solution.",
    "test measure": "Comparable or better test scores in time orders of magnitude shorter than BMRM's.",
    "entropy": "Smoothing by entropy makes the number of iterations grow with n (section 2.1.2).",
}


@dataclass(frozen=True)
class Verdict:
    """A line of claims.csv: a claim, where, the verdict, and the figures that it rests on."""

    claim: str
    dataset: str
    measure: str
    verdict: str
    figures: str


def judge(results: Results) -> list[Verdict]:
    """Judge every claim on every set."""
    verdicts = [
        Verdict(claim, comparison.dataset, comparison.measure, *rule(comparison))
        for claim, rule in RULES.items()
        for comparisons in results.comparisons.values()
        for comparison in comparisons
    ]
    return [*verdicts, *_entropy(results)]


def ratio_to_eps(comparison: Comparison, method: str) -> tuple[float, float, float, bool]:
    """CPU time to within eps of J: the method's, BMRM's, their ratio, and whether the ratio is a lower bound only."""
    level = comparison.reference + EPS
    return _against_bmrm(comparison, comparison.curves[method], level)


def _against_bmrm(comparison: Comparison, own: Curve, level: float) -> tuple[float, float, float, bool]:
    bmrm = comparison.curves[CUTTING_PLANES]
    mine, theirs = own.time_to(level), bmrm.time_to(level)
    at_least = math.isnan(theirs)
    return mine, theirs, _ratio(bmrm.run.cpu_seconds if at_least else theirs, mine), at_least


def _ratio(one: float, other: float) -> float:
    return max(one, SHORTEST) / max(other, SHORTEST) if not math.isnan(one + other) else math.nan


def times(ratio: float, at_least: bool = False) -> str:
    """Return a ratio as text, with ">" if it is a lower bound.

    Examples
    --------
    >>> times(1.234), times(123.4, at_least=True), times(math.nan)
    ('1.2 x', '>123 x', '-')
    """
    if math.isnan(ratio):
        return "-"
    return f"{'>' if at_least else ''}{ratio:.2g} x" if ratio < 10.0 else f"{'>' if at_least else ''}{ratio:.0f} x"


def _faster(comparison: Comparison) -> tuple[str, str]:
    found = []
    for method in FACTORS:
        own = comparison.curves[method]
        found.append(_against_bmrm(comparison, own, float(own.best.min()) + EPS)[2:])
    won = [ratio > 1.0 for ratio, _ in found]
    verdict = HOLDS if all(won) else PARTLY if any(won) else FAILS
    return verdict, ", ".join(times(*each) for each in found)


def _within(comparison: Comparison) -> tuple[str, str]:
    distances = [float(comparison.curves[method].best.min()) - comparison.reference for method in (ONE, HUNDRED)]
    inside = [distance <= EPS for distance in distances]
    verdict = HOLDS if all(inside) else PARTLY if any(inside) else FAILS
    return verdict, ", ".join(f"{distance:.1e}" for distance in distances)


def _same_path(comparison: Comparison) -> tuple[str, str]:
    one, hundred = comparison.curves[ONE], comparison.curves[HUNDRED]
    reference = comparison.reference
    highest = 0.5 * (float(one.best[0]) - reference)
    if highest <= EPS:
        return UNKNOWN, "w = 0 is within 2 eps"
    lowest = max(EPS, *(float(curve.best.min()) - reference for curve in (one, hundred)))
    ratios = [_ratio(one.time_to(level), hundred.time_to(level)) for level in _levels(reference, highest, lowest)]
    middle = float(np.median(ratios))
    verdict = HOLDS if 1.0 / NEARLY <= middle <= NEARLY else FAILS
    return verdict, times(middle)


def _levels(reference: float, highest: float, lowest: float) -> Iterator[float]:
    # A hair above the lowest, which rounding could put below what was reached.
    for height in np.geomspace(max(highest, lowest), lowest * (1.0 + 1e-9), LEVELS):
        yield reference + float(height)


def _faster_but_worse(comparison: Comparison) -> tuple[str, str]:
    one, thousand = comparison.curves[ONE], comparison.curves[THOUSAND]
    distance = float(thousand.best.min()) - comparison.reference
    ends = [float(curve.best.min()) + EPS for curve in (one, thousand)]
    gain, at_same = (_ratio(one.time_to(level), thousand.time_to(ends[1])) for level in ends)
    faster, worse = gain >= NEARLY, distance > EPS
    verdict = HOLDS if faster and worse else PARTLY if faster or worse else FAILS
    return verdict, f"{times(gain)} ({times(at_same)}), {distance:.1e}"


def _test_measure(comparison: Comparison) -> tuple[str, str]:
    own, bmrm = comparison.curves[HUNDRED], comparison.curves[CUTTING_PLANES]
    target = min(float(own.scores[-1]), float(bmrm.scores[-1])) - COMPARABLE_SCORE
    ratio = _ratio(bmrm.settled(target), own.settled(target))
    comparable = float(own.scores[-1]) >= float(bmrm.scores[-1]) - COMPARABLE_SCORE
    better = HOLDS if ratio >= ORDER_OF_MAGNITUDE else PARTLY
    verdict = better if comparable and ratio > 1.0 else FAILS
    return verdict, f"{times(ratio)}, {own.scores[-1]:.4f} / {bmrm.scores[-1]:.4f}"


def _entropy(results: Results) -> Iterator[Verdict]:
    for step in ("theorem", "backtracking"):
        rows = [
            row for row in results.entropy_counts if row.smoothing == "entropy" and row.step == step and row.reached
        ]
        if len(rows) < 2:
            continue
        first, last = rows[0], rows[-1]
        growth = last.iterations / max(first.iterations, 1)
        verdict = HOLDS if growth > NEARLY else FAILS
        figures = f"{first.iterations} iterations at n = {first.n}, {last.iterations} at n = {last.n}"
        words = {"theorem": "step of the theorem", "backtracking": "step by backtracking"}[step]
        yield Verdict("entropy", words, "prbep", verdict, figures)


RULES = {
    "faster": _faster,
    "within eps": _within,
    "same path": _same_path,
    "faster but worse": _faster_but_worse,
    "test measure": _test_measure,
}
