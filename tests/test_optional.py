"""Libraries that few users have are imported by those who ask for them, and by nobody else."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import smoothperf
import smoothperf.losses
for name in smoothperf.__all__:
    getattr(smoothperf, name)
print([name for name in ("torch", "jax") if name in sys.modules])
sys.modules["torch"] = sys.modules["jax"] = None
for name in ("torch", "jax"):
    try:
        __import__("smoothperf." + name)
    except ImportError as error:
        print(error)
"""


def test_networks_are_not_imported_without_need_and_missed_in_plain_words():
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "[]",
        "smoothperf.torch needs torch, which is not installed: pip install 'smoothperf[torch]'.",
        "smoothperf.jax needs jax, which is not installed: pip install 'smoothperf[jax]'.",
    ]
