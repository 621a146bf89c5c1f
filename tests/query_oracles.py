"""Slow, obvious, independent answers for measures of queries. Nothing here imports smoothperf.

``queries`` are lists of positions, one list for each query. Risks are means over the queries that count.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import log2

import cvxpy as cp
import numpy as np


def positions(qid):
    """The positions of the documents of each query."""
    found: dict[object, list[int]] = {}
    for position, query in enumerate(np.asarray(qid).tolist()):
        found.setdefault(query, []).append(position)
    return list(found.values())


def log_discounts(m, k=None):
    """``1 / log2(1 + place)``, and 0 for places beyond k."""
    return [1.0 / log2(1.0 + place) if k is None or place <= k else 0.0 for place in range(1, m + 1)]


class RankingProblem:
    """Gains at places, in whatever kind of numbers the arguments are: floats or fractions.

    ``R = sum_q c_q max_v 1 - <v, g>/unit + s <v - t, f>`` over permutations v of the discounts. The unit is what the
    best of them gains, or a function of the gains of a query.
    """

    def __init__(self, gains, qid, discounts, weights=None, unit=None, number=float):
        self.number = number
        self.size = len(gains)
        self.parts = []
        for rows in positions(qid):
            g = [number(gains[i]) for i in rows]
            d = [number(each) for each in discounts[: len(rows)]]
            if min(g) == max(g) or min(d) == max(d):  # every order is as good
                continue
            order = sorted(range(len(g)), key=lambda i: -g[i])
            ideal = sum(d[place] * g[i] for place, i in enumerate(order))
            t = [None] * len(g)
            for value in set(g):
                places = [place for place, i in enumerate(order) if g[i] == value]
                for place in places:
                    t[order[place]] = sum(d[each] for each in places) / len(places)
            r = [each / (ideal if unit is None else number(unit(g))) for each in g]
            c = number(1 if weights is None else weights[rows[0]])
            self.parts.append((rows, g, d, r, t, c))
        total = sum(part[-1] for part in self.parts)
        self.scale = total / sum(c * sum(d) for *_, d, _, _, c in self.parts)
        self.parts = [(*part, c / total) for *part, c in self.parts]

    def risk(self, scores):
        """By sorting, which is exact for fractions."""
        total = self.number(0)
        for rows, _, d, r, t, c in self.parts:
            f = [self.number(float(scores[i])) for i in rows]
            values = sorted((self.scale * fi - ri for fi, ri in zip(f, r, strict=True)), reverse=True)
            best = sum(di * value for di, value in zip(d, values, strict=True))
            total += c * (1 + best - self.scale * sum(ti * fi for ti, fi in zip(t, f, strict=True)))
        return total

    def planes_of_query(self, part):
        """Losses of all rankings of a query, and their discounts less the target."""
        _, _, d, r, t, _ = part
        v = np.array(sorted(set(permutations(d))))
        return 1.0 - v @ np.array(r), v - np.array(t), v

    def brute_force(self, scores, loss=1.0, best_only=False):
        """The risk over all permutations; without the loss, or over those with the highest gain only."""
        total = 0.0
        for part in self.parts:
            losses, changes, v = self.planes_of_query(part)
            f = np.asarray(scores, float)[part[0]]
            values = loss * losses + self.scale * changes @ f
            if best_only:
                gains = v @ np.array(part[1])
                values = values[gains >= gains.max() - 1e-12]
            total += part[-1] * values.max()
        return total

    def diameter(self):
        return sum(part[-1] * (self.planes_of_query(part)[1] ** 2).sum(axis=1).max() / 2.0 for part in self.parts)

    def smoothed(self, scores, mu):
        """The smoothed risk and its gradient by a generic solver, over convex combinations of all rankings."""
        value, gradient = 0.0, np.zeros(self.size)
        for part in self.parts:
            losses, changes, _ = self.planes_of_query(part)
            rows, c = part[0], part[-1]
            f = np.asarray(scores, float)[rows]
            x = cp.Variable(len(losses), nonneg=True)
            change = changes.T @ x
            problem = cp.Problem(
                cp.Maximize(losses @ x + self.scale * (f @ change) - mu / 2.0 * cp.sum_squares(change)),
                [cp.sum(x) == 1],
            )
            problem.solve(solver=cp.CLARABEL)
            value += c * problem.value
            gradient[rows] = c * self.scale * change.value
        return value, gradient


def exact_query_pairs(grades, qid, scores, mu=0.0, weights=None, *, by_pairs=False, margin=1):
    """The pairwise risk without rounding, one pair at a time."""
    f = [Fraction(float(each)) for each in scores]
    parts = []
    for rows in positions(qid):
        pairs = [(i, j) for i, j in product(rows, rows) if grades[i] > grades[j]]
        if pairs:
            c = Fraction(1 if weights is None else float(weights[rows[0]]))
            hinges = sum(_huber(margin - (f[i] - f[j]), Fraction(mu)) for i, j in pairs)
            parts.append((c * len(pairs) if by_pairs else c, hinges / len(pairs)))
    return sum(c * hinge for c, hinge in parts) / sum(c for c, _ in parts)


def _huber(x, width):
    if x <= 0:
        return Fraction(0)
    return x * x / (2 * width) if x < width else x - width / 2


def orders_of_ties(scores):
    """All orders of positions by falling scores."""
    return [order for order in permutations(range(len(scores))) if all(np.diff([scores[i] for i in order]) <= 0)]
