"""
Text topics
===========

Which of these notes are about cooking, which about the law? Each topic is a question of its own, yes or no, and for
a rare topic a plain classifier mostly says no. Judged by F1, precision and recall in one number, that is a poor
answer.
"""

# %%
# Notes
# -----
# Real collections need a download, so these are made up: a note has words that everybody uses and a few words of
# its topic, some of which belong to other topics too. Topics are of very different size.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from smoothperf import MeasureClassifierCV

TOPICS = {
    "cooking": "pan oven butter salt recipe knife season heat bake onion course table",
    "sport": "match goal season team coach race field ball training heat final court",
    "money": "bank rate loan market share bond tax season growth court interest table",
    "weather": "rain wind heat cloud front storm field sun frost pressure season wave",
    "law": "court judge case trial appeal contract share witness table act field rate",
}
SHARES = [0.40, 0.30, 0.20, 0.07, 0.03]
COMMON = [
    a + b
    for a in ["ba", "de", "ki", "lo", "mu", "ne", "po", "ra", "si", "tu"]
    for b in ["na", "ret", "lin", "dor", "ma", "sel", "tik", "von"]
]


def make_notes(n, rng):
    """N notes with their topics."""
    names = list(TOPICS)
    topics = rng.choice(len(names), n, p=SHARES)
    notes = []
    for topic in topics:
        own = rng.choice(TOPICS[names[topic]].split(), rng.integers(1, 5))
        stray = rng.choice(TOPICS[names[rng.integers(len(names))]].split(), rng.integers(0, 4))
        notes.append(" ".join([*rng.choice(COMMON, 15), *own, *stray]))
    return notes, np.array(names)[topics]


rng = np.random.default_rng(0)
notes, topics = make_notes(4000, rng)
new_notes, new_topics = make_notes(4000, rng)
print(topics[0], "|", notes[0])

# %%
# One model a topic
# -----------------
# ``OneVsRestClassifier`` trains a model for each topic against the rest. ``MeasureClassifierCV("f1")`` chooses for
# each of them what to train with, how strongly to regularise, and above all where to say yes, on notes held out.

vectorizer = TfidfVectorizer(sublinear_tf=True)
X, X_new = vectorizer.fit_transform(notes), vectorizer.transform(new_notes)
for_f1 = OneVsRestClassifier(MeasureClassifierCV("f1", cv=3)).fit(X, topics)
logistic = OneVsRestClassifier(LogisticRegression()).fit(X, topics)
for name, model in zip(for_f1.classes_, for_f1.estimators_, strict=True):
    print(f"{name:8} trained with {model.trained_for_}")


def f1_of_topics(model):
    """F1 of yes or no for every topic, on new notes."""
    says_yes = model.decision_function(X_new) > 0
    return np.array([f1_score(new_topics == name, says_yes[:, i]) for i, name in enumerate(model.classes_)])


# %%
# How good, and by which words
# ----------------------------

names = for_f1.classes_
largest_first = np.argsort([-np.mean(topics == name) for name in names])
words = vectorizer.get_feature_names_out()
places = np.arange(len(names))

fig, (ax, beside) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(4, 3))
for shift, model, colour, label in (
    (-0.2, logistic, "#0072B2", "logistic regression"),
    (0.2, for_f1, "#D55E00", "tuned for F1"),
):
    ax.bar(places + shift, f1_of_topics(model)[largest_first], 0.38, color=colour, label=label)
ax.set_xticks(places, [f"{names[i]}\n{np.mean(topics == names[i]):.0%}" for i in largest_first])
ax.set(ylabel="F1 on new notes", ylim=(0, 1))
ax.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.12))

cooking = for_f1.estimators_[list(names).index("cooking")].coef_[0]
strongest = np.argsort(np.abs(cooking))[-12:]
strongest = strongest[np.argsort(cooking[strongest])]
beside.barh(words[strongest], cooking[strongest], color=np.where(cooking[strongest] > 0, "#D55E00", "#0072B2"))
beside.set_xlabel("weight for cooking")
plt.show()

# %%
# Words of a note are independent of each other here, which is what logistic regression assumes, so its risk is hard
# to beat, and most of the choices say so. The gain is in the threshold: the rarer the topic, the more a cut at even
# chances misses.
