"""``--alpha auto``: the strength of regularisation that does best on rows held out, by a path for every fold.

:class:`~smoothperf.MeasureClassifierCV` does the same in the library. Here each path reports its progress, and Ctrl-C
ends the search with the folds that are finished. Before one is, nothing is known: the strongest alphas come first, and
the best of these is a model that is nearly constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._progress import Watch

if TYPE_CHECKING:
    from ..estimators.classifier import MeasureClassifier
    from ..io import Dataset
    from ._screen import Screen


@dataclass(frozen=True)
class Search:
    """What was tried: the measure on rows held out (a mean over folds) for falling alphas."""

    alphas: list[float]
    scores: list[float]
    held_out: str
    interrupted: bool = False

    @property
    def best(self) -> int:
        """Position of the best; of equally good ones that with the largest alpha."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)

    @property
    def alpha(self) -> float:
        """The alpha to take."""
        return self.alphas[self.best]

    def document(self) -> dict[str, Any]:
        """Return it for machines."""
        return {"alphas": self.alphas, "scores": self.scores, "held_out": self.held_out}


def choose_alpha(
    model: MeasureClassifier, examples: Dataset, others: Dataset | None, *, folds: int, screen: Screen
) -> Search:
    """Follow a path for every split, and take the alpha with the best mean.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, if no path was finished.
    """
    import numpy as np

    from .. import regularization_path

    parts = _folds(examples, folds) if others is None else iter([((examples.X, examples.y), (others.X, others.y))])
    n_parts = folds if others is None else 1
    alphas = None
    finished: list[Any] = []
    with Watch(screen) as watch:
        for number, (train, held_out) in enumerate(parts, start=1):
            watch.what = f"choosing alpha, path {number} of {n_parts}"
            path = regularization_path(
                *train,
                measure=model.measure,
                alphas=alphas,
                validation=held_out,
                class_weight=model.class_weight,
                pos_label=model.pos_label,
                tol=model.tol,
                max_iter=model.max_iter,
                solver=model.solver,
                n_threads=model.n_threads,
                callback=watch,
            )
            if watch.interrupted:
                break
            alphas = path.alphas
            finished.append(path.validation_scores)
    if alphas is None:
        raise KeyboardInterrupt
    scores = np.mean(finished, axis=0)
    counted = f"{len(finished)} fold{'s' if len(finished) > 1 else ''}"
    where = str(others.path) if others is not None else counted
    search = Search(alphas.tolist(), scores.tolist(), where, watch.interrupted)
    if watch.interrupted:
        screen.say("Choosing alpha was interrupted: it is the best so far; once more Ctrl-C ends training, too.")
    screen.say(f"Chose alpha {search.alpha:.3g} of {len(search.alphas)}: {scores.max():.4f} on rows held out ({where})")
    return search


def _folds(examples: Dataset, folds: int) -> Iterator[tuple[tuple[Any, Any], tuple[Any, Any]]]:
    import numpy as np
    from sklearn.model_selection import StratifiedKFold

    X, y = examples.X, examples.y
    labels, counts = np.unique(y, return_counts=True)
    if labels.size == 2 and counts.min() < folds:
        raise ValueError(
            f"{examples.path}: --alpha auto with {folds} folds needs {folds} examples of each class, but there are "
            f"{counts.min()} labelled {labels[counts.argmin()]}; use fewer --folds, --validation, or a given --alpha."
        )
    for train, held_out in StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y):
        yield (X[train], y[train]), (X[held_out], y[held_out])
