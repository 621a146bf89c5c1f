"""Parameters for single features: by position, by name or by the index of a Series; and their errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import smoothperf
from smoothperf import MeasureClassifier, MeasureClassifierCV
from smoothperf.estimators.penalty import Features
from smoothperf.estimators.problem import penalty_of

X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = pd.DataFrame(scale(X)[:, :6], columns=X.columns[:6]), 1 - benign.to_numpy()
NAMES = list(X.columns)


def penalty(**parameters):
    model = MeasureClassifier(**parameters)
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    return penalty_of(model, len(NAMES)).on(len(NAMES))


def test_the_order_of_a_series_means_nothing():
    factors = pd.Series(np.arange(6.0), index=NAMES)
    expected = penalty(penalty_factors=np.arange(6.0))
    np.testing.assert_array_equal(penalty(penalty_factors=factors[::-1]).l2, expected.l2)
    numbered = pd.Series(np.arange(6.0)[::-1], index=range(5, -1, -1))
    np.testing.assert_array_equal(penalty(penalty_factors=numbered).l2, expected.l2)
    bounds = penalty(coef_bounds=(-factors[::-1], factors[::-1].iloc[:2]))
    np.testing.assert_array_equal(bounds.lower, -np.arange(6.0))
    np.testing.assert_array_equal(bounds.upper, [np.inf] * 4 + [4.0, 5.0])


@pytest.mark.parametrize(
    "factors", [pd.Series(1.0, index=[f"x{i}" for i in range(6)]), pd.Series(1.0, index=range(10, 16))]
)
def test_a_series_of_other_features_is_refused(factors):
    with pytest.raises(ValueError, match="penalty_factors has no feature"):
        MeasureClassifier(penalty_factors=factors).fit(X, y)


def test_a_series_with_a_feature_twice_is_refused():
    with pytest.raises(ValueError, match="penalty_factors has 'mean radius' more than once in its index"):
        MeasureClassifier(penalty_factors=pd.Series(1.0, index=NAMES[:5] + NAMES[:1])).fit(X, y)


def test_a_model_file_keeps_a_series_as_a_dict(tmp_path):
    factors = pd.Series(np.linspace(0.5, 2.0, 6), index=NAMES)[::-1]
    model = MeasureClassifier(alpha=1e-2, penalty_factors=factors, coef_bounds=(-factors, None)).fit(X, y)
    model.save(tmp_path / "model")
    again = smoothperf.load(tmp_path / "model")
    assert again.penalty_factors == factors.to_dict()
    np.testing.assert_allclose(again.fit(X, y).coef_, model.coef_, rtol=1e-12)


def test_lower_bounds_may_be_the_first_row_of_an_array():
    rows = np.vstack([-np.arange(6.0), np.arange(6.0)])
    np.testing.assert_array_equal(penalty(coef_bounds=rows).lower, rows[0])
    np.testing.assert_array_equal(penalty(coef_bounds=rows).upper, rows[1])
    with pytest.raises(ValueError, match=r"coef_bounds must be \(lower, upper\).*got a ndarray of shape \(6, 2\)\."):
        penalty(coef_bounds=rows.T)
    square = MeasureClassifier(coef_bounds=np.array([[-1.0, 1.0], [-2.0, 2.0]]))  # pairs, or the lower bounds first?
    with pytest.raises(ValueError, match=r"coef_bounds must be \(lower, upper\)"):
        square.fit(X.iloc[:, :2], y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"positive": [False] * 6}, "positive must be True or False, for all features, got .*use coef_bounds="),
        ({"positive": np.ones(6, bool)}, "positive must be True or False.*a ndarray of shape"),
        ({"positive": "yes"}, "positive must be True or False, for all features, got 'yes'"),
        ({"positive": True, "coef_bounds": (-1, 0)}, "positive=True with these coef_bounds leaves no weight but 0"),
        ({"coef_bounds": (0, 0)}, "coef_bounds leave no weight but 0 to any feature"),
        ({"coef_bounds": (2, 1)}, r"coef_bounds of feature 'mean radius' are \(2, 1\): a lower bound above the upper"),
        ({"coef_bounds": {"mean area": (0.5, 1)}}, r"coef_bounds of feature 'mean area' are \(0.5, 1\): a lower bound"),
        ({"coef_bounds": {"mean area": (None, -1)}}, "coef_bounds of feature 'mean area' .* an upper bound below 0"),
        ({"coef_bounds": (np.nan, 1)}, "coef_bounds of feature 'mean radius' .* not a number"),
        ({"coef_bounds": {"mean area": ("a", 1)}}, "coef_bounds of feature 'mean area' must be a number, got 'a'"),
        ({"coef_bounds": {"mean area": None}}, r"coef_bounds of feature 'mean area' must be \(lower, upper\)"),
        ({"coef_bounds": ("a", None), "positive": True}, r"coef_bounds \(lower\) must be a number.*got 'a'"),
        ({"coef_bounds": (None, [1.0, 2.0])}, r"coef_bounds \(upper\) must have one number for each of 6 features"),
        ({"coef_bounds": [(0, 1)] * 200}, "got a list of 200 entries"),
        ({"coef_bounds": X}, r"got a DataFrame of shape \(569, 6\)"),
        ({"penalty_factors": {"mean area": "x"}}, "penalty_factors of feature 'mean area' must be a number, got 'x'"),
        ({"penalty_factors": {"mean area": -1.0}}, "penalty_factors must be .*, got -1.0 for feature 'mean area'"),
        ({"penalty_factors": {"mean aera": 1.0}}, "has no feature 'mean aera'.*Did you mean 'mean area'"),
        ({"penalty_factors": {6: 1.0}}, "has no feature 6 to speak of: X has 6, such as .* from 0 to 5"),
        ({"penalty_factors": np.ones(6) + 1j}, "penalty_factors must be a number, one for each of 6 features"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(parameters, message):
    with pytest.raises(ValueError, match=message):
        MeasureClassifier(alpha=1e-2, **parameters).fit(X, y)


def test_features_of_arrays_have_positions():
    assert Features(3).numbers("penalty_factors", {1: 0.0}, 1.0).tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="has no feature 'age' to speak of: X has 3, none has a name"):
        Features(3).place("penalty_factors", "age")


@pytest.mark.parametrize("ratio", ["0.5", True, [0.5, "1"], [[0.5]], 1.5])
def test_a_choice_takes_numbers_for_ratios_only(ratio):
    with pytest.raises(ValueError, match="l1_ratio must lie between 0 and 1, got"):
        MeasureClassifierCV(l1_ratio=ratio).fit(X, y)


def test_complex_scores_to_begin_with_are_refused():
    with pytest.raises(ValueError, match="base_scores must be a vector of numbers: they are complex"):
        MeasureClassifier().fit(X, y, base_scores=np.zeros(y.size) + 1j)


def test_the_limit_of_a_feature_without_a_penalty_is_told_by_name():
    table = pd.DataFrame({"Big": [1.0, 2.0, 3.0, 4.0], "Tiny": [0.0, 0.0, 1e-3, 1e-3]})
    with pytest.warns(UserWarning, match="The weight of feature 'Tiny', which has no penalty, is on the limit of 1000"):
        MeasureClassifier("log_loss", 1e-2, penalty_factors={"Tiny": 0.0}).fit(table, [0, 0, 1, 1])
