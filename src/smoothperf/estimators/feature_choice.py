"""The choice among ways to make features of X: by the cheapest baseline, on the splits of all other choices.

Which features a model has matters more than which risk it is trained with, and a baseline can tell. So they are settled
first: with each way, log loss (for rankings squared loss) is trained along falling alphas, with features that are
learnt from the training part of every split, and what its best alpha is worth on held-out rows is compared, by average
precision (NDCG), which tells apart what measures of few places cannot. Ways come in the order of their simplicity, and
a later one is taken only if it is better by more than the standard error of the differences over the splits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from .._arrays import Array
from ..features import KernelFeatures, Leaves, Shapes, TableEncoder, TableShapes
from ..optimise import ConvexSolver
from ..tasks.base import Rows, Task
from ..tasks.features import is_table, prepared, with_transformer
from .choice import Choice, clearly_better, strengths_for
from .problem import any_named

R = TypeVar("R", bound=Rows[Any])
#: Widths of the kernel to choose from.
WIDTHS = (0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Way:
    """A way to make features: its name, a transformer or None, and how far it is from simple."""

    name: str
    transformer: Any
    rank: int


def ways_to_make(features: Any, X: Any) -> list[Way]:
    """Return the ways to choose from, the simplest first.

    Parameters
    ----------
    features : str, transformer, None or list of them
        As in :class:`~smoothperf.MeasureClassifierCV`.
    X : matrix or data frame
        A sparse one stays as it is where "auto" is asked for. One with words, dates or missing values goes through a
        :class:`~smoothperf.features.TableEncoder` first, wherever features are asked for by name.

    Examples
    --------
    >>> import numpy as np
    >>> [way.name for way in ways_to_make("auto", np.ones((3, 2)))]
    ['linear', 'additive', 'kernel 0.3', 'kernel 1', 'kernel 3', 'leaves']
    """
    encoder = TableEncoder() if any_named(features) and is_table(X) else None
    if isinstance(features, str) and features == "auto":
        sparse = issparse(X) or (encoder is not None and clone(encoder).fit(X).makes_sparse)
        features = ["linear"] if sparse else list(NAMED)
    several = features if isinstance(features, list) else [features]
    return [way for rank, each in enumerate(several) for way in _ways(each, rank, encoder)]


def _ways(features: Any, rank: int, encoder: TableEncoder | None) -> list[Way]:
    if isinstance(features, str) and features in NAMED:
        return [Way(name, of_columns(one, encoder), rank) for name, one in NAMED[features].items()]
    if isinstance(features, Way):
        return [features]
    if features is None or (hasattr(features, "fit") and hasattr(features, "transform")):
        return [Way("linear" if features is None else f"{type(features).__name__} {rank + 1}", features, rank)]
    raise ValueError(
        f"features must be a transformer with fit and transform, None, one of {', '.join(NAMED)} and auto, or a list "
        f"of such, got {features!r}."
    )


def of_columns(transformer: Any, encoder: TableEncoder | None) -> Any:
    """Return what makes features of the columns of a table, of what makes them of numbers, or of None for columns.

    Examples
    --------
    >>> print(of_columns(KernelFeatures(1.0), TableEncoder()))
    Pipeline(steps=[('tableencoder', TableEncoder(sparse_output=False)),
                    ('kernelfeatures', KernelFeatures())])
    """
    if transformer is None or encoder is None:
        return encoder if transformer is None else transformer
    dense = clone(encoder).set_params(sparse_output=False)
    if isinstance(transformer, Shapes):
        return TableShapes(dense, transformer)
    return make_pipeline(dense, transformer)


#: Ways by the names that users have for them, the simplest first.
NAMED: dict[str, dict[str, Any]] = {
    "linear": {"linear": None},
    "additive": {"additive": Shapes()},
    "kernel": {f"kernel {width:g}": KernelFeatures(width) for width in WIDTHS},
    "leaves": {"leaves": Leaves()},
}


def settled(
    ways: Sequence[Way],
    rows: R,
    splits: Sequence[tuple[Any, Any]],
    solver: ConvexSolver,
    estimator: Any,
    task_for: Callable[[R], Task[Any, Any]],
) -> tuple[Way, dict[str, Array]]:
    """Return the best way by the rule, and what each was worth in every split.

    Parameters
    ----------
    ways : sequence of Way
        The simplest first.
    rows, splits, solver, estimator
        As :meth:`~smoothperf.estimators.choice.Choice.compare` wants them.
    task_for : callable
        Makes the task for all rows with their features.
    """
    best, worth = ways[0], dict[str, Array]()
    for way in ways:
        before = with_transformer(rows, way.transformer)
        whole, _ = prepared(before)
        task, baseline = task_for(whole).finely()
        strengths = strengths_for(whole.X, rows.known.weights, estimator.alphas, estimator.n_alphas)
        del whole
        trial = Choice(task, [baseline], strengths, literal=estimator.alphas is not None)
        trial.compare(before, splits, solver, estimator, features=way.name)
        worth[way.name] = trial.split_scores(*trial.ranked()[0])
        difference = worth[way.name] - worth[best.name]
        if way.rank == best.rank:
            better = float(difference.mean()) > 0.0
        else:
            better = clearly_better(difference, trial.times_held_out())
        best = way if better else best
    return best, worth
