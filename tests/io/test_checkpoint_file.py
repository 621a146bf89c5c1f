"""Files of checkpoints: what is damaged, forged or of something else is refused in one line that names the file."""

import io
import json
import zipfile
from dataclasses import fields

import numpy as np
import pytest

from smoothperf.certificate import Planes
from smoothperf.io.checkpoint_file import CheckpointError, State, read_state, write_state

FINGERPRINT = {"measure": "PRBEP()", "alpha": 0.1, "shape": [5, 2], "labels": "0a", "entries": "ff"}
SLOPES = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
PLANES = Planes(
    SLOPES,
    np.array([1.0, 0.5, -0.5]),
    np.full(3, 1e-15),
    np.full(3, 1e-14),
    np.linalg.norm(SLOPES, axis=1),
    SLOPES @ SLOPES.T,
    np.array([0.5, 0.3, 0.2]),
)
STATE = State(np.array([0.25, -4.0]), 0.75, PLANES, 0.01)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "fit.checkpoint"
    write_state(path, FINGERPRINT, STATE)
    return path


def content(state):
    return [state.objective, state.mu, state.coef.tobytes()] + [
        getattr(state.planes, part.name).tobytes() for part in fields(Planes)
    ]


def refusal(file):
    with pytest.raises(CheckpointError) as caught:
        read_state(file, FINGERPRINT)
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert message.endswith(".")
    assert "\n" not in message
    return message


def rewritten(file, **members):
    """Write the archive again with other members; None leaves one out."""
    with np.load(file) as archive:
        arrays = {**archive, **members}
    with open(file, "wb") as stream:
        np.savez(stream, **{name: array for name, array in arrays.items() if array is not None})


def test_what_is_written_is_read(file):
    assert content(read_state(file, FINGERPRINT)) == content(STATE)


def test_planes_in_the_space_of_rows(tmp_path):
    """One row of length sqrt(55): its plane is ``(c, X X^T c)`` with c = 2."""
    one = {part.name: getattr(PLANES, part.name)[:1] for part in fields(Planes)}
    one |= {"slopes": np.array([[2.0, 110.0]]), "gram": np.array([[220.0]]), "sizes": np.array([220.0**0.5])}
    state = State(np.zeros(5), 1.0, Planes(**one | {"weights": np.ones(1)}))
    fingerprint = {**FINGERPRINT, "shape": [1, 5]}
    write_state(tmp_path / "f", fingerprint, state)
    assert content(read_state(tmp_path / "f", fingerprint)) == content(state)


def test_every_flipped_byte(file):
    """It is noticed, or it is in a part of the archive that says nothing, such as a date."""
    whole = file.read_bytes()
    messages = []
    with open(file, "r+b", buffering=0) as stream:
        for place, byte in enumerate(whole):
            stream.seek(place)
            stream.write(bytes([byte ^ 1 << place % 8]))
            found = None
            try:
                found = read_state(file, FINGERPRINT)
            except CheckpointError as error:
                messages.append(str(error))
            if found is not None:
                assert content(found) == content(STATE)
            stream.seek(place)
            stream.write(bytes([byte]))
    assert all(message.startswith(f"{file}: ") and "\n" not in message for message in messages)
    assert len(messages) > 0.7 * len(whole)


def test_every_truncation(file):
    whole = file.read_bytes()
    for length in range(0, len(whole), 50):
        file.write_bytes(whole[:length])
        assert "truncated, damaged, or not a checkpoint" in refusal(file)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("coef", np.zeros(3), r"coef has the shape (3,) instead of (2,)"),
        ("coef", np.zeros((1, 2)), "coef has the shape (1, 2) instead of (2,)"),
        ("coef", np.zeros(2, dtype=np.float32), "coef has numbers of type float32 instead of float64"),
        ("coef", np.array([1.0, np.inf]), "coef has numbers that are not finite"),
        ("coef", np.array(["a", "b"]), "coef has numbers of type <U1"),
        ("coef", None, "coef.npy"),
        ("planes.slopes", np.zeros((3, 10)), "planes.slopes has the shape (3, 10) instead of (3, 2)"),
        ("planes.slopes", SLOPES + 1.0, "planes.gram is not the inner products of planes.slopes"),
        ("planes.gram", np.full((3, 3), np.nan), "planes.gram has numbers that are not finite"),
        ("planes.gram", np.zeros((3, 3)), "planes.gram is not the inner products of planes.slopes"),
        ("planes.gram", np.zeros((2, 3)), "planes.gram has the shape (2, 3) instead of (3, 3)"),
        ("planes.weights", np.full(4, 0.25), "planes.weights has the shape (4,) instead of (3,)"),
        ("planes.weights", np.ones(3), "planes.weights do not sum to 1"),
        ("planes.weights", np.array([1.5, -0.5, 0.0]), "planes.weights has negative numbers"),
        ("planes.fixed", np.full(3, -1.0), "planes.fixed has negative numbers"),
        ("planes.per_radius", np.full(3, -1.0), "planes.per_radius has negative numbers"),
        ("planes.sizes", np.full(3, -1.0), "planes.sizes has negative numbers"),
        ("planes.offsets", np.zeros(0), "it has no planes"),
        ("planes.offsets", np.array(1.0), "it has no planes"),
        ("planes.offsets", np.array([1, 2, 3]), "planes.offsets has numbers of type int64"),
        ("header", np.array(7), "its header is no text"),
        ("header", np.array(["a", "b"]), "its header is no text"),
        ("header", np.array("["), "damaged"),
        ("header", np.array("[" * 100_000), "damaged"),
        ("header", np.array("{}"), "damaged"),
        ("header", np.array("[]"), "its header says something else"),
    ],
)
def test_forged_arrays(file, name, array, message):
    rewritten(file, **{name: array})
    assert message in refusal(file)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("version", 1, "written in version 1 of the format"),
        ("version", 3, "upgrade smoothperf"),
        ("version", True, "its header says something else"),
        ("version", 10**400, "upgrade smoothperf"),
        ("objective", float("nan"), "its objective is nan"),
        ("objective", "high", "could not convert"),
        ("objective", 10**400, "too large"),
        ("mu", -1.0, "its mu -1.0"),
        ("mu", float("inf"), "its mu inf"),
        ("fingerprint", [], "damaged"),
        ("fingerprint", {**FINGERPRINT, "alpha": 0.2}, "with another alpha: 0.2, not 0.1"),
        ("fingerprint", {**FINGERPRINT, "shape": [5, 3]}, "of other data: their shape: [5, 3], not [5, 2]"),
        ("fingerprint", {**FINGERPRINT, "labels": "a\nb" * 1000}, "of other data: their labels: a ba b"),
    ],
)
def test_forged_headers(file, name, value, message):
    with np.load(file) as archive:
        header = json.loads(archive["header"].item())
    rewritten(file, header=np.array(json.dumps({**header, name: value})))
    found = refusal(file)
    assert message in found
    assert len(found) < 1000


def test_arrays_that_claim_to_be_huge(file):
    """No memory is taken for what is not in the file."""
    with zipfile.ZipFile(file) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    wrong = io.BytesIO()
    np.lib.format.write_array_header_1_0(wrong, {"descr": "<f8", "fortran_order": False, "shape": (1 << 60,)})
    for claim in (wrong.getvalue(), b"\x93NUMPY\x02\x00", b""):
        with zipfile.ZipFile(file, "w") as archive:
            for name, member in members.items():
                archive.writestr(name, claim if name == "coef.npy" else member)
        refusal(file)


def test_compressed_archives(file):
    with np.load(file) as archive, open(file.with_suffix(".z"), "wb") as stream:
        np.savez_compressed(stream, **archive)
    assert "header is compressed" in refusal(file.with_suffix(".z"))


def test_what_is_no_file(tmp_path):
    assert "cannot be read" in refusal(tmp_path)
    assert "cannot be read: No such file" in refusal(tmp_path / "none")
