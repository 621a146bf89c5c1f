"""Many labels: MultilabelMeasureClassifierCV beside linear models of scikit-learn, cut by cross-validation.

A peer is one LinearSVC or LogisticRegression for each label, cut where F1 is highest on the held-out rows of three
stratified folds; or at 0, where a label has one row. Of one label a row its highest score counts. Ours chooses what to
train each label with, how strongly to regularise, and where to cut, by three folds, too, and for each goal by itself.
F1 is that on rows that judge, as a mean over labels (macro) and of all decisions (micro); PRBEP is a mean over labels.
Seconds are those of the processor, one thread. Exits with 1 if on texts of many labels ours is not better by .01 of
macro-F1 than the best peer, or behind by micro-F1, on average over these sets.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_svmlight_files, make_multilabel_classification
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer, scale
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from smoothperf import PRBEP, MultilabelMeasureClassifierCV
from smoothperf._arrays import Array
from smoothperf.cuts.sorted_scores import SortedScores
from smoothperf.evaluation.many_labels import label_scores

from .common import arguments, load, write_csv

#: What peers are made of.
PEERS: dict[str, Callable[[], Any]] = {
    "LinearSVC": lambda: LinearSVC(C=1.0),
    "LogisticRegression": lambda: LogisticRegression(C=1.0, solver="liblinear"),
    "LogisticRegression, C=100": lambda: LogisticRegression(C=100.0, solver="liblinear"),
}
#: By how much macro-F1 must be higher.
GAIN = 0.01
#: With fewer labels there is little to share.
MANY = 10


class Rows(NamedTuple):
    """Rows to train on and rows that judge; Y has labels of rows, or one for each."""

    X: Any
    Y: NDArray[Any]
    X_new: Any
    Y_new: NDArray[Any]


def reuters(folder: Path) -> Rows:
    """Reuters-21578 in its ModApte split."""
    X, y, X_new, y_new = load_svmlight_files(
        [folder / "ml-r21578.svm.bz2", folder / "ml-r21578.t.svm.bz2"], multilabel=True
    )
    X, X_new = (sp.csr_matrix((each.data, each.indices.astype(np.int32), each.indptr)) for each in (X, X_new))
    marks = MultiLabelBinarizer().fit(y)
    return Rows(X, marks.transform(y), X_new, marks.transform(y_new))


def rcv1(folder: Path) -> Rows:
    """Two topics of RCV1, of which one is part of the other."""
    parts = [[load(folder, f"rcv1-{topic}{part}") for topic in ("ccat", "c11")] for part in ("", ".t")]
    X, X_new = parts[0][0][0], parts[1][0][0]
    assert X_new.shape[1] <= X.shape[1]
    X_new = sp.csr_matrix((X_new.data, X_new.indices, X_new.indptr), shape=(X_new.shape[0], X.shape[1]))
    Y, Y_new = (np.column_stack([y > 0.0 for _, y in part]).astype(int) for part in parts)
    return Rows(X, Y, X_new, Y_new)


def generated(draw: int) -> Rows:
    """Texts of 60 words; 60 topics of 4 to 1,200 of 6,000 rows, each with 30 words that it likes."""
    rng = np.random.default_rng(draw)
    n, d, n_topics = 9000, 5000, 60
    usual = 1.0 / np.arange(1, d + 1)
    sizes = np.geomspace(4, 1200, n_topics) / 6000
    Y = (rng.random((n, n_topics)) < sizes).astype(int)
    Y[:n_topics] |= np.eye(n_topics, dtype=int)
    words = rng.choice(d, p=usual / usual.sum(), size=(n, 60))
    likes = rng.integers(0, d, size=(n_topics, 30))
    for row, labels in enumerate(map(np.flatnonzero, Y)):
        if labels.size:
            own = rng.random(60) < 0.15
            words[row, own] = likes[rng.choice(labels, size=own.sum()), rng.integers(0, 30, size=own.sum())]
    counts = sp.csr_matrix((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 60)), shape=(n, d))
    counts.sum_duplicates()
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    return Rows(X[:6000], Y[:6000], X[6000:], Y[6000:])


def scikit_learn_generated() -> Rows:
    """Rows of scikit-learn's generator, standardised."""
    X, Y = make_multilabel_classification(4500, n_features=100, n_classes=20, n_labels=3, random_state=0)
    X = scale(X)
    return Rows(X[:3000], Y[:3000], X[3000:], Y[3000:])


def digits() -> Rows:
    """Digits: one label a row."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X / 16.0, y, test_size=1 / 3, stratify=y, random_state=0)
    return Rows(X, y, X_new, y_new)


def sets(folder: Path) -> Iterator[tuple[str, Rows]]:
    """Yield all data sets, by name; texts come first."""
    if any(folder.glob("ml-r21578.svm*")):
        yield "Reuters-21578", reuters(folder)
    if any(folder.glob("rcv1-c11.svm*")):
        yield "RCV1, two topics", rcv1(folder)
    for draw in range(3):
        yield f"generated topics {draw + 1}", generated(draw)
    yield "scikit-learn's generator", scikit_learn_generated()
    yield "digits", digits()


def best_cut(mine: NDArray[np.bool_], scores: Array) -> float:
    """Cut with the highest F1."""
    ranking = SortedScores(mine, scores)
    return ranking.threshold_at(int(ranking.cuts().f1.argmax()))


def peer(make: Callable[[], Any], rows: Rows) -> tuple[Array, float]:
    """Scores of the rows that judge, cut at 0, and seconds."""
    begin = time.process_time()
    if rows.Y.ndim == 1:
        scores = OneVsRestClassifier(make()).fit(rows.X, rows.Y).decision_function(rows.X_new)
        return scores, time.process_time() - begin
    found = []
    for label in rows.Y.T:
        mine = label > 0
        cut, folds = 0.0, min(3, int(mine.sum()))
        if folds > 1:
            held_out = np.empty(mine.size)
            for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(mine, mine):
                held_out[test] = make().fit(rows.X[train], mine[train]).decision_function(rows.X[test])
            cut = best_cut(mine, held_out)
        found.append(make().fit(rows.X, mine).decision_function(rows.X_new) - cut)
    return np.column_stack(found), time.process_time() - begin


def ours(measure: str, average: str, rows: Rows) -> tuple[Array, float]:
    """The same of ours."""
    begin = time.process_time()
    clf = MultilabelMeasureClassifierCV(measure, average, n_threads=1).fit(rows.X, rows.Y)
    return clf.decision_function(rows.X_new), time.process_time() - begin


def judged(rows: Rows, scores: Array) -> dict[str, float]:
    """Macro-F1, micro-F1 and macro-PRBEP; of one label a row micro-F1 is the accuracy."""
    members = rows.Y_new.T > 0 if rows.Y_new.ndim == 2 else np.unique(rows.Y)[:, None] == rows.Y_new
    predicted = scores > 0.0 if rows.Y_new.ndim == 2 else scores == scores.max(axis=1, keepdims=True)
    return {
        "macro_f1": f1_score(members.T, predicted, average="macro", zero_division=0.0),
        "micro_f1": f1_score(members.T, predicted, average="micro", zero_division=0.0),
        "macro_prbep": float(np.nanmean(label_scores(PRBEP(), members, scores.T))),
    }


def main() -> int:
    """Measure everything, print it, write labels.csv."""
    options: argparse.Namespace = arguments(__doc__)
    table: list[dict[str, Any]] = []
    ahead: list[tuple[float, float]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers that stop early, and of labels that no row that judges has
        for name, rows in sets(options.data):
            runs: dict[str, Callable[[], tuple[Array, float]]] = {
                "for macro-F1": partial(ours, "f1", "macro", rows),
                "for micro-F1": partial(ours, "f1", "micro", rows),
                "for macro-PRBEP": partial(ours, "prbep", "macro", rows),
                **{kind: partial(peer, make, rows) for kind, make in PEERS.items()},
            }
            found: dict[str, dict[str, float]] = {}
            for kind, run in runs.items():
                scores, seconds = run()
                found[kind] = judged(rows, scores)
                shown = {key: f"{value:.4f}" for key, value in found[kind].items()}
                table.append({"data": name, "model": kind, **shown, "seconds": f"{seconds:.1f}"})
                print(f"{name:25} {kind:26} {'  '.join(shown.values())}  {seconds:7.1f} s", flush=True)
            if rows.Y.ndim == 2 and rows.Y.shape[1] > MANY and sp.issparse(rows.X):
                macro, micro = (max(found[kind][key] for kind in PEERS) for key in ("macro_f1", "micro_f1"))
                ahead.append((found["for macro-F1"]["macro_f1"] - macro, found["for micro-F1"]["micro_f1"] - micro))
    gains = np.mean(ahead, axis=0)
    print(f"ahead of the best peer on texts of many labels: macro-F1 {gains[0]:.4f}, micro-F1 {gains[1]:.4f}")
    write_csv(options.output / "labels.csv", table)
    return int(gains[0] < GAIN or gains[1] < 0.0)


if __name__ == "__main__":
    sys.exit(main())
