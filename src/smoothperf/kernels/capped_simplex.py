"""The projection onto the capped simplex, put together from the passes of :mod:`smoothperf.kernels._top_k`.

From a guess of the root, an interval around it leaves few examples undecided, and the root is found among them. If it
lies outside, the interval grows. The guess is the root of a small sample; if the root for nearby scores is known, only
the change since then is taken from the sample. Cost: two passes over the examples, and a few over the undecided ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import threads
from . import _top_k

Array = NDArray[np.float64]

#: Half the width of the first interval around a guess from nearby scores, and of one from a sample alone; in units of
#: u, which goes from 0 to 1 over a ramp.
NEAR_MARGIN = 0.1
FIRST_MARGIN = 0.5
#: From this margin on, all examples are undecided.
LAST_MARGIN = 50.0
#: Larger than any v, but finite: the kernels know no infinity.
BEYOND = 1e308
#: Size of the sample.
SAMPLE = 1 << 11
#: The cut of the exact risk is found to so many binary digits, in units of u.
CUT_DIGITS = 8
#: Rows for which a thread pays.
LEAST_ROWS = 1 << 15


class Roots(NamedTuple):
    """``mu * tau`` for all examples and for the sample, and ``mu * theta``; these carry over when mu changes."""

    all: float
    sample: float
    cut: float


class Projection(NamedTuple):
    """What comes out of a projection beside the gradient.

    Attributes
    ----------
    missed : float
        ``sum_i c_i (t_i - u_i)`` over the positives: what is missed of them beyond what the target misses.
    excess : float
        ``sum_i c_i u_i - total``: what the root finder and rounding left.
    inner : float
        ``sum_i c_i f_i (u_i - t_i)``.
    prox : float
        ``sum_i c_i (u_i - t_i)^2 / 2``.
    roots : Roots
        Where to start for nearby scores.
    ceiling : float
        ``mu sum_i c_i (max(0, x_i) - t_i x_i)`` with ``x_i = v_i - t_i - theta``. For any theta it is at least, and
        for the theta that was found almost, the maximum over u of ``sum_i c_i (slope f_i - gain [i positive]) (u_i -
        t_i)`` that is not smoothed: (prbep-ceiling).
    """

    missed: float
    excess: float
    inner: float
    prox: float
    roots: Roots
    ceiling: float


class _Undecided(NamedTuple):
    """The v of the examples inside an interval, their weights by class, and the weight above the interval."""

    negatives: Array
    positives: Array
    negative_weights: Array | None
    positive_weights: Array | None
    above: float

    def both(self) -> tuple[Array, Array | None]:
        values = np.concatenate([self.negatives, self.positives])
        if self.negative_weights is None or self.positive_weights is None:
            return values, None
        return values, np.concatenate([self.negative_weights, self.positive_weights])


def top_k_smoothed(
    scores: Array,
    positive: NDArray[np.uint8],
    weights: Array | None,
    total: float,
    slope: float,
    gain: float,
    target_positive: float,
    target_negative: float,
    mu: float,
    nearby: Roots | None,
    gradient: Array,
) -> Projection:
    """Project, and fill ``gradient = slope c (u - t)``.

    Parameters
    ----------
    weights : array or None
        ``c``; None for ones.
    nearby : Roots or None
        Those for nearby scores and any mu, if known.
    """
    target_step = target_positive - target_negative
    line = slope / mu, target_negative, target_step - gain / mu
    ranges = threads.even_ranges(scores.shape[0], least=LEAST_ROWS)
    kept_weights = None if weights is None else np.empty_like(gradient)

    def collect(low: float, high: float) -> _Undecided:
        # The undecided go where the gradient will be: no memory beyond the result.
        found = threads.over_ranges(
            lambda begin, end: _top_k.collect(
                scores, positive, weights, *line, low, high, gradient, kept_weights, begin, end
            ),
            ranges,
        )
        front = [slice(begin, begin + f[0]) for (begin, _), f in zip(ranges, found, strict=True)]
        back = [slice(end - f[1], end) for (_, end), f in zip(ranges, found, strict=True)]
        values = _joined(gradient, front), _joined(gradient, back)
        if kept_weights is None:
            return _Undecided(*values, None, None, math.fsum(f[2] for f in found))
        return _Undecided(
            *values, _joined(kept_weights, front), _joined(kept_weights, back), math.fsum(f[2] for f in found)
        )

    sampled = mu * _sampled_root(scores, positive, weights, total, line)
    if nearby is None:
        nearby = Roots(sampled, sampled, sampled)
        margin = FIRST_MARGIN
    else:
        margin = NEAR_MARGIN
    tau, cut = ((near + (sampled - nearby.sample)) / mu for near in (nearby.all, nearby.cut))
    if not abs(tau) < BEYOND:
        tau, margin = 0.0, BEYOND
    if not abs(cut - tau) <= LAST_MARGIN:
        cut = tau
    while True:
        certain = margin > LAST_MARGIN
        if certain:
            undecided = collect(-BEYOND, BEYOND)
            values, value_weights = undecided.both()
            # Everything is capped below v_min - 1 and zero above v_max.
            low, high = float(values.min()), float(values.max())
            low -= 1.0 + 4.4e-16 * abs(low)
        else:
            low, high = min(tau, cut) - margin, max(tau, cut) + margin
            undecided = collect(low, high + 1.0)
            values, value_weights = undecided.both()
        tau, outside, correction, other, blend = _top_k.root(
            values, value_weights, undecided.above, total, tau, low, high, certain
        )
        if not outside:
            break
        margin *= 6.0

    if certain:
        low, high = tau - FIRST_MARGIN, tau + FIRST_MARGIN
        undecided = collect(low, high + 1.0)
    halvings = CUT_DIGITS + math.ceil(math.log2(max(high - low, 1.0)))
    theta = _top_k.threshold(
        *undecided[:4], target_negative, target_positive, undecided.above, total, low, high, halvings
    )
    sums = threads.over_ranges(
        lambda begin, end: _top_k.finish(
            scores, positive, weights, *line, target_negative, target_step, slope,
            tau, correction, other, blend, theta, gradient, begin, end,
        ),
        ranges,
    )  # fmt: skip
    missed, mass, inner, prox, violation = (math.fsum(column) for column in zip(*sums, strict=True))
    return Projection(missed, mass - total, inner, prox, Roots(mu * tau, sampled, mu * theta), mu * violation)


def _sampled_root(
    scores: Array, positive: NDArray[np.uint8], weights: Array | None, total: float, line: tuple[float, float, float]
) -> float:
    """The root for every so manieth example."""
    scale, shift, shift_step = line
    step = max(1, scores.shape[0] // SAMPLE)
    values = scale * scores[::step] + (shift + shift_step * positive[::step])
    sample_weights = None if weights is None else np.ascontiguousarray(weights[::step])
    share = 1.0 / step
    if sample_weights is not None and weights is not None:
        share = float(sample_weights.sum()) / float(weights.sum())
    low, high = float(values.min()) - 1.0, float(values.max())
    root: float = _top_k.root(values, sample_weights, 0.0, share * total, 0.0, low, high, True)[0]
    return root


def _joined(values: Array, pieces: list[slice]) -> Array:
    return values[pieces[0]] if len(pieces) == 1 else np.concatenate([values[piece] for piece in pieces])
