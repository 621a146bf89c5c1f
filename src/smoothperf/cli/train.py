"""``smoothperf train``: choose what to train with, fit it to a file of examples, and save it with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._errors import INTERRUPTED, MISSED_TOLERANCE, TELLS_NOTHING, complain, fail, one_line_errors
from ._files import (
    check_measure,
    check_solver,
    check_writable,
    label_named,
    read_examples,
    read_others,
    remember_data,
    summary,
)
from ._point import At, expectations, operating_point
from ._progress import Watch
from ._screen import Screen

if TYPE_CHECKING:
    from ..design.scaling import Scaling
    from ..estimators.classifier import MeasureClassifier
    from ..estimators.cross_validation import MeasureClassifierCV
    from ..io import Dataset

AUTO = "auto"


@one_line_errors
def train(
    data: options.Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")],
    measure: options.MeasureName = "roc_area",
    alpha: Annotated[
        str,
        typer.Option(
            "--alpha",
            "-a",
            metavar="NUMBER|auto",
            help="Strength of the regulariser; 'auto' chooses it, and the risk, by rows held out.",
        ),
    ] = AUTO,
    bound: options.Bound = AUTO,
    at: At = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation",
            metavar="FILE",
            help="Hold out these rows instead of folds of DATA: to choose by, which then are trained on too; with "
            "--alpha NUMBER for the threshold only, of --at or of a goal such as recall@precision=0.9.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="For --alpha auto: how many folds.")] = 5,
    scale: options.Scale = None,
    tol: options.Tolerance = 1e-3,
    max_iter: options.MaxIter = 1000,
    threads: options.Threads = None,
    solver: options.SolverName = "lbfgs",
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh the classes so that both count the same in all.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Write the state of the training to this file now and then; with --alpha NUMBER.",
        ),
    ] = None,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="For --checkpoint: time between two states.")
    ] = 60.0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the state in the --checkpoint file, if there is one.")
    ] = False,
    pos_label: options.PosLabel = None,
    label: options.Label = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a linear model for a performance measure, and save it.

    Example: smoothperf train mails.svm --measure f1 -o model

    Rows held out decide what to train with, how strongly to regularise, and
    where to predict positive: five folds, or those of --validation. With
    --alpha NUMBER one model is trained, with the risk of the measure.

    The model comes with a certificate: how far above the best possible its
    objective can be at most. Training ends when that gap is within --tol.
    Ctrl-C ends it earlier and saves the best model so far, if there is one;
    while the choice is made there is none.

    Of the two labels in DATA, the one that sorts last is the positive one,
    or that of --pos-label.

    Exit code: 0 if the tolerance is reached, 1 if not, or if the model tells
    nothing (it is saved all the same), 2 if training could not begin, 130
    after Ctrl-C.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    strength = _strength(alpha)
    point = operating_point(at)
    check_writable(output)
    check_measure(measure)
    check_solver(solver, tol=tol, max_iter=max_iter)
    from ..io.store import is_store

    stored = is_store(data, format)
    kind = options.kind_of_scaling(scale, stored=stored)
    _check_options(data, strength, bound, at, validation, stored, goal=_is_goal(measure))
    _check_checkpoint(checkpoint, resume, strength)
    examples = read_examples(
        screen, data, label=label, format=format, zero_based=zero_based, pos_label=pos_label, stored=True
    )
    others = None
    if validation is not None:
        others = read_others(screen, validation, examples, label=label, format=format, zero_based=zero_based)

    import warnings

    from ..evaluation import tells_nothing
    from ..io.checkpoint import Checkpoint
    from ..measures import get_measure

    settings = {
        "measure": measure,
        "tol": tol,
        "max_iter": max_iter,
        "solver": solver,
        "class_weight": "balanced" if balanced else None,
        "pos_label": label_named(examples, pos_label),
        "n_threads": threads,
    }
    choice, where, outcome = None, str(validation), list[str]()
    with warnings.catch_warnings(record=True) as caught, Watch(screen) as watch:
        warnings.simplefilter("always")
        if strength is None:
            screen.say(f"Choosing what to train with, to be good at {_name(measure)}")
            try:
                chosen, scaling = _choose(examples, others, settings, bound, folds, point, kind, watch)
            except KeyboardInterrupt:
                screen.document({"command": "train", "interrupted": True, "model": None})
                raise
            from ._choice import choice_document, choice_lines, held_out_words

            where = held_out_words(chosen, examples.y) if others is None else str(validation)
            choice, outcome = choice_document(chosen, where), choice_lines(chosen, _name(measure), where)
            where = f"rows held out ({where})"
            model, strength = chosen.as_classifier(), chosen.alpha_
        else:
            screen.say(f"Training for {_name(measure)}, alpha {strength:g}, tolerance {tol:g}, solver {solver}")
            state = None if checkpoint is None else Checkpoint(checkpoint, every, resume)
            settings |= {"alpha": strength, "bound": "convex" if bound == AUTO else bound, "checkpoint": state}
            model, scaling = _train(examples, settings, kind, watch, stored=stored)
        if scaling is not None:
            scaling.fold_into(model)
        if choice is None and others is not None:
            caught[:] = [warning for warning in caught if not _is_of_targets(warning)]  # of the training rows
            _cut_on(model, others, point)
    model.set_params(callback=None, checkpoint=None, n_threads=None)  # which are of this machine, not of the model
    scores = model.positive_scores(examples.X)
    constant = tells_nothing(scores)
    score = get_measure(measure).score(examples.y == model.label_pair[1], scores)
    remember_data(model, examples)
    model.save(output)

    notes = _notes(caught, constant=constant)
    converged = bool(model.result_.reached <= tol)
    for line in outcome:
        screen.say(line)
    for line in _ending(model, converged=converged, interrupted=watch.interrupted):
        screen.say(line, wrap=True)
    screen.say(f"{_name(measure)} on these rows: {score:.4f}")
    expected = getattr(model, "expected_", None)
    if expected is not None:
        for line in expectations(expected, where):
            screen.say(line)
    screen.say(f"Saved: {output}")
    for note in notes:
        screen.note(note)
    screen.document(
        {
            "command": "train",
            "data": summary(examples),
            "measure": measure,
            "pos_label": model.label_pair[1].item(),
            "trained_with": model.trained_with.name,
            "bound": model.bound,
            "alpha": strength,
            "choice": choice,
            "scale": kind,
            "solver": solver,
            "tol": tol,
            "objective": model.objective_,
            "lower_bound": model.lower_bound_,
            "gap": model.gap_,
            "stationarity_gap": model.stationarity_gap_,
            "converged": converged,
            "constant": constant,
            "status": model.result_.status.name.lower(),
            "interrupted": watch.interrupted,
            "iterations": model.n_iter_,
            "passes": model.result_.n_matvec + model.result_.n_rmatvec,
            "seconds": model.result_.seconds,
            "training_score": score,
            "expected": expected,
            "notes": notes,
            "model": output,
        }
    )
    if constant:
        remedy = (
            "Whatever was tried does no better: perhaps the features have nothing to do with the labels."
            if choice is not None
            else "Leave out --alpha to have it chosen, or give a smaller one."
        )
        complain(f"{output}: this model tells nothing: it has the same score for all rows. {remedy}")
    if watch.interrupted:
        raise typer.Exit(INTERRUPTED)
    if constant:
        raise typer.Exit(TELLS_NOTHING)
    if not converged:
        raise typer.Exit(MISSED_TOLERANCE)


def _strength(alpha: str) -> float | None:
    """Return alpha as a number, None for auto."""
    if alpha == AUTO:
        return None
    try:
        value = float(alpha)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < float("inf"):
        fail(f"--alpha must be a number above 0 or 'auto', got {alpha!r}.")
    return value


def _check_options(
    data: Path, strength: float | None, bound: str, at: str | None, validation: Path | None, stored: bool, *, goal: bool
) -> None:
    """Fail where options do not go together, before a large file is read."""
    from .._validation import choice

    choice("--bound", bound, (AUTO, "convex", "tight"))
    if strength is None:
        if stored:
            fail(f"{data}: a store cannot be cross-validated, as its rows are not in memory: give --alpha NUMBER.")
        return
    if at is not None and validation is None:
        fail(
            f"--at {at} needs rows that are not trained on: with --alpha NUMBER give them as --validation FILE, or "
            "leave out --alpha."
        )
    if validation is not None and at is None and not goal:
        fail("--validation is for a choice: leave out --alpha, or say with --at where to cut.")


def _check_checkpoint(checkpoint: Path | None, resume: bool, strength: float | None) -> None:
    if checkpoint is None:
        if resume:
            fail("--resume needs --checkpoint FILE, the file to go on from.")
        return
    if strength is None:
        fail("--checkpoint is for one training, not for a choice among many: give --alpha NUMBER.")
    check_writable(checkpoint)
    if checkpoint.exists() and not resume:
        fail(f"{checkpoint}: there is a checkpoint already; go on with --resume, remove it, or name another file.")


def _is_goal(measure: str) -> bool:
    from ..measures import Goal, get_measure

    return isinstance(get_measure(measure), Goal)


def _choose(
    examples: Dataset,
    others: Dataset | None,
    settings: dict[str, Any],
    bound: str,
    folds: int,
    point: dict[str, Any] | None,
    kind: str,
    watch: Watch,
) -> tuple[MeasureClassifierCV, Scaling | None]:
    """Choose by rows held out, and fit to all rows; scaled, as the second value says."""
    from ..design.scaling import Scaling
    from ..estimators.cross_validation import MeasureClassifierCV
    from ._choice import stacked

    X, y, cv = (examples.X, examples.y, folds) if others is None else stacked(examples, others)
    scaling = Scaling.of(kind, X)
    model = MeasureClassifierCV(
        **settings, bound=bound, cv=cv, operating_point=point, callback=watch, progress=watch.choosing
    )
    return model.fit(X if scaling is None else scaling.apply(X), y), scaling


def _train(
    examples: Dataset, settings: dict[str, Any], kind: str, watch: Watch, *, stored: bool
) -> tuple[MeasureClassifier, Scaling | None]:
    """Fit with one alpha; scaled, as the second value says."""
    from ..design.scaling import Scaling
    from ..estimators.classifier import MeasureClassifier

    model = MeasureClassifier(**settings, callback=watch)
    if stored:
        return model.fit(examples.X), None
    scaling = Scaling.of(kind, examples.X)
    return model.fit(examples.X if scaling is None else scaling.apply(examples.X), examples.y), scaling


def _cut_on(model: MeasureClassifier, others: Dataset, point: dict[str, Any] | None) -> None:
    """Choose the threshold on rows that were not trained on: where the user wants it, or for a goal."""
    from ..estimators.inputs import known_labels
    from ..measures import get_measure
    from ..measures.confidence import CONFIDENCE

    if point is not None:
        model.set_operating_point(others.X, others.y, **point)
        return
    goal = get_measure(model.measure)
    scores = model.raw_scores(others.X)
    cut = goal.threshold(known_labels(others.y, model.label_pair, length=scores.shape[0]), scores)
    confidence = getattr(goal, "confidence", CONFIDENCE)
    model.set_operating_point(y=others.y, raw_scores=scores, threshold=cut, confidence=confidence)


def _ending(model: MeasureClassifier, *, converged: bool, interrupted: bool) -> list[str]:
    """Say how it ended, as certified."""
    result = model.result_
    passes = result.n_matvec + result.n_rmatvec
    meaning = (
        "with which no convex step can gain more than {:.2g}"
        if model.bound == "tight"
        else "certified to be at most {:.2g} above the optimum"
    )
    lines = [
        f"Finished: {result.n_iter:,} iterations, {passes:,} passes over the data, {result.seconds:.2f} s",
        f"Objective {model.objective_:.6f}, {meaning.format(result.reached)}",
    ]
    if not converged:
        why = "Interrupted: this is the best model so far." if interrupted else result.status.value
        lines.append(f"The tolerance of {model.tol:g} was not reached. {why}")
    return lines


def _name(measure: str) -> str:
    from ..evaluation import title_of
    from ..measures import get_measure

    return title_of(get_measure(measure).name)


def _is_of_targets(warning: Any) -> bool:
    from ..measures import TargetWarning

    return issubclass(warning.category, TargetWarning)


def _notes(caught: list[Any], *, constant: bool = False) -> list[str]:
    """Return warnings as sentences; that a tolerance was missed, or a model tells nothing, is said elsewhere."""
    from sklearn.exceptions import ConvergenceWarning

    from ..estimators.classifier import ZeroModelWarning

    elsewhere = (ConvergenceWarning, DeprecationWarning, *((ZeroModelWarning,) if constant else ()))
    wanted = [str(w.message) for w in caught if not issubclass(w.category, elsewhere)]
    return list(dict.fromkeys(wanted))
