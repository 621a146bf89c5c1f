"""Fits on a cluster: the objective, the certificate and the model of the same rows in memory."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask import delayed
from distributed import Client, LocalCluster
from distributed.security import Security
from sklearn.exceptions import ConvergenceWarning

import smoothperf
from problems import gaussians, thorough
from promises import hold_tight_fit
from smoothperf import BMRM, Nesterov, ZeroModelWarning
from smoothperf.dask import MeasureClassifier
from smoothperf.dask.agreement import agree
from smoothperf.dask.connection import Connection
from smoothperf.dask.design import SharedDesign
from smoothperf.dask.inputs import sources
from smoothperf.dask.placement import Placement
from smoothperf.design import as_design
from smoothperf.estimators.messages import say_tight
from smoothperf.io.model_file import ModelFileError
from smoothperf.measures import ErrorRate, Examples, get_measure
from smoothperf.optimise.objective import RegularizedRisk, Run

MEASURES = ["prbep", "precision@30", "recall@10%", "roc_area", "f1", "jaccard", "error_rate@5:1", "balanced_error_rate"]
MEASURES += ["log_loss", "squared_hinge", "roc_area@0.1"]
#: Of these, several machines know how many examples have about which margin.
BINNED = ["f1", "jaccard"]
TOL = 1e-4


def in_blocks(X, y, weights=None, *, number=3):
    bounds = [X.shape[0] * i // number for i in range(number + 1)]
    columns = [X, y] if weights is None else [X, y, weights]
    return [tuple(values[begin:end] for values in columns) for begin, end in itertools.pairwise(bounds)]


def one_class_blocks(X, y, weights=None):
    """The same rows in an order in which most blocks have one class only."""
    order = np.argsort(y, kind="stable")
    return X[order], y[order], None if weights is None else weights[order]


def points_of_members(measure, alpha, weights_and_mus):
    """A program: what the objective is at given weights, on every member."""

    def program(part, communicator):
        risk = measure.risk(Examples(part.positive, part.weights, communicator))
        objective = RegularizedRisk(SharedDesign(part.design, communicator), risk, alpha)
        run = Run(objective)
        return risk, [(run.evaluate(w, mu), objective.exact(w)) for w, mu in weights_and_mus]

    return program


@pytest.mark.parametrize(("order", "weighted"), [("mixed", True), ("one class", False)])
@pytest.mark.parametrize("measure", MEASURES)
def test_risk_and_gradient_are_those_in_memory(client, data, measure, order, weighted):
    X, y = data(n=3000)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, size=y.size).astype(float) if weighted else None
    if order == "one class":
        X, y, weights = one_class_blocks(X, y, weights)
    bound = get_measure(measure).bind(y, weights)
    expected = RegularizedRisk(as_design(X), bound, 1e-3)
    scales = ((0.0, 1e-2), (0.1, 1e-1), (1.0, 1e-3), (10.0, 1e-4))
    where = [(scale * rng.normal(size=X.shape[1]), mu) for scale, mu in scales]
    program = points_of_members(get_measure(measure), 1e-3, where)
    placement = Placement(client, sources(in_blocks(X, y, weights, number=5)), n_threads=1, patience=5.0)
    risk, points = placement.run(agree(placement.summaries), program, program)
    assert risk.diameter == pytest.approx(bound.diameter, rel=1e-12)
    assert risk.examples.count == y.size
    run = Run(expected)
    for (w, mu), (ours, exact) in zip(where, points, strict=True):
        theirs = run.evaluate(w, mu)
        if measure in BINNED:  # other planes in a group, which are below the risk, too
            assert exact == pytest.approx(expected.exact(w), rel=1e-6)
            assert ours.value == pytest.approx(theirs.value, rel=1e-2)
            for other, _ in where:
                height = ours.slope @ other + ours.risk.plane.offset
                assert height <= bound.exact_value(X @ other) * (1.0 + 1e-12)
            continue
        assert ours.value == pytest.approx(theirs.value, rel=1e-12)
        assert ours.risk.plane.offset == pytest.approx(theirs.risk.plane.offset, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(
            ours.slope, theirs.slope, rtol=0, atol=1e-12 * max(1e-3, np.linalg.norm(theirs.slope))
        )
        assert exact == pytest.approx(expected.exact(w), rel=1e-12)
        assert ours.steepness == pytest.approx(theirs.steepness, rel=1e-11)


def test_rows_that_are_too_large_for_alpha_are_refused(client, data):
    X, y = data()
    X.data *= 1e100
    with pytest.raises(ValueError, match="Scale the columns"):
        MeasureClassifier(client=client).fit(in_blocks(X, y))


@pytest.mark.parametrize(
    ("measure", "solver"),
    [
        # tests/optimise/test_groups.py has all solvers and measures, in groups without a cluster.
        *itertools.product(["prbep", "roc_area"], ["lbfgs", "nesterov", "bmrm"]),
        ("error_rate", "lbfgs"),
        ("f1", "lbfgs"),
        ("roc_area@0.1", "lbfgs"),
        ("log_loss", "bmrm"),
        ("squared_hinge", "nesterov"),
        *thorough(("error_rate", "nesterov"), ("error_rate", "bmrm"), ("f1", "nesterov"), ("f1", "bmrm")),
        *thorough(("log_loss", "lbfgs")),
    ],
)
def test_fits_are_certified_and_agree_with_memory(client, data, measure, solver):
    X, y = data(n=400, labels=("ham", "spam"))
    tol = TOL if solver == "lbfgs" else 1e-2
    options = {"measure": measure, "alpha": 1e-2, "tol": tol, "solver": solver, "max_iter": 5000}
    here = smoothperf.MeasureClassifier(**options).fit(X, y)
    there = MeasureClassifier(client=client, **options).fit(in_blocks(X, y, number=4))
    assert there.result_.status is smoothperf.Status.CONVERGED
    assert there.gap_ <= tol
    assert there.lower_bound_ <= here.objective_
    assert here.lower_bound_ <= there.objective_
    # The model is what its certificate says.
    coef = there.result_.coef
    local = RegularizedRisk(as_design(X), get_measure(measure).bind(y == "spam"), 1e-2)
    if coef.size == X.shape[1]:
        assert local.exact(coef) == pytest.approx(there.objective_, rel=1e-12)
    assert there.coef_.shape == (1, X.shape[1])
    assert there.classes_.tolist() == ["ham", "spam"]
    assert there.class_count_.tolist() == [(y == "ham").sum(), (y == "spam").sum()]
    assert there.n_features_in_ == X.shape[1]
    assert there.n_iter_ == len(there.result_.trace) - 1
    assert there.result_.scores is None
    assert there.n_losses_ == 0
    # The intercept realises the same operating point.
    assert abs(np.count_nonzero(there.predict(X) == "spam") - np.count_nonzero(here.predict(X) == "spam")) <= 6
    assert there.score(X, y) == pytest.approx(here.score(X, y), abs=0.02)


@pytest.mark.parametrize("measure", ["prbep", "roc_area", "f1"])
def test_intercepts_are_those_of_the_measure(client, data, measure):
    X, y = data(n=600)
    weights = np.random.default_rng(0).random(600)
    there = MeasureClassifier(measure, 1e-2, tol=1e-2, client=client).fit(in_blocks(X, y, weights, number=4))
    scores = X @ there.coef_[0]
    threshold = get_measure(measure).threshold(y, scores, weights)
    assert there.intercept_[0] == pytest.approx(-threshold, abs=1e-9)
    without = MeasureClassifier(measure, 1e-2, tol=1e-2, fit_intercept=False, client=client)
    without.fit(in_blocks(X, y, weights))
    assert without.intercept_[0] == 0.0


def test_repeated_fits_are_bit_identical(client, data):
    X, y = data(n=600)
    fits = [MeasureClassifier("roc_area", 1e-3, client=client).fit(in_blocks(X, y, number=5)) for _ in range(2)]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    assert fits[0].objective_ == fits[1].objective_
    assert fits[0].intercept_.tobytes() == fits[1].intercept_.tobytes()
    for column in ("objective", "lower_bound", "passes"):
        np.testing.assert_array_equal(fits[0].result_.trace[column], fits[1].result_.trace[column])


def test_one_block_is_memory_bit_for_bit(client, data):
    X, y = data(n=600)
    options = {"alpha": 1e-3, "measure": "error_rate", "n_threads": 1}
    here = smoothperf.MeasureClassifier(**options).fit(X, y)
    there = MeasureClassifier(client=client, **options).fit([(X, y)])
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-13)
    assert there.coef_ == pytest.approx(here.coef_, rel=1e-9)


def test_weights_are_copies(client, data):
    X, y = data(n=300)
    counts = np.random.default_rng(0).integers(0, 3, size=300)
    several = np.repeat(np.arange(300), counts)
    options = {"measure": "prbep", "alpha": 1e-2, "tol": TOL, "client": client}
    weighted = MeasureClassifier(**options).fit(in_blocks(X, y, counts.astype(float)))
    copied = MeasureClassifier(**options).fit(in_blocks(X[several], y[several]))
    assert weighted.objective_ == pytest.approx(copied.objective_, abs=2 * TOL)
    assert weighted.lower_bound_ <= copied.objective_
    assert copied.lower_bound_ <= weighted.objective_


@pytest.mark.parametrize("class_weight", ["balanced", {-1: 1.0, 1: 3.0}])
def test_class_weights(client, data, class_weight):
    X, y = data(n=600)
    options = {"measure": "error_rate", "alpha": 1e-2, "tol": TOL, "class_weight": class_weight}
    here = smoothperf.MeasureClassifier(**options).fit(X, y)
    there = MeasureClassifier(client=client, **options).fit(in_blocks(X, y))
    assert there.lower_bound_ <= here.objective_
    assert here.lower_bound_ <= there.objective_


#: More than the largest table of a search has numbers.
ROWS = 600_000


@pytest.fixture
def small_messages(monkeypatch):
    """Messages with a number for each row of one of two workers are an error; returns how many bytes these are."""
    limit = 8 * ROWS // 2
    send = Connection.send

    async def checked_send(self, kind, values, lengths=()):
        assert values.nbytes < limit, f"a message of {values.nbytes} bytes was sent"
        await send(self, kind, values, lengths)

    monkeypatch.setattr(Connection, "send", checked_send)
    return limit


@pytest.mark.parametrize("measure", ["prbep", "roc_area", "error_rate", "f1"])
def test_no_message_has_a_number_for_each_row(client, small_messages, measure):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, 5)), np.arange(ROWS) % 100 == 0
    X[y] += 2.0
    fit = MeasureClassifier(measure, 1e-3, tol=1e-2, client=client).fit(in_blocks(X, y, number=2))
    assert fit.gap_ <= 1e-2
    assert fit.traffic_.largest < small_messages
    assert fit.traffic_.iterations == fit.n_iter_


def test_traffic_is_counted_and_printed(client, data, capsys):
    X, y = data(n=600)
    fit = MeasureClassifier("prbep", 1e-3, client=client, verbose=1).fit(in_blocks(X, y))
    shown = capsys.readouterr().err
    assert f"{fit.traffic_}" in shown
    assert "gap" in shown
    traffic = fit.traffic_
    # Gradients of two workers in every iteration, and their sum back.
    assert traffic.sent > 2 * 8 * X.shape[1] * fit.n_iter_
    assert traffic.received > 2 * 8 * X.shape[1] * fit.n_iter_
    assert traffic.rounds >= 3 * fit.n_iter_


def test_feature_names(client, data):
    X, y = data(n=200, d=4)
    frame = pd.DataFrame(X.toarray(), columns=list("abcd"))
    frame["y"] = y
    table = dd.from_pandas(frame, npartitions=3)
    fit = MeasureClassifier("prbep", 1e-2, client=client).fit(table[list("abcd")], table["y"])
    assert fit.feature_names_in_.tolist() == list("abcd")
    fit.fit(in_blocks(X, y))
    assert not hasattr(fit, "feature_names_in_")


def test_warm_start_and_callback(client, data):
    X, y = data(n=600)
    blocks = in_blocks(X, y)
    seen = []
    fit = MeasureClassifier("error_rate", 1e-3, client=client, warm_start=True, callback=seen.append).fit(blocks)
    cold = fit.n_iter_
    assert [row.iteration for row in seen] == list(range(cold + 1))
    fit.set_params(callback=None).fit(blocks)
    assert fit.n_iter_ < cold / 2
    stopped = MeasureClassifier("prbep", 1e-3, tol=1e-9, client=client, callback=lambda row: row.iteration == 3).fit(
        blocks
    )
    assert stopped.n_iter_ == 3


def test_warnings(client, data):
    X, y = data(n=300)
    with pytest.warns(ConvergenceWarning, match="The gap reached is"):
        MeasureClassifier("prbep", 1e-4, tol=1e-9, max_iter=2, client=client).fit(in_blocks(X, y))
    with pytest.warns(ZeroModelWarning, match="At alpha=100 the optimum is w = 0"):
        MeasureClassifier("prbep", 100.0, client=client).fit(in_blocks(X, y))


def test_checkpoints(client, data, tmp_path, monkeypatch):
    X, y = data(n=600)
    file = tmp_path / "so-far"
    options = {"measure": "roc_area", "alpha": 1e-4, "tol": 1e-5, "client": client}
    whole = MeasureClassifier(**options).fit(in_blocks(X, y))
    monkeypatch.setattr("smoothperf.estimators.checkpoint.SECONDS", 0.0)
    part = MeasureClassifier(**options, checkpoint=file, callback=lambda row: row.iteration == 3 * whole.n_iter_ // 4)
    part.fit(in_blocks(X, y))
    left = smoothperf.load(file)
    assert left.gap_ == pytest.approx(part.gap_)
    np.testing.assert_allclose(left.decision_function(X), part.to_local().decision_function(X), atol=1e-9)
    resumed = MeasureClassifier(**options, checkpoint=file, warm_start=True)
    resumed.coef_, resumed.result_ = left.coef_, left.result_
    resumed.fit(in_blocks(X, y))
    assert resumed.gap_ <= 1e-5
    assert resumed.n_iter_ < whole.n_iter_
    assert resumed.lower_bound_ <= whole.objective_
    assert whole.lower_bound_ <= resumed.objective_
    with pytest.raises(ModelFileError, match="there is a model already"):
        MeasureClassifier(**options, checkpoint=file).fit(in_blocks(X, y))


@pytest.mark.parametrize("measure", ["prbep", "error_rate"])
def test_global_lipschitz_constants_know_the_weights(client, data, measure):
    """Weights that are 50 on a few rows: without them the steps of Nesterov's method would be 50 times too long."""
    X, y = data(n=200)
    weights = np.where(np.arange(200) % 10 == 0, 50.0, 1.0)
    solver = Nesterov(tol=1e-2, backtracking=False)
    here = smoothperf.MeasureClassifier(measure, 0.1, solver=solver).fit(X, y, weights)
    there = MeasureClassifier(measure, 0.1, solver=solver, client=client).fit(in_blocks(X, y, weights))
    assert there.gap_ <= 1e-2
    assert there.n_iter_ == pytest.approx(here.n_iter_, abs=2)


def test_solver_objects(client, data):
    X, y = data(n=300)
    for solver in (Nesterov(tol=1e-2), BMRM(tol=2e-2)):
        fit = MeasureClassifier("prbep", 1e-2, solver=solver, client=client).fit(in_blocks(X, y))
        assert fit.gap_ <= solver.tol


class InMemory(ErrorRate):
    """A measure that does not say that its risk works for rows on several machines."""

    works_in_groups = False


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"solver": "newton"}, "needs all rows in memory"),
        (
            {"measure": InMemory()},
            "error_rate needs all rows in memory; the measures .* are prbep",
        ),
        ({"patience": 0.0}, "patience must be"),
        ({"alpha": -1.0}, "alpha must be"),
    ],
)
def test_what_cannot_be_fitted(client, data, options, reason):
    X, y = data(n=100)
    with pytest.raises(ValueError, match=reason):
        MeasureClassifier(**{"measure": "prbep", "client": client, **options}).fit(in_blocks(X, y))


def test_labels_and_weights_of_all_blocks(client, data):
    X, y = data(n=100)
    clf = MeasureClassifier("prbep", client=client)
    with pytest.raises(ValueError, match="one class only"):
        clf.fit([(X, np.zeros(100)), (X, np.zeros(100))])
    with pytest.raises(ValueError, match="two kinds of labels, got -2, -1, 1, 2"):
        clf.fit([(X, y), (X, 2 * y)])
    with pytest.raises(ValueError, match="sample_weight is 0 for every positive example"):
        clf.fit([(X, y, (y < 0).astype(float)), (X[y < 0], y[y < 0])])


def test_a_callback_stops_all_members(client, data):
    X, y = data(n=600)
    for bound, at in (("convex", 3), ("tight", 2), ("tight", 30)):
        clf = MeasureClassifier("prbep", 1e-3, bound=bound, tol=1e-9, client=client)
        clf.set_params(callback=lambda row, at=at: row.iteration == at).fit(in_blocks(X, y))
        assert clf.result_.status is smoothperf.Status.STOPPED
        assert clf.n_iter_ <= at + 1


def test_two_fits_at_once(client, data):
    """On two workers of one thread each."""
    X, y = data(n=600)
    expected = MeasureClassifier("error_rate", 1e-3, client=client).fit(in_blocks(X, y))
    with ThreadPoolExecutor(3) as pool:
        fits = list(
            pool.map(lambda _: MeasureClassifier("error_rate", 1e-3, client=client).fit(in_blocks(X, y)), "abc")
        )
    for fit in fits:
        np.testing.assert_array_equal(fit.coef_, expected.coef_)


def test_an_encrypted_cluster(data):
    pytest.importorskip("cryptography", reason="makes the certificates of the test")
    X, y = data(n=200)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            protocol="tls://",
            security=Security.temporary(),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        assert all(address.startswith("tls://") for address in client.nthreads())
        fit = MeasureClassifier("prbep", 1e-2, client=client).fit(in_blocks(X, y))
    assert fit.gap_ <= 1e-3


def test_blocks_of_many_kinds(client, data):
    X, y = data(n=600)
    parts = in_blocks(X, y, number=4)
    mixed = [parts[0], (parts[1][0].toarray(), parts[1][1]), (sp.csc_matrix(parts[2][0]), parts[2][1]), parts[3]]
    options = {"measure": "prbep", "alpha": 1e-2, "tol": TOL, "client": client}
    assert MeasureClassifier(**options).fit(mixed).objective_ == pytest.approx(
        MeasureClassifier(**options).fit(parts).objective_, abs=1e-9
    )


def test_goals_and_a_positive_label_of_ones_own(client, data):
    X, y = data(n=600)
    words = np.where(y > 0, "a", "b")
    goal = "recall@fpr=0.1"
    clf = MeasureClassifier(goal, 1e-2, client=client, tol=TOL, pos_label="a").fit(in_blocks(X, words))
    local = smoothperf.MeasureClassifier(goal, 1e-2, tol=TOL, pos_label="a").fit(X, words)
    assert clf.classes_.tolist() == ["a", "b"]
    assert clf.pos_label_ == "a"
    assert clf.objective_ == pytest.approx(local.objective_, abs=2 * TOL)
    assert clf.intercept_[0] == pytest.approx(get_measure(goal).threshold(y > 0, -X @ clf.coef_[0]))
    assert clf.score(in_blocks(X, words)) == clf.score(X, words) == pytest.approx(local.score(X, words), abs=0.02)
    np.testing.assert_array_equal(clf.to_local().predict(X), clf.predict(X))


@pytest.mark.parametrize(
    ("measure", "weighted"),
    [
        ("prbep", False),
        ("roc_area", True),
        ("f1", False),
        ("error_rate@5:1", True),
        *thorough(("precision@30", True), ("recall@10%", False), ("jaccard", True), ("balanced_error_rate", True)),
    ],
)
def test_the_tight_bound_is_that_of_memory(client, data, measure, weighted):
    X, y = data(n=200, labels=("ham", "spam"))
    weights = np.random.default_rng(2).integers(1, 4, size=y.size).astype(float) if weighted else None
    options = {"measure": measure, "alpha": 1e-2, "bound": "tight"}
    blocks = in_blocks(X, y, weights, number=4)
    there = MeasureClassifier(client=client, **options).fit(blocks)
    hold_tight_fit(there, X, y, weights, given=(blocks,))
    assert there.to_local().get_params()["bound"] == "tight"
    rows = there.result_.trace.rows
    assert [row.iteration for row in rows] == list(range(there.n_iter_ + 1))


def test_the_tight_bound_takes_over_where_the_convex_one_collapses(client):
    X, y = gaussians(40, 360, 4, shift=0.5, seed=2)
    options = {"measure": "prbep", "alpha": 1e-3, "client": client}
    say_tight.cache_clear()
    with pytest.warns(ZeroModelWarning, match="The convex bound of prbep is least at w = 0 here"):
        there = MeasureClassifier(**options).fit(in_blocks(X, y))
    assert there.bound_ == there.to_local().bound_ == "tight"
    hold_tight_fit(there, X, y, given=(in_blocks(X, y),))
    rows = there.result_.trace.rows
    assert [row.iteration for row in rows] == list(range(there.n_iter_ + 1))
    with pytest.warns(ZeroModelWarning, match='use bound="auto" or "tight"'):
        assert MeasureClassifier(**options, bound="convex").fit(in_blocks(X, y)).bound_ == "convex"


def test_going_on_with_the_tight_bound(client, data, tmp_path):
    X, y = data(n=200)
    blocks, file = in_blocks(X, y), tmp_path / "so-far"
    clf = MeasureClassifier("prbep", 1e-3, bound="tight", client=client, checkpoint=file, warm_start=True).fit(blocks)
    first = clf.objective_, clf.n_iter_
    assert smoothperf.load(file).decision_function(X).any()
    clf.fit(blocks)
    assert clf.objective_ <= first[0] + 1e-12
    assert clf.n_iter_ < first[1]


def test_bounds_that_a_measure_does_not_have(client, data):
    with pytest.raises(ValueError, match=r'bound="tight" is for measures whose risk is a maximum over labelings'):
        MeasureClassifier("log_loss", bound="tight", client=client).fit(in_blocks(*data()))
    with pytest.raises(ValueError, match="bound must be"):
        MeasureClassifier(bound="loose", client=client).fit(in_blocks(*data()))


@pytest.mark.parametrize(
    ("measure", "bound", "penalty"),
    [
        ("roc_area", "convex", {"l1_ratio": 1.0}),
        ("prbep", "tight", {"l1_ratio": 0.5, "positive": True}),
        ("f1", "convex", {"coef_bounds": (-0.3, 0.4)}),
    ],
)
def test_penalties_are_those_in_memory(client, data, measure, bound, penalty):
    X, y = data()
    there = MeasureClassifier(measure, 2e-3, bound=bound, tol=1e-3, client=client, **penalty).fit(in_blocks(X, y))
    if bound == "convex":
        here = smoothperf.MeasureClassifier(measure, 2e-3, bound=bound, tol=1e-3, **penalty).fit(X, y)
        assert there.gap_ <= 1e-3
        assert there.lower_bound_ <= here.objective_
        assert here.lower_bound_ <= there.objective_
    else:
        hold_tight_fit(there, X, y, given=(in_blocks(X, y),))
    lower, upper = penalty.get("coef_bounds", (0.0 if penalty.get("positive") else -np.inf, np.inf))
    assert lower <= there.coef_.min()
    assert there.coef_.max() <= upper
    if penalty.get("l1_ratio"):
        assert there.n_features_in_model_ < X.shape[1]
    assert there.to_local().get_params()["l1_ratio"] == penalty.get("l1_ratio", 0.0)


@pytest.mark.parametrize(
    ("measure", "bound", "penalty"),
    [
        ("roc_area", "convex", {"l1_ratio": 1.0}),
        ("prbep", "tight", {}),
        ("f1", "convex", {}),
        ("log_loss", "convex", {"l1_ratio": 0.5}),
    ],
)
def test_scores_to_begin_with_are_those_in_memory(client, data, measure, bound, penalty):
    X, y = data()
    given = np.random.default_rng(1).normal(size=y.size) * 0.3
    settings = {"alpha": 5e-3, "bound": bound, "tol": TOL if bound == "convex" else 1e-3, **penalty}
    blocks = [(rows, labels, None, scores) for rows, labels, scores in in_blocks(X, y, given)]
    there = MeasureClassifier(measure, client=client, **settings).fit(blocks)
    here = smoothperf.MeasureClassifier(measure, **settings).fit(X, y, base_scores=given)
    assert there.has_base_scores_
    if bound == "convex":
        assert there.gap_ <= TOL
        assert max(there.lower_bound_, here.lower_bound_) <= min(there.objective_, here.objective_) + 1e-12
    else:
        hold_tight_fit(there, X, y, base_scores=given, given=(blocks,))
    scores = there.decision_function(X, base_scores=given)
    np.testing.assert_allclose(scores, X @ there.coef_[0] + there.intercept_ + given, atol=1e-12)
    assert there.score(blocks) == pytest.approx(there.to_local().score(X, y, base_scores=given))
    assert (scores > 0).sum() == pytest.approx((here.decision_function(X, base_scores=given) > 0).sum(), abs=8)


def test_scores_to_begin_with_of_every_kind_of_blocks(client, data):
    X, y = data(density=1.0)
    X = np.asarray(X.todense() if sp.issparse(X) else X)
    given = 0.1 * X[:, 0]
    rows, labels, scores = (da.from_array(each, chunks=(150, *each.shape[1:])) for each in (X, y, given))
    arrays = MeasureClassifier(client=client, alpha=1e-2).fit(rows, labels, base_scores=scores)
    in_memory = MeasureClassifier(client=client, alpha=1e-2, pos_label=-1).fit(rows, labels, None, -given)
    lists = MeasureClassifier(client=client, alpha=1e-2)
    lists.fit([X[:100], X[100:]], [y[:100], y[100:]], base_scores=[given[:100], given[100:]])
    table = dd.from_pandas(pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), npartitions=3)
    frame_labels, series = (dd.from_pandas(pd.Series(each), npartitions=3) for each in (y, given))
    frames = MeasureClassifier(client=client, alpha=1e-2).fit(table, frame_labels, base_scores=series)
    expected = smoothperf.MeasureClassifier(alpha=1e-2).fit(X, y, base_scores=given).decision_function(X, given)
    for model in (arrays, lists, frames):
        np.testing.assert_allclose(model.to_local().coef_, arrays.coef_, atol=0.05)
    assert in_memory.has_base_scores_
    for lazy in (
        arrays.decision_function(rows, scores),
        arrays.decision_function(rows, given),
        arrays.decision_function(delayed(X), delayed(given)),
        frames.decision_function(table, series),
    ):
        np.testing.assert_allclose(client.compute(lazy).result(), expected, atol=0.3)
    predicted = arrays.predict(rows, scores)
    assert predicted.chunks == labels.chunks
    np.testing.assert_array_equal(client.compute(predicted).result(), arrays.to_local().predict(X, base_scores=given))
    assert arrays.score(rows, labels, base_scores=scores) == pytest.approx(arrays.score(X, y, base_scores=given))


def test_scores_to_begin_with_are_checked(client, data):
    X, y = data()
    given = np.zeros(y.size)
    (first, labels, scores), *others = in_blocks(X, y, given)
    model = MeasureClassifier(client=client)
    with pytest.raises(ValueError, match="block 0 has base_scores but block 1 has none; give them to all blocks"):
        model.fit([(first, labels, None, scores), *((rows, labels) for rows, labels, _ in others)])
    with pytest.raises(ValueError, match="base_scores must be finite, got nan at position 0"):
        model.fit([(X, y, None, given * np.nan)])
    with pytest.raises(ValueError, match="base_scores has 10 entries but there are"):
        model.fit([(X, y, None, given[:10])])
    with pytest.raises(ValueError, match=r"base_scores comes with y.*\(X, y, weights, base_scores\)"):
        model.fit(in_blocks(X, y), base_scores=given)
    fitted = MeasureClassifier(client=client, alpha=1e-2).fit([(X, y, None, np.linspace(-0.1, 0.1, y.size))])
    rows = da.from_array(np.asarray(X.todense() if sp.issparse(X) else X), chunks=(150, -1))
    with pytest.raises(ValueError, match=r"base_scores are missing: .* pass base_scores="):
        fitted.predict(rows)
    with pytest.raises(ValueError, match=r"base_scores are missing: .* pass base_scores="):
        fitted.score(in_blocks(X, y))
    with pytest.raises(ValueError, match="X has 400 rows but base_scores has shape"):
        fitted.predict(rows, given[:10])
    unknown = rows[rows[:, 0] > -np.inf]
    with pytest.raises(
        ValueError, match="base_scores must be a dask array with the blocks of X, whose lengths are not"
    ):
        fitted.predict(unknown, given)
    in_the_same_blocks = fitted.predict(unknown, da.from_array(given, chunks=150))
    np.testing.assert_array_equal(client.compute(in_the_same_blocks).result(), fitted.predict(X, base_scores=given))
    table = dd.from_pandas(pd.DataFrame(X.toarray()), npartitions=3)
    with pytest.raises(ValueError, match="base_scores must be a dask series with the partitions of X"):
        fitted.predict(table, given)
