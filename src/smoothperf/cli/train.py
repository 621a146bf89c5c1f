"""``smoothperf train``: choose what to train with, fit it to a file of examples, and save it with its certificate."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._errors import fail, one_line_errors
from ._files import Form, as_examples, check_training, check_writable, label_named, read_others, read_rows
from ._point import At, operating_point
from ._progress import Watch
from ._screen import Screen
from ._trained import Checkpoints, Trained, title

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from ..io import Dataset

AUTO = "auto"
DEFAULT_MEASURE = "roc_area"


@one_line_errors
def train(
    data: options.Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")],
    measure: options.MeasureName = None,
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
    l1_ratio: Annotated[
        list[float] | None,
        typer.Option(
            "--l1-ratio",
            metavar="SHARE",
            show_default=False,
            help="Share of absolute values in the penalty: 0 (the default) keeps all features, 1 as few as possible. "
            "Several to choose from, one option each.",
        ),
    ] = None,
    nonnegative: options.Nonnegative = False,
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
    solver: options.SolverName = AUTO,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh the classes so that both count the same in all.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Write the model so far to this file once a minute; with --alpha NUMBER.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="FILE", help="Go on from the model in this file; with --alpha NUMBER."),
    ] = None,
    pos_label: options.PosLabel = None,
    label: options.Label = None,
    query: options.Query = None,
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
    or that of --pos-label. If rows have queries (--query COLUMN, or qid: in
    svmlight), labels are grades, and a ranker is trained: whole queries are
    held out then.

    Exit code: 0 if the tolerance is reached, 1 if not, or if the model tells
    nothing (it is saved all the same), 2 if training could not begin, 130
    after Ctrl-C.
    """
    from ..io.store import is_store
    from .ranking.documents import is_ranking, refuse_for_rankings
    from .ranking.train import train_ranker

    screen = Screen(as_json=as_json, quiet=quiet)
    strength, point = _strength(alpha), operating_point(at)
    ratios = _ratios(l1_ratio, strength)
    check_writable(output)
    check_training([measure], [solver], query=query, tol=tol, max_iter=max_iter)
    kind = options.kind_of_scaling(scale, stored=is_store(data, format))
    _check_options(measure, query, strength, bound, at, validation)
    _check_checkpoint(checkpoint, resume, strength)
    form = Form(label, format, zero_based, query)
    rows = read_rows(screen, data, form)
    settings = {
        "measure": measure,
        "bound": bound,
        "tol": tol,
        "max_iter": max_iter,
        "solver": solver,
        "n_threads": threads,
    }
    if is_ranking(screen, rows, [measure]):
        refuse_for_rankings(at=at, balanced=balanced, pos_label=pos_label, l1_ratio=l1_ratio, nonnegative=nonnegative)
        how: dict[str, Any] = {
            "strength": strength,
            "folds": folds,
            "kind": kind,
            "validation": validation,
            "form": form,
            "checkpoints": Checkpoints(checkpoint, resume),
        }
        trained: Trained = train_ranker(screen, rows, settings, **how)
    else:
        examples = as_examples(screen, rows, form, pos_label=pos_label)
        others = None if validation is None else read_others(screen, validation, examples, form)
        settings |= {"measure": measure or DEFAULT_MEASURE, "class_weight": "balanced" if balanced else None}
        settings["solver"] = options.solver_for_classes(solver)
        settings |= {"pos_label": label_named(examples, pos_label), "positive": nonnegative, "l1_ratio": ratios}
        checkpoints = Checkpoints(checkpoint, resume)
        trained = _classifier(screen, examples, others, settings, strength, point, folds, kind, checkpoints)
    trained.save(output)
    trained.tell(screen, output)
    screen.document(trained.document(kind, output))
    trained.leave(output)


def _classifier(
    screen: Screen,
    examples: Dataset,
    others: Dataset | None,
    settings: dict[str, Any],
    strength: float | None,
    point: dict[str, Any] | None,
    folds: int,
    kind: str,
    checkpoints: Checkpoints,
) -> Trained:
    """Train for a measure of labels; without a strength, what to train with is chosen."""
    words = title(settings["measure"])
    with Watch(screen) as watch:
        if strength is None:
            screen.say(f"Choosing what to train with, to be good at {words}")
            settings |= {"cv": folds, "operating_point": point}
            return _choose(screen, examples, others, settings, kind, watch)
        tol, solver = settings["tol"], settings["solver"]
        screen.say(f"Training for {words}, alpha {strength:g}, tolerance {tol:g}, solver {solver}")
        settings |= {"alpha": strength, "bound": "convex" if settings["bound"] == AUTO else settings["bound"]}
        return _train(examples, others, settings, kind, point, watch, checkpoints)


def _choose(
    screen: Screen, examples: Dataset, others: Dataset | None, settings: dict[str, Any], kind: str, watch: Watch
) -> Trained:
    """Choose by rows held out, and fit to all rows."""
    from ..design.scaling import Scaling
    from ..estimators.classifier_cv import MeasureClassifierCV
    from ._choice import choice_document, choice_lines, held_out_words, stacked

    X, y = examples.X, examples.y
    if others is not None:
        X, y, settings["cv"] = stacked(examples, others)
    scaling = Scaling.of(kind, X)
    chosen = MeasureClassifierCV(**settings, callback=watch, progress=watch.choosing)
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            chosen.fit(scaling.apply(X), y)
        except KeyboardInterrupt:
            screen.document({"command": "train", "interrupted": True, "model": None})
            raise
    where = held_out_words(chosen, y) if others is None else str(others.path)
    model = chosen.as_classifier()
    scaling.fold_into(model)
    return Trained(
        model,
        examples,
        f"rows held out ({where})",
        caught,
        interrupted=watch.interrupted,
        choice=choice_document(chosen, where),
        lines=choice_lines(chosen, title(settings["measure"]), where),
    )


def _train(
    examples: Dataset,
    others: Dataset | None,
    settings: dict[str, Any],
    kind: str,
    point: dict[str, Any] | None,
    watch: Watch,
    checkpoints: Checkpoints,
) -> Trained:
    """Fit with one alpha, and cut where other rows say, if there are any."""
    from ..design.scaling import Scaling
    from ..estimators.classifier import MeasureClassifier
    from ..measures import TargetWarning

    model = MeasureClassifier(**settings, callback=watch)
    with warnings.catch_warnings(record=True, action="always") as caught:
        scaling = Scaling.of(kind, examples.X)
        checkpoints.prepare(model, examples, scaling, scaling.fold_into)
        model.fit(scaling.apply(examples.X), examples.y)
        scaling.fold_into(model)
        if others is not None:
            # Warnings about targets that the training rows miss: the threshold is chosen on other rows now.
            caught[:] = [warning for warning in caught if not issubclass(warning.category, TargetWarning)]
            _cut_on(model, others, point)
    return Trained(model, examples, "" if others is None else str(others.path), caught, interrupted=watch.interrupted)


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


def _ratios(l1_ratio: list[float] | None, strength: float | None) -> Any:
    """Return one share of absolute values, or several to choose from."""
    ratios = l1_ratio or [0.0]
    for ratio in ratios:
        if not 0.0 <= ratio <= 1.0:
            fail(f"--l1-ratio must lie between 0 and 1, got {ratio:g}.")
    if strength is not None and len(ratios) > 1:
        fail("--l1-ratio is given more than once, to choose from; with --alpha NUMBER nothing is chosen: give one.")
    return ratios if len(ratios) > 1 else ratios[0]


def _check_options(
    measure: str | None,
    query: str | None,
    strength: float | None,
    bound: str,
    at: str | None,
    validation: Path | None,
) -> None:
    """Fail where options do not go together, before a large file is read."""
    from .._validation import choice
    from ..measures import Goal, get_measure
    from .ranking.documents import is_label_measure

    choice("--bound", bound, (AUTO, "convex", "tight"))
    if strength is None:
        return
    if at is not None and validation is None:
        fail(
            f"--at {at} needs rows that are not trained on: with --alpha NUMBER give them as --validation FILE, or "
            "leave out --alpha."
        )
    is_goal = measure is not None and is_label_measure(measure) and isinstance(get_measure(measure), Goal)
    if validation is not None and at is None and not is_goal:
        ranks = query is not None or (measure is not None and not is_label_measure(measure))
        cut = "" if ranks else ", or, if rows are not to be ranked, say with --at where to cut"
        fail(f"--validation is for a choice: leave out --alpha{cut}.")


def _check_checkpoint(checkpoint: Path | None, resume: Path | None, strength: float | None) -> None:
    for option, given in (("--checkpoint", checkpoint), ("--resume", resume)):
        if given is not None and strength is None:
            fail(f"{option} is for one training, not for a choice among many: give --alpha NUMBER.")
    if checkpoint is None:
        return
    check_writable(checkpoint)
    if checkpoint.exists() and resume is None:
        fail(f"{checkpoint}: there is a file already; go on with --resume {checkpoint}, remove it, or name another.")


def _cut_on(model: MeasureClassifier, others: Dataset, point: dict[str, Any] | None) -> None:
    """Choose the threshold on rows that were not trained on: where the user wants it, or for a goal."""
    from ..cuts.confidence import CONFIDENCE
    from ..estimators.scores import known_labels
    from ..measures import get_measure

    if point is not None:
        model.set_operating_point(others.X, others.y, **point)
        return
    goal = get_measure(model.measure)
    scores = model.raw_scores(others.X)
    cut = goal.threshold(known_labels(others.y, model.label_pair, length=scores.shape[0]), scores)
    confidence = getattr(goal, "confidence", CONFIDENCE)
    model.set_operating_point(y=others.y, raw_scores=scores, threshold=cut, confidence=confidence)
