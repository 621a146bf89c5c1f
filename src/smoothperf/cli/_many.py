"""``smoothperf train`` for many labels: a choice for each, what was chosen, and what it is worth."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._errors import CONSTANT_MODEL, fail
from ._features import features_for, unscale
from ._files import remember_data
from ._progress import Watch
from ._screen import number
from ._trained import notes_of
from ._visible import visible
from .kinds import ManyLabels, Rankings

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
    if average is not None and (Rankings.has(rows) or np.unique(rows.y).size < 3):
        fail(f"--average is for many labels, and {rows.path} has not so many: leave it out, or say --labels.")
    return average is not None


def train_many(
    kind: ManyLabels,
    rows: Dataset,
    settings: dict[str, Any],
    *,
    strength: float | None,
    folds: int | None,
    scale: str | None,
    output: Path,
) -> None:
    """Choose for each label, or train with one alpha, and save."""
    from ..estimators.multilabel import MultilabelMeasureClassifier
    from ..estimators.multilabel_cv import MultilabelMeasureClassifierCV
    from ._options import kind_of_scaling

    screen, measure, average = kind.screen, settings["measure"], settings["average"]
    examples = kind.checked(rows, [measure])
    stays = scale is None and has_rows_of_length_one(examples.X)
    scaled = "none" if stays else kind_of_scaling(scale)
    if stays:
        screen.say("All rows have length 1, as those of texts have, and stay as they are (--scale)")
    settings = {**settings, "features": features_for(examples, scaled)}
    title = f"{average}-{kind.title(measure)}"
    with warnings.catch_warnings(record=True, action="always") as caught:
        if strength is None:
            screen.say(f"Choosing what to train each label with, to be good at {title}")
            folds = FOLDS if folds is None else folds
            try:
                with Watch(screen) as watch:
                    fitted: Any = MultilabelMeasureClassifierCV(**settings, cv=folds, progress=watch.choosing)
                    fitted.fit(examples.X, **kind.known(examples))
            except KeyboardInterrupt:
                screen.document({"command": "train", "interrupted": True, "model": None})
                raise
            model = fitted.as_classifier()
        else:
            screen.say(f"Training for {title}, alpha {strength:g}, tolerance {settings['tol']:g}")
            fitted = model = MultilabelMeasureClassifier(**settings, alpha=strength)
            model.fit(examples.X, **kind.known(examples))
    unscale(kind, model)
    score = model.score(examples.X, examples.y)
    constant = _constant(model, examples)
    held_out = getattr(fitted, "label_scores_", None)
    model.set_params(n_threads=None, n_jobs=None)
    remember_data(model, examples, kind.form)
    model.save(output)
    labels = _labels(model, held_out)
    if held_out is not None:
        _tell_choice(kind, labels, kind.title(measure), f"{folds} folds")
    screen.say(f"{title} on these rows: {score:.4f}")
    screen.say(f"Saved: {output}")
    notes = notes_of(caught, zero=True)
    if constant:
        names = ", ".join(map(visible, constant[:NAMED])) + (", ..." if len(constant) > NAMED else "")
        remedy = "leave out --alpha, or give a smaller one" if strength is not None else "the features may tell nothing"
        notes.append(f"all rows have the same score for {len(constant):,} of the labels ({names}): {remedy}.")
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
            "constant": constant,
            "notes": notes,
            "model": output,
        }
    )
    if len(constant) == len(labels):
        raise typer.Exit(CONSTANT_MODEL)


def _constant(model: Any, examples: Dataset) -> list[Any]:
    """Return the labels for which all rows have the same score."""
    from ..evaluation import is_constant

    scores = model.decision_function(examples.X)
    return [label for label, own in zip(model.classes_.tolist(), scores.T, strict=True) if is_constant(own)]


def has_rows_of_length_one(X: Any) -> bool:
    """Tell whether rows are sparse and of length 1, but for empty ones: words weighed, which scales would undo.

    (Measured by folds of 6,000 training rows of Reuters-21578, TF-IDF, 20 topics: macro-F1 .809 as they are, .773 by
    largest values, .668 standardised.)

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> has_rows_of_length_one(csr_matrix([[0.6, 0.8], [0.0, 0.0]])), has_rows_of_length_one(csr_matrix([[2.0, 1.0]]))
    (True, False)
    """
    import numpy as np
    from scipy.sparse import issparse
    from sklearn.utils.extmath import row_norms

    if not issparse(X):
        return False
    lengths = row_norms(X)
    return bool(lengths.any() and np.allclose(lengths[lengths > 0.0], 1.0, atol=1e-3))


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
