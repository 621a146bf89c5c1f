"""A classifier for many labels that chooses what to train each with, how strongly to regularise, and where to cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..measures import Measure, get_measure
from ..tasks.label_choice import LabelCandidate
from ..tasks.label_sets import LabelSetRows
from .choice import N_STRENGTHS
from .classifier import MeasureClassifier
from .classifier_cv import MeasureClassifierCV
from .multilabel import MultilabelMeasureClassifier, MultilabelModel, constant_labels, micro_thresholds

#: Labels of fewer rows share what the others chose.
FEWEST = 6


class MultilabelMeasureClassifierCV(MultilabelModel):
    """A linear classifier for many labels that chooses, for each, what to train with and how strongly to regularise.

    Every label has a choice of its own, as in :class:`~smoothperf.MeasureClassifierCV`: what is best on held-out rows.
    Labels of few rows, of which held-out rows tell too little, share what the others chose (docs/many-labels.md).

    Parameters
    ----------
    measure, average
        As in :class:`~smoothperf.MultilabelMeasureClassifier`.
    bound : {"auto", "convex", "tight"} or list of (measure, bound), default="auto"
        Candidates to choose from, as in :class:`~smoothperf.MeasureClassifierCV`.
    alphas : array-like, optional
        The alphas to choose from; by default they follow from the size of the features.
    n_alphas : int, default=6
        Their number to begin with, if ``alphas`` is not given.
    cv : int, default=3
        Number of folds.
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
        rows = self._prepare(rows)
        members = rows.labels.members
        n_labels = members.shape[0]
        constant = constant_labels(members, self.classes_)
        self.coef_ = np.zeros((n_labels, rows.X.shape[1]))
        self.intercept_ = np.where(members.all(axis=1), 1.0, -1.0)
        self.alpha_, self.label_scores_ = np.ones(n_labels), np.full(n_labels, np.nan)
        self.n_iter_ = np.ones(n_labels, dtype=np.int64)
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in MeasureClassifierCV().get_params() if name in own}
        shared |= {"features": None, "progress": None}
        found: dict[int, LabelCandidate] = {}
        held_out: dict[int, Any] = {}
        fewest = np.minimum(members.sum(axis=1), (~members).sum(axis=1))
        for label in np.argsort(-fewest, kind="stable").tolist():
            if constant[label]:
                continue
            if self.progress is not None:
                self.progress(f"label {label + 1} of {n_labels}: {self.classes_[-n_labels:][label]}")
            if fewest[label] < FEWEST and found:
                candidate = Counter(found.values()).most_common(1)[0][0]
                alphas = [self.alpha_[one] for one, chosen in found.items() if chosen == candidate]
                model: Any = MeasureClassifier(candidate.measure, float(np.median(alphas)), bound=candidate.bound)
                model.fit(rows.X, members[label])
                self.alpha_[label] = model.alpha
                found[label] = candidate
            elif fewest[label] < 2:
                model = MeasureClassifier("squared_hinge", 1e-4).fit(rows.X, members[label])
                self.alpha_[label] = model.alpha
                found[label] = LabelCandidate(model.trained_with)
            else:
                model = MeasureClassifierCV(**shared)
                held_out[label] = model._fit(rows.X, members[label])
                self.alpha_[label], found[label] = model.alpha_, model.trained_for_
                self.label_scores_[label] = model.best_score_
            self.coef_[label], self.intercept_[label] = model.coef_[0], model.intercept_[0]
            self.n_iter_[label] = max(1, model.n_iter_)
        default = next(iter(found.values()))
        self.trained_for_ = [found.get(label, default) for label in range(n_labels)]
        if self.average == "micro" and held_out:
            labels = list(held_out)
            self.intercept_[labels] = -micro_thresholds(
                get_measure(self.measure),
                [held_out[label].positive for label in labels],
                [held_out[label].raw_scores for label in labels],
            )

    def as_classifier(self) -> MultilabelMeasureClassifier:
        """Return the fitted model as the MultilabelMeasureClassifier with ``alpha_`` that it is.

        Returns
        -------
        MultilabelMeasureClassifier
            What its labels were trained with is in ``trained_for_``.
        """
        check_is_fitted(self)
        own = self.get_params(deep=False)
        single = MultilabelMeasureClassifier()
        single.set_params(**{name: own[name] for name in single.get_params() if name in own and name != "bound"})
        single.set_params(alpha=self.alpha_, features=None if self.features is None else self.features)
        single.__dict__.update({name: value for name, value in vars(self).items() if name.endswith("_")})
        del single.label_scores_
        return single

    def save(self, path: Any) -> None:
        """Write the model that was chosen to a file that :func:`smoothperf.load` reads, as a single estimator.

        Parameters
        ----------
        path : path-like
            The file; it is written whole or not at all.
        """
        self.as_classifier().save(path)
