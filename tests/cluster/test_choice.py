"""The choice on a cluster: on the same folds that of the same rows in memory, also when a worker dies on the way."""

import itertools
import threading

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from dask import delayed
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

import smoothperf
from groups import parts, perturb_solvers, run_group
from smoothperf import LBFGS
from smoothperf.dask import MeasureClassifierCV
from smoothperf.dask.choice import Fold, weighted_squares
from smoothperf.dask.parts import LabelPart
from smoothperf.dask.rows import stacked
from smoothperf.design import as_design
from smoothperf.estimators.problem import label_task
from smoothperf.measures import get_measure
from smoothperf.tasks.label_choice import LabelCandidate
from smoothperf.tasks.labels import LabelRows
from smoothperf.tasks.path import PathTraining

pytestmark = pytest.mark.filterwarnings("ignore:The best alpha")

FEW = {"cv": 2, "alphas": [1.0, 0.1], "n_threads": 1}
BASELINES = [("log_loss", "convex"), ("squared_hinge", "convex")]
PAIR = [("log_loss", "convex"), ("prbep", "tight")]


def blocks(X, y, *others, number=5):
    bounds = np.linspace(0, X.shape[0], number + 1).astype(int)
    return [
        tuple(None if each is None else each[begin:end] for each in (X, y, *others))
        for begin, end in itertools.pairwise(bounds)
    ]


def assert_same_choice(here, there):
    """Up to rounding: candidate, alpha, cut, weights, and all scores."""
    assert there.trained_for_ == here.trained_for_
    assert there.alpha_ == pytest.approx(here.alpha_, rel=1e-9)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=1e-6, atol=1e-9)
    assert there.cv_results_.keys() == here.cv_results_.keys()
    assert [one["bound"] for one in there.cv_results_["params"]] == [one["bound"] for one in here.cv_results_["params"]]
    for name in ("split0_test_score", "mean_test_score"):
        np.testing.assert_allclose(there.cv_results_[name], here.cv_results_[name], atol=1e-9)
    assert there.best_index_ == here.best_index_


@pytest.mark.parametrize("measure", ["prbep", "roc_area"])
def test_the_choice_is_that_in_memory(client, data, measure):
    X, y = data()
    how = {"cv": 2, "bound": PAIR, "alphas": [0.1]} if measure == "prbep" else {"cv": 2, "n_alphas": 2}
    here = smoothperf.MeasureClassifierCV(measure, **how).fit(X, y)
    assert_same_choice(here, MeasureClassifierCV(measure, client=client, **how).fit(blocks(X, y)))


def test_weights_classes_offsets_points_and_probabilities(client, data, tmp_path):
    X, y = data(labels=("no", "yes"))
    rng = np.random.default_rng(0)
    weights, offset = rng.integers(1, 4, size=y.size).astype(float), rng.normal(size=y.size)
    how = {**FEW, "bound": BASELINES, "class_weight": "balanced", "calibration": "sigmoid", "pos_label": "no"}
    how |= {"operating_point": {"recall": 0.8}, "cv": 3, "positive": True}
    here = smoothperf.MeasureClassifierCV("prbep", **how).fit(X, y, weights, offset)
    there = clone(MeasureClassifierCV("prbep", client=client, **how)).fit(blocks(X.toarray(), y, weights, offset))
    assert_same_choice(here, there)
    assert there.expected_["recall"]["low"] == pytest.approx(here.expected_["recall"]["low"])
    np.testing.assert_allclose(there.predict_proba(X, offset), here.predict_proba(X, offset), atol=1e-6)
    assert there.n_losses_ == 0
    assert there.traffic_.rounds > 100
    there.save(tmp_path / "model")
    model = smoothperf.load(tmp_path / "model")
    assert type(model) is smoothperf.MeasureClassifier
    assert not hasattr(model, "traffic_")
    np.testing.assert_array_equal(model.predict(X, offset), there.predict(X, offset))
    lazily = there.predict(da.from_array(X.toarray(), chunks=(100, -1)), offset)
    np.testing.assert_array_equal(lazily.compute(scheduler="sync"), there.predict(X, offset))


def test_a_lost_worker_changes_nothing(data):
    X, y = data()
    here = smoothperf.MeasureClassifierCV("prbep", bound=BASELINES, **FEW).fit(X, y)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        steps = []

        def close(step):
            steps.append(step)
            if len(steps) == 5:
                cluster.sync(cluster.workers[0].close, nanny=False, executor_wait=False)

        recipes = [delayed(lambda block: block)(block) for block in blocks(X, y)]
        there = MeasureClassifierCV("prbep", bound=BASELINES, client=client, progress=close, **FEW).fit(recipes)
    assert there.n_losses_ == 1
    assert_same_choice(here, there)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"features": "additive"}, 'features=.additive. needs all rows in memory; on a cluster features is "linear"'),
        ({"cv": [([0, 0, 1, 2, 3], [4, 5])]}, "cv names a row twice"),
        ({"solver": "newton"}, "needs all rows in memory"),
        ({"calibration": "platt"}, "calibration must be one of"),
    ],
)
def test_what_cannot_be_done(client, how, message):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=message):
        MeasureClassifierCV(client=client, **how).fit(blocks(X, y, number=2))


def test_squares_with_weights():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 4)), rng.random(30)
    parts = [X[:10], sp.csr_array(X[10:18]), sp.csr_array(X[18:20]), X[20:].astype(np.float32)]
    np.testing.assert_allclose(
        weighted_squares(stacked([as_design(part) for part in parts]), weights), weights @ X**2, rtol=1e-6
    )


def test_a_splitter_of_parts(client, data):
    X, y = data()
    cv = ShuffleSplit(2, train_size=0.5, test_size=0.3, random_state=0)
    how = {**FEW, "cv": cv, "bound": BASELINES}
    here = smoothperf.MeasureClassifierCV("f1", **how).fit(X, y)
    assert_same_choice(here, MeasureClassifierCV("f1", client=client, **how).fit(blocks(X, y)))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("name", ["log_loss", "prbep"])
def test_members_that_round_differently_stay_together_along_a_path(monkeypatch, data, name, positive):
    perturb_solvers(monkeypatch)
    X, y = data(n=300, d=5, density=1.0)
    task = label_task(smoothperf.MeasureClassifier("prbep", positive=positive), 5)
    candidate = LabelCandidate(get_measure(name), "tight" if name == "prbep" else "convex")
    solver = LBFGS(tol=1e-3)
    fold = Fold(task=task, candidates=[candidate], solver=solver, n_rows=300, class_weights=None)
    alphas = [1.0, 0.1, 0.09, 0.01]

    def member(communicator):
        threading.current_thread().perturbed = communicator.rank == 2
        rows = parts(300, [0, 50, 230, 20])[communicator.rank]
        part = LabelPart(as_design(X[rows]), y[rows] > 0, None)
        [(training, _)] = fold.trainings(part, communicator)
        return [training.path.solve(alpha).coef for alpha in alphas]

    first, *others = run_group(4, member)
    for other in others:
        np.testing.assert_array_equal(other, first)
    if candidate.bound == "tight":
        return  # whose stationary points are many
    here = PathTraining(task, candidate, LabelRows(X, np.array([-1, 1]), y > 0), solver, choosing=True)
    expected = [here.path.solve(alpha).coef for alpha in alphas]
    np.testing.assert_allclose(first, expected, atol=0.05)
