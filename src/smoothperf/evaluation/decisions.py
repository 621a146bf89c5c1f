"""Decisions on many labels: what they are worth for each label and in all, of rows as they are or drawn again."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import Array
from ..cuts.sorted_scores import ratio
from .many_labels import Mask


class Decisions:
    """Decisions whether rows have labels.

    Parameters
    ----------
    members, predicted : ndarray of bool, of shape (L, n)
        The rows that have each label, and those that are said to have it.

    Examples
    --------
    >>> decisions = Decisions(np.array([[True, True, False], [False, False, True]]), np.eye(2, 3, dtype=bool))
    >>> {name: round(value, 3) for name, value in decisions.measures().items()}
    {'macro_f1': 0.333, 'micro_f1': 0.4}
    """

    def __init__(self, members: Mask, predicted: Mask):
        parts = (members & predicted, predicted, members)
        self._parts = [sp.csr_matrix(part, dtype=np.float64) for part in parts]
        self._ever = members.any(axis=1)
        hits, called, positives = self._counts()
        self._f1 = ratio(2.0 * hits, called + positives)

    def measures(self, draw: Array | None = None) -> dict[str, float]:
        """Return F1 as the mean over labels, and of all decisions together.

        Labels that no row has count as 0 in the mean. Those that only a draw has missed count as of all rows: with 0,
        or left out, rare labels would move the mean of draws away from that of the rows.
        """
        hits, predicted, members = self._counts(draw)
        f1 = ratio(2.0 * hits, predicted + members)
        if draw is not None:
            f1 = np.where((members == 0.0) & self._ever, self._f1, f1)
        together = ratio(2.0 * hits.sum(), predicted.sum() + members.sum())
        return {"macro_f1": float(f1.mean()), "micro_f1": float(together)}

    def each(self, classes: NDArray[Any]) -> list[dict[str, Any]]:
        """Return what the decisions are worth for each label, the best F1 first."""
        hits, predicted, members = self._counts()
        columns = {
            "label": classes.tolist(),
            "rows": members.astype(int).tolist(),
            "predicted": predicted.astype(int).tolist(),
            "precision": np.where(predicted > 0.0, ratio(hits, predicted), np.nan).tolist(),
            "recall": np.where(members > 0.0, ratio(hits, members), np.nan).tolist(),
            "f1": self._f1.tolist(),
        }
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return sorted(rows, key=lambda row: (-row["f1"], -row["rows"]))

    def _counts(self, draw: Array | None = None) -> list[Array]:
        """Hits, rows predicted and rows that have each label."""
        weights = np.ones(self._parts[0].shape[1]) if draw is None else draw
        return [np.asarray(part @ weights) for part in self._parts]
