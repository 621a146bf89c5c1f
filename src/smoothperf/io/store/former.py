"""Stores of versions 1 and 2, which were single files of row blocks: ``smoothperf convert`` makes folders of them.

::

    header (64 bytes) | block | block | ... | codes of labels | queries | index (JSON) | trailer (32 bytes)

A block is the CSR matrix of its rows, whose three arrays begin at multiples of 64 bytes. Version 1 had no queries.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..dataset import Chunk, damage_as_data_error, data_error

MAGIC = b"\x93SPSTORE"
#: Offset and length of the index, its CRC-32, that of these 20 bytes, and the magic once more.
TRAILER = struct.Struct("<QQII8s")
ALIGNMENT = 64


def begins_as_former_store(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as such a store does; False if it cannot be read."""
    if not os.path.isfile(path):  # to open a pipe would be to wait for whoever writes to it
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def former_chunks(path: Path) -> Iterator[Chunk]:
    """Yield the rows of a file, block by block."""
    with damage_as_data_error(path, "it is damaged, or no store of an earlier version"):
        content = np.memmap(path, np.uint8, "r")
        offset, length, crc32, _, _ = TRAILER.unpack(content[-TRAILER.size :].tobytes())
        index = json.loads(_checked(content[offset : offset + length], crc32, path, "its index"))
        (n, d), labels, queries = index["shape"], index["labels"], index.get("queries")
        codes = _column(content, labels, labels["code_type"], n, path, "its labels")
        y = np.array(labels["classes"], dtype=labels["type"])[codes]
        qid = None
        if queries is not None:
            qid = _column(content, queries, "<f8" if queries["type"] == "float64" else "<i8", n, path, "its queries")
            qid = qid if queries["names"] is None else np.array(queries["names"])[qid]
        for number, block in enumerate(index["blocks"]):
            rows = slice(block["first_row"], block["first_row"] + block["n_rows"])
            X = _matrix(content, block, index["index_type"], index["value_type"], d, path, f"block {number}")
            ids = None if qid is None else qid[rows]
            yield Chunk(X, y[rows], rows.stop / n, index["feature_names"], index["zero_based"], qid=ids)


def _matrix(
    content: NDArray[np.uint8], block: dict[str, int], index_type: str, value_type: str, d: int, path: Path, name: str
) -> sp.csr_matrix:
    counts = block["n_rows"] + 1, block["n_entries"], block["n_entries"]
    types = [np.dtype(kind) for kind in (index_type, index_type, value_type)]
    sizes = [count * kind.itemsize for count, kind in zip(counts, types, strict=True)]
    places = np.cumsum([block["offset"], *(-(-size // ALIGNMENT) * ALIGNMENT for size in sizes)]).tolist()
    _checked(content[places[0] : places[-1]], block["crc32"], path, name)
    starts, indices, values = (
        content[begin:end][:size].view(kind)
        for (begin, end), size, kind in zip(pairwise(places), sizes, types, strict=True)
    )
    matrix: Any = sp.csr_matrix((values, indices, starts), shape=(block["n_rows"], d))
    matrix.check_format(full_check=True)
    return matrix  # type: ignore[no-any-return]


def _column(content: NDArray[np.uint8], told: dict[str, Any], kind: str, n: int, path: Path, name: str) -> NDArray[Any]:
    """A number for each row."""
    size = n * np.dtype(kind).itemsize
    padded = content[told["offset"] :][: -(-size // ALIGNMENT) * ALIGNMENT]
    return np.frombuffer(_checked(padded, told["crc32"], path, name)[:size], dtype=kind)


def _checked(part: NDArray[np.uint8], crc32: int, path: Path, name: str) -> bytes:
    found = part.tobytes()
    if zlib.crc32(found) != crc32:
        raise data_error(path, f"{name} is damaged: the checksum is wrong")
    return found
