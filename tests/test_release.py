"""Facts that are written in several places are the same: the version, needs, tests; actions are pinned."""

import re
import tomllib
from pathlib import Path

import yaml

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


def test_the_recipe_has_the_version_and_what_is_needed():
    recipe = yaml.safe_load((ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert (recipe["context"]["version"],) == first(r"^  version: '([^']+)'", "meson.build")
    needed = [each.replace(" ", "") for each in recipe["requirements"]["run"] if each != "python"]
    assert needed == [each for each in project["project"]["dependencies"] if ";" not in each]
    build = {each.replace(" ", "").lower() for each in recipe["requirements"]["host"]} - {"python", "pip"}
    assert build == {each.lower() for each in project["build-system"]["requires"]}
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {place}" for name, place in project["project"]["scripts"].items()
    ]


def test_actions_are_pinned_by_commit():
    workflows = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob(".github/workflows/*.yml")}
    uses = [line for text in workflows.values() for line in re.findall(r"uses: (.*)", text)]
    assert len(uses) > 20
    assert [line for line in uses if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v[\d.]+", line)] == []
    for name, text in workflows.items():
        found = yaml.safe_load(text)
        assert found["permissions"] in ({"contents": "read"}, {}), name
        assert all("runs-on" in job and job["steps"] for job in found["jobs"].values()), name
