"""
A million rows out of core
==========================

A *store* is a folder of arrays that are mapped into memory while they are trained on: the system reads what is needed
of them. What the process itself has in memory does not depend on how many entries there are, only on the number of
rows, for their scores, and of features.
"""

# %%
# A store, piece by piece
# -----------------------
# A million rows with 50 of 2,000 features each, made in pieces of 50,000, so that they are never in memory
# together. Two percent are positive. (In earnest the store would be larger than the memory. This one fits on every
# disk, and takes seconds.)

import shutil
import tempfile
import time
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from smoothperf import MeasureClassifier
from smoothperf.io import StoreWriter, open_store

PIECES, ROWS, FEATURES, ENTRIES = 20, 50_000, 2000, 50
path = Path(tempfile.mkdtemp()) / "million.store"
weights = np.random.default_rng(0).normal(size=FEATURES) * (np.arange(FEATURES) % 10 == 0)


def piece(seed):
    """Some rows and their labels."""
    rng = np.random.default_rng(seed)
    # A column from each of 50 ranges of columns, so that the columns of a row ascend.
    width = FEATURES // ENTRIES
    columns = rng.integers(width, size=(ROWS, ENTRIES), dtype=np.int32) + width * np.arange(ENTRIES, dtype=np.int32)
    values = rng.random(ROWS * ENTRIES, dtype=np.float32)
    X = sp.csr_matrix((values, columns.ravel(), np.arange(ROWS + 1) * ENTRIES), shape=(ROWS, FEATURES))
    return X, (X @ weights + 0.5 * rng.normal(size=ROWS) > 3.4).astype(int)


began = time.perf_counter()
with StoreWriter(path, dtype="float32") as writer:
    for number in range(PIECES):
        writer.add(*piece(number))
store = open_store(path)
print(f"{store.shape[0]:,} rows, {store.n_bytes / 1e6:.0f} MB, written in {time.perf_counter() - began:.1f} s")

# %%
# Training
# --------
# ``fit`` takes the path. ``tracemalloc`` watches how much memory Python asks for meanwhile.

tracemalloc.start()
clf = MeasureClassifier("roc_area", alpha=1e-4).fit(path)
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
passes = clf.result_.n_matvec + clf.result_.n_rmatvec
print(f"{clf.result_.seconds:.1f} s for {passes} passes over X; at most {clf.gap_:.5f} above the optimum")

X_new, y_new = piece(PIECES)
print(f"ROC area on {ROWS:,} new rows: {clf.score(X_new, y_new):.3f}")

# %%
# What was in memory
# ------------------

trace = clf.result_.trace
fig, (ax, beside) = plt.subplots(1, 2, figsize=(10, 4.0), width_ratios=(4, 3))
ax.plot(trace["passes"], trace["objective"], color="#0072B2", label="objective")
ax.plot(trace["passes"], trace["lower_bound"], color="#D55E00", label="lower bound of the optimum")
ax.set(xlabel="passes over X", ylabel="J", ylim=(0, None))
ax.legend()
sizes = {"the files": store.n_bytes / 1e6, "memory at most": peak / 1e6}
bars = beside.bar(list(sizes), list(sizes.values()), color=["#333333", "#0072B2"], width=0.6)
beside.bar_label(bars, [f"{size:.0f} MB" for size in sizes.values()])
beside.set_ylabel("MB")
plt.show()

shutil.rmtree(path.parent)

# %%
# The memory is that of vectors with a number for each row; with 500 entries in a row instead of 50 it would be the
# same, and the files ten times as large. :doc:`/store-files` has the format, and what a run on
# 8 GB took. On the command line: ``smoothperf convert data.svm million.store``, then ``smoothperf train
# million.store``.
