from typing import Any

from numpy.typing import NDArray

from .fractional_flips import FractionalLoss, Side

def prefix_sums(
    x: NDArray[Any],
    weights: NDArray[Any] | None,
    mass: NDArray[Any] | None,
    first: NDArray[Any],
    second: NDArray[Any],
) -> None: ...
def best_flips(
    positives: Side, negatives: Side, fractional_loss: FractionalLoss, slope: float
) -> tuple[float, int, float, float, int]: ...
def near_best(
    positives: Side, negatives: Side, fractional_loss: FractionalLoss, slope: float, floor: float
) -> tuple[float, float, float, float]: ...
def flip_exact(
    scores: NDArray[Any],
    positive: NDArray[Any],
    weights: NDArray[Any] | None,
    cuts: NDArray[Any],
    shares: NDArray[Any],
    slope: float,
    gradient: NDArray[Any],
) -> float: ...
def negligible(nu: float, count: int) -> float: ...
def level_sets(
    positives: Side,
    negatives: Side,
    fractional_loss: FractionalLoss,
    slope: float,
    w: float,
    nu: float,
    count: int,
    floor: float = ...,
) -> tuple[NDArray[Any], int, int]: ...
def levels_at(
    positives: Side,
    negatives: Side,
    fractional_loss: FractionalLoss,
    slope: float,
    w: float,
    count: int,
    numbers: NDArray[Any],
) -> NDArray[Any]: ...
def mixture(
    levels: NDArray[Any], fractional_loss: FractionalLoss, w: float, nu: float, count: int, block: int
) -> tuple[float, float, float, float, tuple[NDArray[Any], NDArray[Any]]]: ...
def flip_sums(side: Side, z: NDArray[Any], w: float) -> NDArray[Any]: ...

class LevelSearch:
    levels: NDArray[Any]
    def __init__(
        self,
        numbers: NDArray[Any],
        starts: NDArray[Any],
        fractional_loss: FractionalLoss,
        slope: float,
        w: float,
        count: int,
        pos_top: float,
        neg_top: float,
    ) -> None: ...
    def places(self) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def advance(self, pos_sums: NDArray[Any], neg_sums: NDArray[Any]) -> bool: ...

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
