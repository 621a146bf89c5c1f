"""``smoothperf train``: choose what to train with, fit it to a file of examples, and save it with its certificate."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as options
from ._bends import Bends
from ._choice import choice_document, choice_lines, held_out_words
from ._errors import fail
from ._features import features_for, unscale
from ._files import check_writable, read_rows
from ._many import are_many, check_average, train_many
from ._point import At, operating_point
from ._progress import Watch
from ._screen import Screen
from ._sparse import Bounds, Sparsity, bounds_of
from ._trained import Checkpoints, Trained
from .kinds import Labels, ManyLabels, SingleKind, check_training, kind_of_rows

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from ..io import Dataset

AUTO = "auto"
FOLDS = 5


def train(
    data: options.Data,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")],
    measure: options.MeasureName = None,
    average: Annotated[
        str | None,
        typer.Option(
            "--average",
            metavar="KIND",
            show_default="macro",
            help="With many labels: macro, the mean of the measure over labels, or micro, that of all decisions (F1).",
        ),
    ] = None,
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
    sparsity: Sparsity,
    nonnegative: options.Nonnegative = False,
    bounds: Bounds,
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
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            metavar="N",
            min=2,
            show_default="5; 3 with many labels",
            help="For --alpha auto: how many folds.",
        ),
    ] = None,
    calibration: Annotated[
        str | None,
        typer.Option(
            "--calibration",
            metavar="KIND",
            show_default=False,
            help="Calibrate scores to probabilities, for 'predict --proba', by rows held out: sigmoid or isotonic.",
        ),
    ] = None,
    scale: options.Scale = None,
    columns: options.ColumnOptions,
    bends: Bends,
    effort: options.Effort,
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
    form: options.LabelForm,
    screen: Screen,
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
    held out then. Rows may have any number of labels, in a column that lists
    them (--labels topics), in columns of 0 and 1, or in svmlight with commas:
    then each label has a choice of its own.

    Exit code: 0 if the tolerance is reached, 1 if not, or if the model tells
    nothing (it is saved all the same), 2 if training could not begin, 130
    after Ctrl-C.
    """
    from ..cuts.targets import check_count
    from ..io.store import is_store

    strength, point = _strength(alpha), operating_point(at)
    fewest = sparsity.settings(strength)
    ratios = _ratios(l1_ratio or ([1.0] if fewest else None), strength)
    check_writable(output)
    check_training([measure], [solver], form, tol=effort.tol, max_iter=effort.max_iter)
    scaled = options.kind_of_scaling(scale, stored=is_store(data, form.format))
    limits = bounds.checked(scaled)
    bends = bends.checked(alone=strength is not None)
    _check_options(measure, form, strength, bound, at, validation)
    _check_calibration(calibration, strength)
    check_average(average)
    checkpoints = Checkpoints(checkpoint, resume)
    checkpoints.check(strength)
    rows = read_rows(screen, data, form, columns=columns)
    if are_many(rows, average):
        many = ManyLabels(screen, form)
        many.refuse(at=at, balanced=balanced, pos_label=pos_label, l1_ratio=l1_ratio, nonnegative=nonnegative)
        many.refuse(calibration=calibration, validation=validation, checkpoint=checkpoint, resume=resume)
        many.refuse(max_features=sparsity.max_features, sparsest=sparsity.sparsest, coef_bounds=bounds.coef_bounds)
        many.refuse(solver=None if solver == AUTO else solver, features=bends.asked, monotone=bends.monotone)
        wanted: dict[str, Any] = {
            "measure": measure or many.default_measure,
            "average": average or "macro",
            "bound": bound,
        }
        wanted |= {**effort.settings(), "n_jobs": effort.threads or -1}
        train_many(many, rows, wanted, strength=strength, folds=folds, scale=scale, output=output)
        return
    kind = kind_of_rows(screen, rows, [measure], form)
    kind.refuse(at=at, balanced=balanced, pos_label=pos_label, l1_ratio=l1_ratio, nonnegative=nonnegative)
    kind.refuse(
        calibration=calibration,
        max_features=sparsity.max_features,
        sparsest=sparsity.sparsest,
        coef_bounds=bounds.coef_bounds,
    )
    if kind.ranks and strength is not None and validation is not None:
        fail("--validation is for a choice, and with --alpha NUMBER there is none in a ranking: leave out one.")
    measure = measure or kind.default_measure
    examples = kind.checked(rows, [measure], pos_label=pos_label)
    others = None if validation is None else kind.others(validation, examples, [measure])
    check_count(point or {}, (examples if strength is None or others is None else others).X.shape[0])
    shared = {"measure": measure, "bound": bound, "solver": solver, **effort.settings()}
    for_labels = {
        "class_weight": "balanced" if balanced else None,
        "l1_ratio": ratios,
        "positive": nonnegative,
        "coef_bounds": bounds_of(examples, limits),
        **fewest,
        "pos_label": pos_label,
    }
    if strength is None:
        for_labels |= {"operating_point": point, "calibration": calibration}
    settings = kind.settings(examples, shared, for_labels)
    with Watch(screen) as watch:
        if strength is None:
            of_columns = kind.ranks or nonnegative or ratios != 0.0 or bool(fewest) or bool(limits)
            chosen = bends.by_default(examples, of_columns=of_columns)
            trained = _choose(kind, examples, others, settings, folds or FOLDS, scaled, chosen, watch)
        else:
            settings["alpha"] = strength
            trained = _train(kind, examples, others, settings, point, scaled, bends, watch, checkpoints)
    trained.save(output)
    trained.tell(output)
    screen.document(trained.document(scaled, output))
    trained.leave(output)


def _choose(
    kind: SingleKind,
    examples: Dataset,
    others: Dataset | None,
    settings: dict[str, Any],
    folds: int,
    scaled: str,
    bends: Bends,
    watch: Watch,
) -> Trained:
    """Choose what to train with by what is held out, and fit to all rows."""
    title = kind.title(settings["measure"])
    kind.screen.say(f"Choosing what to train with, to be good at {title}")
    data: Dataset = examples
    cv: Any = folds
    if others is not None:
        data, cv = kind.stacked(examples, others)
    settings = {**settings, "features": bends.made(data, features_for(data, scaled))}
    choosing = kind.choosing(examples, {**settings, "cv": cv, "callback": watch, "progress": watch.choosing})
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            choosing.fit(data.X, **kind.known(data))
        except KeyboardInterrupt:
            kind.screen.document({"command": "train", "interrupted": True, "model": None})
            raise
    where = str(others.path) if others is not None else held_out_words(kind, choosing, examples, folds)
    model = kind.chosen(choosing)
    unscale(kind, model)
    return Trained(
        kind,
        model,
        examples,
        f"rows held out ({where})",
        caught,
        interrupted=watch.interrupted,
        choice=choice_document(choosing, where),
        lines=[*bends.told(choosing), *choice_lines(choosing, title, where, kind.unit)],
    )


def _train(
    kind: SingleKind,
    examples: Dataset,
    others: Dataset | None,
    settings: dict[str, Any],
    point: dict[str, Any] | None,
    scaled: str,
    bends: Bends,
    watch: Watch,
    checkpoints: Checkpoints,
) -> Trained:
    """Fit with one alpha, and cut where other rows say, if there are any."""
    from ..design.scaling import Scaling
    from ..measures import TargetWarning

    solver = "" if kind.ranks else f", solver {settings['solver']}"
    details = f"alpha {settings['alpha']:g}, tolerance {settings['tol']:g}{solver}"
    kind.screen.say(f"Training for {kind.title(settings['measure'])}, {details}")
    model = kind.single({**settings, "callback": watch})
    with warnings.catch_warnings(record=True, action="always") as caught:
        scaling, X = Scaling(), examples.X
        if examples.encoder is None and not bends.asked:
            scaling = Scaling.of(scaled, X)
            X = scaling.apply(X)
        else:
            model.set_params(features=bends.made(examples, features_for(examples, scaled)))
        checkpoints.prepare(kind, model, examples, scaling)
        model.fit(X, **kind.known(examples))
        kind.unscale(scaling, model)
        if others is not None:
            # Warnings about targets that the training rows miss: the threshold is chosen on other rows now.
            caught[:] = [warning for warning in caught if not issubclass(warning.category, TargetWarning)]
            _cut_on(model, others, point)
    where = "" if others is None else str(others.path)
    return Trained(kind, model, examples, where, caught, interrupted=watch.interrupted)


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
    form: options.Form,
    strength: float | None,
    bound: str,
    at: str | None,
    validation: Path | None,
) -> None:
    """Fail where options do not go together, before a large file is read."""
    from .._validation import choice
    from ..measures import Goal, get_measure

    choice("--bound", bound, (AUTO, "convex", "tight"))
    if strength is None:
        return
    if at is not None and validation is None:
        fail(
            f"--at {at} needs rows that are not trained on: with --alpha NUMBER give them as --validation FILE, or "
            "leave out --alpha."
        )
    is_goal = measure is not None and Labels.knows(measure) and isinstance(get_measure(measure), Goal)
    if validation is not None and at is None and not is_goal:
        ranks = form.has_groups or (measure is not None and not Labels.knows(measure))
        cut = "" if ranks else ", or, if rows are not to be ranked, say with --at where to cut"
        fail(f"--validation is for a choice: leave out --alpha{cut}.")


def _check_calibration(calibration: str | None, strength: float | None) -> None:
    from .._validation import choice
    from ..estimators.calibration import METHODS

    if calibration is None:
        return
    choice("--calibration", calibration, METHODS)
    if strength is not None:
        fail("--calibration needs rows held out, and with --alpha NUMBER there are none: leave out one.")


def _cut_on(model: MeasureClassifier, others: Dataset, point: dict[str, Any] | None) -> None:
    """Choose the threshold on rows that were not trained on: where the user wants it, or for a goal."""
    from ..cuts.confidence import CONFIDENCE
    from ..estimators.scores import known_labels
    from ..measures import get_measure
    from ..measures.goals import TargetGoal

    if point is not None:
        model.set_operating_point(others.X, others.y, **point)
        return
    goal = get_measure(model.measure)
    scores = model.raw_scores(others.X)
    positive = known_labels(others.y, model.label_pair, length=scores.shape[0])
    cut = goal.threshold(positive, scores)
    confidence = getattr(goal, "confidence", CONFIDENCE)
    model.set_operating_point(y=others.y, raw_scores=scores, threshold=cut, confidence=confidence)
    if isinstance(goal, TargetGoal):
        model.expected_ = goal.limited(model.expected_, positive, scores)
