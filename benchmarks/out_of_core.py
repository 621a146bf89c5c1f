"""Training from a store that is far larger than the memory, against the speed at which the disk can be read.

A store of random sparse rows is generated block by block, then a process whose address space is limited
(``setrlimit``) trains from it for a few iterations. It reads the file three times from its beginning to its end with
nothing else to do, too: before, between and after two fits. Before every pass over the data, and before each of these
readings, the file's pages are dropped from the system's cache (``posix_fadvise``; the file was synced when it was
written), so that all bytes come from the disk. The time that dropping takes is not counted on either side; checksums,
which are verified when a block is read for the first time, are. The best of the three readings counts.

    python -m benchmarks.out_of_core --gigabytes 8 --limit 2 --folder /where/there/is/room
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from smoothperf import MeasureClassifier
from smoothperf.design import StoredDesign
from smoothperf.design.sparse import CompressedRows
from smoothperf.io import Store, StoreWriter

from .common import write_csv

FEATURES = 100_000
NONZEROS = 100
ROWS_AT_A_TIME = 20_000
ENTRY = 12
#: What the fit must reach of the disk's speed.
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


def drop_from_cache(path: Path) -> float:
    """Make the system forget the pages of a file; return the seconds that it takes."""
    begin = time.perf_counter()
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return time.perf_counter() - begin


class ColdDesign(StoredDesign):
    """A store whose pages are never in the cache when a pass begins; counts what it reads."""

    def __init__(self, store: Store):
        super().__init__(store)
        self._path = store.path
        self.dropping = 0.0
        self.bytes_read = 0

    def _blocks(
        self, needed: NDArray[Any] | None = None, *, backwards: bool = False
    ) -> Iterator[tuple[slice, CompressedRows]]:
        self.dropping += drop_from_cache(self._path)
        for rows, block in super()._blocks(needed, backwards=backwards):
            self.bytes_read += block.indptr.nbytes + block.indices.nbytes + block.data.nbytes
            yield rows, block


class ColdStore(Store):
    """A store that makes such a design."""

    def design(self) -> ColdDesign:
        """X as an operator."""
        self.made = ColdDesign(self)
        return self.made


def read_through(path: Path, buffer_size: int = 1 << 25) -> float:
    """Bytes a second of reading a file from its beginning to its end."""
    drop_from_cache(path)
    buffer = bytearray(buffer_size)
    total = 0
    begin = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            total += count
    return total / (time.perf_counter() - begin)


def train(path: Path, limit: float, iterations: int) -> dict[str, Any]:
    """Fit twice under a limit of so many gigabytes, and read the file in between."""
    resource.setrlimit(resource.RLIMIT_AS, (int(limit * 1e9), int(limit * 1e9)))
    warnings.simplefilter("ignore")  # that so few iterations do not converge
    reading = [read_through(path)]
    seconds, passes, bytes_read = 0.0, 0, 0
    for _ in range(2):
        store = ColdStore(path)
        begin = time.perf_counter()
        model = MeasureClassifier("roc_area", alpha=1e-5, tol=1e-9, max_iter=iterations).fit(store)
        seconds += time.perf_counter() - begin - store.made.dropping
        passes += model.result_.n_matvec + model.result_.n_rmatvec
        bytes_read += store.made.bytes_read
        reading.append(read_through(path))
    return {
        "gigabytes": f"{path.stat().st_size / 1e9:.2f}",
        "rows": store.shape[0],
        "entries": store.n_entries,
        "limit_gigabytes": limit,
        "peak_resident_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "passes": passes,
        "seconds": f"{seconds:.1f}",
        "passes_per_second": f"{passes / seconds:.3f}",
        "megabytes_per_second": f"{bytes_read / seconds / 1e6:.0f}",
        "disk_megabytes_per_second": " ".join(f"{speed / 1e6:.0f}" for speed in reading),
        "ratio": f"{bytes_read / seconds / max(reading):.2f}",
    }


def main() -> int:
    """Generate, train, print, write out_of_core.csv; return 1 if the fit is too slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=8.0, help="size of the store")
    parser.add_argument("--limit", type=float, default=2.0, help="address space of the training process, in gigabytes")
    parser.add_argument("--iterations", type=int, default=3, help="iterations of each fit")
    parser.add_argument("--folder", type=Path, help="where the store goes; it is removed afterwards")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the CSV file")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train is not None:
        print(json.dumps(train(options.train, options.limit, options.iterations)))
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder, "generated.store")
        begin = time.perf_counter()
        generate(path, options.gigabytes)
        print(f"generated {path.stat().st_size / 1e9:.2f} GB in {time.perf_counter() - begin:.0f} s", flush=True)
        command = [sys.executable, "-m", "benchmarks.out_of_core", "--train", str(path)]
        command += ["--limit", str(options.limit), "--iterations", str(options.iterations)]
        row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    for name, value in row.items():
        print(f"{name:28} {value}")
    write_csv(options.output / "out_of_core.csv", [row])
    return int(float(row["ratio"]) < WANTED)


if __name__ == "__main__":
    sys.exit(main())
