"""Classifiers for many labels: one linear model for each, trained for the measure of it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._arrays import Array
from .._validation import choice, vector, whole_number
from .._warnings import warn
from ..cuts.sorted_scores import SortedScores
from ..cuts.together import cuts_together
from ..evaluation.many_labels import label_scores, micro_score
from ..io.model_file import kept_in_files
from ..measures import Measure, get_measure
from ..measures.fractional import FractionalMeasure
from ..tasks.base import scores_of
from ..tasks.features import prepared
from ..tasks.label_sets import CLASSES, SETS, LabelSetRows, LabelSets
from ..threads import check_n_threads
from .classifier import MeasureClassifier
from .fitted import FittedModel
from .problem import ACCEPTED, check_lengths, features_of, label_task, new_rows, solver_of, taken

AVERAGES = ("macro", "micro")


class MultilabelModel(ClassifierMixin, FittedModel):  # type: ignore[misc]
    """Base of the classifiers for many labels: everything but training.

    Attributes
    ----------
    label_kind_ : {"classes", "indicator", "sets"}
        The form of y in ``fit``.
    sparse_output_ : bool
        Whether :meth:`predict` returns a sparse matrix.
    """

    measure: str | Measure
    average: str
    features: Any
    classes_: NDArray[Any]
    coef_: Array
    intercept_: Array
    label_kind_: str
    sparse_output_: bool

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        parameters: str = BaseEstimator.__repr__(self, N_CHAR_MAX)
        counts = Counter(str(each) for each in getattr(self, "trained_for_", []))
        chosen = "; ".join(f"{count} with {name}" for name, count in counts.most_common())
        return f"<{parameters}, trained: {chosen}>" if chosen else parameters

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            As in :meth:`MeasureClassifier.fit`.
        y : {array-like, sparse matrix} of shape (n, L), sequence of sets of labels, or array-like of shape (n,)
            An indicator matrix; or a set, tuple or list of labels for each row, which may be empty (lists that make a
            rectangle of zeros and ones are an indicator matrix); or one label for each row.

        Returns
        -------
        self
            The fitted estimator.
        """
        choice("average", self.average, AVERAGES)
        if self.average == "micro" and not isinstance(get_measure(self.measure), FractionalMeasure):
            raise ValueError(
                f'average="micro" adds up counts of decisions: it needs "f1", another F-beta or "jaccard", got '
                f'measure={self.measure!r}; use average="macro".'
            )
        given = taken(X, y)
        if given.y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_lengths(given.X, given.y)
        transformer = features_of(self)
        if transformer is None:
            X = validate_data(self, given.X, accept_large_sparse=True, **ACCEPTED)
            given.name_features(self)
        else:
            X = given.X if hasattr(given.X, "shape") else np.asarray(given.X)
        labels = LabelSets.of(given.y)
        self.classes_, self.label_kind_ = labels.classes, labels.kind
        self.sparse_output_ = labels.sparse or labels.kind == SETS
        self._fit_to(LabelSetRows(X, labels, features=transformer))
        return self

    def _fit_to(self, rows: LabelSetRows) -> None:
        """Fit to rows that were checked."""
        raise NotImplementedError

    def _prepare(self, rows: LabelSetRows) -> LabelSetRows:
        """The rows with their features; the transformer that makes them is kept for new rows."""
        whole, fitted = prepared(rows)
        if fitted is None:
            self.__dict__.pop("features_", None)  # of another fit
        else:
            self._keep_transformer(fitted, rows.X.shape[1] if len(rows.X.shape) == 2 else 1)
        return whole

    @property
    def _n_models(self) -> int:
        """Number of linear models: of labels, or one for two classes."""
        return 1 if self.label_kind_ == CLASSES and self.classes_.size == 2 else int(self.classes_.size)

    @property
    def _labels_in_files(self) -> dict[str, int]:
        return {"classes_": self.classes_.size}

    def _numbers_in_files(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays that a model file must have."""
        return {"coef_": (self._n_models, n_features), "intercept_": (self._n_models,)}

    def decision_function(self, X: Any) -> Array:
        """Return the scores of every row for every label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.

        Returns
        -------
        ndarray of shape (n, L), or (n,) for two classes
            Above 0 where a label is predicted; of three and more classes the one with the highest score is.
        """
        check_is_fitted(self)
        features = getattr(self, "features_", None)
        X = new_rows(self, X) if features is None else check_array(features.transform(X), **ACCEPTED)
        if X.dtype == np.float64:
            scores = np.asarray(X @ self.coef_.T)
        else:
            scores = np.column_stack([scores_of(X, coef) for coef in self.coef_])
        scores = scores + self.intercept_
        return scores[:, 0] if self._n_models == 1 and self.label_kind_ == CLASSES else scores

    def predict(self, X: Any) -> Any:
        """Return the predicted labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.

        Returns
        -------
        {ndarray, csr_array} of shape (n, L), or ndarray of shape (n,)
            An indicator matrix with a column for each of ``classes_``: sparse, if ``fit`` was given a sparse one or
            sets of labels, which :meth:`predict_sets` returns. A label for each row, if it was given such.
        """
        scores = self.decision_function(X)
        if self.label_kind_ == CLASSES:
            places = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
            return self.classes_[places]
        predicted = (scores > 0.0).astype(np.int64)
        return sp.csr_array(predicted) if self.sparse_output_ else predicted

    def predict_sets(self, X: Any) -> list[NDArray[Any]]:
        """Return the predicted labels of every row, in the order of ``classes_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.

        Returns
        -------
        list of ndarray
            For each row its labels, of which there may be none.
        """
        predicted = self.decisions(self.decision_function(X))
        return [self.classes_[np.flatnonzero(row)] for row in predicted.T]

    def score(self, X: Any, y: Any, *, top_k: int | None = None) -> float:
        """Return the measure on test data: its mean over the labels, or that of all decisions together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), path or Store
            Rows.
        y : {array-like, sparse matrix} or sequence
            Their labels, in the form that ``fit`` was given.
        top_k : int, optional
            For one label a row: the share of rows whose label is among the k with the highest scores, in place of the
            measure. 1 is the accuracy.

        Returns
        -------
        float
            By ``average``. A label that no row has counts as 0 by measures of decisions, and not at all by others.
        """
        scores = self.decision_function(X)
        check_lengths(X, y)
        members = self.members_of(y)
        if top_k is not None:
            whole_number("top_k", top_k, at_least=1)
            if self.label_kind_ != CLASSES:
                raise ValueError("top_k is for one label a row; this model was fitted to sets of labels.")
            both = np.stack([-scores, scores]) if scores.ndim == 1 else scores.T
            return float((members & _highest(both, top_k)).any(axis=0).mean())
        measure = get_measure(self.measure)
        predicted = self.decisions(scores)
        if scores.ndim == 1:
            return float(label_scores(measure, members[1:], scores[None, :])[0])
        if self.average == "micro" and isinstance(measure, FractionalMeasure):
            return micro_score(measure, members, predicted)
        return float(np.nanmean(label_scores(measure, members, scores.T, predicted)))

    def decisions(self, scores: Array) -> NDArray[np.bool_]:
        """Return which rows get each label, given their scores.

        Parameters
        ----------
        scores : ndarray of shape (n, L) or (n,)
            What :meth:`decision_function` returns.

        Returns
        -------
        ndarray of bool, of shape (number of ``classes_``, n)
            Of one label a row the one with the highest score.
        """
        if scores.ndim == 1:
            return np.stack([scores <= 0.0, scores > 0.0])
        return _highest(scores.T, 1) if self.label_kind_ == CLASSES else scores.T > 0.0

    def members_of(self, y: Any) -> NDArray[np.bool_]:
        """Return which rows have each label, given labels of new rows; others than those of ``fit`` are an error.

        Parameters
        ----------
        y : {array-like, sparse matrix} or sequence
            Labels in the form that ``fit`` was given.

        Returns
        -------
        ndarray of bool, of shape (number of ``classes_``, n)
            The rows of each.
        """
        return LabelSets.of(y, classes=self.classes_, kind=self.label_kind_).members

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _highest(scores: Array, k: int) -> NDArray[np.bool_]:
    """Mask of the rows of a matrix that are among the k highest of each column; of equal ones the first."""
    chosen = np.argsort(-scores, axis=0, kind="stable")[:k]
    mask = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(mask, chosen, True, axis=0)
    return mask


@kept_in_files
class MultilabelMeasureClassifier(MultilabelModel):
    """A linear classifier for many labels, each trained for a measure.

    Every label has a :class:`~smoothperf.MeasureClassifier` of its own, which tells the rows that have it from those
    that do not; X is there once. By ``average="macro"`` each is cut where its own measure wants, by "micro" all are cut
    together, where the measure of all decisions is best (docs/many-labels.md).

    Parameters
    ----------
    measure : str or Measure, default="f1"
        The measure to be good at, of each label.
    average : {"macro", "micro"}, default="macro"
        The mean of the measure over the labels, or the measure of all decisions together, which is for F-beta and the
        Jaccard index.
    alpha : float or array-like of shape (L,), default=1e-4
        Strength of the regulariser, of all labels or of each.
    bound : {"auto", "convex", "tight"}, default="auto"
        Which bound of ``1 - measure`` to minimise, as in :class:`~smoothperf.MeasureClassifier`.
    features : transformer, optional
        A transformer of scikit-learn's kind that makes the features of X, for all labels.
    tol, max_iter, fit_intercept, intercept_scaling, n_threads
        As in :class:`~smoothperf.MeasureClassifier`.
    n_jobs : int, optional
        Labels to work on at the same time, in threads; 1 by default, -1 for all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
        The labels, sorted; the numbers of columns, if y was an indicator matrix.
    coef_ : ndarray of shape (L, n_features)
        The weights of the features for every label; of two classes one row, for the second.
    intercept_ : ndarray of shape (L,)
        What is added to the scores, so that a label is predicted above 0.
    alpha_ : ndarray of shape (L,)
        The strength of each label.
    n_iter_ : ndarray of shape (L,)
        Iterations.
    features_ : transformer
        The fitted transformer, if ``features`` is one.
    label_kind_ : {"classes", "indicator", "sets"}
        The form of y in ``fit``.
    sparse_output_ : bool
        Whether :meth:`predict` returns a sparse matrix.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from smoothperf import MultilabelMeasureClassifier
    >>> X, Y = make_multilabel_classification(200, random_state=0)
    >>> clf = MultilabelMeasureClassifier("f1", alpha=1e-3).fit(X, Y)
    >>> clf.predict(X).shape, clf.score(X, Y) > 0.7
    ((200, 5), True)
    """

    def __init__(
        self,
        measure: str | Measure = "f1",
        average: str = "macro",
        alpha: Any = 1e-4,
        *,
        bound: str = "auto",
        features: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        n_threads: int | None = None,
        n_jobs: int | None = None,
    ):
        self.measure = measure
        self.average = average
        self.alpha = alpha
        self.bound = bound
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.n_threads = n_threads
        self.n_jobs = n_jobs

    def _fit_to(self, rows: LabelSetRows) -> None:
        check_n_threads(self.n_threads)
        self.__dict__.pop("trained_for_", None)  # of a choice whose single model this was
        rows = self._prepare(rows)
        members = rows.labels.members
        alphas = vector("alpha", np.broadcast_to(self.alpha, members.shape[0]))
        constant = constant_labels(members, self.classes_)
        rows.design  # noqa: B018 (made once, before threads ask for it)

        def train(label: int, alpha: float) -> MeasureClassifier | None:
            model = self._single(alpha)
            if constant[label]:
                return None
            mine = rows.of_label(label)
            task = label_task(model, mine.X.shape[1], columns=mine.columns)
            model._fit_to(task, task.candidate(model.bound), mine, solver_of(model))
            return model

        models = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(train)(label, alpha) for label, alpha in enumerate(alphas.tolist())
        )
        self.alpha_ = alphas
        self.coef_ = np.zeros((members.shape[0], rows.X.shape[1]))
        self.intercept_ = np.where(members.all(axis=1), 1.0, -1.0)  # of labels that all rows have, or none
        self.n_iter_ = np.ones(members.shape[0], dtype=np.int64)
        for label, model in enumerate(models):
            if model is not None:
                self.coef_[label], self.intercept_[label] = model.coef_[0], model.intercept_[0]
                self.n_iter_[label] = max(1, model.n_iter_)
        if self.average == "micro" and self.fit_intercept:
            scores = np.asarray([scores_of(rows.X, coef) for coef in self.coef_])
            several = np.flatnonzero(~constant)
            self.intercept_[several] = -_micro_thresholds(get_measure(self.measure), members[several], scores[several])

    def _single(self, alpha: float) -> MeasureClassifier:
        """The classifier of one label."""
        own = self.get_params(deep=False)
        kept = {name: own[name] for name in MeasureClassifier().get_params() if name in own and name != "features"}
        return MeasureClassifier(**kept | {"alpha": alpha})


def constant_labels(members: NDArray[np.bool_], classes: NDArray[Any]) -> NDArray[np.bool_]:
    """The labels that no row has, or all of them: nothing can be learnt; says which."""
    constant = np.asarray(~members.any(axis=1) | members.all(axis=1))
    if constant.any():
        names = ", ".join(str(name) for name in classes[np.flatnonzero(constant)].tolist()[:5])
        warn(
            f"{int(constant.sum())} labels ({names}{', ...' if constant.sum() > 5 else ''}) are those of no row, or of "
            "all: they are predicted for no row, or for all.",
            UserWarning,
        )
    return constant


def _micro_thresholds(measure: Measure, members: NDArray[np.bool_], scores: Array) -> Array:
    """Thresholds of the scores of labels, both of shape (L, n), that are best together."""
    assert isinstance(measure, FractionalMeasure)
    sorted_scores = [SortedScores(*each) for each in zip(members, scores, strict=True)]
    tables = [one.cuts() for one in sorted_scores]
    cuts = cuts_together([measure.parts_of_counts(each.tp, each.fp, float(each.tp[-1])) for each in tables])
    return np.array([one.threshold_at(cut) for one, cut in zip(sorted_scores, cuts, strict=True)])
