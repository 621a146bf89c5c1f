"""Files that are written whole, and what is left of those that were not."""

import os
import signal
import subprocess
import sys

import pytest

from smoothperf._files import written_whole

KILLED = """
import os, signal, sys
from smoothperf._files import written_whole
with written_whole(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and locks")
def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path):
    target = tmp_path / "out[1].csv"
    target.write_bytes(b"old")
    ended = subprocess.run([sys.executable, "-c", KILLED, target], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    with written_whole(tmp_path / "other.csv") as file:  # which is not its business
        file.write(b"other")
    assert len(names(tmp_path)) == 3
    with written_whole(target) as file:
        assert len(names(tmp_path)) == 3  # it is gone before anything is written: disks may be full
        file.write(b"new")
    assert names(tmp_path) == ["other.csv", "out[1].csv"]
    assert target.read_bytes() == b"new"


def test_what_somebody_writes_stays(tmp_path):
    target = tmp_path / "out"
    with written_whole(target) as slow:
        slow.write(b"slow")
        with written_whole(target) as quick:
            quick.write(b"quick")
        assert target.read_bytes() == b"quick"
    assert target.read_bytes() == b"slow"
    assert names(tmp_path) == ["out"]


def test_only_files_of_that_name_are_removed(tmp_path):
    digits = "0123456789abcdef" * 2
    kept = [f".out.{digits}", f".outs.{digits}.part", f".out.{digits[1:]}.part", f"out.{digits}.part", ".out.part"]
    for name in kept:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / f".out.{digits[::-1]}.part").symlink_to(tmp_path)
    (tmp_path / f".out.{digits}.part").write_bytes(b"")
    with written_whole(tmp_path / "out"):
        pass
    assert names(tmp_path) == sorted([*kept, "out", f".out.{digits[::-1]}.part"])


def test_others_may_read_it_as_any_file(tmp_path):
    before = os.umask(0o027)
    try:
        with written_whole(tmp_path / "out"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640
