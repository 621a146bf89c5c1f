"""The file of a checkpoint: written whole, and believed only as far as it can be checked.

It is an archive of arrays with a checksum each (docs/store-files.md). Nobody knows what a damaged file makes the
readers of archives, of arrays and of JSON raise; so whatever they raise is one line that names the file. A file that
can be read may still be none of ours. Shapes, types, signs and the inner products of the planes are checked; that the
planes are those of the data is not known before a run finds weights below them, which is an error then
(:class:`~smoothperf.solvers.result.FalseBoundError`).
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import written_whole
from ..certificate import Planes
from ..design.base import Array
from .streams import explain

FORMAT = "smoothperf checkpoint"
VERSION = 2
#: Share of the sizes of two planes that their inner product may be off by; rounding is far less.
INNER_TOLERANCE = 1e-6
#: Weights of planes sum to 1 up to this.
WEIGHT_TOLERANCE = 1e-6
#: Most characters of something that a file says, in a message.
SHOWN = 100


class CheckpointError(ValueError):
    """A checkpoint cannot be written or used; one line says which file, and why."""


@dataclass(frozen=True)
class State:
    """What a run needs to go on: the best weights, the objective there, planes, and the last mu (0 for none)."""

    coef: Array
    objective: float
    planes: Planes
    mu: float = 0.0


def write_state(path: Path, fingerprint: dict[str, Any], state: State) -> None:
    """Write a state; the file is as before, or whole."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "objective": state.objective,
        "mu": state.mu,
        "fingerprint": fingerprint,
    }
    arrays = {f"planes.{part.name}": getattr(state.planes, part.name) for part in fields(Planes)}
    with written_whole(path) as file:
        np.savez(file, header=np.array(json.dumps(header)), coef=state.coef, **arrays)
        file.flush()
        os.fsync(file.fileno())


def read_state(path: Path, fingerprint: dict[str, Any]) -> State:
    """Read a state of the problem that has this fingerprint."""
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            header = _header(archive)
            _check_version(path, header["version"])
            _check_problem(path, header["fingerprint"], fingerprint)
            n, d = fingerprint["shape"]
            planes = Planes(**{part.name: _numbers(archive, f"planes.{part.name}") for part in fields(Planes)})
            state = State(_numbers(archive, "coef"), float(header["objective"]), planes, float(header["mu"]))
            _check_state(state, n, d)
            return state
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {explain(error)}.") from error
    except Exception as error:
        what = _shown(error) or type(error).__name__
        raise CheckpointError(f"{path}: truncated, damaged, or not a checkpoint of smoothperf: {what}.") from error


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    text = _array(archive, "header")
    if text.dtype.kind != "U" or text.shape != ():
        raise ValueError("its header is no text")
    header = json.loads(text.item())
    if not isinstance(header, dict) or header["format"] != FORMAT or type(header["version"]) is not int:
        raise ValueError("its header says something else")
    return header


def _check_version(path: Path, version: int) -> None:
    if version > VERSION:
        raise CheckpointError(
            f"{path}: written in version {version} of the format, of which this smoothperf reads version {VERSION}: "
            "upgrade smoothperf."
        )
    if version < VERSION:
        raise CheckpointError(
            f"{path}: written in version {version} of the format, by an earlier smoothperf that could not tell all "
            "data apart; name another file, or remove it to begin anew."
        )


def _check_problem(path: Path, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Refuse a checkpoint of another problem."""
    for name, now in expected.items():
        then = found[name]
        if now != then:
            what = f"with another {name}" if name in ("measure", "bound", "alpha") else f"of other data: their {name}"
            raise CheckpointError(
                f"{path}: it is a checkpoint {what}: {_shown(then)}, not {_shown(now)}; name another file, or remove "
                "it to begin anew."
            )


def _check_state(state: State, n: int, d: int) -> None:
    """Refuse what is no state of a problem with n rows and d weights."""
    planes = state.planes
    count = len(planes.offsets) if planes.offsets.ndim == 1 else 0
    if count == 0:
        raise ValueError("it has no planes")
    in_rows = planes.slopes.shape == (count, 2 * n) and d > 2 * n
    shapes = {"slopes": (count, 2 * n if in_rows else d), "gram": (count, count)}
    for part in fields(Planes):
        _check_array(f"planes.{part.name}", getattr(planes, part.name), shapes.get(part.name, (count,)))
    _check_array("coef", state.coef, (d,))
    if not (math.isfinite(state.objective) and 0.0 <= state.mu < math.inf):
        raise ValueError(f"its objective is {state.objective}, its mu {state.mu}")
    for name in ("fixed", "per_radius", "sizes", "weights"):
        if getattr(planes, name).min() < 0.0:
            raise ValueError(f"planes.{name} has negative numbers")
    if abs(float(planes.weights.sum()) - 1.0) > WEIGHT_TOLERANCE:
        raise ValueError("planes.weights do not sum to 1")
    left, right = (planes.slopes[:, :n], planes.slopes[:, n:]) if in_rows else (planes.slopes, planes.slopes)
    if not np.all(np.abs(left @ right.T - planes.gram) <= INNER_TOLERANCE * np.outer(planes.sizes, planes.sizes)):
        raise ValueError("planes.gram is not the inner products of planes.slopes")


def _check_array(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} has the shape {array.shape} instead of {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has numbers that are not finite")


def _numbers(archive: zipfile.ZipFile, name: str) -> Array:
    array = _array(archive, name)
    if array.dtype.kind != "f" or array.dtype.itemsize != 8:
        raise ValueError(f"{name} has numbers of type {array.dtype} instead of float64")
    return array.astype(np.float64)


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """An array of the archive. All its bytes are read, and so its checksum is compared, before any is understood."""
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type != zipfile.ZIP_STORED:  # a small file could ask for any amount of memory
        raise ValueError(f"{name} is compressed")
    content = archive.read(member)
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is in another version of the array format")
    shape, in_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    begin = stream.tell()
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - begin:
        raise ValueError(f"{name} is not as long as its header says")
    return np.frombuffer(content, dtype, offset=begin).reshape(shape, order="F" if in_columns else "C")


def _shown(something: object) -> str:
    """On one line, and not a long one."""
    line = " ".join(f"{something}".split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."
