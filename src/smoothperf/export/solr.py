"""Linear models for the learning-to-rank module of Apache Solr: ``org.apache.solr.ltr.model.LinearModel``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .linear import linear_features


def to_solr(model: Any, *, name: str = "smoothperf", names: Sequence[str] | None = None) -> str:
    """Return a linear model as JSON that ``PUT schema/model-store`` takes.

    Parameters
    ----------
    model : MeasureRanker or MeasureClassifier
        A fitted model.
    name : str, default="smoothperf"
        Name of the model there.
    names : sequence of str, optional
        Names of the features in the feature store; by default those of the columns.

    Returns
    -------
    str
        Weights, and a StandardNormalizer for each feature if the model was trained on scaled ones.

    Examples
    --------
    >>> from smoothperf import MeasureRanker
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> ranker = MeasureRanker("pairs", alpha=1.0).fit(X, y, qid=[0, 0, 1, 1])
    >>> print(to_solr(ranker, name="bm25-only", names=["bm25"]))
    {
      "class": "org.apache.solr.ltr.model.LinearModel",
      "name": "bm25-only",
      "features": [
        {
          "name": "bm25"
        }
      ],
      "params": {
        "weights": {
          "bm25": 0.9...
        }
      }
    }
    """
    features = linear_features(model, names, "Solr's linear model")
    described = []
    for feature in features:
        # Numbers of normalisers are text in Solr.
        params = {"avg": repr(feature.mean), "std": repr(feature.deviation)}
        norm = {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}
        described.append({"name": feature.name, **({"norm": norm} if feature.normalised else {})})
    found = {
        "class": "org.apache.solr.ltr.model.LinearModel",
        "name": name,
        "features": described,
        "params": {"weights": {feature.name: feature.weight for feature in features}},
    }
    return json.dumps(found, indent=2, ensure_ascii=False)
