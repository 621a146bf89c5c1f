"""Losses for networks: ours, cross-entropy in three forms, and LibAUC's, on eight tables and two sets of texts.

    python -m benchmarks.networks --data FOLDER [--only NAMES] [--repeats 3] [--processes 2]
    python -m benchmarks.networks --steps          the time of a step, and of a loss beside a sort

Per data set and repetition half of the rows train, up to 6,000, three tenths judge, up to 6,000, and the others choose.
Columns of tables are standardised by the training rows; texts become 100 numbers by TruncatedSVD of the training rows.
The network has two hidden layers of 64; all losses see the same batches of 1,024, each with its share of positives, for
24 epochs. For each goal and loss, learning rate, decay and the epoch to stop after (8, 16 or 24) are chosen by
that goal on the rows that choose, and by average precision where it has ties; the value is that of the rows that judge.

LibAUC's losses, of sigmoids of scores, with the optimisers that it has for them: PESG, SOPAs, SOAP, and their defaults
but for learning rate and decay. It is no dependency of the project: ``pip install libauc --no-deps``; without it its
rows are left out. Results are appended to networks.csv after each repetition of a set, and what is there is not
computed again. The second command writes networks_steps.csv. Both need PyTorch, and print their tables.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from smoothperf.measures import Measure, PrecisionAtK, get_measure
from smoothperf.threads import use_threads
from smoothperf.torch import MeasureLoss

from .common import OPENERS, load

TABLES = (
    "mammography",
    "imb-satimage",
    "imb-thyroid-sick",
    "imb-wine-quality",
    "coil2000",
    "ijcnn1",
    "campaign",
    "a9a",
)
TEXTS = ("r21578-crude", "rcv1-c11")
GOALS = ("roc_area@0.05", "prbep", "average_precision", "top", "roc_area")
#: The top is a share of the number of positives.
TOP = 0.2
MOST_TRAIN, MOST_JUDGE = 6_000, 6_000
BATCH, EPOCHS, WIDTH, COMPONENTS = 1024, (8, 16, 24), 64, 100
DECAYS = (1e-5, 1e-3)
ADAM_RATES, PESG_RATES = (1e-3, 3e-3, 1e-2), (0.03, 0.1, 0.3)
PLAIN = ("cross-entropy", "weighted", "focal")
LIBAUC = ("LibAUC AUCM", "LibAUC pAUC", "LibAUC AP") if importlib.util.find_spec("libauc") else ()
#: Is added to a loss: it goes on to tell positives apart that are well above the negatives.
MIXED = " + cross-entropy"
#: Our losses for each goal; of two the rows that choose say which one. (Measured at the top on six other sets.)
OURS = {
    "roc_area@0.05": ("roc_area@0.05",),
    "prbep": ("prbep", "roc_area@0.05"),
    "average_precision": ("roc_area@0.05",),
    "top": ("roc_area@0.05", "roc_area@0.05" + MIXED),
    "roc_area": ("roc_area",),
}
LOSSES = (*PLAIN, *LIBAUC, *dict.fromkeys(name for names in OURS.values() for name in names))
COLUMNS = (
    "data",
    "repeat",
    "loss",
    "goal",
    "rate",
    "decay",
    "epochs",
    "chosen_by",
    "tie",
    "value",
    "positives",
    "seconds",
)


class Rows(NamedTuple):
    """Rows of one kind."""

    X: Tensor
    y: Tensor


class Setting(NamedTuple):
    """A loss, ``loss(scores, targets, rows)``, and what minimises it with it."""

    loss: Callable[[Tensor, Tensor, Tensor], Tensor]
    optimizer: Any


def measure_of(goal: str, y: NDArray[Any]) -> Measure:
    """The measure of a goal; the length of the top follows from the share of positives."""
    return PrecisionAtK(TOP * float(y.mean())) if goal == "top" else get_measure(goal)


def split(folder: Path, name: str, repeat: int) -> tuple[Rows, Rows, Rows]:
    """Rows that train, choose and judge, as a network sees them."""
    parts = [load(folder, part) for part in (name, f"{name}.t") if is_there(folder, part)]
    d = max(X.shape[1] for X, _ in parts)
    X: Any = sp.vstack([sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], d)) for X, _ in parts]).tocsr()
    y = np.concatenate([labels > 0.0 for _, labels in parts])
    train, others = train_test_split(np.arange(y.size), test_size=0.5, stratify=y, random_state=repeat)
    choose, judge = train_test_split(others, test_size=0.6, stratify=y[others], random_state=repeat)
    train, choose, judge = (
        part[:most] for part, most in ((train, MOST_TRAIN), (choose, MOST_JUDGE), (judge, MOST_JUDGE))
    )
    if name in TEXTS:
        svd = TruncatedSVD(COMPONENTS, random_state=repeat).fit(X[train])
        made = [svd.transform(X[part]) for part in (train, choose, judge)]
    else:
        made = [X[part].toarray() for part in (train, choose, judge)]
    scaler = StandardScaler().fit(made[0])
    made = [torch.from_numpy(scaler.transform(part).clip(-10.0, 10.0)).float() for part in made]
    labels = [torch.from_numpy(y[part]).float() for part in (train, choose, judge)]
    first, second, third = map(Rows, made, labels)
    return first, second, third


def is_there(folder: Path, name: str) -> bool:
    """Whether a folder has a data set."""
    return any((folder / f"{name}.svm{suffix}").exists() for suffix in ("", *OPENERS))


def network(d: int, seed: int) -> nn.Module:
    """Two hidden layers."""
    torch.manual_seed(seed)
    layers = [nn.Linear(d, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1), nn.Flatten(0)]
    return nn.Sequential(*layers)


def batches(y: Tensor, generator: torch.Generator) -> Iterator[Tensor]:
    """The rows of an epoch in batches, each of which has its share of positives."""
    count = max(1, round(y.shape[0] / BATCH))
    shuffled = torch.randperm(y.shape[0], generator=generator)
    by_label = torch.cat([shuffled[y[shuffled] == 1.0], shuffled[y[shuffled] == 0.0]])
    for number in range(count):
        yield by_label[number::count]


def setting(name: str, net: nn.Module, rate: float, decay: float, y: Tensor) -> Setting:
    """The loss of a name, and its optimiser."""
    share, n, weights = float(y.mean()), y.shape[0], net.parameters()
    if name in LIBAUC:
        return libauc_setting(name, net, rate, decay, n)
    adam = torch.optim.Adam(weights, rate, weight_decay=decay)
    if name == "cross-entropy":
        return Setting(lambda f, y, _: F.binary_cross_entropy_with_logits(f, y), adam)
    if name == "weighted":
        weight = torch.tensor((1.0 - share) / share)
        return Setting(lambda f, y, _: F.binary_cross_entropy_with_logits(f, y, pos_weight=weight), adam)
    if name == "focal":
        return Setting(focal, adam)
    loss = MeasureLoss(measure_of(name.removesuffix(MIXED), y.numpy()))
    if name.endswith(MIXED):
        return Setting(lambda f, y, _: loss(f, y) + F.binary_cross_entropy_with_logits(f, y), adam)
    return Setting(lambda f, y, _: loss(f, y), adam)


def focal(scores: Tensor, y: Tensor, _: Tensor) -> Tensor:
    """Focal loss of Lin et al. (2017), with their alpha of 0.25 for positives and gamma of 2."""
    entropy = F.binary_cross_entropy_with_logits(scores, y, reduction="none")
    return ((0.75 - 0.5 * y) * (1.0 - torch.exp(-entropy)) ** 2 * entropy).mean()


def libauc_setting(name: str, net: nn.Module, rate: float, decay: float, n: int) -> Setting:
    """A loss of LibAUC with its own optimiser."""
    losses, optimizers = (importlib.import_module(f"libauc.{part}") for part in ("losses", "optimizers"))
    if name == "LibAUC AUCM":
        aucm = losses.AUCMLoss()
        optimizer = optimizers.PESG(net.parameters(), aucm, lr=rate, weight_decay=decay, verbose=False)
        return Setting(lambda f, y, _: aucm(torch.sigmoid(f), y), optimizer)
    pauc = name == "LibAUC pAUC"
    loss = losses.pAUC_DRO_Loss(n) if pauc else losses.APLoss(n)
    kind = optimizers.SOPAs if pauc else optimizers.SOAP
    optimizer = kind(net.parameters(), lr=rate, mode="adam", weight_decay=decay, verbose=False)
    return Setting(lambda f, y, rows: loss(torch.sigmoid(f), y, rows), optimizer)


def trained(
    name: str, data: tuple[Rows, Rows], rate: float, decay: float, seed: int
) -> Iterator[tuple[int, nn.Module]]:
    """The network after some epochs."""
    train = data[0]
    net = network(train.X.shape[1], seed)
    loss, optimizer = setting(name, net, rate, decay, train.y)
    generator = torch.Generator().manual_seed(seed)
    for epoch in range(1, max(EPOCHS) + 1):
        for rows in batches(train.y, generator):
            optimizer.zero_grad()
            loss(net(train.X[rows]), train.y[rows], rows).backward()
            optimizer.step()
        if epoch in EPOCHS:
            yield epoch, net


def values(net: nn.Module, rows: Rows) -> dict[str, float]:
    """Scores of the network on some rows, by goal."""
    with torch.no_grad():
        scores = net(rows.X).double().numpy()
    y = rows.y.numpy() > 0.5
    if not np.isfinite(scores).all():
        return dict.fromkeys(GOALS, 0.0)
    return {goal: measure_of(goal, y).score(y, scores) for goal in GOALS}


def rank(found: Mapping[str, Any]) -> tuple[float, float]:
    """Order of settings where they are chosen: by the goal, and by average precision where that has ties."""
    return float(found["chosen_by"]), float(found["tie"])


def repetition(folder: Path, name: str, repeat: int) -> list[dict[str, Any]]:
    """All losses on one split of a set: for each goal the setting that was best where it is chosen."""
    torch.set_num_threads(1)
    train, choose, judge = split(folder, name, repeat)
    rows = []
    with use_threads(1):
        for loss in LOSSES:
            began, best = time.process_time(), {goal: {"chosen_by": -1.0, "tie": 0.0} for goal in GOALS}
            rates = PESG_RATES if loss == "LibAUC AUCM" else ADAM_RATES
            for rate, decay in product(rates, DECAYS):
                with redirect_stdout(open(os.devnull, "w")):
                    for epochs, net in trained(loss, (train, choose), rate, decay, repeat):
                        chosen_by, value = values(net, choose), values(net, judge)
                        for goal, found in best.items():
                            merit = {"chosen_by": chosen_by[goal], "tie": chosen_by["average_precision"]}
                            if rank(merit) > rank(found):
                                what = {"rate": rate, "decay": decay, "epochs": epochs}
                                found |= {**what, **merit, "value": value[goal]}
            about = {"data": name, "repeat": repeat, "loss": loss, "positives": int(judge.y.sum())}
            seconds = time.process_time() - began
            rows += [{**about, "goal": goal, **found, "seconds": seconds} for goal, found in best.items()]
    return rows


# --- the tables -----------------------------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, str]]:
    """The results that are there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def ours(rows: list[dict[str, str]], goal: str) -> dict[str, str]:
    """Of our losses for a goal, that which is best where it is chosen."""
    return max((row for row in rows if row["loss"] in OURS[goal]), key=rank)


def by_data(found: list[dict[str, str]], goal: str) -> dict[str, dict[str, float]]:
    """Mean values of losses over the repetitions of each set."""
    means: dict[str, dict[str, list[float]]] = {}
    for name, repeat in dict.fromkeys((row["data"], row["repeat"]) for row in found):
        rows = [row for row in found if (row["data"], row["repeat"], row["goal"]) == (name, repeat, goal)]
        value = {row["loss"]: float(row["value"]) for row in rows if row["loss"] in PLAIN + LIBAUC}
        value["ours"] = float(ours(rows, goal)["value"])
        for loss, number in value.items():
            means.setdefault(name, {}).setdefault(loss, []).append(number)
    return {name: {loss: float(np.mean(each)) for loss, each in losses.items()} for name, losses in means.items()}


def report(found: list[dict[str, str]]) -> int:
    """Print tables as Markdown; 1 if a goal is short."""
    columns, short = (*PLAIN, *LIBAUC, "ours"), []
    for goal in GOALS:
        table = by_data(found, goal)
        table["mean"] = {loss: float(np.mean([row[loss] for row in table.values()])) for loss in columns}
        print(f"\n{goal}\n\n| data | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
        for name, row in table.items():
            print(f"| {name} | {' | '.join(f'{row[loss]:.3f}'.lstrip('0') for loss in columns)} |")
        mean = table["mean"]
        gain, lead = mean["ours"] - mean["cross-entropy"], mean["ours"] - max(mean[each] for each in columns[1:-1])
        if (gain < 0.01 and goal != "roc_area") or lead < -0.003:
            short.append(goal)
        print(f"\nours less cross-entropy: {gain:+.4f}; less the best of the others: {lead:+.4f}")
    print("\nshort of their bars:", ", ".join(short) or "none")
    return int(bool(short))


# --- the time of a step ---------------------------------------------------------------------------------------------


def seconds_of(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least time of the processor for each of some works, which take turns."""
    least = dict.fromkeys(works, np.inf)
    for _ in range(repeats):
        for name, work in works.items():
            began = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - began)
    return least


def steps(output: Path, d: int = 30) -> int:
    """The time of a step with each loss beside that of cross-entropy, and of 1e6 scores beside a sort. One thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    X, many = torch.randn(BATCH, d), torch.randn(10**6)
    y, labels = ((torch.rand(n) < 0.05).float() for n in (BATCH, 10**6))
    everything = torch.arange(BATCH)
    net = network(d, 0)

    def step(name: str) -> Callable[[], None]:
        loss, optimizer = setting(name, net, 1e-3, 1e-5, y)

        def some() -> None:
            for _ in range(20):
                optimizer.zero_grad()
                loss(net(X), y, everything).backward()
                optimizer.step()

        return some

    millions: dict[str, Callable[[], Any]] = {"sort": partial(torch.sort, many)}
    for name in LOSSES:
        if name not in PLAIN + LIBAUC and not name.endswith(MIXED):
            loss: Any = MeasureLoss(measure_of(name, y.numpy()))
            millions[name] = partial(loss, many, labels)
    with use_threads(1):
        step_of = seconds_of({name: step(name) for name in LOSSES}, 40)
        million = seconds_of(millions, 5)
    rows: list[dict[str, Any]] = []
    for name in LOSSES[1:]:
        rows.append({"loss": name, "step": round(step_of[name] / step_of["cross-entropy"], 3)})
        if name in million:
            rows[-1]["million"] = round(million[name] / million["sort"], 3)
        print(*rows[-1].values(), sep="\t")
    with (output / "networks_steps.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ("loss", "step", "million"))
        writer.writeheader()
        writer.writerows(rows)
    return int(any(row["step"] > 1.15 or row["million"] > 1.0 for row in rows if "million" in row))


def main() -> int:
    """Run what is not there yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("SMOOTHPERF_DATA"), help="folder with NAME.svm*")
    parser.add_argument("--only", nargs="*", default=(*TABLES, *TEXTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args()
    if given.steps:
        return steps(given.output)
    path = given.output / "networks.csv"
    there = {(row["data"], int(row["repeat"])) for row in read(path)}
    wanted = [(name, repeat) for repeat in range(given.repeats) for name in given.only if (name, repeat) not in there]
    if wanted and given.data is None:
        parser.error("--data names the folder of the data sets")
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        runs = [pool.submit(repetition, given.data, name, repeat) for name, repeat in wanted]
        for (name, repeat), run in zip(wanted, runs, strict=True):
            new = not path.exists()
            rows = run.result()
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if new:
                    writer.writeheader()
                writer.writerows(
                    {key: round(v, 6) if isinstance(v, float) else v for key, v in row.items()} for row in rows
                )
            print(f"{name} {repeat}: {sum(row['seconds'] for row in rows) / len(GOALS):.0f} s", flush=True)
    return report(read(path))


if __name__ == "__main__":
    sys.exit(main())
