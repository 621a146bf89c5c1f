"""The picture of the README: what a model for a goal finds.

    python -m benchmarks.picture

It is the table of ``smoothperf demo``, customers called against those who say yes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from smoothperf.cli._customers import LABEL, Asked

ROOT = Path(__file__).parent.parent
MOST_CALLED = 800


def draw_calls(axes: Any) -> None:
    """Draw how many of those called say yes, by model."""
    asked = Asked.of_size(4_000, 200)
    said_yes = (asked.new[LABEL] == "yes").to_numpy()
    for name, model in asked.models().items():
        model.fit(asked.known.drop(columns=LABEL), asked.known[LABEL])
        order = np.argsort(-model.decision_function(asked.new.drop(columns=LABEL)), kind="stable")
        found = np.concatenate([[0], said_yes[order].cumsum()])[: MOST_CALLED + 1]
        axes.plot(found, label=f"{name}: {found[asked.k]} of {asked.k}", linewidth=2 if name == "smoothperf" else 1.2)
    axes.plot([0, MOST_CALLED], [0, said_yes.mean() * MOST_CALLED], ":", color="grey", label="at random")
    axes.axvline(asked.k, color="grey", linewidth=0.8)
    axes.set(xlabel="customers called", ylabel="say yes", xlim=(0, MOST_CALLED))
    axes.set_title("200 of 4,000 customers (generated) can be called")
    axes.set_ylim(bottom=0)
    axes.legend(edgecolor="none", framealpha=1.0, loc="lower right")


def main() -> None:
    """Draw it."""
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    draw_calls(axes)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs/picture.png", dpi=110)


if __name__ == "__main__":
    main()
