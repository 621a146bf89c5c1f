"""Solutions for a whole range of alphas, from the largest that matters downwards, each started from the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from .._arrays import Array
from .._validation import positive_number, shown, vector, whole_number
from ..measures import Measure, Queries, QueryMeasure
from ..optimise import Callback, Solver, Status
from ..optimise.path import Solution
from ..optimise.smoothing import Smoothing
from ..tasks.base import C, K, Rows, scores_of
from ..tasks.labels import LabelRows
from ..tasks.path import PathTraining
from ..tasks.queries import QueryRows
from ..threads import use_threads
from .classifier import MeasureClassifier
from .messages import make_callback, say_tight
from .problem import ACCEPTED, offset_of, opened, taken
from .ranker import MeasureRanker, has_queries, queries_of, query_ids
from .scores import known_labels

R = TypeVar("R", bound=Rows[Any])
#: At the largest alpha w = 0 is optimal within this or within tol; a smaller tol does not move the grid to where
#: nothing happens.
EVENTLESS = 1e-3
#: Smallest alpha of a path as a share of the largest, and where the penalty has absolute values: there most features
#: come in within three powers of ten.
SMALLEST_RATIO, SPARSE_RATIO = 1e-6, 1e-3


class _PathModel(NamedTuple):
    """The model that a path has found for one alpha, and its scores."""

    solution: Solution
    zero_is_best: bool
    coef: Array
    intercept: float
    train_score: float
    validation_score: float | None


@dataclass(frozen=True)
class RegularizationPath:
    """Solutions for descending alphas; row or entry i of every array belongs to ``alphas[i]``.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths of the regulariser, descending.
    coefs : ndarray of shape (n_alphas, n_features)
        The weights.
    intercepts : ndarray of shape (n_alphas,)
        The operating point of the measure on the training set, with the bias if one is trained.
    objectives, lower_bounds, gaps : ndarray of shape (n_alphas,)
        Exact J, a certified lower bound of its minimum, and their difference. For a tight bound J is that of the tight
        risk, and the other two, which speak of a global minimum, are NaN.
    stationarity_gaps : ndarray of shape (n_alphas,)
        For a tight bound, what the last convex step could gain at most, certified; NaN for the convex one.
    train_scores : ndarray of shape (n_alphas,)
        The measure on the training set.
    validation_scores : ndarray of shape (n_alphas,) or None
        The measure on the validation set, if there is one.
    n_passes : ndarray of shape (n_alphas,)
        Products with X and its transpose; 0 where the solution before already certified this one. The first entry
        includes those that it took to find the first alpha.
    seconds : ndarray of shape (n_alphas,)
        Time to solve, without the scores on the validation set.
    statuses : tuple of Status
        Status of each run at its end.
    classes : ndarray of shape (2,) or None
        The negative label and the positive one; None for rankers.
    zero_is_best : ndarray of bool of shape (n_alphas,)
        Alphas at which w = 0 is optimal within tol, or, for a tight bound, as good as what was found: the model may be
        constant.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf import regularization_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> path = regularization_path(X[::2], y[::2], n_alphas=5, validation=(X[1::2], y[1::2]))
    >>> path.coefs.shape, bool((path.gaps <= 1e-3).all()), bool(path.validation_scores[path.best] > 0.95)
    ((5, 30), True, True)
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    objectives: Array
    lower_bounds: Array
    gaps: Array
    stationarity_gaps: Array
    train_scores: Array
    validation_scores: Array | None
    n_passes: NDArray[np.int64]
    seconds: Array
    statuses: tuple[Status, ...]
    classes: NDArray[Any] | None
    zero_is_best: NDArray[np.bool_]

    @classmethod
    def _of(cls, models: Sequence[_PathModel], classes: NDArray[Any] | None) -> RegularizationPath:
        def column(name: str) -> NDArray[Any]:
            return np.array([getattr(model.solution, name) for model in models])

        return cls(
            alphas=column("alpha"),
            coefs=np.array([model.coef for model in models]),
            intercepts=np.array([model.intercept for model in models]),
            objectives=column("objective"),
            lower_bounds=column("lower_bound"),
            gaps=column("gap"),
            stationarity_gaps=column("stationarity_gap"),
            train_scores=np.array([model.train_score for model in models]),
            validation_scores=(
                None if models[0].validation_score is None else np.array([model.validation_score for model in models])
            ),
            n_passes=column("n_passes"),
            seconds=column("seconds"),
            statuses=tuple(model.solution.status for model in models),
            classes=classes,
            zero_is_best=np.array([model.zero_is_best for model in models]),
        )

    @property
    def certified(self) -> bool:
        """Whether there are lower bounds of the optimum, as the convex bound has; a tight one has none."""
        return not bool(np.isnan(self.lower_bounds).all())

    @property
    def reached(self) -> Array:
        """Numbers that a tolerance is held against: ``gaps``, or ``stationarity_gaps`` for a tight bound."""
        return np.where(np.isnan(self.gaps), self.stationarity_gaps, self.gaps)

    @property
    def n_features_in_model(self) -> NDArray[np.int64]:
        """Features whose weight is not zero, for each alpha."""
        counts: NDArray[np.int64] = np.count_nonzero(self.coefs, axis=1)
        return counts

    @property
    def best(self) -> int:
        """Position of the best validation score; of equally good ones that with the largest alpha."""
        if self.validation_scores is None:
            raise ValueError("best needs validation scores: pass validation=(X, y) to regularization_path.")
        return int(self.validation_scores.argmax())


def regularization_path(
    X: Any,
    y: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    measure: str | Measure | QueryMeasure = "roc_area",
    bound: str = "auto",
    alphas: ArrayLike | None = None,
    n_alphas: int = 20,
    alpha_ratio: float | None = None,
    l1_ratio: float = 0.0,
    positive: bool = False,
    coef_bounds: Any = None,
    penalty_factors: Any = None,
    validation: tuple[Any, ...] | None = None,
    sample_weight: ArrayLike | None = None,
    base_scores: ArrayLike | None = None,
    class_weight: dict[Any, float] | str | None = None,
    pos_label: Any = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    solver: str | Solver = "lbfgs",
    smoothing: str | float | Smoothing = "adaptive",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    n_threads: int | None = None,
    low_memory: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
) -> RegularizationPath:
    """Minimise the regularised risk of a measure for a range of alphas, each to a certified gap.

    Every solution starts from the one before and from its certificate, so that a path takes a few times the passes over
    the data that its smallest alpha takes alone. That is so for convex bounds. A path of a tight one takes about the
    passes of separate fits, and its stationary points are on average as good or better.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d), path or Store
        Dense in any order, CSR or CSC; float32 and float64 are used as they are, without a copy of them. Or a store
        (:func:`smoothperf.io.convert`) or its path.
    y : array-like of shape (n,)
        Two kinds of labels; ``pos_label``, or the larger in sorted order, is positive. With queries, grades of
        relevance. Not needed for a store, which has them.
    qid, group : array-like, optional
        The query of each row, or how many rows each query has, as in :meth:`MeasureRanker.fit`: then it is a path of
        rankers, and ``measure`` is one of queries. A store with queries brings them.
    measure : str, Measure or QueryMeasure, default="roc_area"
        The measure to be good at.
    bound : {"auto", "convex", "tight"}, default="auto"
        As in :class:`~smoothperf.MeasureClassifier` and :class:`~smoothperf.MeasureRanker`; for classifiers "auto" is
        "tight" for all alphas if w = 0 is the optimum of the convex one at the smallest of them, and so at all.
        Solutions of a tight bound are stationary points. Each starts where a fit does, from the minimiser for ROC area
        or another convex risk, and once more from the solution before if that is lower than what was found; so
        objectives never rise as alphas fall.
    alphas : array-like, optional
        The strengths of the regulariser, in any order; the path goes from the largest to the smallest. By default
        ``n_alphas``, evenly on a logarithmic scale, from where w = 0 is optimal within tol (or 1e-3, if tol is
        smaller) down to ``alpha_ratio`` times that. For a tight bound the first is that of the convex risk that it
        starts from, for scores of its size: there w = 0 is about as good as what is found.
    n_alphas : int, default=20
        Number of alphas, if ``alphas`` is not given.
    alpha_ratio : float, optional
        Smallest alpha as a share of the largest, if ``alphas`` is not given: 1e-6, or 1e-3 with absolute values in the
        penalty, by default.
    l1_ratio, positive, coef_bounds, penalty_factors
        The penalty, as in :class:`~smoothperf.MeasureClassifier`; that of rankers is quadratic. With an l1_ratio of at
        least 0.001 the path begins where the first feature comes in, of those that cost anything: exactly there for
        losses, ROC area and error rates without a bias; for other measures at an alpha of which a few short runs have
        certified that there is none within tol.
    validation : tuple (X, y), (X, y, sample_weight) or (X, y, sample_weight, base_scores), optional
        Data to score every solution on; with queries (X, y, qid) or (X, y, qid, sample_weight). Weights may be None,
        and so may everything that a store as X has.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights; an integer weight c stands for c copies. With queries, the same for all rows of one.
    base_scores : array-like of shape (n,), optional
        An offset, as in :meth:`MeasureClassifier.fit`: what is trained is added to it.
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied into the sample weights.
    pos_label : label, optional
        The positive label; by default the larger, in sorted order. Scores are higher for it.
    tol, max_iter, solver, smoothing, fit_intercept, intercept_scaling, n_threads, low_memory, verbose, callback
        As in :class:`~smoothperf.MeasureClassifier`, for each alpha; of a tight bound, for each run from a start and
        for the start itself. A callback that returns a true value ends the path with the solution of the current alpha.

    Returns
    -------
    RegularizationPath

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf import regularization_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> path = regularization_path(X[::2], y[::2], measure="prbep", n_alphas=8, validation=(X[1::2], y[1::2]))
    >>> path.coefs.shape, bool((path.gaps <= 1e-3).all())
    ((8, 30), True)
    >>> bool(path.validation_scores[path.best] > 0.95)
    True

    The tight bound, which does not collapse on noisy data:

    >>> tight = regularization_path(X, y, measure="precision@50", bound="tight", n_alphas=4)
    >>> bool((tight.stationarity_gaps <= 1e-3).all()), tight.certified
    (True, False)

    Documents of queries, six of each:

    >>> rankers = regularization_path(X[:120], y[:120], group=[6] * 20, measure="ndcg@3", n_alphas=4)
    >>> rankers.coefs.shape, bool((rankers.reached <= 1e-3).all())
    ((4, 30), True)
    """
    grid = None if alphas is None else checked_alphas(alphas)
    X = opened(X)
    shared: dict[str, Any] = {
        "tol": tol,
        "max_iter": max_iter,
        "solver": solver,
        "smoothing": smoothing,
        "n_threads": n_threads,
        "low_memory": low_memory,
    }
    for_labels: dict[str, Any] = {
        "class_weight": class_weight,
        "pos_label": pos_label,
        "l1_ratio": l1_ratio,
        "positive": positive,
        "coef_bounds": coef_bounds,
        "penalty_factors": penalty_factors,
    }
    with use_threads(n_threads):
        if has_queries(X, qid, group):
            _refuse_what_is_for_labels(
                base_scores=base_scores,
                **for_labels | {"l1_ratio": l1_ratio or None, "positive": positive or None},
            )
            ranker = MeasureRanker(measure, bound=bound, **shared)  # type: ignore[arg-type]
            training: PathTraining[Any, Any] = PathTraining(*ranker._problem(X, y, qid, group, sample_weight))
            read: Callable[[Sequence[Any], Any], Rows[Any]] = _graded_validation
        else:
            bias = {"fit_intercept": fit_intercept, "intercept_scaling": intercept_scaling}
            classifier = MeasureClassifier(measure, bound=bound, **bias, **for_labels, **shared)  # type: ignore[arg-type]
            training = PathTraining(*classifier._problem(X, y, sample_weight, base_scores))
            read = _labelled_validation
        training.check()
        others = None if validation is None else read(validation, training.rows)
        ratio = (SPARSE_RATIO if l1_ratio else SMALLEST_RATIO) if alpha_ratio is None else alpha_ratio
        watched = make_callback(verbose, callback) if verbose else callback

        def solved(training: PathTraining[Any, Any]) -> list[_PathModel]:
            alphas = alphas_from_data(training, n_alphas, ratio) if grid is None else grid
            return _Path(training, others).solved(alphas, watched)

        models = solved(training)
        # A model that is no better than none at some alpha is none at all that are larger.
        collapsed = bound == "auto" and models[-1].zero_is_best
        other = training.task.instead(training.candidate, training.risk) if collapsed else None
        if other is not None:
            tight = solved(PathTraining(training.task, other, training.rows, training.solver))
            if not tight[-1].zero_is_best:
                say_tight(training.task.measure.name)
                models = tight
    return RegularizationPath._of(models, getattr(training.rows, "pair", None))


@dataclass(frozen=True)
class _Path(Generic[K, C]):
    """A candidate along falling alphas, and rows to judge its models on, perhaps."""

    training: PathTraining[K, C]
    validation: Rows[K] | None

    def solved(self, alphas: Array, callback: Callback | None) -> list[_PathModel]:
        """Solutions for falling alphas; a callback that stops a run ends the path with it."""
        models = []
        for alpha in alphas:
            solution = self.training.path.solve(float(alpha), callback)
            models.append(self._judged(solution))
            if solution.status is Status.STOPPED:
                break
        return models

    def _judged(self, solution: Solution) -> _PathModel:
        """The model of a solution, and its scores."""
        training, validation = self.training, self.validation
        task = training.task
        ending = training.ending(solution.alpha, solution)
        scores = training.rows.whole_scores(solution.scores)
        train_score = task.judge(training.rows.known, scores - ending.threshold)
        validation_score = None
        if validation is not None:
            offset = 0.0 if validation.offset is None else validation.offset
            others = offset + scores_of(validation.X, ending.coef) + ending.intercept
            validation_score = task.judge(validation.judged, others)
        return _PathModel(solution, ending.empty, ending.coef, ending.intercept, train_score, validation_score)


def _refuse_what_is_for_labels(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for labels of two kinds, not for grades of queries; got {shown(value)}.")


def alphas_from_data(training: PathTraining[Any, Any], n_alphas: int, alpha_ratio: float) -> Array:
    """``n_alphas`` from where w = 0 is optimal down to ``alpha_ratio`` times that, evenly on a logarithmic scale."""
    whole_number("n_alphas", n_alphas, at_least=1)
    if positive_number("alpha_ratio", alpha_ratio) >= 1.0:
        raise ValueError(f"alpha_ratio must lie between 0 and 1, got {alpha_ratio!r}.")
    largest = training.largest_alpha(EVENTLESS)
    return np.geomspace(largest, alpha_ratio * largest, n_alphas)


def checked_alphas(alphas: ArrayLike) -> Array:
    """Alphas in descending order, each once; all must be above 0."""
    values = vector("alphas", alphas)
    if values.size == 0:
        raise ValueError("alphas are empty; give at least one, or None for alphas from the data.")
    if values.min() <= 0.0:
        raise ValueError(f"alphas must be above 0, got {values.min()} at position {int(values.argmin())}.")
    return np.unique(values)[::-1]


def _labelled_validation(validation: Sequence[Any], rows: LabelRows) -> LabelRows:
    """Rows to judge on, with an offset if those to train on have one."""
    based = rows.offset is not None
    if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3, 4):
        raise ValueError(
            "validation must be (X, y), (X, y, sample_weight) or (X, y, sample_weight, base_scores), got "
            f"{type(validation).__name__}."
        )
    X, y, weights, base = (*validation, None, None)[:4]
    if based != (base is not None):
        raise ValueError(
            "validation must be (X, y, sample_weight, base_scores), as base_scores are given; weights may be None."
            if based
            else "validation has base_scores, but the rows to train on have none: give base_scores=, too."
        )
    given = taken(X, y, weights)

    def read(X: Any) -> LabelRows:
        positive = known_labels(given.y, rows.pair, length=X.shape[0])
        weights = given.sample_weight
        weights = None if weights is None else vector("sample_weight", weights, length=X.shape[0])
        return LabelRows(X, rows.pair, positive, weights, offset=offset_of(base, rows.pair, X.shape[0]))

    return _checked_validation(given.X, rows, read)


def _graded_validation(validation: Sequence[Any], rows: QueryRows) -> QueryRows:
    """Rows to judge on."""
    if not isinstance(validation, (tuple, list)) or len(validation) not in (3, 4):
        raise ValueError(
            f"validation must be (X, y, qid) or (X, y, qid, sample_weight) where there is qid, got "
            f"{type(validation).__name__} of {len(validation) if hasattr(validation, '__len__') else 'no'} entries."
        )
    X, y, qid, weights = (*validation, None)[:4]
    given = taken(X, y, weights)
    ids = queries_of(given, qid, None)

    def read(X: Any) -> QueryRows:
        grades = vector("y", given.y, length=X.shape[0])
        return QueryRows(X, Queries.of(grades, query_ids(X.shape[0], ids, None), given.sample_weight))

    return _checked_validation(given.X, rows, read)


def _checked_validation(X: Any, rows: Rows[K], read: Callable[[Any], R]) -> R:
    """Rows to judge on, with the features of those to train on; errors say that it is about validation."""
    X = check_array(X, input_name="validation X", **ACCEPTED)
    if X.shape[1] != rows.X.shape[1]:
        raise ValueError(f"validation X has {X.shape[1]} features but X has {rows.X.shape[1]}; they must match.")
    try:
        return read(X)
    except ValueError as error:
        raise ValueError(f"validation: {error}") from error
