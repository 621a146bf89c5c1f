"""A classifier that chooses what to train with and how strongly to regularise: by the measure, on held-out rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils.validation import check_is_fitted

from .._validation import choice, whole_number
from ..io.model_file import is_fitted_attribute
from ..measures import Goal, Measure, get_measure
from ..measures.confidence import CONFIDENCE, checked_confidence
from ..measures.examples import Examples
from ..measures.targets import TARGETS, checked_target
from ..penalties import ElasticNet
from ..solvers import Callback, ConvexSolver, Result, Solver
from ..solvers.smoothing import Smoothing
from ..threads import check_n_threads, use_threads
from .calibration import METHODS, fitted_calibration
from .candidates import Candidate, candidates_for
from .choice import LEVELS, HeldOut, LabelRace, Step, check_any_splits
from .classifier import MeasureClassifier
from .linear import LinearMeasureClassifier, make_callback, report_end
from .path import checked_alphas
from .problem import check_suits, example_weights, labelled_rows, make_solver, penalty_of
from .search import (
    OF_THE_CHOICE,
    Part,
    compare,
    keep_choice,
    levels_for,
    loosened,
    warn_if_nothing_is_told,
)
from .trail import LabelTrail, Rows, Settings

Array = NDArray[np.float64]
#: With fewer examples of the smaller class than the first number, folds are drawn as often as the second says.
FEW_EXAMPLES, REPEATS = 200, 3


@dataclass(frozen=True)
class _HeldOutScores:
    """Labels, raw scores and weights of the rows that were held out, each once."""

    positive: NDArray[np.bool_]
    raw_scores: Array
    weights: Array | None


class MeasureClassifierCV(LinearMeasureClassifier):
    """A linear classifier for a measure that chooses what to train with, and how strongly to regularise.

    Several risks are trained along paths of falling alphas: log loss and squared hinge, which are safe, and those of
    the measure and of others near it, convex or tight. The measure on held-out rows decides, cautiously: another than
    the best safe risk is taken only if it is better by more than the standard error of the difference. The winner is
    fitted to all rows in the same way. Thresholds and probabilities come from the scores of held-out rows.

    Parameters
    ----------
    measure : str or Measure, default="roc_area"
        What to be good at. A count such as that of precision@100 is meant for as many rows as are given to ``fit``.
    bound : {"auto", "convex", "tight"} or list of (measure, bound), default="auto"
        What to choose from. "auto": the safe risks, and what was seen to be worth while for the measure. "convex" or
        "tight": that risk of the measure only. A list names the candidates, such as
        ``[("log_loss", "convex"), ("prbep", "tight")]``.
    alphas : array-like, optional
        The alphas to choose from, for all candidates; the first two splits try every one. By default they follow
        from the size of the features and suit each candidate; smaller ones are added while that pays.
    n_alphas : int, default=6
        How many there are to begin with, if ``alphas`` is not given: each a tenth of the one before.
    cv : int, float, splitter or iterable, default=5
        An int is a number of stratified folds; they are drawn three times if the smaller class has fewer than 200
        examples, as luck decides much then. A share between 0 and 1 holds out one stratified validation set, as many
        papers do. A splitter of scikit-learn or an iterable of ``(train, test)`` indices says it all; ``[(train,
        validation)]`` is a validation set of your own.
    l1_ratio : float or list of float, default=0.0
        Share of absolute values in the penalty, as in :class:`~smoothperf.MeasureClassifier`; of several the one that
        is best on held-out rows, with everything else, is taken. Above 0, alphas follow from where the first weight
        comes in.
    positive, coef_bounds, penalty_factors
        As in :class:`~smoothperf.MeasureClassifier`.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        How scores become probabilities, by scikit-learn's calibrators on the scores of held-out rows. With None there
        is no ``predict_proba``.
    operating_point : dict, optional
        Where to predict positive, in place of what the measure asks for: ``{"precision": 0.9}``, or another target of
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
    trained_for_ : Candidate
        What was chosen: its ``measure`` and its ``bound``.
    alpha_, l1_ratio_ : float
        The chosen alpha, and the chosen share of absolute values.
    cv_results_ : dict
        What was tried, in the form of scikit-learn's searches: "params" with measure, bound, l1_ratio and alpha, and
        "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score". NaN where a split did not try
        something: that was out of the race.
    best_index_ : int
        Where the chosen one is in ``cv_results_``.
    best_score_ : float
        Its mean score on held-out rows.
    result_, origin_, classes_, pos_label_, class_count_, coef_, intercept_, objective_, lower_bound_, gap_, n_iter_
    stationarity_gap_
        As in :class:`~smoothperf.MeasureClassifier`, of the fit to all rows with what was chosen; but the threshold is
        the one that the measure chose on the scores of held-out rows.
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

    def __init__(
        self,
        measure: str | Measure = "roc_area",
        *,
        bound: str | Sequence[Any] = "auto",
        alphas: ArrayLike | None = None,
        n_alphas: int = LEVELS,
        cv: Any = 5,
        l1_ratio: float | Sequence[float] = 0.0,
        positive: bool = False,
        coef_bounds: Any = None,
        penalty_factors: Any = None,
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
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.coef_bounds = coef_bounds
        self.penalty_factors = penalty_factors
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

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        base_scores: ArrayLike | None = None,
    ) -> Self:
        """Choose, and fit to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Dense in any order, CSR or CSC. Of a store, rows of folds are copied into memory.
        y : array-like of shape (n,)
            Two kinds of labels; ``pos_label``, or the larger in sorted order, is positive. Not needed for a store,
            which has them.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, in training and in the scores on held-out rows.
        base_scores : array-like of shape (n,), optional
            Scores to begin with, as in :meth:`MeasureClassifier.fit`. Scores on held-out rows, and so the choice, the
            threshold and probabilities, have them in. A model that was trained on these very rows flatters itself
            there: give scores that it has for rows held out (``cross_val_predict``).
        """
        self._fit(X, y, sample_weight, base_scores)
        return self

    def _fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        base_scores: ArrayLike | None = None,
    ) -> _HeldOutScores:
        """Fit, and return what the model knows of rows held out, which would be too long to keep."""
        measure = get_measure(self.measure)
        ratios = _checked_ratios(self.l1_ratio)
        candidates = tuple(
            replace(one, l1_ratio=ratio) for one in candidates_for(measure, self.bound) for ratio in ratios
        )
        solver = make_solver(self.solver, tol=self.tol, max_iter=self.max_iter, smoothing=self.smoothing)
        if self.calibration is not None:
            choice("calibration", self.calibration, METHODS)
        point = _checked_point(self.operating_point)
        check_n_threads(self.n_threads)
        given = labelled_rows(self, X, y, sample_weight)
        X, examples = given.X, given.examples
        self._keep_labels(given.pair, given.counts)
        base = given.base_scores(base_scores)
        penalties = {ratio: penalty_of(self, X.shape[1], ratio) for ratio in ratios}
        for candidate in candidates:
            tight = candidate.bound == "tight"
            penalty = penalties[candidate.l1_ratio]
            check_suits(solver, candidate.measure, candidate.measure.risk(examples), penalty, tight=tight)
        levels = self._levels(X, examples.weights)
        settings = Settings(
            solver=loosened(solver),
            low_memory=self.low_memory,
            literal=self.alphas is not None,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
            penalties=penalties,
            first_level=float(levels[0]),
        )
        race = LabelRace(
            measure.as_share(examples.weight),
            [replace(candidate, measure=candidate.measure.as_share(examples.weight)) for candidate in candidates],
            levels,
            open_end=self.alphas is None,
        )
        self._compare(race, X, examples.positive, given.sample_weight, base, settings)
        with use_threads(self.n_threads):
            rows = Rows(X, examples, settings, base)
            winner, index, trail, result = self._winner(race, rows, solver)
        report_end(result, solver.tol, self.verbose, 0.0 if base is None else float(np.abs(base).max()))
        self._keep_choice(race, rows, candidates, winner, index)
        self.has_base_scores_ = base is not None
        held_out = self._keep_model(race, trail, result, winner, index)
        self._keep_point(race.measure, point, held_out, examples.count)
        return held_out

    def _levels(self, X: Any, weights: Array | None) -> Array:
        """Strengths of the regulariser to begin with."""
        if self.alphas is not None:
            return checked_alphas(self.alphas)
        return levels_for(X, weights, self.n_alphas)

    def _compare(
        self,
        race: LabelRace,
        X: Any,
        positive: NDArray[np.bool_],
        sample_weight: Array | None,
        base: Array | None,
        settings: Settings,
    ) -> None:
        """Train candidates on the training part of every split, and score the held-out part."""
        row_numbers = np.arange(positive.shape[0])  # as a split may be a mask in place of row numbers

        def part(train: Any, test: Any) -> Part:
            before, after = (None if sample_weight is None else sample_weight[part] for part in (train, test))
            weights = example_weights(self.class_weight, self.label_pair, positive[train], before)
            cut_weights = example_weights(self.class_weight, self.label_pair, positive[test], after)
            base_before, base_after = (None, 0.0) if base is None else (base[train], base[test])
            rows = Rows(X[train], Examples.of(positive[train], weights), settings, base_before)
            held_out = HeldOut(row_numbers[test], positive[test], after, cut_weights)
            return Part(lambda candidate: LabelTrail(candidate, rows), held_out, X[test], base_after)

        compare(self, race, self._splits(positive), part)

    def _winner(self, race: LabelRace, rows: Rows, solver: ConvexSolver) -> tuple[Candidate, int, LabelTrail, Result]:
        """Fit the winner to all rows."""
        callback = make_callback(self.verbose, self.callback)
        found = race.winner(lambda candidate: LabelTrail(candidate, rows), solver, callback)
        warn_if_nothing_is_told(found[-1])
        return found

    def _keep_choice(
        self, race: LabelRace, rows: Rows, candidates: Sequence[Candidate], winner: Candidate, index: int
    ) -> None:
        """What was tried, in the form of scikit-learn's searches; and what was chosen."""
        names = dict(zip(race.candidates, candidates, strict=True))  # as the user gave them: counts, not shares
        trails = {one: LabelTrail(one, rows) for one in race.candidates}
        words = {
            one: {"measure": names[one].measure.name, "bound": one.bound, "l1_ratio": one.l1_ratio}
            for one in race.candidates
        }
        self.trained_for_ = names[winner]
        self.l1_ratio_ = winner.l1_ratio
        keep_choice(self, race, trails, words, winner, index)

    def _keep_model(
        self, race: LabelRace, trail: LabelTrail, result: Result, winner: Candidate, index: int
    ) -> _HeldOutScores:
        """The fitted model; where to cut it, and what probabilities it has, held-out rows say."""
        threshold = race.cut(winner, index) if self.fit_intercept else 0.0
        self._keep(result, *trail.bias.cut_at(result.coef, threshold))
        self.n_iter_ = max(1, result.n_iter)  # scikit-learn wants at least 1, also where the start is good enough
        _, bias = trail.bias.split(result.coef)
        positive, scores, weights = race.together(winner, index, once=True)
        held_out = _HeldOutScores(positive, scores - bias, weights)
        self.__dict__.pop("calibration_", None)
        if self.calibration is not None:
            self.calibration_ = fitted_calibration(self.calibration, positive, held_out.raw_scores, weights)
        return held_out

    def _keep_point(self, measure: Measure, point: dict[str, Any] | None, held_out: _HeldOutScores, n: int) -> None:
        """Cut where the user wants to, and say what to expect there, or where a goal has led to."""
        if point is None:
            if not isinstance(measure, Goal) or not self.fit_intercept:
                return
            threshold = -self._sign * self.intercept_[0]
            point = {"threshold": threshold, "confidence": getattr(measure, "confidence", CONFIDENCE)}
        elif "k" in point:
            point = {**point, "k": max(1, round(point["k"] * held_out.positive.shape[0] / n))}
        labels = self.label_pair[held_out.positive.astype(int)]
        self.set_operating_point(y=labels, raw_scores=held_out.raw_scores, sample_weight=held_out.weights, **point)

    def _splits(self, positive: NDArray[np.bool_]) -> list[tuple[Any, Any]]:
        """Rows to train on and rows to hold out, for every split."""
        cv = self.cv
        if isinstance(cv, (float, np.floating)):
            if not 0.0 < cv < 1.0:
                raise ValueError(f"cv must be a number of folds, a share between 0 and 1 or a splitter, got {cv!r}.")
            cv = StratifiedShuffleSplit(n_splits=1, test_size=cv, random_state=0)
        elif isinstance(cv, (int, np.integer)):
            folds = self._folds_that_exist(whole_number("cv", cv, at_least=2), positive)
            # Rows may come in an order that means something.
            cv = StratifiedKFold(folds, shuffle=True, random_state=0)
            if (times := times_drawn(positive)) > 1:
                cv = RepeatedStratifiedKFold(n_splits=folds, n_repeats=times, random_state=0)
        splits = list(check_cv(cv, positive, classifier=True).split(positive, positive))
        check_any_splits(splits)
        for train, test in splits:
            for part, rows in (("training", train), ("held-out", test)):
                if np.unique(positive[rows]).size < 2:
                    raise ValueError(f"cv leaves a {part} part with one class only; use fewer or stratified folds.")
        return splits

    def _folds_that_exist(self, wanted: int, positive: NDArray[np.bool_]) -> int:
        """As many folds as wanted, or as there are examples of the smaller class."""
        fewest = _smaller_class(positive)
        if fewest < 2:
            raise ValueError(
                f"cv={wanted} needs at least 2 examples of each class, but one class has {fewest}: there is nothing to "
                "choose alpha by. Use MeasureClassifier with a given alpha."
            )
        if wanted > fewest:
            warnings.warn(
                f"cv={wanted}, but one class has {fewest} examples only, so that {fewest} folds are used.",
                UserWarning,
                stacklevel=4,
            )
        return min(wanted, fewest)

    def as_classifier(self) -> MeasureClassifier:
        """Return the fitted model as the MeasureClassifier with ``alpha_`` that it is.

        Its ``measure`` is the one to be good at, which is not always the one that it was trained with: that is in
        ``trained_for_``.
        """
        check_is_fitted(self)
        mine = self.get_params(deep=False)
        shared = {name: mine[name] for name in MeasureClassifier().get_params(deep=False) if name in mine}
        chosen = {"alpha": self.alpha_, "bound": self.trained_for_.bound, "l1_ratio": self.l1_ratio_}
        classifier = MeasureClassifier(**{**shared, **chosen})
        for name, value in vars(self).items():
            if is_fitted_attribute(name) and name not in OF_THE_CHOICE:
                setattr(classifier, name, value)
        return classifier

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`as_classifier` to a file that :func:`smoothperf.load` reads."""
        self.as_classifier().save(path)


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


def times_drawn(positive: NDArray[np.bool_]) -> int:
    """How often folds are drawn: which rows share one decides much where the smaller class has few examples.

    Examples
    --------
    >>> times_drawn(np.arange(1000) < 200), times_drawn(np.arange(1000) < 199)
    (1, 3)
    """
    return REPEATS if _smaller_class(positive) < FEW_EXAMPLES else 1


def _smaller_class(positive: NDArray[np.bool_]) -> int:
    """How many examples it has."""
    return int(min(positive.sum(), (~positive).sum()))
