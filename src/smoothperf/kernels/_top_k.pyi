from typing import Any

from numpy.typing import NDArray

def collect(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    scale: float,
    shift: float,
    shift_step: float,
    low: float,
    high: float,
    kept: NDArray[Any],
    kept_weights: NDArray[Any] | None,
    start: int,
    stop: int,
) -> tuple[int, int, float]: ...
def root(
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    above: float,
    total: float,
    start: float,
    low: float,
    high: float,
    certain: bool,
) -> tuple[float, int, float, float, float]: ...
def threshold(
    negatives: NDArray[Any],
    positives: NDArray[Any],
    negative_weights: NDArray[Any] | None,
    positive_weights: NDArray[Any] | None,
    target_negative: float,
    target_positive: float,
    above: float,
    total: float,
    low: float,
    high: float,
    halvings: int,
) -> float: ...
def finish(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    scale: float,
    shift: float,
    shift_step: float,
    target_negative: float,
    target_step: float,
    slope: float,
    tau: float,
    correction: float,
    other: float,
    blend: float,
    theta: float,
    gradient: NDArray[Any],
    start: int,
    stop: int,
) -> tuple[float, float, float, float, float]: ...
