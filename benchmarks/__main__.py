"""Run all benchmarks: ``python -m benchmarks --data FOLDER``; exits with 1 if one of them finds something short."""

import sys

from . import (
    certified,
    choice,
    cutting_planes,
    fractional,
    growth,
    imports,
    iterations,
    kernels,
    labels,
    path,
    peers,
    rates,
    reference_values,
    sparse,
    svmlight,
    tight,
    tight_path,
)

BENCHMARKS = (
    reference_values,
    rates,
    kernels,
    iterations,
    peers,
    cutting_planes,
    certified,
    fractional,
    path,
    sparse,
    growth,
    imports,
    svmlight,
    tight,
    tight_path,
    choice,
    labels,
)

sys.exit(max(benchmark.main() for benchmark in BENCHMARKS))
