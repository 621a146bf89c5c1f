"""Linear models for the learning-to-rank plugin of OpenSearch and Elasticsearch: ``model/linear``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .linear import linear_features


def to_opensearch(model: Any, *, name: str = "smoothperf", names: Sequence[str] | None = None) -> str:
    """Return a linear model as JSON that ``POST _ltr/_featureset/NAME/_createmodel`` takes.

    Parameters
    ----------
    model : MeasureRanker or MeasureClassifier
        A fitted model.
    name : str, default="smoothperf"
        Name of the model there.
    names : sequence of str, optional
        Names of the features in the feature set; by default those of the columns.

    Returns
    -------
    str
        Weights, and the mean and deviation of each feature if the model was trained on scaled ones.

    Examples
    --------
    >>> from smoothperf import MeasureRanker
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> ranker = MeasureRanker("pairs", alpha=1.0).fit(X, y, qid=[0, 0, 1, 1])
    >>> print(to_opensearch(ranker, name="bm25-only", names=["bm25"]))
    {
      "model": {
        "name": "bm25-only",
        "model": {
          "type": "model/linear",
          "definition": {
            "bm25": 0.9...
          }
        }
      }
    }
    """
    features = linear_features(model, names, "OpenSearch's linear model")
    found: dict[str, Any] = {
        "type": "model/linear",
        "definition": {feature.name: feature.weight for feature in features},
    }
    normalisers = {
        feature.name: {"standard": {"mean": feature.mean, "standard_deviation": feature.deviation}}
        for feature in features
        if feature.normalised
    }
    if normalisers:
        found["feature_normalizers"] = normalisers
    return json.dumps({"model": {"name": name, "model": found}}, indent=2, ensure_ascii=False)
