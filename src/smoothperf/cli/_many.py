"""``smoothperf train`` for many labels: a choice for each, what was chosen, and what it is worth."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import fail
from ._features import features_for, unscale
from ._files import remember_data
from ._progress import Watch
from ._screen import number
from ._trained import notes_of
from ._visible import visible
from .kinds import ManyLabels

if TYPE_CHECKING:
    from ..io import Dataset

AVERAGES = ("macro", "micro")
#: Folds of a choice for each label, if the user says nothing: all labels of few rows share what others choose.
FOLDS = 3
#: Labels that are named, the worst on rows held out.
NAMED = 5


def check_average(average: str | None) -> None:
    """Fail if there is no such average."""
    from .._validation import choice

    if average is not None:
        choice("--average", average, AVERAGES)


def are_many(rows: Dataset, average: str | None) -> bool:
    """Tell whether rows have many labels: any number each, or, where an average is asked for, one of three or more."""
    import numpy as np

    from ..io.label_sets import are_sets

    if are_sets(rows.y):
        return True
    if average is not None and (rows.qid is not None or np.unique(rows.y).size < 3):
        fail(f"--average is for many labels, and {rows.path} has not so many: leave it out, or say --labels.")
    return average is not None


def train_many(
    kind: ManyLabels,
    rows: Dataset,
    settings: dict[str, Any],
    *,
    strength: float | None,
    folds: int | None,
    scaled: str,
    output: Path,
) -> None:
    """Choose for each label, or train with one alpha, and save."""
    from ..estimators.multilabel import MultilabelMeasureClassifier
    from ..estimators.multilabel_cv import MultilabelMeasureClassifierCV

    screen, measure, average = kind.screen, settings["measure"], settings["average"]
    examples = kind.checked(rows, [measure])
    settings = {**settings, "features": features_for(examples, scaled)}
    title = f"{average}-{kind.title(measure)}"
    with Watch(screen) as watch, warnings.catch_warnings(record=True, action="always") as caught:
        if strength is None:
            screen.say(f"Choosing what to train each label with, to be good at {title}")
            folds = FOLDS if folds is None else folds
            fitted: Any = MultilabelMeasureClassifierCV(**settings, cv=folds, progress=watch.choosing)
            fitted.fit(examples.X, **kind.known(examples))
            model = fitted.as_classifier()
        else:
            screen.say(f"Training for {title}, alpha {strength:g}, tolerance {settings['tol']:g}")
            fitted = model = MultilabelMeasureClassifier(**settings, alpha=strength)
            model.fit(examples.X, **kind.known(examples))
    unscale(kind, model)
    score = model.score(examples.X, examples.y)
    held_out = getattr(fitted, "label_scores_", None)
    model.set_params(n_threads=None)
    remember_data(model, examples, kind.form)
    model.save(output)
    labels = _labels(model, held_out)
    if held_out is not None:
        _tell_choice(kind, labels, kind.title(measure), f"{folds} folds")
    screen.say(f"{title} on these rows: {score:.4f}")
    screen.say(f"Saved: {output}")
    notes = notes_of(caught)
    for note in notes:
        screen.note(note)
    screen.document(
        {
            "command": "train",
            "data": kind.summary(examples),
            "measure": measure,
            "average": average,
            "scale": scaled,
            "tol": model.tol,
            "training_score": score,
            "labels": labels,
            "notes": notes,
            "model": output,
        }
    )


def _labels(model: Any, held_out: Any) -> list[dict[str, Any]]:
    """Return what each label was trained with, and its measure on rows held out."""
    n = model.coef_.shape[0]
    trained = getattr(model, "trained_for_", None)
    return [
        {
            "label": label,
            "alpha": model.alpha_[place],
            **({} if trained is None else {"trained_with": trained[place].words()}),
            **({} if held_out is None else {"held_out": held_out[place]}),
        }
        for place, label in enumerate(model.classes_[-n:].tolist())
    ]


def _tell_choice(kind: ManyLabels, labels: list[dict[str, Any]], title: str, where: str) -> None:
    """Say what was chosen how often, and which labels are the worst on rows held out."""
    chosen = Counter(f"{row['trained_with']['measure']}, {row['trained_with']['bound']}" for row in labels)
    words = "; ".join(f"{name} for {count:,}" for name, count in chosen.most_common())
    kind.screen.say(f"Chose {words}", wrap=True)
    judged = sorted((row for row in labels if math.isfinite(row["held_out"])), key=lambda row: row["held_out"])
    if judged:
        mean = sum(row["held_out"] for row in judged) / len(judged)
        worst = ", ".join(f"{visible(row['label'])} {number(row['held_out'])}" for row in judged[:NAMED])
        few = f", without {len(labels) - len(judged):,} of too few rows" if len(judged) < len(labels) else ""
        kind.screen.say(
            f"{title} on rows held out ({where}): {mean:.4f} on average{few}; the worst: {worst}", wrap=True
        )
