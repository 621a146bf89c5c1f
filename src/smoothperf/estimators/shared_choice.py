"""The choice for many labels: folds, features and strengths that all share, and what one label tells about others.

A choice for one label alone (:mod:`.choice`) takes most of its time for what the other labels know: how strong the
regulariser has to be in such rows, and which risks are worth their time. So a few labels of all sizes, the *sample*,
try every candidate in every strength, the others what was best for some of these, and one strength more on both sides.
All have the same folds, whose rows are taken, and whose features are made, once. (Measured on Reuters-21578, a label of
19 rows: of 1.6 s that its own choice takes, two thirds go into drawing folds three times, 40 % into products with X,
half into strengths with which nothing is learnt. Products with blocks of eight vectors, for which X would be read once,
take as long for each vector as the kernels do for one, 0.15 to 0.18 ms.)

What a way to train is worth to a label, and where to cut it, is told by its own rows and by labels of its size
(:mod:`smoothperf.cuts.together`); the others are where few rows would otherwise decide by luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from .._arrays import Array, Indices
from ..cuts.together import BORROWED, SharedCounts, cuts_together, similarity
from ..measures import PRBEP, Measure
from ..measures.fractional import FractionalMeasure
from ..optimise import ConvexSolver, Result
from ..tasks.label_choice import LabelCandidate
from ..tasks.label_sets import LabelSetRows
from ..tasks.labels import LabelTask
from ..tasks.path import PathTraining
from ..threads import use_threads
from .choice import MORE, loosened, strength_at

#: Labels that try everything, and how many rows each must have.
SAMPLED, FEWEST = 10, 6
#: Tolerance of the fits to all rows, as a share of the size of mean losses.
FINAL = 0.05
#: A candidate and the number of a strength.
Key = tuple[LabelCandidate, int]


class FoldRows(NamedTuple):
    """Rows to train on and rows held out, with their features, and the numbers of the latter."""

    before: LabelSetRows
    after: LabelSetRows
    test: Indices


class Settled(NamedTuple):
    """Choice for each label: a candidate and a strength, and a threshold."""

    keys: list[Key]
    thresholds: Array


@dataclass(kw_only=True)
class SharedChoice:
    """Held-out scores of all labels, for the candidates and strengths that were tried.

    Attributes
    ----------
    task : LabelTask
        The task; its measure judges.
    rows : LabelSetRows
        All rows, with their features.
    parts : sequence of FoldRows
        Folds.
    candidates : sequence of LabelCandidate
        The candidates.
    strengths : ndarray
        Strengths of the regulariser, descending.
    literal : bool
        Whether strengths are alphas, whatever the candidate; else smaller ones may be added.
    solver : ConvexSolver
        The solver of the fits to all rows.
    n_jobs, n_threads : int or None
        Labels at a time, and threads for each.
    tell : callable
        Hears the number of each label that is about to be looked at.
    """

    task: LabelTask
    rows: LabelSetRows
    parts: Sequence[FoldRows]
    candidates: Sequence[LabelCandidate]
    strengths: Array
    literal: bool
    solver: ConvexSolver
    n_jobs: int | None
    n_threads: int | None
    tell: Callable[[int], None]
    scores: list[dict[Key, NDArray[np.float32]]] = field(init=False)

    def __post_init__(self) -> None:
        self.members = self.rows.labels.members
        self.sizes = self.members.sum(axis=1).astype(np.float64)
        self.scores = [{} for _ in self.members]

    def compare(self, labels: NDArray[np.intp]) -> None:
        """Look at these labels: the sample at everything, the others at what was best for some of it."""
        self._check_rows(labels)
        fewest = np.minimum(self.sizes, self.members.shape[1] - self.sizes)
        order = labels[np.argsort(-self.sizes[labels], kind="stable")]
        able = order[fewest[order] >= FEWEST] if (fewest[order] >= FEWEST).any() else order
        sample = able[np.unique(np.linspace(0, able.size - 1, min(SAMPLED, able.size)).round().astype(np.intp))]
        wanted = {candidate: list(range(self.strengths.size)) for candidate in self.candidates}
        self._follow(sample, wanted)
        if not self.literal:
            for _ in range(MORE):
                chosen = self.settle(sample).keys
                longer = {one: [ks[-1] + 1] for one, ks in wanted.items() if (one, ks[-1]) in chosen}
                if not longer:
                    break
                self._follow(sample, longer)
                wanted |= {one: wanted[one] + more for one, more in longer.items()}
        chosen = self.settle(sample).keys
        near = {one: [index for candidate, index in chosen if candidate == one] for one in self.candidates}
        allowed = {one: wanted[one][max(0, min(at) - 1) : max(at) + 2] for one, at in near.items() if at}
        self._follow(np.setdiff1d(labels, sample), allowed)
        for scores in self.scores:  # what only some have tried cannot be compared
            for key in [key for key in scores if key[1] not in allowed.get(key[0], [])]:
                del scores[key]

    def _check_rows(self, labels: NDArray[np.intp]) -> None:
        """Refuse to choose where no label has rows to train on and to hold out."""
        both = [
            (before.labels.members[labels].any(axis=1) & after.labels.members[labels].any(axis=1)).any()
            for before, after, _ in self.parts
        ]
        if not any(both):
            raise ValueError(
                "cv leaves no label with rows in a training part and in what it holds out: there is nothing to choose "
                "by. Use MultilabelMeasureClassifier with a given alpha, or labels of 2 rows and more."
            )

    def settle(self, labels: NDArray[np.intp], *, micro: bool = False) -> Settled:
        """Choose for each of these labels, and cut it: for its own measure, or for that of all decisions together."""
        keys = list(self.scores[labels[0]])
        judge = self._judge_counts if isinstance(self.task.measure, FractionalMeasure) else self._judge_scores
        found = [judge(labels, key) for key in keys]
        places = np.argmax([worth for worth, _ in found], axis=0)
        chosen = [keys[place] for place in places]
        cuts = np.array([found[place][1][i] for i, place in enumerate(places)])
        if micro:
            cuts = self._cut_together(labels, chosen)
        return Settled(chosen, cuts)

    def worth(self, label: int, key: Key, threshold: float) -> float:
        """The measure of a label on held-out rows, cut at a threshold; NaN if these have it all or not at all."""
        mine, scores = self.held_out(label, key)
        return self.task.measure.score(mine, scores - threshold) if 0 < mine.sum() < mine.size else np.nan

    def held_out(self, label: int, key: Key) -> tuple[NDArray[np.bool_], Array]:
        """Held-out rows that have a label, as a mask, and the scores of these rows."""
        scores = self.scores[label][key]
        known = ~np.isnan(scores)
        return self.members[label, known], scores[known].astype(np.float64)

    def fit_to_all(self, label: int, key: Key) -> tuple[PathTraining[Any, Any], Result]:
        """The model of a label, from that at the strength before."""
        with use_threads(self._threads()):
            candidate, index = key
            rows, loose = self.rows.of_label(label), loosened(self.solver)
            training = PathTraining(self.task, candidate, rows, loose, choosing=True)
            for number in range(max(0, index - 1), index + 1):
                weights = training.path.solve(self.alpha(training, number)).coef
            thorough = self.solver
            if training.risk.sums_over_examples:
                thorough = replace(thorough, tol=min(thorough.tol, FINAL * self.task.loss_size(rows.known)))
            return training, training.finish(self.alpha(training, index), weights, thorough, None)

    def alpha(self, training: PathTraining[Any, Any], index: int) -> float:
        """The alpha of a strength for a candidate."""
        strength = strength_at(self.strengths, index)
        return strength if self.literal else strength / training.risk.score_scale**2

    def at_once(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Results of a function for many labels, in threads."""
        tasks = [delayed(function)(*each) for each in zip(*arguments, strict=True)]
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks))

    def _follow(self, labels: NDArray[np.intp], wanted: Mapping[LabelCandidate, Sequence[int]]) -> None:
        """Train labels along falling alphas in every part, and score the rows that are held out."""
        every = [(candidate, index) for candidate, indices in wanted.items() for index in indices]

        def follow(label: int) -> None:
            self.tell(label)
            # NaN for rows that no part holds out, or whose part has none with the label to train on.
            keys = {key: np.full(self.members.shape[1], np.nan, dtype=np.float32) for key in every}
            self.scores[label] |= keys
            with use_threads(self._threads()):
                for before, after, test in self.parts:
                    mine = before.labels.members[label]
                    if mine.all() or not mine.any():
                        continue
                    rows = before.of_label(label)
                    task = self.task.on(before)
                    for candidate, indices in wanted.items():
                        training = PathTraining(task, candidate, rows, loosened(self.solver), choosing=True)
                        for index in indices:
                            weights = training.path.solve(self.alpha(training, index)).coef
                            keys[candidate, index][test] = task.scores(candidate, after.X, weights)

        self.at_once(follow, labels.tolist())

    def _threads(self) -> int | None:
        return self.n_threads if self.n_jobs in (None, 1) else 1

    def _counts(self, labels: NDArray[np.intp], key: Key) -> tuple[SharedCounts, Array]:
        """Counts on a common scale, and where it begins for each label: at 0 if a bias was trained."""
        pairs = [self.held_out(label, key) for label in labels.tolist()]
        shifts = np.zeros(labels.size)
        if not self.task.bias(key[0]).trained:  # where as many are called positive as there are
            shifts[:] = [_tuned(PRBEP(), *pair)[1] for pair in pairs]
            shifts[np.isnan(shifts)] = np.nanmean(shifts)
        scores = [scores - shift for (_, scores), shift in zip(pairs, shifts, strict=True)]
        return SharedCounts.of([mine for mine, _ in pairs], scores), shifts

    def _judge_counts(self, labels: NDArray[np.intp], key: Key) -> tuple[Array, Array]:
        """The measure of shared counts, and where it is highest."""
        counts, shifts = self._counts(labels, key)
        assert isinstance(self.task.measure, FractionalMeasure)
        worth, cuts = counts.with_borrowed(self.sizes[labels]).best(self.task.measure.of_counts)
        return worth, shifts + cuts

    def _judge_scores(self, labels: NDArray[np.intp], key: Key) -> tuple[Array, Array]:
        """The measure and its cut, each with those of labels of the same size; by these alone where there is none."""
        pairs = [_tuned(self.task.measure, *self.held_out(label, key)) for label in labels.tolist()]
        worth, cuts = np.array(pairs).T
        known = ~np.isnan(worth)
        sizes = self.sizes[labels]
        shares = similarity(sizes, sizes[known])
        own = np.where(known, sizes, 0.0)
        borrowed = (own * np.nan_to_num(worth) + BORROWED * (shares @ worth[known])) / (own + BORROWED)
        return borrowed, np.where(known, cuts, shares @ cuts[known])

    def _cut_together(self, labels: NDArray[np.intp], keys: Sequence[Key]) -> Array:
        """Thresholds that are best together, guided by shared counts."""
        measure = self.task.measure
        assert isinstance(measure, FractionalMeasure)
        own, guides, thresholds = {}, {}, {}
        for key in dict.fromkeys(keys):
            counts, shifts = self._counts(labels, key)
            lent = counts.with_borrowed(self.sizes[labels])
            for i in (i for i, chosen in enumerate(keys) if chosen == key):
                own[i], guides[i] = (
                    measure.parts_of_counts(each.hits[i], each.false[i], float(each.positives[i, 0]))
                    for each in (counts, lent)
                )
                thresholds[i] = shifts[i] + counts.thresholds
        order = range(labels.size)
        cuts = cuts_together([own[i] for i in order], [guides[i] for i in order])
        return np.array([thresholds[i][cut] for i, cut in zip(order, cuts, strict=True)])


def _tuned(measure: Measure, mine: NDArray[np.bool_], scores: Array) -> tuple[float, float]:
    """The measure at its cut, and the cut; NaN if there are rows of one kind only."""
    if not 0 < mine.sum() < mine.size:
        return np.nan, np.nan
    cut = measure.tuned_threshold(mine, scores)
    return measure.score(mine, scores - cut), cut
