"""A table as people have them, and models of it, for exports to be run on."""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smoothperf import MeasureClassifier
from smoothperf.features import Shapes, TableEncoder, TableShapes


def people(n=10_000, seed=0):
    """Numbers, few numbers, words with quotes and rare ones, dates; missing values, also where training had none."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50.0, 10.0, n),
            "in come": np.exp(rng.normal(10.0, 1.0, n)),
            "kids": rng.integers(0, 4, n).astype(float),
            "town": rng.choice(["Rome", "O'slo", 'Bo"nn', "Köln"], n).astype(object),
            "signed": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 86400 * 1000, n), unit="s"),
        }
    )
    for place, name in enumerate(frame):
        frame.loc[rng.random(n) < (0.1 if place else 0.0), name] = None
    frame.loc[: n // 1000, "town"] = "Rieti"
    known = frame.fillna({"kids": 0.0, "in come": 2e4})
    signal = (known["age"] - 50.0) ** 2 / 100.0 + (frame["town"] == "Rome") + 0.3 * known["kids"]
    y = np.where(signal + rng.normal(size=n) > 1.5, "yes", "it's no")
    frame.loc[n // 2 :: 50, "age"] = None  # where training knew all
    frame.loc[n // 2 :: 70, "town"] = "Atlantis"
    return frame, y


FEATURES = {
    "table": TableEncoder(words=["kids"]),
    "curves of a table": make_pipeline(TableEncoder(), Shapes()),
    "monotone": TableShapes(TableEncoder(), Shapes(monotonic_cst={"age": -1, "kids": 1})),
    "straight pieces": make_pipeline(TableEncoder(scale="maxabs"), Shapes(degree=1, linear=False)),
}


def fitted(features):
    """A model of the first rows, and all rows."""
    frame, y = people()
    return MeasureClassifier("log_loss", alpha=1e-3, features=features).fit(frame[:2000], y[:2000]), frame


def numbers():
    """A model of an array, in whose features nobody has named a column; the positive label sorts first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 4)) * [1.0, 100.0, 1e-3, 1e6]
    X[:, 1] = np.round(X[:, 1] / 100.0)
    features = make_pipeline(StandardScaler(), Shapes(degree=3))
    y = np.where(X[:, 0] ** 2 + X[:, 1] + rng.normal(size=10_000) > 1.0, 0, 1)
    return MeasureClassifier("prbep", alpha=1e-2, features=features, pos_label=0).fit(X[:1000], y[:1000]), X
