"""The kernels in plain NumPy: same results, for rows in memory.

They say what the compiled kernels compute, in a few lines each. The tests hold the two equal. They are slower and
use more memory (``pair_ramps`` forms the pairs), so nothing but the tests calls them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[Any]


def gather(
    indptr: Array, indices: Array, data: Array, ones: bool, levels: Array | None, x: Array, out: Array, pieces: int
) -> None:
    """``out[i] = sum_j A[i, j] x[j]``; if ``ones``, or ``levels`` are known, without a look at the values."""
    for i, (begin, end) in enumerate(itertools.pairwise(indptr)):
        out[i] = _values(i, data[begin:end], ones, levels) @ x[indices[begin:end]]


def scatter(
    indptr: Array,
    indices: Array,
    data: Array,
    ones: bool,
    levels: Array | None,
    g: Array,
    out: Array,
    clear: bool,
    pieces: int,
    room: Array,
) -> None:
    """``out[j] += sum_i A[i, j] g[i]``, or ``=``; if ``ones``, or ``levels``, without a look at the values."""
    if clear:
        out[:] = 0.0
    for i, (begin, end) in enumerate(itertools.pairwise(indptr)):
        np.add.at(out, indices[begin:end], g[i] * _values(i, data[begin:end], ones, levels))


def _values(i: int, values: Array, ones: bool, levels: Array | None) -> Array:
    if levels is not None:
        return np.full(values.size, levels[i])
    return np.ones(values.size) if ones else values.astype(np.float64)


def room_for_sums(n_columns: int, pieces: int) -> int:
    """None is needed here."""
    return 0


def half_gram(indptr: Array, indices: Array, data: Array, rows: Array, weights: Array, out: Array) -> None:
    """``out + out.T`` grows by ``sum_k weights[k] a_k a_k^T``; each entry meets those before it, and half itself."""
    for i, weight in zip(rows, weights, strict=True):
        row = slice(indptr[i], indptr[i + 1])
        values, columns = data[row].astype(np.float64), indices[row]
        pairs = weight * np.tril(np.outer(values, values))
        np.fill_diagonal(pairs, np.diag(pairs) / 2.0)
        np.add.at(out, (columns[:, None], columns[None, :]), pairs)


def row_norms(indptr: Array, data: Array, distinct: bool) -> tuple[float, float, bool, bool]:
    """Largest Euclidean norm of a row and Frobenius norm, bounds if columns may repeat; if values are 1, or level."""
    rows = [data[begin:end].astype(np.float64) for begin, end in itertools.pairwise(indptr)]
    squares = [float((row**2).sum() if distinct else np.abs(row).sum() ** 2) for row in rows]
    largest, total = float(np.sqrt(max(squares, default=0.0))), float(np.sqrt(sum(squares)))
    return largest, total, bool((data == 1).all()), all((row == row[:1]).all() for row in rows)


def pointwise_hinges(
    scores: Array,
    positive: Array,
    weights: Array | None,
    positive_cost: float,
    negative_cost: float,
    kappa: float,
    scale: float,
    gradient: Array,
    pieces: int,
) -> tuple[float, float, float, float]:
    """The Huber hinge of width ``kappa`` of every example by itself."""
    label = positive.astype(bool)
    y = np.where(label, 1.0, -1.0)
    q = np.where(label, positive_cost, negative_cost) * (1.0 if weights is None else weights)
    x = np.maximum(0.0, 1.0 - 2.0 * y * scores)
    beta = np.minimum(1.0, x / kappa)
    gradient[:] = -scale * y * q * beta
    return float(q @ beta), float(q @ beta**2), float(q @ x), float(gradient @ scores)


def logistic_losses(
    scores: Array,
    positive: Array,
    weights: Array | None,
    logs: Array | None,
    scale: float,
    direction: Array | None,
    gradient: Array,
    pieces: int,
) -> tuple[float, float, float]:
    """Logistic losses; ``gradient`` holds ``exp(-|f|)``, and ``logs`` are not looked at."""
    y = np.where(positive.astype(bool), 1.0, -1.0)
    c = np.ones(y.size) if weights is None else weights
    z, e = y * scores, gradient.copy()
    chance = np.where(z < 0.0, 1.0, e) / (1.0 + e)  # of the other label
    gradient[:] = -scale * y * c * chance
    losses = c @ (np.log1p(e) + np.maximum(0.0, -z))
    offsets = c @ (np.log1p(e) + np.abs(z) * e / (1.0 + e))
    along = 0.0 if direction is None else float(gradient @ direction)
    return float(losses), float(offsets), along


def squared_hinges(
    scores: Array,
    positive: Array,
    weights: Array | None,
    scale: float,
    direction: Array | None,
    gradient: Array,
    pieces: int,
) -> tuple[float, float, float]:
    """Squared hinges."""
    y = np.where(positive.astype(bool), 1.0, -1.0)
    c = np.ones(y.size) if weights is None else weights
    x = np.maximum(0.0, 1.0 - y * scores)
    gradient[:] = -2.0 * scale * y * c * x
    along = 0.0 if direction is None else float(gradient @ direction)
    return float(c @ x**2), float(c @ (2.0 * x - x**2)), along


def pair_ramps(
    ordered: Array,
    ordered_weights: Array | None,
    scores: Array,
    weights: Array | None,
    ordered_rows: Array,
    other_rows: Array,
    sign: float,
    centre: float,
    margin: float,
    kappa: float,
    scale: float,
    gradient: Array,
) -> tuple[float, float, float, float, float, float, float]:
    """Huber hinge of width ``kappa`` (the hinge itself for ``kappa = 0``), summed over all pairs."""
    a = sign * (scores[ordered_rows] - centre)
    z = margin + sign * (scores[other_rows] - centre)
    c, d = (np.ones(r.size) if weights is None else weights[r] for r in (ordered_rows, other_rows))
    violation = z[:, None] - a[None, :]
    beta = np.clip(violation / kappa, 0.0, 1.0) if kappa > 0.0 else (violation > 0.0).astype(float)
    hinge = beta * violation
    huber = hinge - kappa / 2.0 * beta**2
    gradient[other_rows] = scale * d * (beta @ c)
    gradient[ordered_rows] = -scale * c * (d @ beta)
    # How the kernel sums: each z, and each z - kappa, in the bin behind the largest a that is smaller.
    crowd = excess = 0.0
    for x in (z, z - kappa) if kappa > 0.0 else (z,):
        place = np.searchsorted(ordered, x)
        inside = place > 0
        crowd = max(crowd, np.bincount(place[inside], weights=d[inside], minlength=1).max())
        excess += float(d[inside] @ (x[inside] - ordered[place[inside] - 1]))
    reach = max(float(z.max() - ordered[0]), 0.0) + float(np.abs(z).max())
    sums = (float(d @ term @ c) for term in (huber, hinge, np.maximum(violation, 0.0), beta))
    value, height, hinges, slopes = sums
    return value, height, hinges, slopes, reach, crowd, excess


def huber_sums(ordered: Array, ordered_weights: Array | None, z: Array, kappa: float, out: Array) -> None:
    """``out[l] = sum_s c_s H(z_l - a_s)``, pair by pair."""
    x = z[:, None] - ordered[None, :]
    beta = np.clip(x / kappa, 0.0, 1.0)
    c = np.ones(ordered.size) if ordered_weights is None else ordered_weights
    out[:] = (beta * x - kappa / 2.0 * beta**2) @ c


def sorted_hinges(a: Array, z: Array) -> float:
    """``sum max(0, z - a)`` over all pairs."""
    return float(np.maximum(z[:, None] - a[None, :], 0.0).sum())


def maximise_on_simplex(
    gram: Array, scale: float, linear: Array, start: Array, tolerance: float = 1e-12, max_changes: int = 1000
) -> Array:
    """Sequential quadratic programming, which ends less accurate than an active-set method."""
    hessian = scale * gram[: linear.size, : linear.size]
    size = float(max(np.abs(hessian).max(), np.abs(linear).max())) or 1.0
    minimise: Any = optimize.minimize  # of many overloads
    found = minimise(
        lambda x: float(x @ hessian @ x / 2.0 - linear @ x) / size,
        start,
        method="SLSQP",
        jac=lambda x: (hessian @ x - linear) / size,
        bounds=[(0.0, 1.0)] * linear.size,
        constraints=optimize.LinearConstraint(np.ones((1, linear.size)), 1.0, 1.0),
        options={"ftol": tolerance / size, "maxiter": max_changes},
    )
    x = np.maximum(found.x, 0.0)
    return np.asarray(x / x.sum())


def _inner(u: Array, v: Array, terms: int, shift: int) -> float:
    return float(u[:terms] @ v[shift : shift + terms])


def sum_and_squares(u: Array, a: float, v: Array, terms: int, shift: int, out: Array) -> tuple[float, float]:
    """``out = u + a v``, ``<v, v>`` and ``<out, out>``."""
    out[:] = u + a * v
    return _inner(v, v, terms, shift), _inner(out, out, terms, shift)


def inner_products(u: Array, v: Array, p: Array, terms: int, shift: int) -> tuple[float, float, float]:
    """``<u, p>``, ``<v, p>`` and ``<p, p>``."""
    return _inner(u, p, terms, shift), _inner(v, p, terms, shift), _inner(p, p, terms, shift)


def differences(
    u: Array, u_before: Array, v: Array, v_before: Array, terms: int, shift: int, s: Array, y: Array
) -> tuple[float, float, float]:
    """``s = u - u_before``, ``y = v - v_before``, ``<s, y>``, ``<y, y>`` and ``<s, s>``."""
    s[:], y[:] = u - u_before, v - v_before
    return _inner(s, y, terms, shift), _inner(y, y, terms, shift), _inner(s, s, terms, shift)


def sort_documents(keys: Array, starts: Array, out: Array, pieces: int) -> None:
    """Fill ``out`` with the documents, query by query, those with the highest keys first."""
    for begin, end in itertools.pairwise(starts):
        out[begin:end] = begin + np.argsort(-keys[begin:end], kind="stable")


def project_on_permutahedron(z: Array, discount: Array) -> Array:
    """The nearest point of the hull of the permutations of ``discount``, which is sorted downwards. O(m^2)."""
    order = np.argsort(-z, kind="stable")
    x = z[order] - discount[: z.size]
    sums = np.append(0.0, np.cumsum(x))
    first, last = np.indices((z.size, z.size))
    means = np.where(first <= last, (sums[last + 1] - sums[first]) / np.maximum(last + 1 - first, 1), -np.inf)
    # The decreasing isotonic regression of x is min over a <= i of max over b >= i of mean(x[a..b]).
    highest = np.maximum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    fit = np.array([highest[: i + 1, i].min() for i in range(z.size)])
    v = np.empty_like(z)
    v[order] = z[order] - fit
    return v


def rank_queries(
    scores: Array,
    rows: Array | None,
    starts: Array,
    first_places: Array | None,
    relevance: Array,
    target: Array,
    discount: Array,
    coefficients: Array,
    scale: float,
    loss: float,
    mu: float,
    direction: Array | None,
    gradient: Array | None,
    pieces: int,
) -> tuple[float, float, float, float, float]:
    """The best ranking of each query, or the best point of the hull of all; nothing departs from it noticeably."""
    sums = np.zeros(4)
    for query, (begin, end) in enumerate(itertools.pairwise(starts)):
        here = slice(begin, end) if rows is None else rows[begin:end]
        c, f, r, t = coefficients[query], scores[here], relevance[begin:end], target[begin:end]
        d = discount[0 if first_places is None else first_places[query] :][: end - begin]
        value = scale * f - loss * r
        if mu > 0.0:
            v = project_on_permutahedron(t + value / mu, d)
        else:
            v = np.empty(d.size)
            v[np.argsort(-value, kind="stable")] = d
        if gradient is not None:
            gradient[here] = c * scale * (v - t)
        along = 0.0 if direction is None else (v - t) @ direction[here]
        sums += c * np.array([v @ r, (v - t) @ f, (v - t) @ (v - t), along])
    gained, inner, squares, along = sums.tolist()
    return gained, inner, squares, along, 0.0


def query_hinges(
    scores: Array,
    rows: Array | None,
    starts: Array,
    levels: Array,
    coefficients: Array,
    margin: float,
    kappa: float,
    direction: Array | None,
    gradient: Array | None,
    by_query: Array | None,
    pieces: int,
) -> tuple[float, float, float, float, float]:
    """Sums over the pairs of every query, one pair at a time."""
    sums = np.zeros(5)
    for query, (begin, end) in enumerate(itertools.pairwise(starts)):
        here = slice(begin, end) if rows is None else rows[begin:end]
        c, f, level = coefficients[query], scores[here], levels[begin:end]
        x = (margin + f) - f[:, None]
        hinge = np.where((level[:, None] > level) & (x > 0.0), x, 0.0)
        beta = np.minimum(hinge / kappa, 1.0) if kappa > 0.0 else (hinge > 0.0).astype(float)
        slopes = c * (beta.sum(axis=0) - beta.sum(axis=1))
        if gradient is not None:
            gradient[here] = slopes
        if by_query is not None:
            by_query[query] = c * beta.sum()
        along = 0.0 if direction is None else slopes @ direction[here]
        value, height = (beta * (hinge - kappa / 2.0 * beta)).sum(), (beta * hinge).sum()
        sums += [c * value, c * height, c * hinge.sum(), c * beta.sum(), along]
    value, height, hinges, betas, along = sums.tolist()
    return value, height, hinges, betas, along


def two_loop(
    steps: Array, changes: Array, curvatures: Array, order: Array, scale: float, terms: int, shift: int, p: Array
) -> None:
    """``p := H p``, by the update of H that makes it fit the youngest pair."""

    def applied(count: int, v: Array) -> Array:
        if count == 0:
            return np.asarray(scale * v)
        s, y, curvature = (table[order[count - 1]] for table in (steps, changes, curvatures))
        coefficient = _inner(s, v, terms, shift) / curvature
        older = applied(count - 1, v - coefficient * y)
        return np.asarray(older + (coefficient - _inner(y, older, terms, shift) / curvature) * s)

    p[:] = applied(len(order), p)


def minimise_model(
    gradient: Array,
    start: Array,
    s: Array,
    q: Array,
    lower: Array,
    upper: Array,
    sigma: float,
    u: Array,
    m: Array,
    starts: NDArray[np.int32],
    rows: NDArray[np.int32],
    values: Array,
    n_rows: int,
    z: Array,
    accuracy: float,
    most_sweeps: int = 1000,
) -> int:
    """Coordinate descent with the whole matrix B, over all coordinates in every sweep."""
    V = np.zeros((n_rows, gradient.size))
    np.add.at(V, (rows, np.repeat(np.arange(gradient.size), np.diff(starts))), values)
    B = sigma * np.eye(gradient.size) + V.T @ V + u @ m.T
    total = 0.0
    for sweep in range(1, most_sweeps + 1):
        gained = 0.0
        for i in range(gradient.size):
            curvature = B[i, i]
            reduced = curvature * z[i] - (gradient[i] + B[i] @ (z - start))
            new = np.sign(reduced) * max(abs(reduced) - s[i], 0.0) / (curvature + q[i])
            new = min(max(new, lower[i]), upper[i])
            gained += (new - z[i]) ** 2 * (curvature + q[i])
            z[i] = new
        total += gained
        if gained <= accuracy * total:
            return sweep
    return most_sweeps


def fractional_best(
    margins: Array, positive: NDArray[np.bool_], weights: Array, loss: tuple[float, float, float], slope: float
) -> float:
    """``max delta(B, C) - slope sum c x beta`` over beta in [0, 1]^n: every kink of B with every piece of C."""
    p, r, M = loss
    sides = []
    for members in (positive, ~positive):
        order = np.argsort(margins[members], kind="stable")
        x, c = margins[members][order], weights[members][order]
        sides.append((x, np.append(0.0, np.cumsum(c)), np.append(0.0, np.cumsum(c * x))))
    (_, b, b_cost), (x, c, c_cost) = sides
    best = -np.inf
    for missed, missed_cost in zip(b, b_cost, strict=True):
        # On a piece the derivative by C is rise / (M - r B + C)^2 - slope x.
        rise = max(M - (p + r) * missed, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = np.where(x > 0.0, np.sqrt(rise / (slope * x)) - (M - r * missed), np.inf)
        for j, false in enumerate(np.append(np.clip(inside, c[:-1], c[1:]), 0.0)):
            cost = missed_cost + (c_cost[j] + x[j] * (false - c[j]) if j < x.size else 0.0)
            best = max(best, (p * missed + false) / (M - r * missed + false) - slope * cost)
    return float(best)


def fractional_levels(
    margins: Array,
    positive: NDArray[np.bool_],
    weights: Array,
    loss: tuple[float, float, float],
    slope: float,
    width: float,
    nu: float,
    count: int,
) -> tuple[float, Array]:
    """``nu log mean exp(./nu)`` over all levels ``t = k / count`` of ``t + V(t)``, and the mixture of their flips.

    ``V(t) = slope max sum c (-x beta + (w/2) beta (1 - beta))`` over beta in [0, 1]^n with ``delta(B, C) >= t``, by
    bisection for the multiplier of the constraint.
    """
    p, r, M = loss
    values, flips = np.empty(count + 1), np.empty((count + 1, margins.size))
    for k in range(count + 1):
        t = k / count
        coefficients = np.where(positive, p + r * t, 1.0 - t)

        def flipped(zeta: float, coefficients: Array = coefficients) -> Array:
            return np.clip(0.5 + (zeta * coefficients - margins) / width, 0.0, 1.0)

        def excess(zeta: float, coefficients: Array = coefficients, t: float = t) -> float:
            return float((weights * coefficients) @ flipped(zeta, coefficients)) - t * M

        low, high = 0.0, float(max(0.0, ((margins + width) / np.maximum(coefficients, 1e-300)).max()))
        if excess(low) >= 0.0:
            high = low
        while low < (middle := (low + high) / 2.0) < high:
            low, high = (middle, high) if excess(middle) < 0.0 else (low, middle)
        beta = flips[k] = flipped(high)
        values[k] = t - slope * float(weights @ (margins * beta - width / 2.0 * beta * (1.0 - beta)))
    shares = np.exp((values - values.max()) / nu)
    return float(values.max() + nu * np.log(shares.mean())), shares @ flips / shares.sum()


def flips_along(margins: Array, z: Array, shares: Array, w: float) -> Array:
    """The flips that ``flip_along`` makes of the margins of one class with the ``ramp_table`` of z, shares and w."""
    ramps: Array = np.clip(0.5 + (z - margins[:, None]) / w, 0.0, 1.0) @ shares
    return ramps


def prefix_sums(x: Array, weights: Array | None, mass: Array | None, first: Array, second: Array) -> None:
    """Sums of c, c x and c x^2 over the first 0, 1, ..., m entries."""
    c = np.ones(x.size) if weights is None else weights
    if mass is not None:
        mass[:] = np.append(0.0, np.cumsum(c))
    first[:], second[:] = np.append(0.0, np.cumsum(c * x)), np.append(0.0, np.cumsum(c * x**2))


# --- steps of the projection onto the capped simplex ------------------------------------------------------------


def collect(
    scores: Array,
    positive: Array,
    weights: Array | None,
    scale: float,
    shift: float,
    shift_step: float,
    low: float,
    high: float,
    kept: Array,
    kept_weights: Array | None,
    pieces: int,
) -> list[tuple[int, int, float]]:
    """The ``low < v < high`` of each piece: of negatives from its front on, of positives from its back."""
    v = scale * scores + (shift + shift_step * positive)
    c = np.ones(v.size) if weights is None else weights
    inside, label = (low < v) & (v < high), positive.astype(bool)
    found = []
    for begin, end in itertools.pairwise(v.size * k // pieces for k in range(pieces + 1)):
        here = np.arange(begin, end)
        negatives, positives = here[(inside & ~label)[begin:end]], here[(inside & label)[begin:end]][::-1]
        front, back = slice(begin, begin + negatives.size), slice(end - positives.size, end)
        kept[front], kept[back] = v[negatives], v[positives]
        if kept_weights is not None:
            kept_weights[front], kept_weights[back] = c[negatives], c[positives]
        found.append((negatives.size, positives.size, float(c[begin:end] @ (v[begin:end] >= high))))
    return found


def sample(
    scores: Array, positive: Array, scale: float, shift: float, shift_step: float, step: int, out: Array
) -> None:
    """``v`` of rows 0, ``step``, ``2 step``, ..."""
    out[:] = (scale * scores + (shift + shift_step * positive))[: out.size * step : step]


def sums_at(tau: float, values: Array, weights: Array | None) -> tuple[float, float, float]:
    """``sum c clip(v - tau, 0, 1)`` as a double, what that leaves of it, and the weight that is inside the ramp."""
    c = (np.ones(values.size) if weights is None else weights).astype(np.longdouble)
    u = np.clip(values - tau, 0.0, 1.0)
    mass = c @ u
    return float(mass), float(mass - float(mass)), float(c @ ((u > 0.0) & (u < 1.0)))


def root(values: Array, weights: Array | None, total: float) -> float:
    """``tau`` with ``sum c clip(v - tau, 0, 1) = total``, by bisection to the last digit: what ``RootSearch`` finds."""
    low, high = float(values.min()) - 1.0, float(values.max())
    while low < (middle := (low + high) / 2.0) < high:
        mass, lost, _ = sums_at(middle, values, weights)
        low, high = (middle, high) if (mass - total) + lost > 0.0 else (low, middle)
    return high


def weigh_cells(values: Array, weights: Array | None, low: float, high: float, cells: Array) -> None:
    """A histogram of equal cells that are open to the left, and one more for what is above."""
    c = np.ones(values.size) if weights is None else weights
    count = cells.size - 1
    inside = (low < values) & (values <= high)
    place = np.minimum((values[inside] - low) * (count / (high - low)), count - 1).astype(int)
    np.add.at(cells, place, c[inside])
    cells[count] += float(c @ (values > high))


def _places(values: Array, low: float, per_unit: float, size: int) -> tuple[Array, Array]:
    """The cell of each value, and where in it; the outermost cells are endless."""
    places = (values - low) * per_unit
    cells = np.clip(places, 0, size - 1).astype(np.intp)
    return cells, places - cells


def sum_cells(values: Array, weights: Array | None, low: float, per_unit: float, table: Array) -> None:
    """Numbers of values, weights and moments of cells."""
    c = np.ones(values.size) if weights is None else weights
    cells, places = _places(values, low, per_unit, table.shape[1])
    for row, column in zip(table, (np.ones(values.size), c, c * places), strict=True):
        row += np.bincount(cells, column, table.shape[1])


def pick_cells(
    values: Array,
    weights: Array | None,
    low: float,
    per_unit: float,
    size: int,
    one: int,
    other: int,
    kept: Array,
    kept_weights: Array,
) -> int:
    """Values and weights of two cells."""
    chosen = np.isin(_places(values, low, per_unit, size)[0], [one, other])
    found = int(chosen.sum())
    kept[:found] = values[chosen]
    kept_weights[:found] = 1.0 if weights is None else weights[chosen]
    return found


def cut_of_cells(cells: Array, above: float, total: float, low: float, high: float) -> tuple[float, float]:
    """Middle of the highest cell from which on there is more than the total, and half its width times its weight."""
    count = cells.size - 1
    width = (high - low) / count
    upwards = np.cumsum([above, *cells[::-1]])[:0:-1]  # weight from each cell on, and above all
    cell = max(np.flatnonzero(upwards[:-1] > total), default=0)
    known = upwards[cell + 1] <= total <= upwards[cell]
    return low + (cell + 0.5) * width, float(0.5 * width * cells[cell]) if known else float("inf")


def finish(
    scores: Array,
    positive: Array,
    weights: Array | None,
    scale: float,
    shift: float,
    shift_step: float,
    target_negative: float,
    target_step: float,
    slope: float,
    tau: float,
    correction: float,
    other: float,
    blend: float,
    theta: float,
    direction: Array | None,
    gradient: Array,
    pieces: int,
) -> tuple[float, float, float, float, float, float]:
    """``u`` at tau, mixed with that at the other end of a bracket and corrected where it is inside (0, 1)."""
    c = np.ones(scores.size) if weights is None else weights
    t = target_negative + target_step * positive
    v = scale * scores + (shift + shift_step * positive)
    u = (1.0 - blend) * np.clip(v - tau, 0.0, 1.0) + (blend * np.clip(v - other, 0.0, 1.0) if blend else 0.0)
    u = np.where((u > 0.0) & (u < 1.0), np.clip(u + correction, 0.0, 1.0), u)
    x, change = v - t - theta, c * (u - t)
    gradient[:] = slope * change
    along = 0.0 if direction is None else float(gradient @ direction)
    sums = -change @ positive, c @ u, change @ scores, change @ (u - t) / 2.0, c @ (np.maximum(x, 0.0) - t * x)
    missed, mass, inner, prox, violation = map(float, sums)
    return missed, mass, inner, prox, violation, along


# --- steps of the sums over pairs by bins -----------------------------------------------------------------------


def _extremes(scores: Array) -> tuple[float, float]:
    """The lowest and the highest; everything if one is NaN."""
    if np.isnan(scores).any():
        return -np.inf, np.inf
    return float(scores.min(initial=np.inf)), float(scores.max(initial=-np.inf))


def _in_bins(scores: Array, positive: Array, shift: float, shift_step: float, width: float) -> tuple[Array, Array]:
    """The bin of every row, and its position there."""
    x = scores + (shift + shift_step * positive)
    place = np.trunc(x * (1.0 / width))
    return place.astype(int), x - place * width


def bin_moments(
    scores: Array,
    positive: Array,
    weights: Array | None,
    shift: float,
    shift_step: float,
    width: float,
    lowest: float,
    highest: float,
    moments: Array,
) -> tuple[float, float]:
    """Sums of c, c x, c x^2 and 1 in each bin and class, of positions x in the bin."""
    place, x = _in_bins(scores, positive, shift, shift_step, width)
    c = np.ones(x.size) if weights is None else weights
    moments[0] = 0.0
    np.add.at(moments[0], (place, positive.astype(int)), np.column_stack([c, c * x, c * x**2, np.ones(x.size)]))
    return _extremes(scores)


def bin_lines(moments: Array, width: float, r: int, lines: Array) -> tuple[float, float, float, float]:
    """Every bin of negatives with every bin of positives, where beta and hinge are linear in ``z - a``."""
    (m, f, s, _), (n, g, t, _) = moments[:, 0].T, moments[:, 1].T
    apart = np.subtract.outer(np.arange(m.size), np.arange(m.size))
    kappa, middle, corner = r * width, (apart > 0) & (apart < r), (apart == 0) | (apart == r)
    rise = np.select([middle, corner], [1.0 / kappa, 0.5 / kappa], 0.0)
    cases = [apart < 0, apart == 0, middle, apart == r]
    start = np.select(cases, [0.0, 0.5 / r, apart / r, 1.0 - 0.5 / r], 1.0)
    lines[:, 0] = np.column_stack([start @ n - rise @ g, rise @ n]) * (m > 0.0)[:, None]
    lines[:, 1] = np.column_stack([m @ start + f @ rise, -(m @ rise)]) * (n > 0.0)[:, None]
    mass, first = np.outer(m, n), np.outer(f, n) - np.outer(m, g)
    second = np.outer(s, n) - 2.0 * np.outer(f, g) + np.outer(m, t)
    squares = start**2 * mass + 2.0 * start * rise * first + rise**2 * second
    hinges = np.select(cases[:2], [0.0 * mass, 0.5 * (first + width * mass)], apart * width * mass + first)
    return float(squares.sum()), float(hinges.sum()), float(mass[corner].sum()), float(moments[:, :, 3].max())


def bin_gradient(
    scores: Array,
    positive: Array,
    weights: Array | None,
    shift: float,
    shift_step: float,
    width: float,
    lines: Array,
    scale: float,
    direction: Array | None,
    gradient: Array,
    pieces: int,
) -> tuple[float, float, float]:
    """The line of its bin at each row, times its weight; less than nothing for positives."""
    place, x = _in_bins(scores, positive, shift, shift_step, width)
    c = np.ones(x.size) if weights is None else weights
    intercept, slope = lines[place, positive.astype(int)].T
    sums = c * (intercept + slope * x)
    gradient[:] = scale * np.where(positive == 1, -sums, sums)
    along = 0.0 if direction is None else float(gradient @ direction)
    return float(sums[positive == 0].sum()), float(gradient @ scores), along
