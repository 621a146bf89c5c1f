"""Training from a store that is far larger than the memory, against the speed at which the disk can be read.

A store of random sparse rows is generated piece by piece, then a process trains from it for a few iterations whose
anonymous memory, which no file is behind, is limited (``setrlimit``, RLIMIT_DATA). It reads the files three times from
their beginning to their end with nothing else to do, too: before, between and after two runs. Before every product with
X, and before each of these readings, the pages of the files are dropped from the process and from the system's cache
(``madvise``, ``posix_fadvise``; the files were synced when they were written): all bytes come from the disk. The
time that dropping takes is not counted on either side. The best of the three readings counts.

With ``--warm`` nothing is dropped: then it is the speed of products with files that are in the system's cache.

    python -m benchmarks.out_of_core --gigabytes 8 --limit 2 --folder /where/there/is/room
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from smoothperf import LBFGS, ROCArea
from smoothperf._arrays import Array
from smoothperf.design import CSRDesign
from smoothperf.io import Store, StoreWriter
from smoothperf.optimise.objective import RegularizedRisk

from .common import write_csv

FEATURES = 100_000
NONZEROS = 100
ROWS_AT_A_TIME = 20_000
ENTRY = 12
#: What training must reach of the disk's speed.
WANTED = 0.7


def generate(path: Path, gigabytes: float) -> None:
    """Write a store of this size: 5% positives, told by the first columns."""
    rng = np.random.default_rng(0)
    width = FEATURES // NONZEROS
    columns = np.arange(0, FEATURES, width, dtype=np.int32)
    starts = np.arange(0, ROWS_AT_A_TIME * NONZEROS + 1, NONZEROS, dtype=np.int32)
    size = 0.0
    with StoreWriter(path) as writer:
        while size < gigabytes * 1e9:
            indices = columns + rng.integers(0, width, (ROWS_AT_A_TIME, NONZEROS), dtype=np.int32)
            values = rng.random((ROWS_AT_A_TIME, NONZEROS))
            y = rng.random(ROWS_AT_A_TIME) < 0.05
            values[:, :5] += 0.5 * y[:, None]
            shape = (ROWS_AT_A_TIME, FEATURES)
            writer.add(sp.csr_matrix((values.ravel(), indices.ravel(), starts), shape=shape), y)
            size += ENTRY * indices.size
        writer.n_features = FEATURES


class Cold(CSRDesign):
    """X of which nothing is in memory when a product begins, unless it is kept warm."""

    def __init__(self, store: Store, *, warm: bool):
        self._store, self._warm, self.dropping = store, warm, 0.0
        super().__init__(store.X)

    def matvec(self, w: Array, out: Array | None = None) -> Array:
        """``X w``."""
        self.drop()
        return super().matvec(w, out)

    def rmatvec(self, g: Array, out: Array | None = None) -> Array:
        """``X^T g``."""
        self.drop()
        return super().rmatvec(g, out)

    def drop(self) -> None:
        """Make the process and the system forget what they have of the files."""
        if self._warm:
            return
        begin = time.perf_counter()
        for array in self._store._arrays.values():
            array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
        for path in self._store.path.iterdir():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.dropping += time.perf_counter() - begin


def read_through(path: Path, buffer_size: int = 1 << 25) -> float:
    """Bytes a second of reading the arrays of X from their beginning to their end."""
    buffer = bytearray(buffer_size)
    total = 0
    begin = time.perf_counter()
    for name in ("indices", "values"):
        with open(path / f"{name}.npy", "rb", buffering=0) as file:
            while count := file.readinto(buffer):
                total += count
    return total / (time.perf_counter() - begin)


def anonymous() -> int:
    """Megabytes of this process in memory that no file is behind."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) >> 10 for line in status if line.startswith("RssAnon"))


def train(path: Path, limit: float, iterations: int, *, warm: bool) -> dict[str, Any]:
    """Run twice under a limit of so many gigabytes, and read the files in between."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(limit * 1e9), int(limit * 1e9)))
    store = Store(path)
    design = Cold(store, warm=warm)
    y = np.where(store.y, 1.0, -1.0)
    design.drop()
    reading = [read_through(path)]
    seconds, passes = 0.0, 0
    for _ in range(2):
        objective = RegularizedRisk(design, ROCArea().bind(y), 1e-5)
        begin, before = time.perf_counter(), design.dropping
        LBFGS(tol=1e-12, max_iter=iterations).run(objective)
        seconds += time.perf_counter() - begin - (design.dropping - before)
        passes += objective.n_matvec + objective.n_rmatvec
        design.drop()
        reading.append(read_through(path))
    speed = passes * (store.X.data.nbytes + store.X.indices.nbytes) / seconds
    return {
        "gigabytes": f"{store.n_bytes / 1e9:.2f}",
        "rows": store.shape[0],
        "entries": store.X.nnz,
        "limit_gigabytes": limit,
        "cache": "warm" if warm else "cold",
        "anonymous_megabytes": anonymous(),
        "passes": passes,
        "seconds": f"{seconds:.1f}",
        "passes_per_second": f"{passes / seconds:.3f}",
        "megabytes_per_second": f"{speed / 1e6:.0f}",
        "reading_megabytes_per_second": " ".join(f"{each / 1e6:.0f}" for each in reading),
        "ratio": f"{speed / max(reading):.2f}",
    }


def main() -> int:
    """Generate, train, print, write out_of_core.csv; return 1 if training is too slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=8.0, help="size of the store")
    parser.add_argument("--limit", type=float, default=2.0, help="anonymous memory of the process, in gigabytes")
    parser.add_argument("--iterations", type=int, default=3, help="iterations of each run")
    parser.add_argument("--warm", action="store_true", help="leave the files in the system's cache")
    parser.add_argument("--folder", type=Path, help="where the store goes; it is removed afterwards")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the CSV file")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train is not None:
        print(json.dumps(train(options.train, options.limit, options.iterations, warm=options.warm)))
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder, "generated.store")
        begin = time.perf_counter()
        generate(path, options.gigabytes)
        print(f"generated {Store(path).n_bytes / 1e9:.2f} GB in {time.perf_counter() - begin:.0f} s", flush=True)
        command = [sys.executable, "-m", "benchmarks.out_of_core", "--train", str(path)]
        command += ["--limit", str(options.limit), "--iterations", str(options.iterations)]
        command += ["--warm"] if options.warm else []
        row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    for name, value in row.items():
        print(f"{name:30} {value}")
    write_csv(options.output / "out_of_core.csv", [row])
    return int(float(row["ratio"]) < WANTED and not options.warm)


if __name__ == "__main__":
    sys.exit(main())
