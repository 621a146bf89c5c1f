"""Facts that are written in several places are the same: the version, and where tests are."""

import re
from pathlib import Path

from portable import KINDS

ROOT = Path(__file__).parent.parent


def first(pattern, file):
    return re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE).groups()


def test_changelog_and_citation_have_the_version_of_the_build():
    (version,) = first(r"^  version: '([^']+)'", "meson.build")
    released = first(r"^## (\d\S*) - (\S+)$", "CHANGELOG.md")
    cited = first(r"^version: (\S+)\ndate-released: (\S+)$", "CITATION.cff")
    assert released == cited
    assert cited[0] == version.removesuffix(".dev0")


def test_tests_and_kinds_of_machines_that_other_files_name_exist():
    files = [ROOT / name for name in ("Makefile", "pyproject.toml", ".ci/run", *ROOT.glob(".github/workflows/*.yml"))]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    long = re.findall(r'^    "(\S+\.py)",$', (ROOT / "tests/conftest.py").read_text(encoding="utf-8"), re.MULTILINE)
    parts = " ".join(kind.part for kind in KINDS.values()).split()
    named = {*re.findall(r"tests/([\w./]*\w)", text), *long, *parts}
    assert len(named) > 30
    assert [name for name in sorted(named) if not (ROOT / "tests" / name).exists()] == []
    kinds = " ".join(
        re.findall(r'KIND="([^"$]+)"', text)
        + re.findall(r'"([^"]+)"', first(r"kinds: \[(.+)\]", ".github/workflows/tests.yml")[0])
    ).split()
    assert len(kinds) > 5
    assert set(kinds) <= set(KINDS)
