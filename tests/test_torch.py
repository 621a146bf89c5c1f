"""Losses in PyTorch: their numbers are those of :mod:`smoothperf.losses`, under whatever PyTorch does with a loss."""

from __future__ import annotations

import copy
import pickle
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="`make test-networks` has it")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from smoothperf import NDCG, MeasureClassifier, MeasureClassifierCV  # noqa: E402
from smoothperf.losses import BatchLoss  # noqa: E402
from smoothperf.torch import MeasureLoss, refit_last_layer  # noqa: E402

# What PyTorch itself warns of is not our matter.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*:FutureWarning"),
]


def batch(n=60, labels=None, dtype=torch.float64, seed=0):
    rng = torch.Generator().manual_seed(seed)
    shape = (n,) if labels is None else (n, labels)
    scores = torch.randn(shape, generator=rng, dtype=torch.float64).to(dtype)
    return scores.requires_grad_(), (torch.rand(shape, generator=rng) < 0.3).float()


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))


def rows(n=64, seed=0):
    X = torch.randn(n, 5, generator=torch.Generator().manual_seed(seed))
    return X, (X[:, 0] + X[:, 1] > 1.5).float()


def gradients(net):
    return torch.cat([part.grad.flatten() for part in net.parameters()])


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("measure", ["roc_area", "roc_area@0.2", "prbep", "precision@10%", "f1", "error_rate"])
def test_gradcheck(measure, bound):
    scores, targets = batch(12)
    loss = MeasureLoss(measure, bound)
    assert torch.autograd.gradcheck(lambda f: loss(f, targets), scores, eps=1e-7, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("labels", [None, 1, 4])
def test_numbers_are_those_of_the_batch_loss(dtype, labels):
    scores, targets = batch(labels=labels, dtype=dtype)
    weights = torch.rand(60)
    loss = MeasureLoss("prbep", smoothing=0.2)(scores, targets, weights)
    loss.backward()
    f, y = (part.detach().double().reshape(60, -1).numpy() for part in (scores, targets))
    values, slopes = BatchLoss("prbep", smoothing=0.2)(
        f, y, np.repeat(weights[:, None].double().numpy(), f.shape[1], 1)
    )
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert loss.shape == ()
    assert loss.item() == pytest.approx(values.mean(), rel=1e-6)
    assert scores.grad.dtype == dtype
    expected = torch.from_numpy(slopes / f.shape[1]).reshape(scores.shape)
    torch.testing.assert_close(
        scores.grad.double(), expected, rtol=8e-3 if dtype == torch.bfloat16 else 1e-3, atol=1e-7
    )


def test_reductions_and_shapes():
    scores, targets = batch(labels=3)
    each = MeasureLoss("f1", reduction="none")(scores, targets)
    assert each.shape == (3,)
    assert MeasureLoss("f1", reduction="sum")(scores, targets).item() == pytest.approx(each.sum().item())
    alone = MeasureLoss("f1")
    assert alone(scores[:, :1], targets[:, 0]).item() == alone(scores[:, 0], targets[:, 0]).item() == each[0].item()
    weights = torch.rand(60, 3)
    assert alone(scores, targets, weights).item() != alone(scores, targets).item()
    with pytest.raises(ValueError, match=r"scores have shape \(60, 3\) and targets \(60,\)"):
        alone(scores, targets[:, 0])


@pytest.mark.filterwarnings("ignore::smoothperf.losses.EmptyBatchWarning")
def test_nothing_is_learnt_from_a_batch_without_positives():
    scores, targets = batch()
    loss = MeasureLoss("prbep")(scores, 0.0 * targets)
    loss.backward()
    assert loss.item() == 0.0
    assert not scores.grad.any()


def test_threads_share_a_loss():
    loss = MeasureLoss("roc_area@0.2")
    batches = [batch(seed=seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda each: loss(*each).item(), batches))
    assert values == [loss(*each).item() for each in batches]


def test_queries():
    scores, _ = batch(24)
    grades, qid = torch.arange(24) % 4, torch.arange(24) // 6
    loss = MeasureLoss("ndcg@3")(scores, grades, qid=qid)
    expected, _ = BatchLoss(NDCG(3))(scores.detach().numpy()[:, None], grades.numpy()[:, None] * 1.0, None, qid.numpy())
    assert loss.item() == pytest.approx(expected[0])


def test_the_operator_keeps_its_promises():
    scores, targets = batch(labels=2)
    loss = MeasureLoss("prbep")
    torch.library.opcheck(torch.ops.smoothperf.measure_loss.default, (scores.detach(), targets, None, None, loss._key))


def test_compiled():
    pytest.importorskip("torch._inductor")
    net, loss = network(), MeasureLoss("roc_area@0.2")
    X, y = rows()

    def step(X, y):
        return loss(net(X), y)

    plain = step(X, y)
    plain.backward()
    expected = gradients(net)
    net.zero_grad()
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")(X, y)
    compiled.backward()
    assert compiled.item() == pytest.approx(plain.item())
    torch.testing.assert_close(gradients(net), expected)


def test_checkpointed_and_in_other_transforms():
    net, loss = network(), MeasureLoss("f1")
    X, y = rows()
    loss(net(X), y).backward()
    expected = gradients(net)
    net.zero_grad()
    checkpoint(lambda X: loss(net(X), y), X, use_reentrant=False).backward()
    torch.testing.assert_close(gradients(net), expected)

    net.zero_grad()
    loss(nn.DataParallel(net)(X), y).backward()
    torch.testing.assert_close(gradients(net), expected)

    def functional(parameters):
        return loss(torch.func.functional_call(net, parameters, (X,)), y)

    found = torch.func.grad(functional)(dict(net.named_parameters()))
    torch.testing.assert_close(torch.cat([found[name].flatten() for name, _ in net.named_parameters()]), expected)


def test_autocast_with_a_scaler_that_overflows():
    net, loss = network(), MeasureLoss("prbep")
    X, y = rows()
    before = copy.deepcopy(net.state_dict())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**60)
    for _ in range(2):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = net(X)
            assert scores.dtype == torch.bfloat16
            value = loss(scores * (torch.inf if scaler.get_scale() > 1.0e18 else 1.0), y)
        assert value.dtype == torch.float32
        optimizer.zero_grad()
        scaler.scale(value).backward()
        scaler.step(optimizer)
        scaler.update()
        if not torch.isfinite(value):
            torch.testing.assert_close(net.state_dict(), before)  # the step was left out
    assert not torch.equal(net[0].weight, before["0.weight"])


def test_copies_and_pickles():
    scores, targets = batch()
    loss = MeasureLoss("precision@10%", "tight", smoothing=0.3)
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert other(scores, targets).item() == loss(scores, targets).item()
    assert repr(loss) == "MeasureLoss(PrecisionAtK(k=0.1), bound='tight', smoothing=0.3)"


def test_the_last_layer_is_a_classifier_of_what_comes_into_it():
    net = network()
    X, y = rows(300)
    hidden = net[:-1](X).detach().numpy()
    result = refit_last_layer(net, X, y, measure="prbep", alpha=1e-3)
    expected = MeasureClassifier("prbep", alpha=1e-3).fit(hidden, y.numpy())
    assert result.gap <= 1e-3
    assert result.objective == expected.objective_
    scores = net(X)[:, 0].detach().numpy()
    np.testing.assert_allclose(scores, expected.decision_function(hidden), atol=1e-5)
    assert net.training


def test_the_last_layer_from_batches_by_cross_validation():
    X, y = rows(300)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), batch_size=70)
    nets = [network(), network()]
    options = {"measure": "f1", "cv": 2, "operating_point": {"recall": 0.5, "confidence": None}}
    refit_last_layer(nets[0], loader, **options)
    refit_last_layer(nets[1], [X[:100], X[100:]], y, **options)
    torch.testing.assert_close(nets[0](X), nets[1](X), atol=1e-5, rtol=1e-4)
    del options["measure"]
    hidden = network()[:-1](X).detach().numpy()
    expected = MeasureClassifierCV("f1", **options).fit(hidden, y.numpy())
    np.testing.assert_allclose(nets[1][-1].bias.detach().numpy(), expected.intercept_, rtol=1e-4, atol=1e-5)


def test_parts_that_are_not_in_training_stay_so():
    X, y = rows(100)
    net = nn.Sequential(nn.BatchNorm1d(5).eval(), nn.Linear(5, 1))
    refit_last_layer(net, X, y, alpha=1e-3)
    assert (net.training, net[0].training) == (True, False)


def test_a_last_layer_without_bias_and_one_that_is_none():
    X, y = rows(100)
    layer = nn.Linear(5, 1, bias=False)
    refit_last_layer(layer, X, y, alpha=1e-3)
    assert layer(X)[y == 1].mean() > layer(X)[y == 0].mean()
    with pytest.raises(ValueError, match=r"must have one output, got Linear\(in_features=5, out_features=2"):
        refit_last_layer(nn.Linear(5, 2), X, y)


def _of_one_rank(rank, port, folder):
    """Train a step on the rows of a rank, of which the last has fewer."""
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    X, y = rows(50)
    own = slice(0, 30) if rank == 0 else slice(30, 50)
    net = nn.parallel.DistributedDataParallel(network())
    loss = MeasureLoss("prbep", gather=True)(net(X[own]), y[own], torch.arange(50.0)[own])
    loss.backward()
    torch.save((loss.detach(), gradients(net)), folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")
def test_batches_of_all_ranks_are_judged_as_one(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_of_one_rank, (port, tmp_path), nprocs=2)
    X, y = rows(50)
    net = network()
    loss = MeasureLoss("prbep")(net(X), y, torch.arange(50.0))
    loss.backward()
    for rank in range(2):
        value, slopes = torch.load(tmp_path / f"{rank}.pt")
        torch.testing.assert_close(value, loss.detach())
        torch.testing.assert_close(slopes, gradients(net))


def test_the_page_runs():
    pytest.importorskip("skorch", reason="`make test-networks` has it")
    page = Path(__file__).parents[1] / "docs" / "networks.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    torch.manual_seed(0)
    for block in blocks:
        exec(block, names)
    assert names["result"].gap <= 1e-3
    assert names["search"].best_score_ > 0.1
