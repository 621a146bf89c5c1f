"""The training of a model, which classifiers and rankers share: the numbers, and the sections of a report on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from .._arrays import Array
from ..evaluation import title_of
from .charts import Axis, Chart
from .thinning import column_extremes

if TYPE_CHECKING:
    from ..estimators.linear import CertifiedModel

#: Most points of the convergence curves.
TRACE_COLUMNS = 150
SOLVERS = {
    "auto": "L-BFGS",
    "lbfgs": "L-BFGS",
    "nesterov": "Nesterov's accelerated gradient",
    "newton": "Newton's method",
    "bmrm": "BMRM (cutting planes)",
}
#: Minimised directly, not through a bound of one minus the score.
LOSSES = ("log_loss", "squared_hinge", "squared_loss", "pooled_squared_loss")


@dataclass(frozen=True)
class TrainingFacts:
    """The training of a model and how far it got.

    Attributes
    ----------
    measure, solver : str
        Names as the estimator takes them.
    trained_with, bound : str
        The measure whose risk was minimised, which may be another one, and whether that is the "convex" or the "tight".
    decides : bool
        Whether the measure is one of decisions, which a threshold makes.
    alpha, tol : float
        Strength of the regulariser, and the gap that was asked for.
    rows : tuple of (int, int) or None
        Negative and positive training rows; None in models of earlier versions, which do not know.
    origin : dict of str to str
        "date" and "smoothperf", the version, of the fit, and "data", the name of the training file, as far as known.
    n_features, n_iter, passes : int
        Columns of X, iterations, and products with X and its transpose.
    seconds : float
        Time of the fit.
    objective, lower_bound, gap : float
        The certificate. For the tight bound there is no lower bound (NaN), and the gap is what a convex step may gain.
    status : str
        The end of the run, in words.
    converged : bool
        Whether the gap is within the tolerance.
    trace : dict of str to ndarray
        Columns ``iteration``, ``passes``, ``objective`` (best so far), ``lower_bound`` and ``gap``; empty arrays if
        the model does not know its past.
    penalty : dict of str to str
        Penalty and bounds of weights in words, as far as they are not the default.
    bounded : bool
        Whether weights were kept within bounds: the certificate speaks of such weights only.
    averaged : dict of str to float
        Shares of the models that this one is an average of, all else being about the first; empty if it is none.
    """

    measure: str
    trained_with: str
    bound: str
    solver: str
    alpha: float
    tol: float
    origin: dict[str, str]
    n_features: int
    n_iter: int
    passes: int
    seconds: float
    objective: float
    lower_bound: float
    gap: float
    status: str
    converged: bool
    trace: dict[str, Array]
    decides: bool = False
    rows: tuple[int, int] | None = None
    penalty: dict[str, str] = field(default_factory=dict)
    bounded: bool = False
    averaged: dict[str, float] = field(default_factory=dict)


def training_of(model: CertifiedModel, measure: str, trained_with: str, bound: str, **more: Any) -> TrainingFacts:
    """Return all that a model knows of its training; ``more`` is what not all models have."""
    result, solver = model.result_, model.solver
    return TrainingFacts(
        measure=measure,
        trained_with=trained_with,
        bound=bound,
        solver=solver if isinstance(solver, str) else type(solver).__name__.lower(),
        alpha=float(getattr(model, "alpha_", model.alpha)),
        tol=float(model.tol),
        origin=dict(getattr(model, "origin_", {})),
        n_features=model.coef_.size,
        n_iter=int(model.n_iter_),
        passes=int(result.n_matvec + result.n_rmatvec),
        seconds=float(result.seconds),
        objective=float(model.objective_),
        lower_bound=float(model.lower_bound_),
        gap=float(result.reached),
        status=result.status.value,
        converged=bool(result.reached <= model.tol),
        trace=traced(result.trace),
        **more,
    )


def made_now() -> str:
    """Say when a page is made, and by which version."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by smoothperf {__version__}"


def traced(trace: Any) -> dict[str, Array]:
    """Return the columns of a trace, thinned if they are long."""
    columns = {name: trace[name] for name in ("iteration", "passes", "objective", "lower_bound", "gap")}
    columns["objective"] = np.minimum.accumulate(columns["objective"])
    passes = columns["passes"]
    if passes.shape[0] <= 4 * TRACE_COLUMNS:
        return columns
    # The gap never rises, so the first and last of a column are its extremes, for the bounds too.
    kept = column_extremes(passes / passes[-1], columns["gap"], TRACE_COLUMNS)
    return {name: values[kept] for name, values in columns.items()}


def banner(training: TrainingFacts, *, constant: bool, empty: bool) -> str:
    """Say so, before anything else, if the model is constant; ``empty`` if it has no weight at all."""
    if not constant:
        return ""
    if empty:
        why = (
            f"All its weights are 0, as the regulariser, alpha {training.alpha:g}, is too strong for what the "
            "measure has to gain. Train with a smaller alpha or with the tight bound, or let both be chosen."
        )
    else:
        why = "Its weights are on features that are the same in all these examples."
    return (
        '<div class="banner" role="alert"><p><b>\u2717 This model is constant: all examples have the same score.</b>'
        f"</p><p>{why}</p></div>"
    )


def tag_of(name: str, training: TrainingFacts) -> str:
    """Return a tag of the measure that the model was made for; nothing of the others."""
    if name != training.measure:
        return ""
    return "Trained for this" if training.trained_with == training.measure else "Chosen for this"


def training_tile(training: TrainingFacts, *, constant: bool) -> str:
    """Say how good the training is."""
    members = len(training.averaged)
    name = f"Training, of the first of {members} models that are averaged" if members > 1 else "Training"
    return (
        f'<div class="card tile certified"><p class="name">{name}</p>{_verdict(training, constant=constant)}'
        f'<p class="range">objective {training.objective:.5f}, gap asked for {training.tol:g}</p></div>'
    )


def _verdict(training: TrainingFacts, *, constant: bool) -> str:
    """Return the most important thing about the model, in green, orange or red."""
    if constant:
        return '<p class="verdict bad">\u2717 It is constant</p>'
    tight = training.bound == "tight"
    if training.converged:
        words = "Stationary: no convex step gains more than {}" if tight else "Within {} of the optimum, certified"
        return f'<p class="verdict good">\u2713 {words.format(f"{training.gap:.2g}")}</p>'
    words = "a convex step may gain up to {}" if tight else "up to {} above the optimum"
    return f'<p class="verdict warn">\u26a0 Stopped early: {words.format(f"{training.gap:.2g}")}</p>'


def certificate(training: TrainingFacts) -> str:
    """Say what is certified."""
    share = f" ({training.gap / training.lower_bound:.2%})" if training.lower_bound > 0.0 else ""
    reached = (
        f"That is within the tolerance of {training.tol:g} that was asked for."
        if training.converged
        else f"The tolerance of {training.tol:g} that was asked for was not reached: longer training, with more "
        "iterations, could lower the objective by at most this gap."
    )
    which = "No weights within the bounds" if training.bounded else "No weights whatsoever"
    this = "the first of them" if len(training.averaged) > 1 else "this model"
    certified = (
        f"{which} bring it below <b>{training.lower_bound:.6g}</b>, so {this} is at most "
        f"<b>{training.gap:.2g}</b>{share} above the best there is."
    )
    proof = "The bound is a proof, not an estimate: it comes from cutting planes of the exact objective, "
    if training.bound == "tight":
        certified = (
            f"No convex step from here brings it down by more than <b>{training.gap:.2g}</b>. It is not convex, and "
            "nobody knows how far above the best there is that is."
        )
        proof = "What a step may gain is a bound, not an estimate, "
    return (
        '<div class="card certificate">'
        f"<p>Training minimises {escape(_objective(training))} on the training data. At {this} it is "
        f"<b>{training.objective:.6g}</b>. {certified} {reached}</p>"
        f'<p class="aside">{proof}'
        f"with rounding errors taken off. How the run ended: {escape(training.status)}</p></div>"
    )


def convergence(training: TrainingFacts) -> str:
    """Draw how training went."""
    trace = training.trace
    if trace["passes"].shape[0] < 2:
        return '<p class="aside">The model holds no trace of more than one iteration, so there is no curve.</p>'
    passes = trace["passes"].tolist()
    along = Axis("passes over the data", 0.0, passes[-1])
    gaps = np.where(np.isfinite(trace["gap"]) & (trace["gap"] > 0.0), trace["gap"], np.nan)
    first, last = float(np.nanmax(gaps)), float(np.nanmin(gaps))
    decades = Axis(
        "certified gap",
        10.0 ** np.floor(np.log10(min(last, training.tol)) + 1e-9),
        10.0 ** np.ceil(np.log10(max(first, 10.0 * training.tol)) - 1e-9),
        log=True,
    )
    tight = training.bound == "tight"
    title = "What a convex step may gain" if tight else "How far from the optimum"
    gap = Chart("gap", title, f"The gap fell from {first:.2g} to {last:.2g}.", along, decades)
    shown = np.isfinite(gaps)
    gap.line([0.0, passes[-1]], [training.tol] * 2, "reference")
    gap.line(trace["passes"][shown], gaps[shown], "curve")
    gap.legend("curve", "certified gap")
    gap.legend("reference", f"tolerance {training.tol:g}")

    if tight:  # whose steps have a lower bound each, and all together have none
        return f'<div class="card">{gap.render()}</div>'
    height = Axis("objective", 0.0, 1.05 * float(trace["objective"].max()))
    if 0.0 < training.lower_bound < 0.02 * height.high:  # all that matters would be at the very bottom
        decade = float(np.floor(np.log10(training.lower_bound)))
        height = Axis("objective", 10.0**decade, height.high, log=True)
    between = Chart(
        "bounds",
        "Closing in from both sides",
        f"The objective fell to {training.objective:.5g}, its lower bound rose to {training.lower_bound:.5g}.",
        along,
        height,
    )
    between.line(passes, trace["objective"], "curve")
    between.line(passes, np.nan_to_num(trace["lower_bound"], neginf=0.0), "second")
    between.legend("curve", "best objective so far")
    between.legend("second", "lower bound of the optimum")
    return f'<div class="pair"><div class="card">{gap.render()}</div><div class="card">{between.render()}</div></div>'


def risk_of(training: TrainingFacts) -> str:
    """Name what was minimised: a loss, or the bound of a measure."""
    name = title_of(training.trained_with).removeprefix("minus ")
    return name if _is_loss(training) else f"{name}, {training.bound} bound"


def _is_loss(training: TrainingFacts) -> bool:
    """Whether a loss was minimised; its name may say what is unusual about it."""
    return training.trained_with.partition(", ")[0] in LOSSES


def _objective(training: TrainingFacts) -> str:
    """Say what was minimised, in half a sentence."""
    name = title_of(training.trained_with).removeprefix("minus ")
    if _is_loss(training):
        return f"the regularised {name}"
    kind = "tight upper bound" if training.bound == "tight" else "upper bound"
    return f"a regularised {kind} of 1 \u2212 {name}"
