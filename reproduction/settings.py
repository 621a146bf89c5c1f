"""Sizes of a run: all that the paper has, or a first look of three minutes."""

from __future__ import annotations

from dataclasses import dataclass

from smoothperf.measures import PRBEP, Measure, ROCArea

from .datasets import REGISTRY

#: The paper's accuracy.
EPS = 1e-3
#: The gap at which a run may end; small beside EPS, so that it is known which objectives are within EPS.
TOL = 1e-4
MEASURES: dict[str, Measure] = {"prbep": PRBEP(), "roc_area": ROCArea()}


@dataclass(frozen=True)
class Settings:
    """Sizes of the experiments.

    Attributes
    ----------
    quick : bool
        Whether this is the first look.
    datasets : tuple of str
        The sets to train on, by the paper's names.
    alphas : tuple of float
        Values of lambda to choose from on the validation rows, descending.
    smooth_seconds, bmrm_seconds : float
        Most CPU seconds of a run, of the smoothing methods and of BMRM.
    path_seconds : float
        Most seconds to choose a lambda; smaller ones than those reached by then are left out.
    rate_alphas, rate_accuracies : tuple of float
        Strengths and accuracies for which iterations are counted.
    rate_seconds : float
        Most CPU seconds of a run that counts iterations.
    hard_alphas, hard_accuracies : tuple of float
        The same on problems that are hard for cutting planes.
    entropy_sizes : tuple of int
        Numbers of rows for the comparison with entropy.
    """

    quick: bool
    datasets: tuple[str, ...]
    alphas: tuple[float, ...]
    smooth_seconds: float
    bmrm_seconds: float
    path_seconds: float
    rate_alphas: tuple[float, ...]
    rate_accuracies: tuple[float, ...]
    rate_seconds: float
    hard_alphas: tuple[float, ...]
    hard_accuracies: tuple[float, ...]
    entropy_sizes: tuple[int, ...]


FULL = Settings(
    quick=False,
    datasets=tuple(REGISTRY),
    alphas=(1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    smooth_seconds=15.0,
    bmrm_seconds=40.0,
    path_seconds=40.0,
    rate_alphas=(1e-2, 1e-3, 1e-4, 1e-5),
    rate_accuracies=(1e-1, 3e-2, 1e-2, 3e-3, 1e-3),
    rate_seconds=15.0,
    hard_alphas=(0.1, 0.05, 0.02),
    hard_accuracies=(0.1, 0.05, 0.025),
    entropy_sizes=(50, 100, 200, 400, 800),
)
#: Three representative sets, as in the paper's printed version.
QUICK = Settings(
    quick=True,
    datasets=("adult9", "reuters-c11", "web8"),
    alphas=(1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
    smooth_seconds=2.0,
    bmrm_seconds=4.0,
    path_seconds=6.0,
    rate_alphas=(1e-2, 1e-3),
    rate_accuracies=(1e-1, 3e-2, 1e-2),
    rate_seconds=2.0,
    hard_alphas=(0.2, 0.1, 0.05),
    hard_accuracies=(0.1, 0.05, 0.025),
    entropy_sizes=(50, 100, 200),
)
