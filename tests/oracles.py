"""Slow, obvious, independent answers that the tests hold the library to. Nothing here imports smoothperf.

Labels ``y`` are in {-1, +1}, ``weights`` are None or non-negative. Five kinds of oracle, from the definitions down:

* brute force over all labelings (n up to about 10) or over all orders of all pairs;
* a generic convex solver (cvxpy with Clarabel) for smoothed risks, regularised problems and the simplex QP;
* rational arithmetic (``exact_*``), which has no rounding at all and so can judge rounding bounds at any scale;
* long double arithmetic (``long_*``) by sorting or over all pairs, for thousands of problems;
* central differences.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from math import comb, isqrt
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from scipy import optimize

# --- brute force ------------------------------------------------------------------------------------------------


def all_labelings(n, values=(-1, 1)):
    """All vectors in ``values^n``, one a row."""
    return np.array(list(product(values, repeat=n)))


def prbep_losses(labelings, y):
    """Delta(z, y) for each row z: b/n+ if b = c, else minus infinity; b are missed positives, c false positives."""
    missed = ((labelings == -1) & (y == 1)).sum(axis=1)
    false = ((labelings == 1) & (y == -1)).sum(axis=1)
    return np.where(missed == false, missed / (y == 1).sum(), -np.inf)


def prbep_risk(y, scores):
    """Equation (2) of the paper: the maximum over all z in {-1,1}^n of Delta(z, y) + (1/n) sum f_i (z_i - y_i)."""
    z = all_labelings(len(y))
    return float(np.max(prbep_losses(z, y) + (z - y) @ scores / len(y)))


def prbep_risk_by_linear_program(y, scores, weights):
    """The same for real weights: over u in [0,1]^n with as much weight predicted positive as there is."""
    positive = y == 1
    total, positives = weights.sum(), weights[positive].sum()
    gain = weights * (2.0 / total * scores - positive / positives)  # per unit of u
    solution = optimize.linprog(-gain, A_eq=weights[None, :], b_eq=[positives], bounds=(0.0, 1.0), method="highs")
    assert solution.status == 0
    return float(-solution.fun - gain[positive].sum())


def top_k_planes(y, k, *, precision):
    """Losses of all labelings z with k positives, and the slopes ``(z_i - s_i) / n``.

    s is the average of all labelings with k positives and the least loss.
    """
    z = all_labelings(len(y))
    z = z[(z == 1).sum(axis=1) == k]
    hits = ((z == 1) & (y == 1)).sum(axis=1)
    losses = 1.0 - hits / (k if precision else (y == 1).sum())
    best = z[hits == hits.max()].mean(axis=0)
    return losses, (z - best) / len(y)


def top_k_risk(y, scores, k, *, precision):
    """Maximum over all labelings z with k positives of the loss plus ``(1/n) sum f_i (z_i - s_i)``."""
    return highest(top_k_planes(y, k, precision=precision), scores)


def error_planes(y, costs=(1.0, 1.0)):
    """Costs of the errors of all labelings z, and the slopes ``q_i (z_i - y_i)``, by the same unit."""
    q = np.where(y == 1, *costs)
    z = all_labelings(len(y))
    return (z != y) @ q / q.sum(), (z - y) * q / q.sum()


def error_risk(y, scores, costs=(1.0, 1.0)):
    """Maximum over all labelings z of the costs of its errors plus what it pays for them."""
    return highest(error_planes(y, costs), scores)


def pair_planes(y, k=None):
    """Losses and slopes of all ways to swap pairs of the positives with k of the negatives (all by default)."""
    positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == -1)
    k = negatives.size if k is None else k
    losses, slopes = [], []
    for chosen in combinations(negatives, k):
        swaps = all_labelings(positives.size * k, (0, 1)).reshape(-1, positives.size, k)
        slope = np.zeros((len(swaps), len(y)))
        slope[:, positives] = -swaps.mean(axis=2) / positives.size
        slope[:, list(chosen)] = swaps.mean(axis=1) / k
        losses.append(swaps.mean(axis=(1, 2)))
        slopes.append(slope)
    return np.concatenate(losses), np.concatenate(slopes)


def highest(planes, scores):
    """The risk that is the maximum of planes; its twin without losses is that of ``(0, slopes)``."""
    losses, slopes = planes
    return float(np.max(losses + slopes @ scores))


def steady_places(scores, positive, weights, loss):
    """(steady-cut) by loops: the function for log-odds, weight and loss of all cuts, places and how close they are."""
    c = np.ones(len(scores)) if weights is None else weights
    cuts = []
    for level in [*sorted(set(scores.tolist())), np.inf]:
        above = scores >= level
        hits, false = float(c[above & positive].sum()), float(c[above & ~positive].sum())
        cuts.append((hits + false, float(loss(hits, false))))
    whole, outside = cuts[0][0], 0.05 * min(c[positive].sum(), c[~positive].sum())

    def odds(weight):
        return np.log((weight + outside) / (whole - weight + outside))

    places = [k / 32 for k in range(-2000, 2001) if abs(k / 32) <= odds(whole)]
    rising = cuts[::-1]
    weights_above = [cut[0] for cut in rising]
    between = []
    for place in places:
        wanted = min(max((whole + 2 * outside) / (1 + np.exp(-place)) - outside, 0.0), whole)
        under, over = rising[bisect_right(weights_above, wanted) - 1], rising[bisect_left(weights_above, wanted)]
        part = 0.0 if over[0] == under[0] else (wanted - under[0]) / (over[0] - under[0])
        between.append(under[1] + part * (over[1] - under[1]))
    smooth, last = [], len(places) - 1
    for j in range(len(places)):
        kernel = [(np.exp(-((i / 9.6) ** 2) / 2), between[min(max(j + i, 0), last)]) for i in range(-38, 39)]
        smooth.append(sum(share * each for share, each in kernel) / sum(share for share, _ in kernel))
    closeness = [max(0.0, 1.05 * min(smooth) - each) for each in smooth]
    return odds, np.array(cuts), np.array(places), np.array(closeness)


def copies(y, weights, *arrays):
    """The labels and arrays in which example i occurs ``weights[i]`` times."""
    return tuple(np.repeat(array, weights) for array in (y, *arrays))


def sum_over_copies(values, weights):
    """Sum the values of the copies of each example."""
    ends = np.cumsum(weights)
    return np.array([values[end - count : end].sum() for end, count in zip(ends, weights, strict=True)])


def pair_margins(y, scores):
    """``f_i - f_j`` for every positive i (rows) and negative j (columns)."""
    return np.subtract.outer(scores[y == 1], scores[y == -1])


def pair_weights(y, weights):
    """``c_i c_j`` for the same pairs."""
    c = np.ones(len(y)) if weights is None else weights
    return np.multiply.outer(c[y == 1], c[y == -1])


def roc_risk_by_labelings(y, scores):
    """Maximum over all z in {0,1}^pairs, 1 for a swapped pair, of the mean of ``z_ij (1 - (f_i - f_j))``."""
    margins = pair_margins(y, scores).ravel()
    return float(np.max(all_labelings(margins.size, (0, 1)) @ (1.0 - margins)) / margins.size)


def roc_risk(y, scores, weights=None):
    """The weighted mean hinge over all pairs, one pair at a time."""
    total, mass = 0.0, 0.0
    for margin, weight in zip(pair_margins(y, scores).ravel(), pair_weights(y, weights).ravel(), strict=True):
        total += weight * max(0.0, 1.0 - margin)
        mass += weight
    return total / mass


def partial_roc_risk(y, scores, k):
    """Maximum over all sets of k negatives of the mean hinge over their pairs with all positives."""
    margins = pair_margins(y, scores)
    hinges = np.maximum(0.0, 1.0 - margins).mean(axis=0)
    return max(float(hinges[list(chosen)].mean()) for chosen in combinations(range(hinges.size), k))


def precision_at_break_even(y, scores):
    """Precision of the n+ highest scores, averaged over every way of breaking ties."""
    places = int((y == 1).sum())
    return hits_among_the_highest(y, scores, places) / places


def hits_among_the_highest(y, scores, places):
    """Positives among the highest scores, averaged over every way of breaking ties."""
    threshold = np.sort(scores)[-places]
    above = [i for i in range(len(y)) if scores[i] > threshold]
    tied = [i for i in range(len(y)) if scores[i] == threshold]
    left = places - len(above)
    hits = sum(sum(y[i] == 1 for i in [*above, *chosen]) for chosen in combinations(tied, left))
    return hits / comb(len(tied), left)


def central_differences(function: Callable, point, step):
    """Gradient of a scalar function, one coordinate at a time."""
    gradient = np.empty(len(point))
    for i in range(len(point)):
        ahead, behind = np.array(point, dtype=float), np.array(point, dtype=float)
        ahead[i] += step
        behind[i] -= step
        gradient[i] = (function(ahead) - function(behind)) / (ahead[i] - behind[i])
    return gradient


# --- a generic convex solver ------------------------------------------------------------------------------------


def _solve(problem, tol=1e-12):
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    assert problem.status == cp.OPTIMAL, problem.status
    return float(problem.value)


def prbep_smoothed_over_labelings(y, scores, mu):
    """Value and gradient by equations (8), (9) and (13) of the paper.

    The variables are convex weights of all labelings; beta_i is the weight of those that flip example i, and the
    prox-function is |beta|^2 / 2. Nothing is assumed about the convex hull of the labelings.
    """
    z = all_labelings(len(y))
    losses = prbep_losses(z, y)
    z, losses = z[np.isfinite(losses)], losses[np.isfinite(losses)]  # minus infinity never carries weight
    flips = (z == -y).astype(float)
    a = -2.0 / len(y) * y * scores
    alpha = cp.Variable(len(z), nonneg=True)
    beta = flips.T @ alpha
    value = _solve(
        cp.Problem(cp.Maximize(a @ beta + losses @ alpha - mu / 2 * cp.sum_squares(beta)), [cp.sum(alpha) == 1])
    )
    return value, -2.0 / len(y) * y * beta.value


def prbep_smoothed(y, scores, mu, weights=None):
    """Value and gradient over the capped simplex ``{u in [0,1]^n : sum c u = N+}``, with weights."""
    c = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    t = (y == 1).astype(float)
    u = cp.Variable(len(y))
    loss = (c * t) @ (1 - u) / (c @ t)
    gain = (2.0 / c.sum() * c * scores) @ (u - t)
    prox = cp.sum_squares(cp.multiply(np.sqrt(c), u - t)) / 2
    value = _solve(cp.Problem(cp.Maximize(loss + gain - mu * prox), [c @ u == c @ t, u >= 0, u <= 1]))
    return value, 2.0 / c.sum() * c * (u.value - t)


def roc_smoothed(y, scores, mu, weights=None):
    """Value and gradient over ``beta`` in [0,1]^pairs with prox-function ``sum c_i c_j beta_ij^2 / 2``."""
    margins, c = pair_margins(y, scores), pair_weights(y, weights)
    beta = cp.Variable(margins.shape)
    gain = cp.sum(cp.multiply(c * (1.0 - margins), beta)) / c.sum()
    prox = cp.sum_squares(cp.multiply(np.sqrt(c), beta)) / 2
    value = _solve(cp.Problem(cp.Maximize(gain - mu * prox), [beta >= 0, beta <= 1]))
    return value, _pair_gradient(y, -c * beta.value / c.sum())


def partial_roc_smoothed(y, scores, mu, max_fpr):
    """Value and gradient over the shares z of the negatives and ``gamma_ij`` in [0, z_j], with both prox-functions."""
    margins = pair_margins(y, scores)
    n_positive, n_negative = margins.shape
    room = max_fpr * n_negative
    z, gamma = cp.Variable(n_negative), cp.Variable(margins.shape)
    gain = cp.sum(cp.multiply(1.0 - margins, gamma)) / (n_positive * room)
    spread = cp.sum([cp.quad_over_lin(gamma[:, j], z[j]) for j in range(n_negative)]) / 2
    prox = spread + n_positive * cp.sum_squares(z - max_fpr) / 2
    limits = [gamma >= 0, gamma <= cp.vstack([z] * n_positive), z <= 1, cp.sum(z) == room]
    value = _solve(cp.Problem(cp.Maximize(gain - mu * prox), limits), tol=1e-8)  # cones, where more is too much
    return value, _pair_gradient(y, -gamma.value / (n_positive * room))


def partial_roc_optimum(X, y, alpha, k):
    """Minimiser and minimum of ``(alpha/2)|w|^2 + R(Xw)``: the k largest of the negatives' mean hinges."""
    w = cp.Variable(X.shape[1])
    positives = X[y == 1]
    hinges = [cp.sum(cp.pos(1 - (positives - row) @ w)) / len(positives) for row in X[y == -1]]
    risk = cp.sum_largest(cp.hstack(hinges), k) / k
    value = _solve(cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + risk)))
    return w.value, value


def _pair_gradient(y, slopes):
    """Derivatives by ``f_i - f_j`` turned into derivatives by the scores."""
    gradient = np.empty(len(y))
    gradient[y == 1] = slopes.sum(axis=1)
    gradient[y == -1] = -slopes.sum(axis=0)
    return gradient


def prbep_optimum(X, y, alpha):
    """Minimiser and minimum of ``(alpha/2)|w|^2 + R(Xw)``: one constraint for each labeling."""
    z = all_labelings(len(y))
    losses = prbep_losses(z, y)
    z, losses = z[np.isfinite(losses)], losses[np.isfinite(losses)]
    w, risk = cp.Variable(X.shape[1]), cp.Variable()
    planes = losses + ((z - y) @ X / len(y)) @ w
    value = _solve(cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + risk), [planes <= risk]))
    return w.value, value


def error_optimum(X, y, alpha, costs=(1.0, 1.0)):
    """Minimiser and minimum of ``(alpha/2)|w|^2 + R(Xw)``: one hinge for each example."""
    q = np.where(y == 1, *costs)
    w = cp.Variable(X.shape[1])
    risk = q @ cp.pos(1 - 2 * cp.multiply(y, X @ w)) / q.sum()
    value = _solve(cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + risk)))
    return w.value, value


def smooth_optimum(X, y, alpha, loss):
    """Minimiser and minimum of ``(alpha/2)|w|^2 + mean(loss(y Xw))``, for "log_loss" or "squared_hinge"."""
    w = cp.Variable(X.shape[1])
    z = cp.multiply(y, X @ w)
    losses = cp.logistic(-z) if loss == "log_loss" else cp.square(cp.pos(1 - z))
    value = _solve(cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + cp.sum(losses) / len(y))))
    return w.value, value


def planes_optimum(X, planes, alpha):
    """Minimiser and minimum of ``(alpha/2)|w|^2 + R(Xw)``: one constraint for each plane."""
    losses, slopes = planes
    w, risk = cp.Variable(X.shape[1]), cp.Variable()
    constraints = [losses + (slopes @ X) @ w <= risk]
    value = _solve(cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + risk), constraints))
    return w.value, value


def top_k_optimum(X, y, alpha, k, *, precision):
    """Minimiser and minimum of ``(alpha/2)|w|^2 + R(Xw)``: one constraint for each labeling with k positives."""
    return planes_optimum(X, top_k_planes(y, k, precision=precision), alpha)


def roc_optimum(X, y, alpha, weights=None):
    """Minimiser and minimum of ``(alpha/2)|w|^2 + R(Xw)``: one hinge for each pair."""
    pairs = (X[y == 1][:, None, :] - X[y == -1][None, :, :]).reshape(-1, X.shape[1])
    c = pair_weights(y, weights).ravel()
    w = cp.Variable(X.shape[1])
    losses = cp.pos(1 - pairs @ w)
    value = _solve(cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + c @ losses / c.sum())))
    return w.value, value


def penalised_optimum(X, risk, s, q, lower=-np.inf, upper=np.inf, base=0.0):
    """Minimiser and minimum of ``sum_i s_i |w_i| + (q_i/2) w_i^2 + R(f0 + X w)`` within bounds.

    ``risk`` is a pair of planes, losses and slopes, or makes an expression of the scores.
    """
    d = X.shape[1]
    s, q, lower, upper = (np.broadcast_to(np.asarray(each, dtype=float), (d,)) for each in (s, q, lower, upper))
    w = cp.Variable(d)
    scores = base + X @ w
    value = risk(scores) if callable(risk) else cp.max(risk[0] + risk[1] @ scores)
    low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    bounds = [w[low] >= lower[low]] if low.size else []
    bounds += [w[high] <= upper[high]] if high.size else []
    objective = s @ cp.abs(w) + cp.sum_squares(cp.multiply(np.sqrt(q / 2), w)) + value
    value = _solve(cp.Problem(cp.Minimize(objective), bounds), tol=1e-9)
    return w.value, value


def roc_expression(y, scores):
    """The mean hinge over all pairs, of scores that are an expression."""
    pairs = [scores[int(i)] - scores[int(j)] for i in np.flatnonzero(y == 1) for j in np.flatnonzero(y == -1)]
    return cp.sum(cp.pos(1 - cp.hstack(pairs))) / len(pairs)


def smooth_expression(y, scores, loss):
    """The mean of "log_loss" or "squared_hinge", of scores that are an expression."""
    z = cp.multiply(y, scores)
    return cp.sum(cp.logistic(-z) if loss == "log_loss" else cp.square(cp.pos(1 - z))) / len(y)


def simplex_qp(factor, linear):
    """Maximiser and maximum of ``b.x - |A^T x|^2 / 2`` over the probability simplex; H = A A^T."""
    x = cp.Variable(len(linear), nonneg=True)
    value = _solve(cp.Problem(cp.Maximize(linear @ x - cp.sum_squares(factor.T @ x) / 2), [cp.sum(x) == 1]))
    return x.value, value


# --- rational arithmetic ----------------------------------------------------------------------------------------


def fractions(values):
    """The exact values of floating-point numbers."""
    return [Fraction(float(value)) for value in values]


def exact_prbep(y, scores, weights=None, mu=0.0):
    """R_mu (R for mu = 0) of the break-even point without rounding."""
    return exact_top_k(y, scores, weights, mu)


def exact_top_k(y, scores, weights=None, mu=0.0, *, share=None, k=None, per_place=False):
    """R_mu (R for mu = 0) without rounding: fill up the capped simplex, or walk along its breakpoints.

    The weight predicted positive is that of the positives, a share of all or k; the loss is relative to it
    (``per_place``) or to the positives.
    """
    n = len(y)
    f, c = fractions(scores), fractions(np.ones(n) if weights is None else weights)
    label = [Fraction(int(label == 1)) for label in y]
    total, positives = sum(c), sum(ci * yi for ci, yi in zip(c, label, strict=True))
    places = positives if share is k is None else Fraction(share) * total if k is None else Fraction(k)
    if places <= positives:
        t = [places / positives * yi for yi in label]
    else:
        t = [yi + (1 - yi) * (places - positives) / (total - positives) for yi in label]
    unit = places if per_place else positives
    values = [2 * f[i] / total - label[i] / unit for i in range(n)]
    u = [Fraction(0)] * n
    if mu == 0.0:
        room = places
        for i in sorted(range(n), key=lambda i: values[i], reverse=True):
            u[i] = min(Fraction(1), room / c[i]) if c[i] else Fraction(0)
            room -= c[i] * u[i]
    else:
        v = [t[i] + values[i] / Fraction(mu) for i in range(n)]
        u = _exact_projection(v, c, places)
    change = [ui - ti for ui, ti in zip(u, t, strict=True)]
    assert sum(ci * di for ci, di in zip(c, change, strict=True)) == 0
    linear = sum(ci * vi * di for ci, vi, di in zip(c, values, change, strict=True))
    least = (unit - min(places, positives)) / unit
    return least + linear - Fraction(mu) / 2 * sum(ci * di * di for ci, di in zip(c, change, strict=True))


def _exact_projection(v, c, total):
    """``clip(v - tau, 0, 1)`` with the tau that makes ``sum c u = total``."""

    def clipped(tau):
        return [min(Fraction(1), max(Fraction(0), vi - tau)) for vi in v]

    def mass(tau):
        return sum(ci * ui for ci, ui in zip(c, clipped(tau), strict=True))

    breakpoints = sorted({*v, *(vi - 1 for vi in v)})
    low, high = 0, len(breakpoints) - 1  # mass(breakpoints[low]) >= total >= mass(breakpoints[high])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if mass(breakpoints[middle]) >= total else (low, middle)
    begin, end = breakpoints[low], breakpoints[high]
    drop = mass(begin) - mass(end)
    return clipped(begin + (end - begin) * (mass(begin) - total) / drop if drop else begin)


def exact_pointwise(y, scores, weights=None, mu=0.0, *, costs=(1, 1)):
    """R_mu (R for mu = 0) of the error rate with costs without rounding, one example at a time."""
    f, c = fractions(scores), fractions(np.ones(len(y)) if weights is None else weights)
    positive, negative = fractions(costs)
    q = [ci * (positive if yi == 1 else negative) for ci, yi in zip(c, y, strict=True)]
    width = Fraction(mu) * sum(q)
    return sum(qi * _huber_hinge(1 - 2 * int(yi) * fi, width) for qi, yi, fi in zip(q, y, f, strict=True)) / sum(q)


def exact_log_loss(y, scores, weights=None, mu=0.0):
    """The mean logistic loss to 50 digits; smoothing changes nothing."""
    with localcontext() as context:
        context.prec = 50
        return _exact_mean(
            y, scores, weights, lambda z: Fraction((1 + (-Decimal(abs(z))).exp()).ln()) - min(0, Fraction(z))
        )


def exact_squared_hinge(y, scores, weights=None, mu=0.0):
    """The mean squared hinge without rounding; smoothing changes nothing."""
    return _exact_mean(y, scores, weights, lambda z: max(Fraction(0), 1 - Fraction(z)) ** 2)


def _exact_mean(y, scores, weights, loss):
    """Weighted mean of ``loss(y_i f_i)``, whose argument is a float."""
    c = fractions(np.ones(len(y)) if weights is None else weights)
    return sum(ci * loss(float(yi * fi)) for ci, yi, fi in zip(c, y, scores, strict=True)) / sum(c)


def _exact_mean_over_pairs(y, scores, weights, mu, loss):
    """Weighted mean of ``loss(f_i - f_j, kappa)`` with ``kappa = mu N+ N-``."""
    f, c = fractions(scores), fractions(np.ones(len(y)) if weights is None else weights)
    pairs = [(i, j) for i in range(len(y)) if y[i] == 1 for j in range(len(y)) if y[j] != 1]
    mass = sum(c[i] * c[j] for i, j in pairs)
    return sum(c[i] * c[j] * loss(f[i] - f[j], Fraction(mu) * mass) for i, j in pairs) / mass


def _huber_hinge(x, width):
    if x <= 0:
        return Fraction(0)
    return x * x / (2 * width) if x < width else x - width / 2


def exact_roc(y, scores, weights=None, mu=0.0):
    """R_mu (R for mu = 0) without rounding, one pair at a time."""
    return _exact_mean_over_pairs(y, scores, weights, mu, lambda d, kappa: _huber_hinge(1 - d, kappa))


def exact_partial_roc(y, scores, weights=None, mu=0.0, *, max_fpr):
    """R_mu (R for mu = 0) of the partial area without rounding: the hinges of each negative, then the negatives."""
    f, c = fractions(scores), fractions(np.ones(len(y)) if weights is None else weights)
    positives, negatives = ([i for i in range(len(y)) if (y[i] == 1) == side] for side in (True, False))
    share = Fraction(max_fpr)
    mass, all_negatives = (sum(c[i] for i in rows) for rows in (positives, negatives))
    room = share * all_negatives
    kappa = Fraction(mu) * mass * room
    h = [sum(c[i] * _huber_hinge(1 - f[i] + f[j], kappa) for i in positives) / mass for j in negatives]
    d = [c[j] for j in negatives]
    if mu == 0.0:
        total, left = Fraction(0), room
        for hinge, weight in sorted(zip(h, d, strict=True), reverse=True):
            total += min(weight, left) * hinge
            left -= min(weight, left)
        return total / room
    z = _exact_projection([share + hinge / kappa for hinge in h], d, room)
    linear = sum(dj * zj * hj for dj, zj, hj in zip(d, z, h, strict=True)) / room
    return linear - Fraction(mu) * mass / 2 * sum(dj * (zj - share) ** 2 for dj, zj in zip(d, z, strict=True))


def fractional_loss(p, r, positives, b, c):
    """``(p b + c) / ((p + r) N+ - r b + c)``: F-beta for p = beta^2, r = 1; Jaccard for p = 1, r = 0."""
    return (p * b + c) / ((p + r) * positives - r * b + c)


def _root(value):
    """The square root of a fraction, to 60 decimal places."""
    shift = 1 << 200
    return Fraction(isqrt(value.numerator * value.denominator * shift * shift), value.denominator * shift)


def exact_fractional(y, scores, weights=None, *, p, r):
    """Maximum of delta(B, C) - (2/N) sum c x beta over beta in [0,1]^n, in fractions but for a root.

    Given B, the maximum over C is concave: at a kink or where the derivative is 0. Given C, the loss is convex in B, so
    that B is at a kink.
    """
    p, r = Fraction(p), Fraction(r)
    f, c = fractions(scores), fractions(np.ones(len(y)) if weights is None else weights)
    slope = 2 / sum(c)
    sides = []
    for label in (1, -1):
        side = sorted((label * f[i], c[i]) for i in range(len(y)) if y[i] == label and c[i] > 0)
        masses, costs = [Fraction(0)], [Fraction(0)]
        for margin, weight in side:
            masses.append(masses[-1] + weight)
            costs.append(costs[-1] + weight * margin)
        sides.append(([margin for margin, _ in side], masses, costs))
    (_, b_masses, b_costs), (margins, c_masses, c_costs) = sides
    positives = b_masses[-1]
    best = None
    for b, b_cost in zip(b_masses, b_costs, strict=True):
        base, rise = (p + r) * positives - r * b, (p + r) * (positives - b)
        for j, margin in enumerate(margins):
            begin, end = c_masses[j], c_masses[j + 1]
            flat = _root(rise / (slope * margin)) - base if margin > 0 else end
            for false in (begin, min(max(flat, begin), end), end):
                cost = b_cost + c_costs[j] + margin * (false - begin)
                value = fractional_loss(p, r, positives, b, false) - slope * cost
                best = value if best is None else max(best, value)
    return best


def contingency_planes(y, delta):
    """Losses delta(missed, false) of all labelings, and the slopes ``(z_i - y_i) / n``."""
    z = all_labelings(len(y))
    missed = ((z == -1) & (y == 1)).sum(axis=1)
    false = ((z == 1) & (y == -1)).sum(axis=1)
    return np.array([delta(int(b), int(c)) for b, c in zip(missed, false, strict=True)]), (z - y) / len(y)


def contingency_risk(y, scores, delta):
    """The maximum over all labelings of delta(missed, false) + (1/n) sum f_i (z_i - y_i)."""
    return highest(contingency_planes(y, delta), scores)


def _exact_solution(matrix, side):
    """Solve a linear system by elimination; None if it is singular."""
    rows = [[*row, value] for row, value in zip(matrix, side, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def exact_simplex_value(hessian, linear, x):
    """``b.x - x.H x / 2`` without rounding."""
    H, b, x = [fractions(row) for row in hessian], fractions(linear), fractions(x)
    used = [k for k in range(len(x)) if x[k] != 0]
    return sum(x[k] * b[k] for k in used) - sum(x[k] * x[m] * H[k][m] for k in used for m in used) / 2


def exact_simplex_maximum(hessian, linear):
    """The maximum of ``b.x - x.H x / 2`` on the simplex without rounding: the best over all supports, for K <= 6."""
    H, b = [fractions(row) for row in hessian], fractions(linear)
    best = None
    for size in range(1, len(b) + 1):
        for support in combinations(range(len(b)), size):
            matrix = [[*(H[k][m] for m in support), Fraction(1)] for k in support] + [
                [*[Fraction(1)] * size, Fraction(0)]
            ]
            solution = _exact_solution(matrix, [*(b[k] for k in support), Fraction(1)])
            if solution is None or min(solution[:-1]) < 0:  # a smaller support is at least as good
                continue
            x = solution[:-1]
            value = sum(xk * b[k] for xk, k in zip(x, support, strict=True)) - Fraction(1, 2) * sum(
                x[i] * x[j] * H[k][m] for i, k in enumerate(support) for j, m in enumerate(support)
            )
            best = value if best is None else max(best, value)
    return best


def exact_plane(gradient, offset, scores):
    """``<g, f> + b`` without rounding."""
    terms = zip(fractions(gradient), fractions(scores), strict=True)
    return sum((g * f for g, f in terms), start=Fraction(float(offset)))


# --- long double ------------------------------------------------------------------------------------------------
#
# The risks at scores f in long double, with weights c of the same type: sums in any order are off by 2^-64 a term.

LONG_EPS = float(np.finfo(np.longdouble).eps)


def _filled(values, c, room):
    """``sum c values u`` with the ``u`` in [0, 1] that take up ``room`` of the weight and have the largest values."""
    order = np.argsort(-values, kind="stable")
    weight = c[order]
    taken = np.clip(room - (np.cumsum(weight) - weight), 0, weight)
    return np.sum(taken * values[order])


def long_top_k(y, f, c, places=None, *, per_place=False):
    """PRBEP, or with so many places precision@k (``per_place``) or recall@k."""
    positive = (y == 1).astype(np.longdouble)
    total, positives = c.sum(), (c * positive).sum()
    places = positives if places is None else places
    t = positive * min(1, places / positives)
    t += (1 - positive) * max(0, (places - positives) / (total - positives))
    unit = places if per_place else positives
    # Relative to the target, of which the missed share is the least loss.
    loss = 1 - (c * t * positive).sum() / unit
    values = 2 * f / total - positive / unit
    return loss + _filled(values, c, places) - (c * values * t).sum()


def long_roc(y, f, c, *, max_fpr=1):
    """Mean hinge over all pairs, those with the highest-scoring negatives if there is a ``max_fpr``."""
    margins = np.subtract.outer(f[y == 1], f[y == -1])
    losses = np.maximum(0, 1 - margins)
    negatives = c[y == -1]
    hinges = (c[y == 1][:, None] * losses).sum(axis=0) / c[y == 1].sum()
    room = max_fpr * negatives.sum()
    return _filled(hinges, negatives, room) / room


def long_pointwise(y, f, c, costs=(1, 1)):
    """Mean hinge of all examples with the costs of the two classes."""
    q = c * np.where(y == 1, *(np.longdouble(cost) for cost in costs))
    return (q * np.maximum(0, 1 - 2 * y * f)).sum() / q.sum()


def long_balanced(y, f, c):
    """The same with costs that make the classes count alike."""
    return long_pointwise(y, f, c, (1 / c[y == 1].sum(), 1 / c[y == -1].sum()))


def long_fractional(y, f, c, *, p, r):
    """:func:`exact_fractional` for all numbers of missed positives and all intervals of false ones at once."""
    slope = 2 / c.sum()
    sides = []
    for label in (1, -1):
        side = (y == label) & (c > 0)
        order = np.argsort(label * f[side])
        margins, weights = (label * f[side])[order], c[side][order]
        zero = np.zeros(1, dtype=np.longdouble)
        sides.append((margins, *(np.concatenate([zero, np.cumsum(v)]) for v in (weights, weights * margins))))
    (_, b, b_costs), (margins, c_masses, c_costs) = sides
    b, b_costs = b[:, None], b_costs[:, None]
    base, rise = (p + r) * b[-1] - r * b, (p + r) * (b[-1] - b)
    begin, end = c_masses[:-1], c_masses[1:]
    with np.errstate(divide="ignore", over="ignore"):
        flat = np.where(margins > 0, np.sqrt(rise / (slope * np.where(margins > 0, margins, 1))) - base, end)
    best = -np.inf
    for false in (np.broadcast_to(begin, flat.shape), np.clip(flat, begin, end), np.broadcast_to(end, flat.shape)):
        costs = b_costs + c_costs[:-1] + margins * (false - begin)
        best = max(best, (fractional_loss(p, r, b[-1], b, false) - slope * costs).max())
    return best


class Projection(NamedTuple):
    """The results of a projection beside the gradient; ``ceiling`` is the maximum that is not smoothed."""

    missed: float
    excess: float
    inner: float
    prox: float
    ceiling: float
    along: float


def top_k_smoothed(
    scores,
    positive,
    weights,
    total,
    slope,
    gain,
    targets,
    mu,
    direction,
    gradient,
):
    """Project onto the capped simplex by bracketed root finding: _top_k, from ``collect`` to ``finish``."""
    label = positive.astype(bool)
    c = np.ones_like(scores) if weights is None else weights
    t = np.where(label, *targets)
    gains = slope * scores - gain * label
    v = t + gains / mu

    def excess(tau):
        return float(c @ np.clip(v - tau, 0.0, 1.0)) - total

    low, high = v.min() - 1.0, v.max()
    # Both ends may be roots up to rounding (all, or none, selected); brentq insists on a change of sign.
    if excess(low) <= 0.0:
        tau = low
    elif excess(high) >= 0.0:
        tau = high
    else:
        tau = optimize.brentq(excess, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=1000)
    u = np.clip(v - tau, 0.0, 1.0)
    gradient[:] = slope * c * (u - t)
    missed = float(c[label] @ (t - u)[label])
    excess_mass = float(c @ u) - total
    inner = float(c @ (scores * (u - t)))
    prox = float(c @ (u - t) ** 2) / 2.0
    # Not smoothed: fill the total with the largest gains.
    order = np.argsort(-gains)
    before = np.cumsum(c[order]) - c[order]
    taken = np.clip(total - before, 0.0, c[order])
    ceiling = float(taken @ gains[order]) - float(c @ (t * gains))
    along = 0.0 if direction is None else float(gradient @ direction)
    return Projection(missed, excess_mass, inner, prox, ceiling, along)


def binned_pairs(
    scores,
    positive,
    weights,
    margin,
    kappa,
    per_ramp,
    lowest,
    scale,
    direction,
    gradient,
) -> tuple[float, ...]:
    """All pairs with the beta of (roc-bins), with bins for scores from the lowest on."""
    width = kappa / per_ramp
    label = positive.astype(bool)
    x = scores + ((margin - min(lowest, lowest + margin)) - margin * label)
    place = np.trunc(x * (1.0 / width))
    position = x - place * width
    c, d = (np.ones(rows.sum()) if weights is None else weights[rows] for rows in (label, ~label))
    apart = place[~label][:, None] - place[label][None, :]
    violation = apart * width + (position[~label][:, None] - position[label][None, :])
    beta = np.select(
        [apart < 0, apart == 0, apart < per_ramp, apart == per_ramp],
        [0.0, (violation + width) / (2 * kappa), violation / kappa, 1 - (width + kappa - violation) / (2 * kappa)],
        1.0,
    )
    hinge = np.select([apart < 0, apart == 0], [0.0, (violation + width) / 2], violation)
    gradient[~label] = scale * d * (beta @ c)
    gradient[label] = -scale * c * (d @ beta)
    slopes, squares, ceiling, cornered = (
        float(d @ term @ c) for term in (beta, beta**2, hinge, (apart == 0) | (apart == per_ramp))
    )
    crowd = max(np.unique(place[rows], return_counts=True)[1].max() for rows in (label, ~label))
    inner, along = float(gradient @ scores), 0.0 if direction is None else float(gradient @ direction)
    return slopes, squares, ceiling, inner, cornered, float(crowd), along
