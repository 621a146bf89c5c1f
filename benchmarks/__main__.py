"""Run all benchmarks: ``python -m benchmarks --data FOLDER``; exits with 1 if one of them finds something short."""

import sys

from . import kernels, path, rates, reference_values

sys.exit(max(benchmark.main() for benchmark in (reference_values, rates, path, kernels)))
