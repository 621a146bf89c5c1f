"""Curves of tables: words stay heights, sparse encodings or not, and monotone effects are asked for by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from smoothperf import MeasureClassifier, MeasureClassifierCV
from smoothperf.features import Shapes, TableEncoder, TableShapes


def words(n=600, seed=0):
    """Mostly words, so that their encoding is sparse; more of the number is worse, but in a wave."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"income": rng.normal(size=n), "town": rng.choice(list("abcdefghijklmnop"), n)})
    score = np.sin(3.0 * frame["income"]) + frame["income"] + (frame["town"] < "e")
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame, (score + 0.3 * rng.normal(size=n) > 0.5).to_numpy()


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_by_name_in_every_fold(sign):
    frame, y = words()
    features = TableShapes(shapes=Shapes(monotonic_cst={"income": sign}))
    for model in (
        MeasureClassifier("log_loss", alpha=1e-3, features=features),
        MeasureClassifierCV("roc_area", bound="convex", cv=2, features=[clone(features)]),
    ):
        model.fit(frame, y)
        rows = frame.iloc[[1] * 500].assign(income=np.linspace(-4.0, 4.0, 500))
        assert (sign * np.diff(model.positive_scores(rows))).min() >= -1e-12
    assert hasattr(TableEncoder().fit(frame).transform(frame), "toarray")  # sparse


def test_features_and_scores_are_those_of_the_steps():
    frame, _ = words()
    shapes = TableShapes(shapes=Shapes(dtype=np.float64)).fit(frame)
    names = shapes.get_feature_names_out().tolist()
    assert {"income", "income[1]", "income missing", "town=a"} <= set(names)
    coef = np.random.default_rng(0).normal(size=len(names))
    np.testing.assert_allclose(
        shapes.contributions(frame, coef).sum(axis=1), shapes.transform(frame) @ coef, atol=1e-12
    )


def test_words_have_no_order():
    frame, _ = words()
    with pytest.raises(ValueError, match="columns of numbers, and 'town' is none"):
        TableShapes(shapes=Shapes(monotonic_cst={"town": 1})).fit(frame)
