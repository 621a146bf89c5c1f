"""The version is the same wherever it is written."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def first(pattern, file):
    return re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE).groups()


def test_changelog_and_citation_have_the_version_of_the_build():
    (version,) = first(r"^  version: '([^']+)'", "meson.build")
    released = first(r"^## (\d\S*) - (\S+)$", "CHANGELOG.md")
    cited = first(r"^version: (\S+)\ndate-released: (\S+)$", "CITATION.cff")
    assert released == cited
    assert cited[0] == version.removesuffix(".dev0")
