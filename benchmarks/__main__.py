"""Run all benchmarks: ``python -m benchmarks --data FOLDER``; exits with 1 if one of them finds something short."""

import sys

from . import (
    cutting_planes,
    growth,
    imports,
    iterations,
    kernels,
    path,
    peers,
    rates,
    reference_values,
    svmlight,
)

BENCHMARKS = (
    reference_values,
    rates,
    kernels,
    iterations,
    peers,
    cutting_planes,
    path,
    growth,
    imports,
    svmlight,
)

sys.exit(max(benchmark.main() for benchmark in BENCHMARKS))
