from typing import Any

from numpy.typing import NDArray

def prefix_sums(
    x: NDArray[Any],
    weights: NDArray[Any] | None,
    mass: NDArray[Any] | None,
    first: NDArray[Any],
    second: NDArray[Any],
) -> None: ...
def best_flips(
    x_p: NDArray[Any],
    mass_p: NDArray[Any] | None,
    first_p: NDArray[Any],
    x_n: NDArray[Any],
    mass_n: NDArray[Any] | None,
    first_n: NDArray[Any],
    p: float,
    r: float,
    M: float,
    slope: float,
) -> tuple[float, int, float, float, int]: ...
def flip_exact(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    cuts: NDArray[Any],
    shares: NDArray[Any],
    slope: float,
    gradient: NDArray[Any],
) -> float: ...
def level_sets(
    x_p: NDArray[Any],
    mass_p: NDArray[Any] | None,
    first_p: NDArray[Any],
    second_p: NDArray[Any],
    x_n: NDArray[Any],
    mass_n: NDArray[Any] | None,
    first_n: NDArray[Any],
    second_n: NDArray[Any],
    p: float,
    r: float,
    M: float,
    slope: float,
    w: float,
    nu: float,
    count: int,
) -> tuple[float, float, float, float, tuple[NDArray[Any], NDArray[Any]]]: ...
def flip_smoothed(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    neg_table: NDArray[Any],
    pos_table: NDArray[Any],
    slope: float,
    gradient: NDArray[Any],
) -> float: ...
def ramp_table(z: NDArray[Any], shares: NDArray[Any], w: float) -> NDArray[Any]: ...
