"""
Ranking documents of queries
============================

A search engine is judged query by query: are the best documents of *this* query first? Grades of different queries
have nothing to do with each other. A ranker trained for NDCG@10 looks at the order within queries; a regression on
the grades also tries to explain why some queries have better documents than others, which nobody asked.
"""

# %%
# Queries
# -------
# Each has 5 to 40 documents with ten features. Some queries are popular: all their documents have high features,
# and editors grade them more strictly, so that only the difference to the other documents of the query counts.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from smoothperf import MeasureRanker, MeasureRankerCV
from smoothperf.measures import get_query_measure


def make_queries(n_queries, rng):
    """Features, grades from 0 to 3, and the query of each document."""
    sizes = rng.integers(5, 41, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    own = rng.normal(size=(qid.size, 10))
    popularity = 2.0 * rng.normal(size=(n_queries, 1))[qid]
    quality = own[:, :4] @ [1.0, 0.8, -0.6, 0.4] + 0.8 * rng.normal(size=qid.size)
    grades = np.digitize(quality, [0.8, 1.6, 2.4])
    return own + popularity, grades, qid


rng = np.random.default_rng(0)
X, y, qid = make_queries(300, rng)
X_new, y_new, qid_new = make_queries(500, rng)

# %%
# Three rankers
# -------------
# ``MeasureRankerCV`` chooses what to train with on held-out queries, and averages what these cannot tell apart.
# ``MeasureRanker("pairs")`` is the ranking SVM, with a certified gap.

models = {
    "NDCG@10, chosen": MeasureRankerCV("ndcg@10", cv=3).fit(X, y, qid=qid),
    "pairs": MeasureRanker("pairs", alpha=1e-3).fit(X, y, qid=qid),
    "Ridge on grades": Ridge().fit(X, y),
}
for name, share in models["NDCG@10, chosen"].averaged_.items():
    print(f"averaged: {share:4.0%} {name}")
for name, model in models.items():
    score = get_query_measure("ndcg@10").score(y_new, model.predict(X_new), qid_new)
    print(f"{name:16} NDCG@10 on new queries: {score:.3f}")

# %%
# Place by place
# --------------
# The mean grade of the document in first, second, third ... place of new queries, beside what the best order would
# have.


def grades_by_place(scores, places=10):
    """Mean grade at each place, over the queries that are long enough."""
    lists = [y_new[qid_new == q][np.argsort(-scores[qid_new == q])] for q in np.unique(qid_new)]
    return [np.mean([grades[place] for grades in lists if grades.size > place]) for place in range(places)]


fig, ax = plt.subplots()
ax.plot(range(1, 11), grades_by_place(y_new), color="#333333", linestyle=":", label="the best order")
for (name, model), colour in zip(models.items(), ("#D55E00", "#009E73", "#0072B2"), strict=True):
    ax.plot(range(1, 11), grades_by_place(model.predict(X_new)), "o-", color=colour, label=name)
ax.set(xlabel="place in the list of a query", ylabel="mean grade", xticks=range(1, 11), ylim=(0, None))
ax.legend()
plt.show()
