"""The results in docs/paper are those of a full run, and page and claims are what its CSV files say."""

import shutil
from pathlib import Path

from reproduction import show
from reproduction.results import read

DOCS = Path(__file__).resolve().parents[2] / "docs" / "paper"


def test_page_and_claims_are_made_from_the_csv_files(tmp_path, no_drawing):
    for path in DOCS.glob("*.csv"):
        shutil.copy(path, tmp_path)
    (tmp_path / "claims.csv").unlink()
    show.show(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in DOCS.iterdir()}
    for name in ("README.md", "claims.csv"):
        assert (tmp_path / name).read_text("utf-8") == (DOCS / name).read_text("utf-8"), (
            f"python -m reproduction run --redraw --output docs/paper: {name}"
        )


def test_it_is_a_full_run():
    results = read(DOCS)
    assert results.about["run"] == "full"
    there = [line.dataset for line in results.lines if line.file]
    for comparisons in results.comparisons.values():
        assert [comparison.dataset for comparison in comparisons] == there


def test_files_are_small():
    for path in DOCS.iterdir():
        assert path.stat().st_size < 200_000, path.name
