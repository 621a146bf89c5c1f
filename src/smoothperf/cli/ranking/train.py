"""``smoothperf train`` for rankings: choose what to train with by queries held out, or train one ranker."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._choice import averaged, choice_document, choice_lines
from .._errors import fail
from .._files import Form
from .._progress import Watch
from .._screen import Screen
from .._trained import Checkpoints, Trained
from .documents import DEFAULT_MEASURE, as_documents, queries_of, ranking_title, read_other_documents, stacked, summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...io import Dataset


class TrainedRanker(Trained):
    """A fitted ranker, and what there is to say of it."""

    def _judged(self) -> tuple[NDArray[Any], float]:
        from ...measures import get_query_measure

        scores = self.model.predict(self.examples.X)
        return scores, get_query_measure(self.model.measure).mean_score(queries_of(self.examples), scores)

    @property
    def title(self) -> str:
        """What people call the measure."""
        return ranking_title(self.model.measure)

    @property
    def bound(self) -> str:
        """Which bound was minimised."""
        return str(self.model.trained_with.bound)

    def _objective_of(self) -> str:
        return "Objective of the chosen one" if len(averaged(self.model)) > 1 else "Objective"

    def _penalty(self) -> list[str]:
        return []  # the quadratic one leaves all in

    def _what(self) -> dict[str, Any]:
        trained_with = self.model.trained_with
        return {
            "data": summary(self.examples),
            "measure": self.model.measure,
            "trained_with": trained_with.measure.name,
            "target": trained_with.target,
        }


def train_ranker(
    screen: Screen,
    rows: Dataset,
    settings: dict[str, Any],
    *,
    strength: float | None,
    folds: int,
    kind: str,
    validation: Path | None,
    form: Form,
    checkpoints: Checkpoints,
) -> TrainedRanker:
    """Train for a measure of rankings; without a strength, what to train with is chosen."""
    settings = {**settings, "measure": settings["measure"] or DEFAULT_MEASURE}
    measures = [settings["measure"]]
    documents = as_documents(screen, rows, measures)
    words = ranking_title(settings["measure"])
    if strength is not None:
        if validation is not None:
            fail("--validation is for a choice, and with --alpha NUMBER there is none in a ranking: leave out one.")
        screen.say(f"Training for {words}, alpha {strength:g}, tolerance {settings['tol']:g}")
        with Watch(screen) as watch:
            return _train(documents, {**settings, "alpha": strength}, kind, watch, checkpoints)
    others = None if validation is None else read_other_documents(screen, validation, documents, form, measures)
    screen.say(f"Choosing what to train with, to be good at {words}")
    with Watch(screen) as watch:
        return _choose(screen, documents, others, settings, folds, kind, watch)


def _choose(
    screen: Screen,
    documents: Dataset,
    others: Dataset | None,
    settings: dict[str, Any],
    folds: int,
    kind: str,
    watch: Watch,
) -> TrainedRanker:
    """Choose by queries held out, and fit to all rows."""
    from ...design.scaling import Scaling
    from ...estimators.ranker_cv import MeasureRankerCV

    X, y, qid = documents.X, documents.y, documents.qid
    settings["cv"] = folds
    if others is None:
        _check_folds(documents, settings["measure"], folds)
    else:
        X, y, qid, settings["cv"] = stacked(documents, others)
    scaling = Scaling.of(kind, X)
    chosen = MeasureRankerCV(**settings, callback=watch, progress=watch.choosing)
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            chosen.fit(scaling.apply(X), y, qid=qid)
        except KeyboardInterrupt:
            screen.document({"command": "train", "interrupted": True, "model": None})
            raise
    times = sum(name.startswith("split") for name in chosen.cv_results_) // folds
    where = f"{folds} folds" + (f", {times} times" if times > 1 else "") if others is None else str(others.path)
    model = chosen.as_ranker()
    model.coef_ = scaling.unscaled(model.coef_)
    return TrainedRanker(
        model,
        documents,
        "",
        caught,
        interrupted=watch.interrupted,
        choice=choice_document(chosen, where),
        lines=choice_lines(chosen, ranking_title(settings["measure"]), where, "queries"),
    )


def _check_folds(documents: Dataset, measure: str, folds: int) -> None:
    """Fail if there are fewer queries than folds to deal them to."""
    from ...measures import get_query_measure

    count = get_query_measure(measure).counted(queries_of(documents)).size
    if count < folds:
        fail(
            f"--folds {folds} needs at least {folds} queries whose order makes a difference to {measure}, but there "
            f"are {count}: use fewer, or train one model with --alpha NUMBER."
        )


def _train(
    documents: Dataset, settings: dict[str, Any], kind: str, watch: Watch, checkpoints: Checkpoints
) -> TrainedRanker:
    """Fit with one alpha."""
    from ...design.scaling import Scaling
    from ...estimators.ranker import MeasureRanker

    scaling = Scaling.of(kind, documents.X)
    model = MeasureRanker(**settings, callback=watch)

    def unscale(model: MeasureRanker) -> None:
        model.coef_ = scaling.unscaled(model.coef_)

    checkpoints.prepare(model, documents, scaling, unscale)
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.fit(scaling.apply(documents.X), documents.y, qid=documents.qid)
    unscale(model)
    return TrainedRanker(model, documents, "", caught, interrupted=watch.interrupted)
