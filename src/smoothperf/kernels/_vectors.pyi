from typing import Any

from numpy.typing import NDArray

Vector = NDArray[Any]

def sum_and_squares(u: Vector, a: float, v: Vector, terms: int, shift: int, out: Vector) -> tuple[float, float]: ...
def inner_products(u: Vector, v: Vector, p: Vector, terms: int, shift: int) -> tuple[float, float, float]: ...
def differences(
    u: Vector, u_before: Vector, v: Vector, v_before: Vector, terms: int, shift: int, s: Vector, y: Vector
) -> tuple[float, float, float]: ...
