"""The scikit-learn estimator: a linear classifier trained for a measure."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from .._arrays import Array
from .._validation import choice
from ..io.model_file import kept_in_files
from ..measures import Measure
from ..optimise import Callback, ConvexSolver, Solver
from ..optimise.penalties import BoundPenalty
from ..optimise.smoothing import Smoothing
from ..tasks.base import BOUNDS, Ending
from ..tasks.bias import Bias
from ..tasks.label_choice import LabelCandidate
from ..tasks.labels import LabelRows, LabelTask
from ..threads import check_n_threads
from .messages import warn_of_limits, warn_of_zero_model
from .problem import label_task, labelled_rows, solver_of
from .scores import LinearMeasureClassifier


@kept_in_files
class MeasureClassifier(LinearMeasureClassifier):
    """Linear binary classifier that minimises a regularised upper bound of ``1 - measure`` on the training set.

    Minimises ``J(w) = (alpha/2) |w|^2 + R(Xw)`` to a certified gap, or J with another penalty of w, where R is the
    structural-SVM bound, or the mean loss itself for log loss and squared hinge. The bound is convex, and loose on
    noisy data: there w = 0 may be its minimiser for every alpha, except for ROC area. A tight bound, which does not
    collapse, and is not convex, is minimised then.

    Parameters
    ----------
    measure : str or Measure, default="roc_area"
        The measure to be good at: "roc_area", "prbep", "precision@100", "recall@5%", "error_rate", ... or a Measure
        object; docs/measures.md has them all.
    alpha : float, default=1e-4
        Strength of the regulariser (the paper's lambda); the risk is an average, so alpha does not scale with n.
    bound : {"auto", "convex", "tight"}, default="auto"
        Which bound of ``1 - measure`` to minimise. "convex" is the paper's, with a certificate of the global minimum.
        "tight" is R less the same maximum without the loss (docs/maths.md, tight-risk). It is minimised by convex
        steps from the minimiser for ROC area, to a point that none of them can improve by more than ``tol``: a
        stationary point, of which nobody knows how far from the global minimum it is. "auto" is "convex", and "tight"
        where w = 0 is the optimum of the convex one within ``tol`` (not for ROC area and sums over rows, where a
        smaller alpha is what helps); ``bound_`` says which it was.
    features : transformer, optional
        A transformer of scikit-learn's kind, or a pipeline of such, that makes the features of X, which may be a data
        frame then: :class:`~smoothperf.TableEncoder`, :class:`~smoothperf.Shapes`, a StandardScaler. ``coef_`` has the
        weights of what it makes. By default the features are the columns of X.
    l1_ratio : float, default=0.0
        Share of absolute values in the penalty, ``alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)``: 0 is the
        quadratic penalty, 1 leaves as few features in the model as possible. Above 0, weights are exactly zero where
        features do not pay.
    positive : bool, default=False
        Whether no weight may be negative: a feature with a weight speaks for the positive label.
    coef_bounds : tuple (lower, upper) or dict, optional
        Bounds of the weights, at most 0 and at least 0: each None, a number, or one for each feature. Or pairs by
        feature, ``{"income": (None, 0.0)}``, by name or position; the others are free. They are those of weights that
        speak for the positive label. A monotone scorecard is ``(lower, upper)`` of 0 and infinity, feature by feature.
        An array of shape (2, n_features) has the lower bounds in its first row.
    penalty_factors : array-like of shape (n_features,) or dict, optional
        Cost of the weight of each feature, in terms of the others: 1 by default, 0 for a feature that is not
        penalised. The weight of such a one stays within 1000, unless it has bounds. A Series of pandas, here and in
        ``coef_bounds``, is read by its index, as a dict is.
    tol : float, default=1e-3
        Largest certified gap between ``objective_`` and the optimum; for the tight bound, what a convex step may still
        gain.
    max_iter : int, default=1000
        Most iterations; of each bound, where "auto" minimises both.
    solver : {"lbfgs", "nesterov", "newton", "bmrm"} or solver object, default="lbfgs"
        An object brings its own ``tol``, ``max_iter`` and ``smoothing``. "newton" is for few features and tight
        tolerances, with measures of a fixed number of predicted positives (PRBEP, precision@k, recall@k), error rates,
        log loss and squared hinge.
    smoothing : "adaptive", float or Smoothing object, default="adaptive"
        Smoothing of the risk; a number is a fixed mu. BMRM does not smooth.
    fit_intercept : bool, default=True
        Whether there is an intercept; otherwise it is 0. For measures that compare scores (ROC area, PRBEP,
        precision@k, recall@k) it is chosen after training, and realises the operating point that the measure asks for:
        as many positives predicted in the training set as there are, or k. Measures that cut at score 0 (error rates,
        F-beta, losses) train a bias with the weights, as that of a constant feature which is regularised too.
    intercept_scaling : float, default=1.0
        Value of the constant feature; the larger, the less the bias is regularised. Of no effect where none is
        trained.
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied into the sample weights.
    pos_label : label, optional
        The positive label, which the measure speaks of; by default the larger, in sorted order. ``classes_`` stays
        sorted and :meth:`decision_function` above 0 stays the second class, as scikit-learn has it;
        :meth:`positive_scores` is higher for the positive label.
    warm_start : bool, default=False
        Start from the weights, and the bias, of the previous fit.
    n_threads : int, optional
        Threads for the products with X; as many as there are cores by default.
    low_memory : bool, default=False
        Do without the copy that a long fit makes of the column indices of a CSR matrix, of two bytes each, if there are
        no more than 65,536 columns. With it the products with X take less time.
    verbose : int, default=0
        1 prints a line about once a second and at the end, 2 one per iteration; to standard error.
    callback : callable, optional
        Called with a :class:`~smoothperf.optimise.TraceRow` after every iteration; a true return value stops the fit.
    checkpoint : path-like or callable, optional
        A file for the model so far, written at once and every minute. After a crash :func:`smoothperf.load` reads it,
        and with ``set_params(warm_start=True)`` the next fit goes on from it. Or a function that is given the model.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, in sorted order.
    pos_label_ : label
        The positive one of them.
    class_count_ : ndarray of shape (2,)
        Training rows with each of them, whatever they weigh.
    coef_ : ndarray of shape (1, n_features)
        The weights of the features; never a bias.
    intercept_ : ndarray of shape (1,)
        The operating point: :meth:`predict` is ``classes_[1]`` where ``X @ coef_.T + intercept_ > 0``. With a trained
        bias, that bias less the threshold that the measure chose on the training scores (0 for error rates).
    features_ : transformer
        The fitted transformer, if ``features`` is one.
    bound_ : {"convex", "tight"}
        The bound that was minimised.
    objective_, lower_bound_, gap_ : float
        Exact J at the solution, a certified lower bound of its minimum, and their difference. Where a bias is trained,
        the weight of the constant feature is part of w in J. For the tight bound J is that of the tight risk, and the
        other two, which speak of a global minimum, are NaN.
    stationarity_gap_ : float
        For the tight bound, what the last convex step could gain at most, certified; NaN for the convex one.
    n_iter_ : int
        Iterations.
    n_features_in_model_ : int
        Features whose weight is not zero.
    has_base_scores_ : bool
        Whether there was an offset (``base_scores``), which new rows need then.
    result_ : Result
        Everything the solver has to say, with the trace of all iterations: for the tight bound those of the convex
        problems that were solved on the way. Where a bias is trained, ``result_.coef``
        ends with the weight of the constant feature.
    origin_ : dict
        When the model was fitted ("date", UTC) and by which version ("smoothperf"); the command line adds the name of
        the file of the training rows ("data"), and of a table the column with the labels ("label").

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from smoothperf import MeasureClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> clf = MeasureClassifier(measure="prbep", alpha=1e-3).fit(X, y)
    >>> bool(clf.gap_ <= 1e-3)
    True
    >>> clf.score(X, y) > 0.95   # the break-even point itself
    True
    """

    def __init__(
        self,
        measure: str | Measure = "roc_area",
        alpha: float = 1e-4,
        *,
        bound: str = "auto",
        features: Any = None,
        l1_ratio: float = 0.0,
        positive: bool = False,
        coef_bounds: Any = None,
        penalty_factors: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str | Solver = "lbfgs",
        smoothing: str | float | Smoothing = "adaptive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        pos_label: Any = None,
        warm_start: bool = False,
        n_threads: int | None = None,
        low_memory: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | Callable[[Any], object] | None = None,
    ):
        self.measure = measure
        self.alpha = alpha
        self.bound = bound
        self.features = features
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.coef_bounds = coef_bounds
        self.penalty_factors = penalty_factors
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.low_memory = low_memory
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    def _fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, offset: Any = None
    ) -> None:
        self._fit_to(*self._problem(X, y, sample_weight, offset))

    def _fit_to(self, task: LabelTask, candidate: LabelCandidate, rows: LabelRows, solver: ConvexSolver) -> None:
        """Fit to rows that were checked, and have their features."""
        self._keep_labels(rows.pair, rows.counts)
        self._keep_offset(rows.offset)
        bias = task.bias(candidate)
        start = self._last_weights(bias, rows.X.shape[1])
        training, result, ending = self._minimise(task, candidate, rows, solver, start)
        self._warn(bias, ending, training.objective(self.alpha).penalty, result.coef, solver.tol)
        self._keep_ending(result, ending)

    def _problem(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, offset: Any
    ) -> tuple[LabelTask, LabelCandidate, LabelRows, ConvexSolver]:
        """The task, the candidate, the rows and the solver that parameters and data describe, all checked."""
        choice("bound", self.bound, ("auto", *BOUNDS))
        solver = solver_of(self)
        check_n_threads(self.n_threads)
        rows = self._prepare(labelled_rows(self, X, y, sample_weight, offset))
        task = label_task(self, rows.X.shape[1], columns=rows.columns)
        return task, task.candidate(self.bound), rows, solver

    def _warn(self, bias: Bias, ending: Ending, penalty: BoundPenalty, coef: Array, tol: float) -> None:
        """Say so if no weights are as good as those that were found, or if one would grow without end."""
        if ending.empty:
            warn_of_zero_model(bias, ending.excess, self.alpha, tol, bound=self.bound, based=self._has_offset)
        if (held := penalty.held(coef)).size:
            warn_of_limits(int(held[0]), coef.size, self.feature_names)

    def _last_weights(self, bias: Bias, n_features: int) -> Array | None:
        """Weights to start from, where those of an earlier fit are wanted and fit these features."""
        previous: Array | None = getattr(self, "coef_", None)
        if not self.warm_start or previous is None or previous.shape[1] != n_features:
            return None
        return bias.start(self._sign * previous[0], self.result_.coef)
