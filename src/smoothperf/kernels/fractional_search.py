"""The best flips, exact and smoothed, of examples that are somewhere else: a few rounds of questions and answers.

A search is a generator. It yields a question, which is the name of a method of :class:`SortedMargins` with arguments,
is sent the answers of all blocks, and returns what it found. So several searches can share rounds. Where the summaries
that a search begins with say everything, which is the case if all examples are here, it asks nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..recycling import Recycler
from ._fractional import LevelSearch, best_flips, flip_sums, level_sets, levels_at, mixture, near_best, negligible
from .fractional_flips import Array, BestFlips, FractionalLoss, Side, SmoothedFlips, sorted_side
from .fractional_summary import EPS, Groups, Summary, Window, groups

T = TypeVar("T")
Question: TypeAlias = tuple[Any, ...]
Search: TypeAlias = Generator[Question, list[Any], T]

#: Groups of each class that all blocks together send at first, and the fewest of one block.
GROUPS, FEWEST_GROUPS = 2048, 32
#: More groups are asked for, as many times, where those of the last time did not narrow down what is sought.
GROWTH = 4
#: A window is worth a question if it holds at most this part of what the last one did.
NARROWER = 0.5
#: Windows are wider than what was found by this part, for rounding.
MARGIN = 1e-9
#: Which row of the sums is followed by one that holds further digits of it.
HUBER = 4


class SortedMargins:
    """The margins ``y f`` of some examples, sorted for each class, and answers to questions about them.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        ``f``.
    rows : tuple of two ndarrays of int
        The rows of the positives and of the negatives.
    weights : tuple of two ndarrays, or of None
        Their sample weights.
    memory : Recycler
        Vectors of length 3 n + 4.
    """

    def __init__(
        self,
        scores: Array,
        rows: tuple[NDArray[np.intp], NDArray[np.intp]],
        weights: tuple[Array, Array] | tuple[None, None],
        memory: Recycler,
    ):
        space = memory.take()
        n, m = scores.shape[0], rows[0].shape[0]
        ends = np.cumsum([m, n - m, m + 1, m + 1, n - m + 1])
        x_p, x_n, first_p, second_p, first_n, second_n = np.split(space, ends)
        scores.take(rows[0], out=x_p, mode="clip")
        scores.take(rows[1], out=x_n, mode="clip")
        np.negative(x_n, out=x_n)
        #: The positives and the negatives.
        self.sides = sorted_side(x_p, weights[0], first_p, second_p), sorted_side(x_n, weights[1], first_n, second_n)

    def groups(self, windows: tuple[Window, Window], most: int) -> tuple[Groups, Groups]:
        """Groups of both sides, with at most so many in a window."""
        p, n = (groups(side, window, most) for side, window in zip(self.sides, windows, strict=True))
        return p, n

    def flip_sums(self, places: tuple[Array, Array], width: float) -> tuple[Array, Array]:
        """Sums over both sides at ramps; see :func:`smoothperf.kernels._fractional.flip_sums`."""
        p, n = (flip_sums(side, z, width) for side, z in zip(self.sides, places, strict=True))
        return p, n


class Summaries(NamedTuple):
    """What is known about both classes."""

    p: Summary
    n: Summary

    @classmethod
    def of(
        cls,
        answers: list[tuple[Side, Side]] | list[tuple[Groups, Groups]],
        windows: tuple[Window, Window] | None = None,
    ) -> Summaries:
        """Put the answers of all blocks together."""
        of_p, of_n = windows or (Window(), Window())
        return cls(Summary([p for p, _ in answers], of_p), Summary([n for _, n in answers], of_n))

    @property
    def exact(self) -> bool:
        """Whether everything in the windows is known."""
        return self.p.exact and self.n.exact

    @property
    def mean(self) -> tuple[Side, Side]:
        """Both sides, each group at its mean."""
        return self.p.mean, self.n.mean

    def rounding(self, slope: float) -> float:
        """How far off what flips attain may be."""
        return 64.0 * EPS * (1.0 + slope * (self.p.size + self.n.size))

    def narrower(self, windows: tuple[Window, Window]) -> bool:
        """Whether windows hold so much less than the present ones that it is worth to look closer."""
        return any(
            not side.exact and side.mass_in(window) <= NARROWER * side.inside
            for side, window in zip(self, windows, strict=True)
        )


class FoundFlips(NamedTuple):
    """The best flips, with the summaries that say which ones they are."""

    flips: BestFlips
    summaries: Summaries

    def cuts(self) -> tuple[Array, Array]:
        """Below which margin negatives and positives are flipped, and which share of those with that margin."""
        flips, (p, n) = self.flips, self.summaries
        cuts, shares = np.full(2, -np.inf), np.zeros(2)
        if flips.false > 0.0:
            cuts[0], shares[0] = n.cut(n.position(flips.false), flips.false)
        if flips.positives > 0:
            cuts[1], shares[1] = p.cut(flips.positives - 1, flips.missed)
        return cuts, shares


def groups_of_a_block(n_blocks: int) -> int:
    """How many groups of each class to ask of each block at first."""
    return max(GROUPS // n_blocks, FEWEST_GROUPS)


def search_best(summaries: Summaries, loss: FractionalLoss, slope: float, most: int) -> Search[FoundFlips]:
    """``max delta(B, C) - slope sum c x beta`` over ``beta`` in [0, 1]^n.

    What groups at their means attain is attained. Only flips that groups at their ends let attain as much may be best.
    Where these begin and end are the windows for the next summary, until everything in them is known.
    """
    while True:
        p, n = summaries
        flips = BestFlips(*best_flips(*summaries.mean, loss, slope))
        if summaries.exact:
            return FoundFlips(flips, summaries)
        floor = flips.value - summaries.rounding(slope)
        least_b, most_b, least_c, most_c = near_best(p.spread(), n.spread(), loss, slope, floor)
        windows = p.window(least_b, most_b), n.window(least_c, most_c)
        if not summaries.narrower(windows):
            most *= GROWTH
        summaries = Summaries.of((yield "groups", windows, most), windows)


def search_smoothed(
    summaries: Summaries, loss: FractionalLoss, slope: float, width: float, nu: float, count: int, most: int
) -> Search[SmoothedFlips]:
    """Soft maximum over the levels ``k / count`` of what the best flips of that level, with ramps, achieve.

    Groups at their means and at their ends bound the value of each level, which tells the levels that may matter.
    Groups at their highest and at their lowest margins bound its multiplier, and so where its ramps begin and end: the
    windows for the next summary. That may be enough. If not, it says where to start the search for the roots of all
    levels at once, with sums over the blocks.
    """
    if summaries.exact:
        levels, block, _ = level_sets(*summaries.mean, loss, slope, width, nu, count)
        return SmoothedFlips(*mixture(levels, loss, width, nu, count, block))
    numbers = None
    while numbers is None or not summaries.exact:
        p, n = summaries
        spread = p.spread(), n.spread()
        if numbers is None:
            lower, _, _ = level_sets(*summaries.mean, loss, slope, width, nu, count)
            floor = lower[1].max() - summaries.rounding(slope)
            upper, block, _ = level_sets(*spread, loss, slope, width, nu, count, floor)
            # Whether there are too many levels must not depend on groups. None are left if all is a matter of rounding.
            if block > 1 or not upper.size:
                most *= GROWTH
                summaries = Summaries.of((yield "groups", (Window(), Window()), most))
                if summaries.exact:
                    return (yield from search_smoothed(summaries, loss, slope, width, nu, count, most))
                continue
            numbers = upper[0]
        else:
            lower, upper = (levels_at(*sides, loss, slope, width, count, numbers) for sides in (summaries.mean, spread))
            floor = lower[1].max() - summaries.rounding(slope)
            matters = upper[1] >= floor - negligible(nu, count)
            numbers = numbers[matters] if matters.any() else numbers
        windows = _windows(summaries, numbers, loss, slope, width, count)
        if not summaries.narrower(windows):
            break
        summaries = Summaries.of((yield "groups", windows, most), windows)
    levels = levels_at(*summaries.mean, loss, slope, width, count, numbers)
    if not summaries.exact:
        search = LevelSearch(numbers, levels[2], loss, slope, width, count, summaries.p.top, summaries.n.top)
        while True:
            answers = yield "flip_sums", search.places(), width
            if not search.advance(*(_total([answer[side] for answer in answers]) for side in (0, 1))):
                break
        levels = search.levels
    return SmoothedFlips(*mixture(levels, loss, width, nu, count, 1))


def _windows(
    summaries: Summaries, numbers: Array, loss: FractionalLoss, slope: float, width: float, count: int
) -> tuple[Window, Window]:
    """Where the ramps of some levels may begin and end."""
    p, n = summaries
    least, most = (
        levels_at(*sides, loss, slope, width, count, numbers)[2]
        for sides in ((p.at_lowest(), n.at_lowest()), (p.at_highest(), n.at_highest()))
    )
    t = numbers / count
    # At the level 1 all positives are flipped, wherever they are.
    return (
        p.narrowed(_window((least * (loss.p + loss.r * t))[t < 1.0], (most * (loss.p + loss.r * t))[t < 1.0], width)),
        n.narrowed(_window(least * (1.0 - t), most * (1.0 - t), width)),
    )


def _window(least: Array, most: Array, width: float) -> Window:
    if not least.size:
        return Window(np.inf, np.inf)
    low, high = float(least.min()), float(most.max())
    return Window(
        low - 0.5 * width - MARGIN * (width + abs(low)),
        high + 0.5 * width + MARGIN * (width + abs(high)),
    )


def _total(sums: list[Array]) -> Array:
    """Sums over all blocks, from those over each; see :func:`smoothperf.kernels._fractional.flip_sums`."""
    wide: NDArray[np.longdouble] = np.stack(sums).sum(axis=0, dtype=np.longdouble)
    total: Array = wide.astype(np.float64)
    huber = wide[HUBER] + wide[HUBER + 1]
    total[HUBER] = huber
    total[HUBER + 1] = huber - total[HUBER]
    total[-1] = np.stack([part[-1] for part in sums]).min(axis=0)
    return total
