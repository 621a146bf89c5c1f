"""A classifier that chooses what to train with and how strongly to regularise: by the measure, on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from .._validation import choice, whole_number
from ..cuts.confidence import CONFIDENCE, checked_confidence
from ..cuts.targets import TARGETS, check_count, checked_target
from ..measures import Examples, Goal, Measure, get_measure
from ..measures.goals import TargetGoal
from ..optimise import Callback, ConvexSolver, Solver
from ..optimise.elastic_net import ElasticNet
from ..optimise.smoothing import Smoothing
from ..tasks.label_choice import LabelCandidate, candidates_for, label_splits, stacked_scores
from ..tasks.labels import LabelRows, LabelTask
from ..threads import check_n_threads
from .calibration import METHODS, fitted_calibration
from .chance import cut_beyond_chance
from .choice import N_STRENGTHS, Choice, Chosen, Step
from .classifier import MeasureClassifier
from .cross_validated import CrossValidated
from .effects import bends
from .fold_models import band_of_weights
from .problem import label_task, labelled_rows, solver_of
from .scores import LinearMeasureClassifier
from .sparse_choice import SparseChoice


@dataclass(frozen=True)
class _HeldOutScores:
    """Labels, raw scores and weights of the rows that were held out, each once."""

    positive: NDArray[np.bool_]
    raw_scores: Array
    weights: Array | None


class MeasureClassifierCV(CrossValidated[MeasureClassifier], LinearMeasureClassifier):
    """A linear classifier for a measure that chooses what to train with, and how strongly to regularise.

    Several risks are trained along paths of falling alphas: log loss and squared hinge, the baselines, and those of
    the measure and of others near it, convex or tight. The measure on held-out rows decides, cautiously: another than
    the best baseline is taken only if it is better by more than the standard error of the difference. The winner is
    fitted to all rows in the same way. Thresholds and probabilities come from the scores of held-out rows.

    Parameters
    ----------
    measure : str or Measure, default="roc_area"
        The measure to be good at. A count such as that of precision@100 is meant for as many rows as are given to
        ``fit``.
    bound : {"auto", "convex", "tight"} or list of (measure, bound), default="auto"
        Candidates to choose from. "auto": the baselines, and what was seen to be worth while for the measure. "convex"
        or "tight": that risk of the measure only. A list names the candidates, such as ``[("log_loss", "convex"),
        ("prbep", "tight")]``.
    alphas : array-like, optional
        The alphas to choose from, for all candidates; the first two splits try every one. By default they follow
        from the size of the features and suit each candidate; smaller ones are added while that pays.
    n_alphas : int, default=6
        Their number to begin with, if ``alphas`` is not given: each a tenth of the one before.
    cv : int, float, splitter or iterable, default=5
        An int is a number of stratified folds; they are drawn three times if the smaller class has fewer than 200
        examples, as luck decides much then. A share between 0 and 1 holds out one stratified validation set, as many
        papers do. A splitter of scikit-learn or an iterable of ``(train, test)`` indices says it all; ``[(train,
        validation)]`` is a validation set of your own.
    features : {"linear", "additive", "kernel", "leaves", "auto"}, transformer or list of these, optional
        What the model is linear in: the columns of X ("linear", the default), curves of them
        (:class:`~smoothperf.features.Shapes`), features of Gaussian kernels of three widths
        (:class:`~smoothperf.features.KernelFeatures`), leaves of a random forest
        (:class:`~smoothperf.features.Leaves`), or what a transformer makes, as in
        :class:`~smoothperf.MeasureClassifier`. Of several, simplest first, and of all these with "auto", a later one is
        taken if log loss has a clearly better average precision with it on held-out rows; "auto" leaves a sparse X as
        it is. Where X has words, dates or missing values, names mean features of what a
        :class:`~smoothperf.TableEncoder` makes of it. In every split features are fitted to the rows that are trained
        on, and only then made of those held out: scores there know nothing of them.
    l1_ratio : float or list of float, default=0.0
        Share of absolute values in the penalty, as in :class:`~smoothperf.MeasureClassifier`; of several the one that
        is best on held-out rows, with everything else, is taken. Above 0, alphas follow from where the first weight
        comes in.
    positive, coef_bounds, penalty_factors
        As in :class:`~smoothperf.MeasureClassifier`.
    max_features : int, optional
        The most features that the model may have; the best of such models on held-out rows is taken. Needs an
        ``l1_ratio`` above 0.
    sparsest : bool, default=False
        Take the model with the fewest features whose mean score on held-out rows is no more than a standard error below
        that of the model that would be taken otherwise: glmnet's rule. Needs an ``l1_ratio`` above 0.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Calibration of scores to probabilities, by scikit-learn's calibrators on the scores of held-out rows. With None
        there is no ``predict_proba``.
    operating_point : dict, optional
        Operating point, in place of what the measure asks for: ``{"precision": 0.9}``, or another target of
        :meth:`set_operating_point` (recall, fpr, rate, or k of as many rows as are given to ``fit``), and "confidence"
        if it is not 0.9. It is met on the scores of held-out rows; ``expected_`` has what to expect.
    n_jobs : int, optional
        Folds to work on at the same time, in threads; 1 by default, -1 for all cores.
    tol, max_iter, solver, smoothing, fit_intercept, intercept_scaling, class_weight, pos_label, n_threads, low_memory
        As in :class:`~smoothperf.MeasureClassifier`. Candidates are compared with a tolerance of 0.005 at least.
    verbose : int, default=0
        1 prints a line for every split and about once a second while the winner is fitted, 2 one per iteration of that;
        to standard error.
    callback : callable, optional
        As in :class:`~smoothperf.MeasureClassifier`, for the fit to all rows.
    progress : callable, optional
        Called with a :class:`~smoothperf.estimators.choice.Step` before each model that is trained for the choice, in
        the thread that trains it; ``str`` of it is a line to show. What it raises ends ``fit``.

    Attributes
    ----------
    trained_for_ : LabelCandidate
        The chosen one: its ``measure`` and its ``bound``.
    features_ : transformer
        The fitted transformer, if one makes the features.
    best_features_ : str
        The name of the chosen kind of features, where there were several.
    feature_scores_ : dict
        Average precision in every split with each kind of features, by its name, likewise.
    alpha_, l1_ratio_ : float
        The chosen alpha, and the chosen share of absolute values.
    cv_results_ : dict
        All that was tried, in the form of scikit-learn's searches: "params" with measure, bound, l1_ratio and alpha,
        and "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score". NaN where a split did not
        try something, which had been dropped before.
    best_index_ : int
        Position of the chosen one in ``cv_results_``.
    best_score_ : float
        Its mean score on held-out rows.
    result_, origin_, classes_, pos_label_, class_count_, coef_, intercept_, objective_, lower_bound_, gap_, n_iter_
    stationarity_gap_
        As in :class:`~smoothperf.MeasureClassifier`, of the fit to all rows with what was chosen; but the threshold is
        the one that the measure chose on the scores of held-out rows. With fewer than 200 positives, where chance
        could have led to one as good by F-beta, the Jaccard index or mcc, it is where as many are called positive as
        there are, and a warning says so; by F1, Jaccard and mcc it always is with fewer than 15.
    coef_band_ : ndarray of shape (n_splits, n_features)
        B, such that what weights add up to, ``a.w``, has a band of 95 % of ``|B a|`` to both sides: for what
        other training rows would lead to on average, by models of the splits. Only of models with
        :class:`~smoothperf.features.Shapes`; without rows if there are fewer than three splits.
    expected_ : dict
        Precision, recall and false positive rate on held-out rows, and what new rows will show, as
        :meth:`set_operating_point` leaves them; with an ``operating_point`` or a measure such as
        recall@precision=0.9. As far as models of the splits stand for the one that is fitted to all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf import MeasureClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = MeasureClassifierCV("prbep", cv=3, calibration="sigmoid").fit(scale(X), y)
    >>> print(clf.trained_for_)
    log_loss, convex
    >>> clf.best_score_ > 0.95, clf.predict_proba(scale(X)).shape
    (True, (569, 2))
    """

    single = MeasureClassifier

    def __init__(
        self,
        measure: str | Measure = "roc_area",
        *,
        bound: str | Sequence[Any] = "auto",
        alphas: ArrayLike | None = None,
        n_alphas: int = N_STRENGTHS,
        cv: Any = 5,
        features: Any = None,
        l1_ratio: float | Sequence[float] = 0.0,
        positive: bool = False,
        coef_bounds: Any = None,
        penalty_factors: Any = None,
        max_features: int | None = None,
        sparsest: bool = False,
        calibration: str | None = None,
        operating_point: Mapping[str, float | None] | None = None,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "lbfgs",
        smoothing: str | float | Smoothing = "adaptive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        pos_label: Any = None,
        n_threads: int | None = None,
        low_memory: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
        progress: Callable[[Step], None] | None = None,
    ):
        self.measure = measure
        self.bound = bound
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.cv = cv
        self.features = features
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.coef_bounds = coef_bounds
        self.penalty_factors = penalty_factors
        self.max_features = max_features
        self.sparsest = sparsest
        self.calibration = calibration
        self.operating_point = operating_point
        self.n_jobs = n_jobs
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.n_threads = n_threads
        self.low_memory = low_memory
        self.verbose = verbose
        self.callback = callback
        self.progress = progress

    def _fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, offset: Any = None
    ) -> _HeldOutScores:
        """Fit, and return what the model knows of rows held out, which would be too long to keep."""
        ratios = _checked_ratios(self.l1_ratio)
        self._check_sparsity(ratios)
        solver = solver_of(self)
        point = self._checked_wishes()
        check_n_threads(self.n_threads)
        rows = labelled_rows(self, X, y, sample_weight, offset)
        check_count(point or {}, rows.known.count)
        self._keep_labels(rows.pair, rows.counts)
        splits = label_splits(self.cv, rows.positive)

        def task_for(whole: LabelRows) -> LabelTask:
            return label_task(self, whole.X.shape[1], ratios, whole.columns)

        rows, whole = self._with_features(rows, splits, solver, task_for)
        return self._fit_best(task_for(whole), rows, whole, splits, solver, point)

    def _checked_wishes(self) -> dict[str, Any] | None:
        """Refuse candidates and a calibration that there are not; the operating point, if one is asked for."""
        candidates_for(get_measure(self.measure), self.bound)
        if self.calibration is not None:
            choice("calibration", self.calibration, METHODS)
        return _checked_point(self.operating_point)

    def _fit_best(
        self,
        task: LabelTask,
        rows: LabelRows,
        whole: LabelRows,
        splits: Sequence[tuple[Any, Any]],
        solver: ConvexSolver,
        point: dict[str, Any] | None,
    ) -> _HeldOutScores:
        """Choose, fit the winner to all rows, and cut its scores; ``whole`` has the features of all rows."""
        # Counts are those of all rows, of which parts are trained on: what is compared has shares.
        weight = rows.known.weight
        shares = {replace(one, measure=one.measure.as_share(weight)): one for one in task.candidates(self.bound)}
        task = replace(task, measure=task.measure.as_share(weight))
        tried, chosen = self._choose(task, shares, rows, whole, splits, solver)
        self._keep_choice(tried, whole, solver, chosen)
        self.l1_ratio_ = chosen.candidate.l1_ratio
        self._keep_offset(rows.offset)
        held_out = self._keep_model(task, tried, chosen)
        self.__dict__.pop("coef_band_", None)
        if rows.features is not None and bends(self):
            self.coef_band_ = band_of_weights(tried, chosen, whole, splits, solver, self)
        self._keep_point(task.measure, point, held_out, rows.known.count)
        return held_out

    def _check_sparsity(self, ratios: tuple[float, ...]) -> None:
        """Refuse to look for few features where the penalty leaves all in the model."""
        if self.max_features is not None:
            whole_number("max_features", self.max_features, at_least=1)
        wanted = f"max_features={self.max_features}" if self.max_features is not None else "sparsest=True"
        if self._is_sparse and not any(ratios):
            raise ValueError(f"{wanted} needs an l1_ratio above 0, such as 1.0; with 0 all features are in the model.")

    @property
    def _is_sparse(self) -> bool:
        return self.max_features is not None or bool(self.sparsest)

    def _choice(
        self, task: Any, candidates: Mapping[Any, Any], strengths: Array, rows: Any, solver: ConvexSolver
    ) -> Choice[Any, Any]:
        """One of models of few features, where these are wanted."""
        if not self._is_sparse:
            return super()._choice(task, candidates, strengths, rows, solver)
        return SparseChoice(
            task,
            candidates,
            strengths,
            literal=self.alphas is not None,
            rows=rows,
            solver=solver,
            max_features=self.max_features,
            sparsest=self.sparsest,
        )

    def _keep_model(
        self, task: LabelTask, tried: Choice[Examples, LabelCandidate], chosen: Chosen[LabelCandidate]
    ) -> _HeldOutScores:
        """The fitted model; where to cut it, and what probabilities it has, held-out rows say."""
        key, result = (chosen.candidate, chosen.place), chosen.result
        bias = task.bias(chosen.candidate)
        threshold = cut_beyond_chance(task, tried.splits, key) if self.fit_intercept else 0.0
        self._keep(result, *bias.cut_at(result.coef, threshold))
        self.n_iter_ = max(1, result.n_iter)  # scikit-learn wants at least 1, also where the start is good enough
        _, constant = bias.split(result.coef)
        positive, scores, weights = stacked_scores(tried.splits, key, once=True)
        held_out = _HeldOutScores(positive, scores - constant, weights)
        self.__dict__.pop("calibration_", None)
        if self.calibration is not None:
            self.calibration_ = fitted_calibration(self.calibration, positive, held_out.raw_scores, weights)
        return held_out

    def _keep_point(self, measure: Measure, point: dict[str, Any] | None, held_out: _HeldOutScores, n: int) -> None:
        """Cut where the user wants to, and say what to expect there, or where a goal has led to."""
        if point is None:
            if not isinstance(measure, Goal) or measure.judges_decisions or not self.fit_intercept:
                return
            threshold = -self._sign * self.intercept_[0]
            point = {"threshold": threshold, "confidence": getattr(measure, "confidence", CONFIDENCE)}
        elif "k" in point:
            point = {**point, "k": max(1, round(point["k"] * held_out.positive.shape[0] / n))}
        labels = self.label_pair[held_out.positive.astype(int)]
        self.set_operating_point(y=labels, raw_scores=held_out.raw_scores, sample_weight=held_out.weights, **point)
        if isinstance(measure, TargetGoal):
            known = held_out.positive, held_out.raw_scores, held_out.weights
            self.expected_ = measure.limited(self.expected_, *known)

    def as_classifier(self) -> MeasureClassifier:
        """Return the fitted model as the MeasureClassifier with ``alpha_`` that it is.

        Returns
        -------
        MeasureClassifier
            Its ``measure`` is the one to be good at, which is not always the one that it was trained with: that is in
            ``trained_for_``.
        """
        check_is_fitted(self)
        return self._as_single(alpha=self.alpha_, bound=self.trained_for_.bound, l1_ratio=self.l1_ratio_)

    _as_saved = as_classifier


def _checked_ratios(l1_ratio: Any) -> tuple[float, ...]:
    """One share of absolute values or several, each once; a penalty checks them."""
    ratios = [l1_ratio] if np.ndim(l1_ratio) == 0 else list(l1_ratio)
    if not ratios:
        raise ValueError("l1_ratio is an empty list; give a number between 0 and 1, or several.")
    return tuple(dict.fromkeys(float(ElasticNet(1.0, ratio).l1_ratio) for ratio in ratios))


def _checked_point(point: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """An operating point that can be asked for, before the work begins."""
    if point is None:
        return None
    targets = {name: value for name, value in dict(point).items() if name != "confidence"}
    if len(targets) != 1 or not targets.keys() <= set(TARGETS):
        raise ValueError(
            f"operating_point must have exactly one of {', '.join(TARGETS)}, and perhaps confidence, got {point!r}."
        )
    [(name, value)] = targets.items()
    checked_target(name, value)
    checked_confidence(point.get("confidence", CONFIDENCE))
    return dict(point)
