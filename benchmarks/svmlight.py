"""Reading svmlight files against scikit-learn: the same matrix, and how fast; medians, interleaved in one process.

Each file is read as it is stored, where both sides pay the same for decompression, and as text in memory.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from smoothperf.io import read_data
from smoothperf.io.svmlight import read_svmlight

from .common import OPENERS, arguments, seconds_of, write_csv

REPETITIONS = 3


def same(path: Path, text: bytes) -> bool:
    """True if both readers give the same matrix and labels, bit for bit."""
    data = read_data(path)
    X, y = load_svmlight_file(io.BytesIO(text))
    pairs = (
        (data.X.indptr, X.indptr),
        (data.X.indices, X.indices),
        (data.y, y),
        (data.X.data.view("u8"), X.data.view("u8")),
    )
    return data.X.shape == X.shape and all(np.array_equal(left, right) for left, right in pairs)


def measure(path: Path) -> dict[str, Any]:
    """One row of the table."""
    opener = OPENERS[path.suffix]
    with opener(path, "rb") as file:
        text = file.read()

    def peer_stored() -> Any:
        with opener(path, "rb") as file:
            return load_svmlight_file(file)

    stored = seconds_of(lambda: read_data(path), peer_stored, repetitions=REPETITIONS)
    parsed = seconds_of(
        lambda: read_svmlight(io.BytesIO(text), path.name),
        lambda: load_svmlight_file(io.BytesIO(text)),
        repetitions=REPETITIONS,
    )
    return {
        "file": path.name,
        "megabytes_of_text": f"{len(text) / 1e6:.1f}",
        "same": same(path, text),
        "seconds": f"{stored[0]:.3f}",
        "peer_seconds": f"{stored[1]:.3f}",
        "ratio": f"{stored[0] / stored[1]:.2f}",
        "text_seconds": f"{parsed[0]:.3f}",
        "peer_text_seconds": f"{parsed[1]:.3f}",
        "text_ratio": f"{parsed[0] / parsed[1]:.3f}",
    }


def main() -> int:
    """Read every file both ways, print, write svmlight.csv; return 1 if a matrix differs or a ratio exceeds 1."""
    options = arguments(__doc__)
    paths = [path for path in sorted(options.data.glob("*.svm*")) if path.suffix in OPENERS]
    if not paths:
        raise SystemExit(f"no files NAME.svm, .svm.gz, .svm.bz2 or .svm.xz in {options.data}")
    rows = []
    for path in paths:
        row = measure(path)
        rows.append(row)
        print(
            f"{row['file']:28} {'same' if row['same'] else 'DIFFERENT':9} as stored {row['seconds']:>8} s, "
            f"ratio {row['ratio']}   text {row['text_seconds']:>8} s, ratio {row['text_ratio']}",
            flush=True,
        )
    write_csv(options.output / "svmlight.csv", rows)
    return int(any(not row["same"] or float(row["ratio"]) > 1.0 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
