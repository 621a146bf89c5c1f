"""A classifier for many labels that chooses what to train each with, how strongly to regularise, and where to cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from .._validation import whole_number
from ..measures import Measure
from ..measures.fractional import FractionalMeasure
from ..tasks.choosing import checked_splits
from ..tasks.features import split_rows
from ..tasks.label_choice import BASELINES, LabelCandidate
from ..tasks.label_sets import CLASSES, LabelSetRows, shared_folds
from ..threads import check_n_threads
from .calibration import Sigmoid, fitted_calibration
from .choice import N_STRENGTHS, strengths_for
from .classifier import MeasureClassifier
from .multilabel import MultilabelMeasureClassifier, MultilabelModel, constant_labels
from .problem import label_task, solver_of
from .shared_choice import FoldRows, SharedChoice


class MultilabelMeasureClassifierCV(MultilabelModel):
    """A linear classifier for many labels that chooses, for each, what to train with and how strongly to regularise.

    Every label has a choice of its own, and a cut: what is best on held-out rows. Where these are few, labels of the
    same size have a say, and those of one row follow them (docs/many-labels.md). Of three and more classes, one for a
    row, scores are made log-odds, so that they can be compared.

    Parameters
    ----------
    measure, average
        As in :class:`~smoothperf.MultilabelMeasureClassifier`.
    bound : {"auto", "convex", "tight"} or list of (measure, bound), default="auto"
        Candidates to choose from, as in :class:`~smoothperf.MeasureClassifierCV`; but for F-beta and the Jaccard index
        "auto" is log loss and squared hinge alone, beside which the others were not worth their time.
    alphas : array-like, optional
        The alphas to choose from; by default they follow from the size of the features.
    n_alphas : int, default=6
        Their number to begin with, if ``alphas`` is not given.
    cv : int, splitter or iterable, default=3
        An int is a number of folds, which have as many rows of each label as can be. A splitter of scikit-learn or an
        iterable of ``(train, test)`` indices says it all; no row should be held out twice.
    features, tol, max_iter, fit_intercept, intercept_scaling, n_threads, n_jobs
        As in :class:`~smoothperf.MultilabelMeasureClassifier`.
    progress : callable, optional
        Called with a line of text before each label; what it raises ends ``fit``.

    Attributes
    ----------
    alpha_ : ndarray of shape (L,)
        The chosen strength of each label.
    trained_for_ : list of LabelCandidate
        What each label was trained with.
    label_scores_ : ndarray of shape (L,)
        The measure of each label on held-out rows, at its cut; NaN for a label of too few rows.
    classes_, coef_, intercept_, features_, label_kind_, sparse_output_
        As in :class:`~smoothperf.MultilabelMeasureClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from smoothperf import MultilabelMeasureClassifierCV
    >>> X, Y = make_multilabel_classification(200, random_state=0)
    >>> clf = MultilabelMeasureClassifierCV("f1").fit(X, Y)
    >>> clf.alpha_.shape, clf.score(X, Y) > 0.7
    ((5,), True)
    """

    trained_for_: list[LabelCandidate]
    alpha_: Array
    label_scores_: Array

    def __init__(
        self,
        measure: str | Measure = "f1",
        average: str = "macro",
        *,
        bound: str | Sequence[Any] = "auto",
        alphas: ArrayLike | None = None,
        n_alphas: int = N_STRENGTHS,
        cv: Any = 3,
        features: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        n_threads: int | None = None,
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
    ):
        self.measure = measure
        self.average = average
        self.bound = bound
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.cv = cv
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.n_threads = n_threads
        self.n_jobs = n_jobs
        self.progress = progress

    def _fit_to(self, rows: LabelSetRows) -> None:
        check_n_threads(self.n_threads)
        whole = self._prepare(rows)
        whole.design  # noqa: B018 (made once, before threads ask for it)
        members = whole.labels.members
        n_labels = members.shape[0]
        constant = constant_labels(members, self.classes_)
        self.coef_ = np.zeros((n_labels, whole.X.shape[1]))
        self.intercept_ = np.where(members.all(axis=1), 1.0, -1.0)  # of labels that all rows have, or none
        labels = np.flatnonzero(~constant)
        choice = self._choice(rows, whole)
        choice.compare(labels)
        keys, thresholds = choice.settle(labels, micro=self.average == "micro")
        if not self.fit_intercept:
            thresholds[:] = 0.0
        fits = choice.at_once(choice.fit_to_all, labels.tolist(), keys)
        default = keys[0][0]
        self.trained_for_ = [default] * n_labels
        self.alpha_, self.label_scores_ = np.ones(n_labels), np.full(n_labels, np.nan)
        self.n_iter_ = np.ones(n_labels, dtype=np.int64)
        for label, key, threshold, (training, result) in zip(labels.tolist(), keys, thresholds, fits, strict=True):
            candidate, strength = key
            self.trained_for_[label], self.alpha_[label] = candidate, choice.alpha(training, strength)
            self.n_iter_[label] = max(1, result.n_iter)
            self.label_scores_[label] = choice.worth(label, key, threshold)
            bias = choice.task.bias(candidate)
            coef, intercept = bias.cut_at(result.coef, threshold)
            if self.label_kind_ == CLASSES and n_labels > 1:
                slope, offset = _log_odds(*choice.held_out(label, key))
                _, constant_part = bias.split(result.coef)
                coef, intercept = slope * coef, slope * constant_part + offset if self.fit_intercept else 0.0
            self.coef_[label], self.intercept_[label] = coef, intercept

    def _choice(self, rows: LabelSetRows, whole: LabelSetRows) -> SharedChoice:
        """The choice, with everything that all labels share."""
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in MeasureClassifier().get_params() if name in own}
        single = MeasureClassifier(**shared | {"features": None, "bound": "auto"})
        task = label_task(single, whole.X.shape[1], columns=whole.columns)
        task = replace(task, measure=task.measure.as_share(whole.labels.members.shape[1]))
        measure = task.measure
        few = self.bound == "auto" and isinstance(measure, FractionalMeasure)
        parts = [FoldRows(*split_rows(rows, train, test), test) for train, test in _splits(self.cv, rows)]
        for before, _, _ in parts:
            before.design  # noqa: B018 (as above)
        n_labels = whole.labels.members.shape[0]

        def tell(label: int) -> None:
            if self.progress is not None:
                self.progress(f"label {label + 1} of {n_labels}: {self.classes_[-n_labels:][label]}")

        return SharedChoice(
            task=task,
            rows=whole,
            parts=parts,
            candidates=BASELINES if few else task.candidates(self.bound),
            strengths=strengths_for(whole.X, None, self.alphas, self.n_alphas),
            literal=self.alphas is not None,
            solver=solver_of(single),
            n_jobs=self.n_jobs,
            n_threads=self.n_threads,
            tell=tell,
        )

    def as_classifier(self) -> MultilabelMeasureClassifier:
        """Return the fitted model as the MultilabelMeasureClassifier with ``alpha_`` that it is.

        Returns
        -------
        MultilabelMeasureClassifier
            What its labels were trained with is in ``trained_for_``.
        """
        check_is_fitted(self)
        model: MultilabelMeasureClassifier = self._as(
            MultilabelMeasureClassifier, ["label_scores_"], alpha=self.alpha_, bound="auto"
        )
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model that was chosen to a file that :func:`smoothperf.load` reads, as a single estimator.

        Parameters
        ----------
        path : path-like
            The file; it is written whole or not at all.
        """
        self.as_classifier().save(path)


def _splits(cv: Any, rows: LabelSetRows) -> list[tuple[Any, Any]]:
    """Numbers of the rows to train on and of those to hold out, for every split."""
    from sklearn.model_selection import check_cv  # half a second, which those who only use a model need not wait for

    n = rows.labels.members.shape[1]
    if isinstance(cv, (int, np.integer)):
        fold = shared_folds(rows.labels.members, min(whole_number("cv", cv, at_least=2), n))
        return [(np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in range(fold.max() + 1)]
    every_row = np.arange(n)  # a split may be a mask
    return checked_splits((every_row[a], every_row[b]) for a, b in check_cv(cv).split(every_row, rows.targets))


def _log_odds(positive: NDArray[np.bool_], scores: Array) -> tuple[float, float]:
    """Slope and offset that make log-odds of scores, so that those of several labels can be compared."""
    if positive.all() or not positive.any():
        return 1.0, 0.0
    sigmoid = fitted_calibration("sigmoid", positive, scores, None)
    assert isinstance(sigmoid, Sigmoid)
    return (-sigmoid.slope, -sigmoid.offset) if sigmoid.slope < 0.0 else (1.0, 0.0)
