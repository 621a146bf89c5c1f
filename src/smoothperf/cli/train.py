"""``smoothperf train``: fit a model to a file of examples, and save it with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._errors import INTERRUPTED, MISSED_TOLERANCE, fail, one_line_errors
from ._files import (
    check_measure,
    check_solver,
    check_writable,
    is_store,
    label_named,
    read_examples,
    read_others,
    remember_data,
    summary,
)
from ._progress import Watch
from ._screen import Screen

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
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
            help="Strength of the regulariser; 'auto' tries many and takes the one that is best on rows held out.",
        ),
    ] = "1e-4",
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation",
            metavar="FILE",
            help="For --alpha auto: choose on this file instead of cross-validation. For goals such as "
            "recall@precision=0.9: choose the threshold on it.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="For --alpha auto: how many folds.")] = 5,
    tol: options.Tolerance = 1e-3,
    max_iter: options.MaxIter = 1000,
    threads: options.Threads = None,
    solver: options.SolverName = "lbfgs",
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh the classes so that both count the same in all.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Write the state of the training to this file now and then."),
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

    Example: smoothperf train mails.svm --measure prbep --alpha 1e-4 -o model

    The model comes with a certificate: how far above the best possible its
    objective can be at most. Training ends when that gap is within --tol.
    Ctrl-C ends it earlier and saves the best model so far, if there is one.

    Of the two labels in DATA, the one that sorts last is the positive one,
    or that of --pos-label.

    Exit code: 0 if the tolerance is reached, 1 if not (the model is saved all
    the same), 2 if training could not begin, 130 after Ctrl-C.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    strength = _strength(alpha)
    check_writable(output)
    check_measure(measure)
    check_solver(solver, tol=tol, max_iter=max_iter)
    if validation is not None and strength is not None and not _is_goal(measure):
        fail("--validation is for choosing alpha: use it with --alpha auto.")
    if resume and checkpoint is None:
        fail("--resume needs --checkpoint FILE, the file to go on from.")
    if checkpoint is not None:
        check_writable(checkpoint)
        if checkpoint.exists() and not resume:
            fail(f"{checkpoint}: there is a checkpoint already; go on with --resume, remove it, or name another file.")
    stored = is_store(data, format)
    if stored and strength is None and validation is None:
        fail("--alpha auto cannot make folds of a store: give --validation FILE, or --alpha NUMBER.")
    examples = read_examples(
        screen, data, label=label, format=format, zero_based=zero_based, pos_label=pos_label, stored=True
    )

    import warnings

    from ..checkpoint import Checkpoint
    from ..estimators.classifier import MeasureClassifier
    from ..model_file import save_model

    model = MeasureClassifier(
        measure=measure,
        tol=tol,
        max_iter=max_iter,
        solver=solver,
        class_weight="balanced" if balanced else None,
        pos_label=label_named(examples, pos_label),
        n_threads=threads,
    )
    search, others = None, None
    if validation is not None:
        others = read_others(screen, validation, examples, label=label, format=format, zero_based=zero_based)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if checkpoint is not None:
            model.set_params(checkpoint=Checkpoint(checkpoint, every, resume))
        if strength is None:
            from ._alpha import choose_alpha

            search = choose_alpha(model, examples, others, folds=folds, screen=screen)
            strength = search.alpha
            caught.clear()  # what the search met on the way is not about the model
        screen.say(f"Training for {_name(measure)}, alpha {strength:g}, tolerance {tol:g}, solver {solver}")
        with Watch(screen) as watch:
            model.set_params(alpha=strength, callback=watch).fit(examples.X, None if stored else examples.y)
        if others is not None and _is_goal(measure):
            caught.clear()  # of the threshold for the training rows
            _cut_on(model, others)
    model.set_params(callback=None, checkpoint=None, n_threads=None)  # which are of this machine, not of the model
    remember_data(model, examples)
    save_model(model, output)

    score = model.score(examples.X) if stored else _training_score(model, examples.X, examples.y)
    notes = _notes(caught)
    converged = bool(model.gap_ <= tol)
    interrupted = watch.interrupted or (search is not None and search.interrupted)
    for line in _outcome(model, converged=converged, interrupted=watch.interrupted):
        screen.say(line, wrap=True)
    screen.say(f"{_name(measure)} on these rows: {score:.4f}")
    expected = getattr(model, "expected_", None)
    if expected is not None:
        for line in _expectations(expected, str(validation)):
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
            "alpha": strength,
            "alpha_search": None if search is None else search.document(),
            "solver": solver,
            "tol": tol,
            "objective": model.objective_,
            "lower_bound": model.lower_bound_,
            "gap": model.gap_,
            "converged": converged,
            "status": model.result_.status.name.lower(),
            "interrupted": interrupted,
            "iterations": model.n_iter_,
            "passes": model.result_.n_matvec + model.result_.n_rmatvec,
            "seconds": model.result_.seconds,
            "training_score": score,
            "expected": expected,
            "notes": notes,
            "model": output,
        }
    )
    if interrupted:
        raise typer.Exit(INTERRUPTED)
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


def _is_goal(measure: str) -> bool:
    from ..measures import Goal, get_measure

    return isinstance(get_measure(measure), Goal)


def _cut_on(model: MeasureClassifier, others: Dataset) -> None:
    """Choose the threshold for a goal on rows that were not trained on."""
    from ..confidence import CONFIDENCE
    from ..estimators.inputs import known_labels
    from ..measures import get_measure

    goal = get_measure(model.measure)
    scores = model.raw_scores(others.X)
    cut = goal.threshold(known_labels(others.y, model.label_pair, length=scores.shape[0]), scores)
    confidence = getattr(goal, "confidence", CONFIDENCE)
    model.set_operating_point(y=others.y, raw_scores=scores, threshold=cut, confidence=confidence)


def _expectations(expected: dict[str, Any], where: str) -> list[str]:
    """Say what the threshold does, and what new rows will show."""
    names = {"precision": "precision", "recall": "recall", "fpr": "false positive rate"}
    sure = f"{100 * expected['confidence']:g} %"
    lines = [f"Threshold chosen on {where}; new rows will show, each with {sure} confidence:"]
    for name, title in names.items():
        rate = expected[name]
        bound = f"at most {rate['high']:.4f}" if name == "fpr" else f"at least {rate['low']:.4f}"
        lines.append(f"  {title} {bound} ({rate['value']:.4f} there)")
    return lines


def _outcome(model: MeasureClassifier, *, converged: bool, interrupted: bool) -> list[str]:
    """Say how it ended, as certified."""
    result = model.result_
    passes = result.n_matvec + result.n_rmatvec
    lines = [
        f"Finished: {result.n_iter:,} iterations, {passes:,} passes over the data, {result.seconds:.2f} s",
        f"Objective {model.objective_:.6f}, certified to be at most {model.gap_:.2g} above the optimum",
    ]
    if not converged:
        why = "Interrupted: this is the best model so far." if interrupted else result.status.value
        lines.append(f"The tolerance of {model.tol:g} was not reached. {why}")
    return lines


def _training_score(model: MeasureClassifier, X: Any, y: Any) -> float:
    names = model.__dict__.pop("feature_names_in_", None)  # scikit-learn would miss them in X
    try:
        return model.score(X, y)
    finally:
        if names is not None:
            model.feature_names_in_ = names


def _name(measure: str) -> str:
    from ..evaluation import title_of
    from ..measures import get_measure

    return title_of(get_measure(measure).name)


def _notes(caught: list[Any]) -> list[str]:
    """Return warnings as sentences; that a tolerance was missed is said elsewhere."""
    from sklearn.exceptions import ConvergenceWarning

    wanted = [str(w.message) for w in caught if not issubclass(w.category, (ConvergenceWarning, DeprecationWarning))]
    return list(dict.fromkeys(wanted))
