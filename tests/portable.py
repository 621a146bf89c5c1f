"""The sensitive part of the tests on other kinds of machines: `make test-portable`, for some with `KIND="zen seed-1"`.

Which kernels BLAS, NumPy and the C library have for a processor, how many threads and cores there are, which cases are
generated, how the system is set up: nothing that is promised may hang on it. A kind that this machine cannot pass for
is skipped, and it is said why.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import sklearn
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

TESTS = Path(__file__).parent
#: Where numbers of fits are compared, where cases are generated, and where texts and files of users are at stake.
FITS = "optimise estimators features fuzz cluster/test_fit.py cluster/test_ranker.py io/store/test_fit.py"
CASES = "measures cuts kernels design features evaluation optimise fuzz io/store"
FILES = "cli io reproduction report test_plots.py"
#: Settings of this machine that are not those of others.
OURS = ("OPENBLAS_", "NPY_", "GLIBC_TUNABLES", "PYTHONHASHSEED", "PYTHONUTF8", "LC_", "XDG_", "MPLCONFIGDIR")


class Kind(NamedTuple):
    """A kind of machine: the tests that may notice, the environment, and what the processor must have."""

    part: str
    environment: dict[str, str]
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()


def blas(core: str, *needs: str) -> Kind:
    """The kernels of OpenBLAS for a processor, which does not look whether this one can run them."""
    return Kind(FITS, {"OPENBLAS_CORETYPE": core}, needs)


def numpy_without(*features: str) -> Kind:
    """The kernels of NumPy for a processor that lacks these; NumPy knows them by names of groups."""
    return Kind(FITS, {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}, features[:1] or ("other features",))


KINDS = {
    "prescott": blas("Prescott", "SSE3"),
    "nehalem": blas("Nehalem", "SSE42"),
    "sandybridge": blas("Sandybridge", "AVX"),
    "haswell": blas("Haswell", "AVX2", "FMA3"),
    "zen": blas("Zen", "AVX2", "FMA3"),
    "skylakex": blas("SkylakeX", "AVX512_SKX"),
    "one-blas-thread": Kind(FITS, {"OPENBLAS_NUM_THREADS": "1"}),
    "four-blas-threads": Kind(FITS, {"OPENBLAS_NUM_THREADS": "4"}),
    "numpy-without-avx512": numpy_without(*(name for name in __cpu_dispatch__ if "V4" in name or "AVX512" in name)),
    "numpy-baseline": numpy_without(*__cpu_dispatch__),
    "libm-without-fma": Kind(FITS, {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"}, ("FMA3",)),
    **{f"seed-{seed}": Kind(CASES, {}, options=(f"--hypothesis-seed={seed}",)) for seed in (1, 2, 3)},
    **{f"hash-{seed}": Kind(f"optimise estimators {FILES}", {"PYTHONHASHSEED": str(seed)}) for seed in (1, 2)},
    "one-core": Kind(FITS, {}, prefix=("taskset", "--cpu-list", "0")),
    "lang-c": Kind(FILES, {"LANG": "C"}),
    "ascii": Kind(FILES, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "sparse-arrays": Kind("features design estimators test_scorers.py", {"SPARSE_INTERFACE": "sparray"}),
    # Nothing can be made below a file, not even by root.
    "read-only-home": Kind(FILES, {"HOME": f"{__file__}/home"}),
}


def main(names: list[str]) -> int:
    """Run the tests of some kinds, all by default, and say how each went; 1 if one failed."""
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        print(f"KIND must be some of {', '.join(KINDS)}; got {unknown[0]!r}.")
        return 2
    results, seen = [], {}
    for name in names or KINDS:
        kind, begin = KINDS[name], time.perf_counter()
        settings = [f"{key}={value!r}" for key, value in kind.environment.items()]
        print(f"{name}:", *settings, *kind.prefix, *kind.options, flush=True)
        reason = why_not(name, kind, seen)
        result = f"skipped: {reason}" if reason else "passed" if passes(kind) else "FAILED"
        results.append(f"{name:22s}{result}" + ("" if reason else f" in {time.perf_counter() - begin:.0f} s"))
    print(*results, sep="\n")
    return int(any("FAILED" in result for result in results))


def passes(kind: Kind) -> bool:
    """Whether the tests pass there."""
    part = [str(TESTS / each) for each in kind.part.split()]
    command = [*kind.prefix, sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadfile", *kind.options]
    return subprocess.run([*command, *part], env=environment(kind), check=False).returncode == 0


def environment(kind: Kind) -> dict[str, str]:
    """That of this process, but for settings that are another machine's."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    return ours | kind.environment


def why_not(name: str, kind: Kind, seen: dict[str, str]) -> str | None:
    """A reason why this machine is none of this kind; ``seen`` are the kernels of BLAS that have had their turn."""
    for feature in kind.needs:
        if not __cpu_features__.get(feature):
            return f"the processor has no {feature}"
    if "SPARSE_INTERFACE" in kind.environment and "sparse_interface" not in sklearn.get_config():
        return "scikit-learn returns sparse matrices only, before 1.9"
    if kind.prefix and shutil.which(kind.prefix[0]) is None:
        return f"there is no {kind.prefix[0]}"
    if "GLIBC_TUNABLES" in kind.environment and platform.libc_ver()[0] != "glibc":
        return "the C library is another one"
    if "OPENBLAS_CORETYPE" in kind.environment:
        done = subprocess.run([sys.executable, "-c", KERNELS], env=environment(kind), capture_output=True, check=True)
        kernels = done.stdout.decode().strip()
        if not kernels:
            return "BLAS is not OpenBLAS"
        if seen.setdefault(kernels, name) != name:
            return f"OpenBLAS has the kernels of {seen[kernels]} for it"
    return None


#: Names of the kernels that OpenBLAS has chosen.
KERNELS = """
import numpy, scipy.linalg, threadpoolctl
print(*sorted({each["architecture"] for each in threadpoolctl.threadpool_info() if each["internal_api"] == "openblas"}))
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
