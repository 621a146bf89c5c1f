"""
A cluster on a laptop
=====================

Rows that are spread over machines stay where they are: what travels in an iteration is a vector of weights and a
few tables. Here the machines are two processes of this one, which Dask starts; the code for a real cluster differs
in the address. It needs the extra ``dask``: ``pip install 'smoothperf[dask]'``.
"""

# %%
# Blocks of rows
# --------------
# A block is made by a function that a worker calls, and calls again if another worker dies. In earnest it would
# read a file. Four blocks of 50,000 rows and 40 features are 64 MB, which the client never sees.

import dask
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import smoothperf
from smoothperf.dask import MeasureClassifier

BLOCKS, ROWS, FEATURES = 4, 50_000, 40


def block(number):
    """Rows and labels of one block; the same whenever it is called."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(ROWS, FEATURES))
    y = X[:, :5].sum(axis=1) + 0.5 * rng.normal(size=ROWS) > 4.0
    return X, y


# %%
# On two workers
# --------------
# The guard is for Python: new processes read this file again, and must not start clusters of their own.


def train_on_workers(n_workers):
    """Fit on the rows of all blocks; the rows are made on the workers, and stay there."""
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        parts = [dask.delayed(block)(number) for number in range(BLOCKS)]
        return MeasureClassifier("prbep", alpha=1e-3, client=client).fit(parts)


if __name__ == "__main__":
    far = train_on_workers(2)
    print(f"{far.n_iter_} iterations, objective {far.objective_:.6f}, at most {far.gap_:.5f} above the optimum")
    print(far.traffic_)

# %%
# The same in one process
# -----------------------
# All rows together, without a cluster: same objective, same certificate. And what stayed and what travelled.

if __name__ == "__main__":
    blocks = [block(number) for number in range(BLOCKS)]
    X, y = np.vstack([rows for rows, _ in blocks]), np.concatenate([labels for _, labels in blocks])
    near = smoothperf.MeasureClassifier("prbep", alpha=1e-3).fit(X, y)
    print(f"objective {near.objective_:.6f} in one process, {far.objective_:.6f} on two workers")

    fig, (ax, beside) = plt.subplots(1, 2, figsize=(10, 4.0))
    for name, model, style in (("one process", near, "-"), ("two workers", far, "--")):
        trace = model.result_.trace
        ax.plot(trace["iteration"], trace["gap"], style, label=name)
    ax.axhline(1e-3, color="#333333", linewidth=1, linestyle=":")
    ax.set(yscale="log", xlabel="iteration", ylabel="certified gap")
    ax.legend()

    sizes = {
        "rows, which stay": BLOCKS * ROWS * FEATURES * 8,
        "the whole fit": far.traffic_.sent + far.traffic_.received,
        "an iteration": far.traffic_.bytes_per_iteration,
    }
    bars = beside.bar(list(sizes), list(sizes.values()), color=["#333333", "#0072B2", "#56B4E9"])
    beside.bar_label(bars, [f"{size / 1e6:.1f} MB" for size in sizes.values()])
    beside.set(yscale="log", ylabel="bytes; of the client, both ways", ylim=(1e5, 2e8))
    plt.show()

# %%
# Two processes of one machine are no faster than two threads of one; a cluster is for rows that one machine cannot
# hold. A worker that dies is replaced, and the fit goes on: :doc:`/dask`.
