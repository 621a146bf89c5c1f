"""
A topic tagger in one fit
=========================

A note may be about cooking and money, about the law, or about nothing on the list. Forty topics are forty questions
of yes or no, most of them with a handful of notes to learn from: too few to say where to cut. One fit answers all of
them, and topics of few notes are cut where others of their size are.
"""

# %%
# Notes with topics
# -----------------
# Made up: each topic likes some words, and the rarest have three or four notes of 2,000.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from smoothperf import MultilabelMeasureClassifierCV

N_TOPICS, N = 40, 2000
rng = np.random.default_rng(0)
words = np.array([f"word{number}" for number in range(1500)])
usual = 1.0 / np.arange(1, words.size + 1)
likes = [rng.choice(words, 25, replace=False) for _ in range(N_TOPICS)]
topics = np.array([f"topic{number:02d}" for number in range(N_TOPICS)])
chances = np.geomspace(1, 400, N_TOPICS) / N


def make_notes(n):
    """N notes of 40 words, with their topics."""
    marks = rng.random((n, N_TOPICS)) < chances
    marks[: 3 * N_TOPICS] |= np.repeat(np.eye(N_TOPICS, dtype=bool), 3, axis=0)
    notes = []
    for mark in marks:
        note = rng.choice(words, 40, p=usual / usual.sum()).astype(object)
        for topic in np.flatnonzero(mark):
            own = rng.random(40) < 0.15
            note[own] = rng.choice(likes[topic], own.sum())
        notes.append(" ".join(note))
    return notes, [set(topics[mark]) for mark in marks], marks


notes, labels, marks = make_notes(N)
new_notes, new_labels, new_marks = make_notes(N)
vectorizer = TfidfVectorizer(sublinear_tf=True)
X, X_new = vectorizer.fit_transform(notes), vectorizer.transform(new_notes)

# %%
# One fit
# -------
# Labels are sets of names. ``average`` says what is meant by good: the mean F1 of all topics, or F1 of all decisions.

macro = MultilabelMeasureClassifierCV("f1", "macro", n_threads=1).fit(X, labels)
micro = MultilabelMeasureClassifierCV("f1", "micro", n_threads=1).fit(X, labels)
print("topics of a new note:", *macro.predict_sets(X_new[500:501])[0], "| in truth:", *sorted(new_labels[500]))
for name, model in (("macro", macro), ("micro", micro)):
    print(f"{name}-F1 on new notes: {model.score(X_new, new_labels):.3f}")

# %%
# Beside one model after another
# ------------------------------

plain = np.column_stack([LinearSVC().fit(X, mark).decision_function(X_new) for mark in marks.T]) > 0.0
found, sizes = macro.predict(X_new).toarray(), marks.sum(axis=0)
fig, ax = plt.subplots(figsize=(7, 4))
for predicted, colour, label in (
    (plain, "#0072B2", "LinearSVC, cut at 0"),
    (found, "#D55E00", "one fit, for macro-F1"),
):
    each = f1_score(new_marks, predicted, average=None, zero_division=0.0)
    ax.plot(sizes, each, "o", color=colour, alpha=0.7, label=f"{label}: {each.mean():.2f} on average")
ax.set(xscale="log", xlabel="notes of a topic to learn from", ylabel="F1 on new notes", ylim=(-0.03, 1))
ax.legend()
plt.show()

# %%
# Squared hinge, cut at 0, calls a rare topic almost never. Where to cut instead, three notes cannot say; those of all
# topics of this size together can.
