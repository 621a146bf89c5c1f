"""The outcome of a choice, of a classifier or a ranker, in words and for machines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..estimators.classifier_cv import MeasureClassifierCV
    from ..estimators.ranker_cv import MeasureRankerCV
    from ..io import Dataset
    from .kinds import SingleKind

#: Means over folds that differ by less are equal: they may be sums of the same numbers.
ROUNDING = 1e-9


def choice_lines(model: MeasureClassifierCV | MeasureRankerCV, title: str, where: str, held_out: str) -> list[str]:
    """Say what was chosen, how it did on rows held out, and how it compares with the best on the other side.

    Baselines (log loss and squared hinge; squared losses and pairs) are on one side, risks that must be better on the
    other.
    """
    params = model.cv_results_["params"][model.best_index_]
    lines = [f"Chose {_named(params)}: {title} {model.best_score_:.4f} on {held_out} held out ({where})"]
    rival = _best(model, baseline=not model.trained_for_.baseline)
    if rival is not None:
        which = "of the others" if model.trained_for_.baseline else "baseline"
        ahead = ", which chance may explain" if rival["score"] > model.best_score_ + ROUNDING else ""
        lines.append(f"The best {which}, {_named(rival)}, has {rival['score']:.4f}{ahead}")
    if len(shares := averaged(model)) > 1:
        words = "; ".join(f"{share:.0%} {name}" for name, share in shares.items())
        lines.append(f"Averaged with what may be as good, by chance: {words}")
    return lines


def choice_document(model: MeasureClassifierCV | MeasureRankerCV, where: str) -> dict[str, Any]:
    """Return the same for machines, with all that was tried."""
    return {
        "held_out": where,
        "score": model.best_score_,
        **({"averaged": shares} if (shares := averaged(model)) else {}),
        "best_safe": _best(model, baseline=True),
        "tried": _tried(model),
    }


def averaged(model: Any) -> dict[str, float]:
    """Return the shares of what a model is an average of; nothing for models that are none by their kind."""
    shares: dict[str, float] = getattr(model, "averaged_", {})
    return shares


def held_out_words(
    kind: SingleKind, model: MeasureClassifierCV | MeasureRankerCV, examples: Dataset, folds: int
) -> str:
    """Return how many folds there were, and how often they were drawn if not once."""
    times = kind.times_drawn(model, examples, folds)
    folds = sum(name.startswith("split") for name in model.cv_results_) // times
    return f"{folds} folds" if times == 1 else f"{folds} folds, {times} times"


def _named(params: dict[str, Any]) -> str:
    target = f", {params['target']}" if params.get("target") else ""
    return f"{params['measure']}, {params['bound']}{target}, alpha {params['alpha']:.3g}"


def _tried(model: MeasureClassifierCV | MeasureRankerCV) -> list[dict[str, Any]]:
    results = model.cv_results_
    rows = zip(results["params"], results["mean_test_score"], results["std_test_score"], strict=True)
    return [{**params, "score": float(mean), "deviation": float(spread)} for params, mean, spread in rows]


def _best(model: MeasureClassifierCV | MeasureRankerCV, *, baseline: bool) -> dict[str, Any] | None:
    """The best of the baselines or of the others; None if there is none that all splits have tried."""
    names = model.task_kind.baseline_names
    found = [row for row in _tried(model) if (row["measure"] in names) == baseline and math.isfinite(row["score"])]
    return max(found, key=lambda row: row["score"], default=None)
