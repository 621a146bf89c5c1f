"""
Certificate and convergence
===========================

When is a fit finished? Most programs stop when little happens. Here every fit computes a *lower bound* of the
smallest objective that any weights can have, and stops when its own objective is within ``tol`` of that. The
difference, ``gap_``, is proven, whichever solver was used and however it got there.
"""

# %%
# Three solvers, one problem
# --------------------------
# Sparse rows that look like text, one in fifty positive. L-BFGS and Nesterov's method minimise a smoothed risk
# whose smoothing shrinks as they go; BMRM is the classical cutting-plane method, and does not smooth. All three are
# judged by the exact, unsmoothed objective.

import matplotlib.pyplot as plt

from smoothperf import BMRM, LBFGS, PRBEP, Nesterov
from smoothperf.datasets import make_rare_positives
from smoothperf.design import as_design
from smoothperf.optimise import RegularizedRisk
from smoothperf.plots import convergence

X, y = make_rare_positives(8000, 4000, positive_rate=0.02)
objective = RegularizedRisk(as_design(X), PRBEP().bind(y), 1e-5)  # the last is alpha

solvers = {
    "L-BFGS": LBFGS(tol=1e-3),
    "Nesterov": Nesterov(tol=1e-3, max_iter=3000),
    "BMRM": BMRM(tol=1e-3, max_iter=3000),
}
results = {name: solver.run(objective) for name, solver in solvers.items()}
for name, result in results.items():
    passes = result.n_matvec + result.n_rmatvec
    print(f"{name:9} J = {result.objective:.4f}, at most {result.gap:.5f} above the optimum, {passes:5} passes")

# %%
# Passes over the data are what costs time. Solid is how far the best objective so far is above the best lower bound
# of all runs; dashed is the gap that each run could prove for itself at that moment. A run ends when its dashed
# line reaches ``tol``.

fig, ax = plt.subplots()
convergence({name: result.trace for name, result in results.items()}, tol=1e-3, ax=ax)
plt.show()

# %%
# From both sides
# ---------------
# The same run of L-BFGS as two curves that close in on the optimum, which neither knows.

trace = results["L-BFGS"].trace
fig, ax = plt.subplots()
ax.plot(trace["passes"], trace["objective"], color="#0072B2", label="objective of the weights at hand")
ax.plot(trace["passes"], trace["lower_bound"], color="#D55E00", label="lower bound of every objective")
ax.fill_between(
    trace["passes"], trace["lower_bound"], trace["objective"], color="#DDDDDD", label="the optimum is in here"
)
ax.set(xlabel="passes over the data", ylabel="J", ylim=(0, 1.05))
ax.legend(loc="upper right")
plt.show()

# %%
# A bound that is proven can be relied on later: paths and cross-validation hand it from one alpha to the next, and
# a fit that is certified already takes no iteration at all.
