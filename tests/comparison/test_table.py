"""The comparison: fair choices, honest words, and resamples that are paired."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from problems import TunedError
from smoothperf import BalancedErrorRate, FBeta, MeasureClassifierCV, PrecisionAtK, comparison
from smoothperf.cli.compare import _splits
from smoothperf.comparison import ComparedLabels, Fitted, Method, TableLine
from smoothperf.comparison.table import C_GRID, COLUMNS, MODEL, suits_trees
from smoothperf.evaluation import column_of
from smoothperf.features.scaling import Scaler
from smoothperf.measures import Examples, get_measure
from smoothperf.tasks.base import HeldOut
from smoothperf.tasks.labels import LabelRows

PAIR = np.array([False, True])


def rows_of(X, positive):
    return LabelRows(X, PAIR, positive)


def compared(splits, methods, kind=None, **options):
    return comparison.compare(splits, methods, kind or ComparedLabels([]), **options)


def folded(X, positive, folds):
    """Rows to train on and rows to judge on, by folds."""
    rows = rows_of(X, positive)
    return [(rows.part(train), rows.part(test)) for train, test in ComparedLabels().splits(rows, folds)]


def problem(n, seed):
    """Return two features: the first tells the classes apart, the second is noise."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    X = rng.standard_normal((n, 2))
    X[:, 0] += 1.5 * positive
    return X, positive


GOOD, BAD = np.array([1.0, 0.0]), np.array([0.0, 1.0])


@pytest.fixture(scope="module")
def split():
    return rows_of(*problem(200, 0)), rows_of(*problem(400, 2))


#: Rows held out, in two folds.
FOLDS = [problem(80, 1), problem(70, 7)]
HELD_OUT = np.vstack([FOLDS[0][0], FOLDS[1][0]]), np.append(FOLDS[0][1], FOLDS[1][1])


def family(*coefs):
    """Models with these weights, which rows held out are scored with too."""
    return lambda rows: [
        Fitted(f"number {i}", lambda X, coef=coef: X @ coef, [held_out(X, y, coef) for X, y in FOLDS])
        for i, coef in enumerate(coefs)
    ]


def held_out(X, y, coef):
    return HeldOut(np.arange(y.size), Examples(y), Examples(y), {MODEL: X @ coef})


def test_chooses_on_rows_held_out_and_judges_on_others(split):
    [line] = compared([split], [Method("one", family(BAD, GOOD))], n_resamples=10)
    X, positive = split[1].X, split[1].positive
    assert line.strengths["roc_area"] == ["number 1"]
    assert line.values["roc_area"] == pytest.approx(roc_auc_score(positive, X @ GOOD))
    # F1 is that of the threshold that is best on the rows held out.
    chosen = HELD_OUT[0] @ GOOD
    best = FBeta().tuned_threshold(HELD_OUT[1], chosen)
    assert line.values["f1"] == pytest.approx(f1_score(positive, best < X @ GOOD))


def test_measures_that_no_table_has_get_a_column(split):
    """With a threshold that each method chooses on rows of its own, by formula or as the measure says."""
    measures = [BalancedErrorRate(), TunedError(), PrecisionAtK(20)]
    methods = [Method(m.name, family(BAD, GOOD), column_of(m)) for m in measures]
    lines = compared([split], [*methods, Method("other", family(GOOD))], ComparedLabels(measures), n_resamples=10)
    X, positive = split[1].X, split[1].positive
    chosen = HELD_OUT[0] @ GOOD
    cut = max((balanced_accuracy_score(HELD_OUT[1], chosen > t), t) for t in chosen)[1]
    for found in lines:
        assert list(found.values) == [*COLUMNS, "balanced_error_rate", "tuned", "precision@20"]
        assert comparison.level_of(found) == pytest.approx(1 - 0.05 / 8)
        assert found.values["balanced_error_rate"] == pytest.approx(
            balanced_accuracy_score(positive, cut < X @ GOOD), abs=0.01
        )
        assert found.values["precision@20"] == PrecisionAtK(20).score(positive, X @ GOOD)
        if found.strengths["tuned"] == ["number 1"] or found.name == "other":
            at = TunedError().tuned_threshold(HELD_OUT[1], chosen)
            assert found.values["tuned"] == TunedError().score(positive, X @ GOOD - at)
    assert comparison.verdict(lines, "tuned").startswith("tuned: a tie. Training for tuned and other differ by")
    assert "(99.4 %:" in comparison.verdict(lines, "precision@20")


def test_methods_for_any_measure():
    kind = ComparedLabels(["error_rate", TunedError(), "precision@10"])
    found = kind.methods()
    assert [method.name for method in found[:3]] == ["for accuracy", "for tuned", "for precision@10"]
    assert [method.trained_for for method in found[:3]] == ["accuracy", "tuned", "precision@10"]
    lines = compared(folded(*problem(120, 4), 2)[:1], found, kind, n_resamples=5)
    assert min(line.values["accuracy"] for line in lines) > 0.65


def test_equally_good_strengths_prefer_the_strongest(split):
    [line] = compared([split], [Method("one", family(GOOD, 2 * GOOD))], n_resamples=1)
    assert line.strengths["roc_area"] == ["number 0"]


def test_resamples_are_paired_and_follow_the_seed(split):
    twins = [Method("one", family(GOOD)), Method("other", family(3 * GOOD))]
    one, other = compared([split], twins, n_resamples=30)
    for column in COLUMNS:
        np.testing.assert_allclose(one.samples[column], other.samples[column], atol=1e-12)
    assert np.ptp(one.samples["roc_area"]) > 0.0
    [again], [another] = (compared([split], twins[:1], n_resamples=30, seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(one.samples["f1"], again.samples["f1"])
    assert not np.array_equal(one.samples["f1"], another.samples["f1"])


def test_splits_share_no_rows_and_cover_all():
    X = np.arange(100.0).reshape(-1, 1)
    positive = np.arange(100) % 4 == 0
    judged = []
    for parts in folded(X, positive, 5):
        numbers = [set(part.X[:, 0]) for part in parts]
        assert set.union(*numbers) == set(range(100))
        assert [len(part) for part in numbers] == [80, 20]
        assert all(np.array_equal(part.positive, part.X[:, 0] % 4 == 0) for part in parts)
        assert parts[1].positive.sum() == 5
        judged += numbers[1]
    assert sorted(judged) == list(range(100))


def test_too_few_examples_for_the_folds():
    _, positive = problem(30, 0)
    with pytest.raises(ValueError, match="5 folds need 10 examples of each class, but one has"):
        ComparedLabels().check(rows_of(np.zeros((30, 1)), positive & (np.arange(30) < 20)), 5)


def test_real_methods_learn():
    kind = ComparedLabels()
    methods = kind.methods(["lbfgs", "bmrm"], bound="convex")
    lines = compared(folded(*problem(400, 3), 2), methods, kind, n_resamples=20)
    assert [line.name for line in lines] == [
        "for PRBEP, lbfgs",
        "for PRBEP, bmrm",
        "for ROC area, lbfgs",
        "for ROC area, bmrm",
        "LogisticRegression",
        "LinearSVC",
        "HistGradientBoosting",
    ]
    for line in lines:
        assert line.values["roc_area"] > 0.8
        assert line.values["f1"] > 0.55
        assert line.missed == 0
        assert line.seconds > 0.0
        assert all(len(chosen) == 2 for chosen in line.strengths.values())
    # Two solvers of one problem reach the same optimum.
    assert lines[2].values["roc_area"] == pytest.approx(lines[3].values["roc_area"], abs=2e-3)


def test_missed_tolerances_are_counted():
    kind = ComparedLabels(["roc_area"])
    methods = kind.methods(bound="convex", tol=1e-4, max_iter=0)
    with pytest.warns(ConvergenceWarning):
        lines = compared(folded(*problem(100, 4), 2), methods[:1], kind, n_resamples=1)
    assert lines[0].missed > 0


def line(name, trained_for, value, noise, column="prbep", trees=False):
    values = dict.fromkeys(COLUMNS, 0.5) | {column: value}
    samples = {key: value + noise * np.linspace(-1, 1, 101) for key in COLUMNS}
    return TableLine(name, trained_for, trees, values, samples, {}, 0.0, 0)


def test_verdicts():
    ours, roc = line("for PRBEP", "prbep", 0.80, 0.01), line("for ROC area", "roc_area", 0.70, 0.01)
    rival, weak = line("LogisticRegression", None, 0.75, 0.0), line("LinearSVC", None, 0.60, 0.0)
    lines = [ours, roc, rival, weak]
    assert comparison.verdict(lines, "prbep") == (
        "PRBEP: training for PRBEP pays: 0.8000 against 0.7500 of LogisticRegression, +0.0500 "
        "(99 %: +0.0401 to +0.0599)."
    )
    lines = [ours, roc, line("LogisticRegression", None, 0.85, 0.0), weak]
    assert comparison.verdict(lines, "prbep") == (
        "PRBEP: training for PRBEP does not pay: 0.8000 against 0.8500 of LogisticRegression, -0.0500 "
        "(99 %: -0.0599 to -0.0401)."
    )
    lines = [ours, roc, line("LogisticRegression", None, 0.805, 0.0), weak]
    assert comparison.verdict(lines, "prbep") == (
        "PRBEP: a tie. Training for PRBEP and LogisticRegression differ by 0.0050, which is within noise "
        "(99 %: -0.0149 to +0.0049)."
    )
    lines = [ours, line("for ROC area", "roc_area", 0.9, 0.0), rival, weak]
    assert comparison.verdict(lines, "prbep").endswith(" The best is the model for ROC area, 0.9000.")
    other = [line("for PRBEP", "prbep", 0.8, 0.0, "f1"), line("LinearSVC", None, 0.7, 0.0, "f1")]
    assert comparison.verdict(other, "f1").startswith("F1: training for PRBEP, the best of ours here, is ahead: 0.8000")


def test_trees_are_ahead_only_by_more_than_noise_and_no_rivals_of_a_risk():
    lines = [line("for PRBEP", "prbep", 0.80, 0.01), line("LinearSVC", None, 0.75, 0.0)]
    for value, noise, words in (
        (0.85, 0.0, "boosted is ahead of all linear models by more than noise: PRBEP +0.0500 (+0.0401 to +0.0599)"),
        (0.805, 0.0, None),
        (0.70, 0.0, None),
    ):
        trees = line("boosted", None, value, noise, trees=True)
        found = comparison.trees_ahead([*lines, trees])
        assert found is None if words is None else found.startswith(words)
        assert comparison.verdict([*lines, trees], "prbep") == comparison.verdict(lines, "prbep")
    assert comparison.trees_ahead(lines) is None


def test_trees_see_what_no_line_can():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 2))
    rows = rows_of(X, (X[:, 0] * X[:, 1] > 0) ^ (rng.random(800) < 0.1))
    kind = ComparedLabels(["roc_area"])
    splits = [(rows.part(np.arange(400)), rows.part(np.arange(400, 800)))]
    lines = compared(splits, kind.methods(), kind, n_resamples=50)
    assert "ROC area +0." in comparison.trees_ahead(lines)
    assert lines[-1].strengths["roc_area"][0].endswith("trees")


def test_trees_take_sparse_rows_unless_there_are_too_many():
    X, positive = problem(120, 0)
    rows, sparse = rows_of(X, positive), rows_of(sp.csr_matrix(X), positive)
    method = ComparedLabels(["roc_area"]).methods()[-1]
    one, other = (method.fit(each)[0].scores(each.X) for each in (rows, sparse))
    np.testing.assert_array_equal(one, other)
    assert suits_trees(*X.shape)
    assert not suits_trees(10, 10**4)
    assert not suits_trees(10**6, 10**6)


def test_best_or_tied():
    lines = [line("a", None, 0.80, 0.02), line("b", None, 0.79, 0.0), line("c", None, 0.70, 0.0)]
    assert comparison.best_or_tied(lines, "prbep") == [True, True, False]


def test_difference_of_equal_lines_is_a_tie():
    one = line("a", None, 0.8, 0.3)
    gain = comparison.difference(one, one, "prbep")
    assert (gain.value, gain.low, gain.high) == (0.0, 0.0, 0.0)
    assert gain.is_tie


def test_every_split_draws_rows_of_its_own(split):
    method = [Method("one", family(GOOD))]
    [once], [twice] = (compared([split] * n, method, n_resamples=300) for n in (1, 2))
    # The mean of two independent draws spreads less by the root of two; that of one draw taken twice would not.
    assert np.std(twice.samples["roc_area"]) < 0.85 * np.std(once.samples["roc_area"])


@pytest.mark.parametrize("measure", ["prbep", "error_rate"])
def test_ours_is_what_training_gives(split, measure):
    """The same model, cut where it is cut there, in the column of what it was made for."""
    kind = ComparedLabels([measure])
    [found] = compared([split], kind.methods()[:1], kind, n_resamples=1)
    model = MeasureClassifierCV(measure).fit(split[0].X, split[0].positive)
    X, positive = split[1].X, split[1].positive
    column = column_of(get_measure(measure))
    assert found.values[column] == pytest.approx(model.score(X, positive))
    assert found.values["roc_area"] == pytest.approx(roc_auc_score(positive, model.decision_function(X)))
    assert found.strengths[column] == [f"{model.trained_for_}, alpha {model.alpha_:.2g}"]


def test_others_choose_by_folds_of_the_same_rows(split):
    [line] = compared([split], ComparedLabels([]).methods()[:1], n_resamples=1)
    X, positive = split[0].X, split[0].positive
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": C_GRID}, scoring="roc_auc", cv=folds).fit(
        X, positive
    )
    assert line.strengths["roc_area"] == [f"C {search.best_params_['C']:.2g}"]
    expected = roc_auc_score(split[1].positive, search.decision_function(split[1].X))
    assert line.values["roc_area"] == pytest.approx(expected, abs=1e-3)


def test_judging_rows_are_scaled_as_those_to_train_on():
    X, positive = problem(100, 0)
    X = X * [1e3, 1.0] + [5e4, 0.0]
    rows, others = rows_of(X[:60], positive[:60]), rows_of(X[60:], positive[60:])
    [(train, judging)] = _splits(ComparedLabels(), rows, others, folds=5, seed=0, features=Scaler())
    [model] = ComparedLabels().tuned("the first column", lambda rows: [("", lambda X: X[:, 0])]).fit(train)
    expected = (X[60:] - X[:60].mean(axis=0)) / X[:60].std(axis=0)
    np.testing.assert_allclose(model.scores(judging.X), expected[:, 0])
