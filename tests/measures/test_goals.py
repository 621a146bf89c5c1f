"""Goals: scores by brute force over all cuts and against scikit-learn, cuts that keep what is asked for, and fits."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import average_precision_score, balanced_accuracy_score, matthews_corrcoef

import smoothperf
from groups import examples_of, parts, run_group
from problems import gaussians, searching
from smoothperf import (
    AveragePrecision,
    BalancedErrorRate,
    MatthewsCorrelation,
    MeasureClassifier,
    MeasureClassifierCV,
    PositivesAtTop,
    PrecisionAtRecall,
    RecallAtFPR,
    RecallAtPrecision,
    ROCArea,
    TargetWarning,
    regularization_path,
    scorers,
)
from smoothperf.evaluation import Ranking, column_of, title_of
from smoothperf.measures import Goal, get_measure

GOALS = [AveragePrecision(), RecallAtPrecision(0.7), PrecisionAtRecall(0.5), RecallAtFPR(0.25)]
GOALS += [MatthewsCorrelation(), PositivesAtTop()]
every_goal = pytest.mark.parametrize("goal", GOALS, ids=repr)


def brute_force(goal, y, scores, weights):
    """The best over all cuts, counted one by one."""
    c = np.ones(len(y)) if weights is None else weights
    best = 0.0
    for cut in [*np.unique(scores), np.inf]:
        above = scores >= cut
        hits, false = c[above & y].sum(), c[above & ~y].sum()
        precision = hits / (hits + false) if hits + false else 0.0
        recall, fpr = hits / c[y].sum(), false / c[~y].sum()
        slack = 1e-12
        if isinstance(goal, RecallAtPrecision) and precision >= goal.precision - slack:
            best = max(best, recall)
        if isinstance(goal, PrecisionAtRecall) and recall >= goal.recall - slack:
            best = max(best, precision)
        if isinstance(goal, RecallAtFPR) and fpr <= goal.fpr + slack:
            best = max(best, recall)
    return best


@st.composite
def problems(draw):
    n = draw(st.integers(2, 12))
    y = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda y: len(set(y)) == 2)))
    scores = np.array(draw(st.lists(st.integers(-2, 3).map(float), min_size=n, max_size=n)))
    weight = st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.0])
    weights = draw(st.one_of(st.none(), st.lists(weight, min_size=n, max_size=n).map(np.array)))
    if weights is not None:
        weights[[np.flatnonzero(y)[0], np.flatnonzero(~y)[0]]] = 0.5
        weights.flags.writeable = False
    scores.flags.writeable = y.flags.writeable = False
    return y, scores, weights


@searching(20)
@given(problem=problems(), rate=st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 0.6, 0.75, 0.9, 0.99]))
def test_scores_are_the_best_over_all_cuts(problem, rate):
    for goal in (RecallAtPrecision(rate), PrecisionAtRecall(rate), RecallAtFPR(rate)):
        assert goal.score(*problem) == pytest.approx(brute_force(goal, *problem), abs=1e-12)


@searching(20)
@given(problem=problems())
def test_average_precision_is_that_of_scikit_learn(problem):
    y, scores, weights = problem
    expected = average_precision_score(y, scores, sample_weight=weights)
    assert AveragePrecision().score(y, scores, weights) == pytest.approx(expected, abs=1e-12)


@searching(20)
@given(problem=problems())
def test_measures_of_decisions_are_those_of_scikit_learn(problem):
    y, scores, weights = problem
    for measure, of_decisions in (
        (MatthewsCorrelation(), matthews_corrcoef),
        (BalancedErrorRate(), balanced_accuracy_score),
    ):
        expected = of_decisions(y, scores > 0, sample_weight=weights)
        assert measure.score(y, scores, weights) == pytest.approx(expected, abs=1e-12)


@searching(20)
@given(problem=problems())
def test_the_correlation_of_all_cuts(problem):
    """The highest one is that of some cut; where scores separate the classes, the chosen cut does."""
    y, scores, weights = problem
    cuts = [matthews_corrcoef(y, scores > cut, sample_weight=weights) for cut in [-9.0, *np.unique(scores)]]
    goal, ranking = MatthewsCorrelation(), Ranking(y, scores)
    counts = ranking.cuts(weights)
    assert goal.of_cuts(counts.tp, counts.fp) == pytest.approx(max(cuts), abs=1e-12)
    best = ranking.best_threshold(goal)
    assert goal.score(y, scores - best) == pytest.approx(goal.of_cuts(ranking.cuts().tp, ranking.cuts().fp), abs=1e-12)
    if max(cuts) > 1 - 1e-9:
        assert goal.score(y, scores - goal.threshold(y, scores, weights), weights) == pytest.approx(1.0)


@every_goal
@searching(20)
@given(problem=problems())
def test_a_ranking_has_the_same_scores(goal, problem):
    y, scores, weights = problem
    expected = goal.score(y, scores - 1.0, weights)
    assert Ranking(y, scores).score(goal, threshold=1.0, multiplicity=weights) == pytest.approx(expected, abs=1e-12)


@every_goal
@searching(20)
@given(problem=problems())
def test_weights_count_as_copies_in_scores(goal, problem):
    y, scores, _ = problem
    copies = np.arange(len(y)) % 3 + 1
    repeated = goal.score(np.repeat(y, copies), np.repeat(scores, copies))
    assert goal.score(y, scores, copies.astype(float)) == pytest.approx(repeated, abs=1e-12)


def test_no_cut_is_precise_enough():
    assert RecallAtPrecision(0.9).score([0, 1, 0], [3.0, 2.0, 1.0]) == 0.0
    assert RecallAtFPR(0.4).score([0, 1, 0], [3.0, 2.0, 1.0]) == 0.0
    assert RecallAtFPR(0.5).score([0, 1, 0], [3.0, 2.0, 1.0]) == 1.0
    assert RecallAtPrecision(0.5).score([1, 0], [1.0, 1.0]) == 1.0  # tied: both or none


@searching(20)
@given(problem=problems(), rate=st.sampled_from([0.1, 0.5, 0.6, 0.9]))
def test_without_confidence_the_cut_has_the_score(problem, rate):
    """The score speaks of what is predicted at the threshold."""
    y, scores, weights = problem
    c = np.ones(len(y)) if weights is None else weights
    for goal in (RecallAtPrecision(rate, None), PrecisionAtRecall(rate, None), RecallAtFPR(rate, None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TargetWarning)
            above = scores > goal.threshold(y, scores, weights)
        hits, false = c[above & y].sum(), c[above & ~y].sum()
        if isinstance(goal, PrecisionAtRecall):  # the fewest that find enough, which need not be the most precise
            assert hits / c[y].sum() >= rate - 1e-12
            lowest = scores[above & (c > 0)].min()
            assert c[(scores > lowest) & y].sum() / c[y].sum() < rate
        elif goal.score(y, scores, weights) > 0.0:
            assert hits / c[y].sum() == pytest.approx(goal.score(y, scores, weights))
        elif isinstance(goal, RecallAtFPR):
            assert false / c[~y].sum() <= rate + 1e-12


def test_where_no_cut_is_precise_enough_the_most_precise_is_taken():
    y, scores = np.array([0, 1, 1, 0, 0, 0]), np.arange(6.0)[::-1]
    with pytest.warns(TargetWarning, match=r"recall@precision=0.9,confidence=none: precision=0.9 cannot be reached"):
        assert RecallAtPrecision(0.9, None).threshold(y, scores) == 2.5


@searching(20)
@given(problem=problems())
def test_positives_at_the_top_are_those_above_all_negatives_that_count(problem):
    y, scores, weights = problem
    c = np.ones(len(y)) if weights is None else weights
    highest = max(score for score, positive, weight in zip(scores, y, c, strict=True) if weight and not positive)
    assert PositivesAtTop().score(*problem) == pytest.approx(c[y & (scores > highest)].sum() / c[y].sum())
    assert PositivesAtTop().threshold(*problem) == highest


def test_average_precision_cuts_as_roc_area_does():
    X, y = gaussians(20, 30, 3, seed=0)
    assert AveragePrecision().threshold(y, X[:, 0]) == ROCArea().threshold(y, X[:, 0])


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("average_precision", AveragePrecision()),
        ("recall@precision=0.9", RecallAtPrecision(0.9)),
        ("precision@recall=0.8", PrecisionAtRecall(0.8)),
        ("recall@fpr=0.01", RecallAtFPR(0.01)),
        ("recall@fpr=0.01,confidence=0.95", RecallAtFPR(0.01, 0.95)),
        ("recall@precision=0.9,confidence=none", RecallAtPrecision(0.9, confidence=None)),
        ("mcc", MatthewsCorrelation()),
        ("pos@top", PositivesAtTop()),
    ],
)
def test_names(name, goal):
    assert get_measure(name) == goal
    assert goal.name == name
    assert pickle.loads(pickle.dumps(goal)) == goal
    assert column_of(goal) == name
    assert title_of(name) == name.replace("average_", "average ").replace("mcc", "MCC")


def test_percentages():
    assert get_measure("recall@precision=90%") == RecallAtPrecision(0.9)
    assert get_measure("recall@fpr=1%") == RecallAtFPR(0.01)
    assert get_measure("precision@recall=80%,confidence=95%") == PrecisionAtRecall(0.8, 0.95)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "recall@precision=2",
            r"cannot be read: precision must lie above 0 and not above 1, got 2",
        ),
        ("recall@precision=", r"cannot be read: .*Write it like 'recall@precision=0.9'"),
        ("recall@fpr=0", r"cannot be read: fpr must be a finite number above 0, got 0"),
        ("recall@fpr=100%", r"cannot be read: fpr must lie between 0 and 1, got 1.0"),
        ("precision@recall=0.5,confidence=1", r"cannot be read: confidence must lie between 0 and 1, got 1"),
    ],
)
def test_names_that_cannot_be_read(name, message):
    with pytest.raises(ValueError, match=message):
        get_measure(name)


X, Y = gaussians(80, 160, 4, seed=3)


@pytest.mark.filterwarnings("ignore::smoothperf.TargetWarning")  # folds are small
@every_goal
def test_a_fit_is_that_of_roc_area_with_another_cut(goal):
    assert isinstance(goal, Goal)
    reference = MeasureClassifier(alpha=1e-2).fit(X, Y)
    clf = clone(MeasureClassifier(goal, alpha=1e-2)).fit(X, Y)
    np.testing.assert_array_equal(clf.coef_, reference.coef_)
    raw = X @ clf.coef_[0]
    assert clf.intercept_[0] == -goal.threshold(Y, raw)
    assert clf.score(X, Y) == goal.score(Y, raw + clf.intercept_[0])
    assert scorers.get_scorer(goal)(clf, X, Y) == clf.score(X, Y)
    path = regularization_path(X, Y, measure=goal, alphas=[1e-2], validation=(X, Y))
    assert path.validation_scores[0] == goal.score(Y, X @ path.coefs[0] + path.intercepts[0])
    chosen = MeasureClassifierCV(goal, n_alphas=3, cv=2).fit(X, Y)
    assert chosen.score(X, Y) == goal.score(Y, chosen.decision_function(X))


@pytest.mark.filterwarnings("ignore::smoothperf.TargetWarning")
@every_goal
def test_model_files_keep_the_parameters(goal, tmp_path):
    MeasureClassifier(goal, alpha=1e-2).fit(X, Y).save(tmp_path / "model")
    again = smoothperf.load(tmp_path / "model")
    assert again.measure == goal
    assert again.score(X, Y) == goal.score(Y, again.decision_function(X))


@pytest.mark.filterwarnings("ignore::smoothperf.TargetWarning")
@every_goal
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_several_processes(goal, weighted):
    weights = np.where(Y > 0, 2.0, 0.5) if weighted else None
    slices, scores = parts(240, [0, 100, 1, 139]), X[:, 0].copy()

    def program(communicator):
        part = slices[communicator.rank]
        examples = examples_of(Y, weights, part, communicator)
        return goal.cut(examples, scores[part]), goal.risk(examples).exact_value(scores[part])

    risk = ROCArea().bind(Y, weights).exact_value(scores)
    for cut, value in run_group(4, program):
        assert cut == goal.threshold(Y, scores, weights)
        assert value == pytest.approx(risk, rel=1e-12)
