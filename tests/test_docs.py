"""The documents: examples run, links lead somewhere, cited labels exist, and tables of names are true."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MATHS = ROOT / "docs" / "maths.md"
DOCUMENTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
SOURCES = sorted(path for ext in ("py", "pyx", "h") for path in (ROOT / "src").rglob(f"*.{ext}"))
MODULES = [
    importlib.import_module("smoothperf" + suffix)
    for suffix in (
        "",
        ".measures",
        ".measures.base",
        ".measures.risk",
        ".measures.bins",
        ".measures.pairs",
        ".measures.projection",
        ".optimise.objective",
        ".optimise.elastic_net",
        ".optimise.penalties",
        ".optimise.certificate",
        ".optimise",
        ".design",
        ".kernels",
        ".optimise.row_space",
        ".communicator",
        ".measures.projection",
    )
]

#: Modules whose public names docs/api.rst lists, all of them.
PUBLIC = (
    "",
    ".measures",
    ".optimise",
    ".design",
    ".scorers",
    ".io",
    ".plots",
    ".dask",
    ".evaluation",
    ".datasets",
    ".report",
    ".export",
)

LABEL = r"[a-z]+(?:-[a-z]+)*"
CITATIONS = (
    # An equation's tag at the end of a line, set apart by spaces.
    re.compile(rf"\S.*? {{2,}}\(({LABEL})\)$", re.MULTILINE),
    # A hyphenated name alone in parentheses.
    re.compile(r"\(([a-z]+(?:-[a-z]+)+)\)"),
    # A section or equation, cited with the document's name; the two may be on different lines.
    re.compile(rf"docs/maths\.md,[\s#]+(?:eq\.[\s#]+)?({LABEL})"),
)


def prompt_blocks(document: Path) -> list[tuple[int, str]]:
    """Line number and text of every Python block of a document that has prompts."""
    text = document.read_text(encoding="utf-8")
    blocks = re.finditer(r"^```(?:python|pycon)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    prompt = re.compile(r"^\s*>>> ", re.MULTILINE)
    return [(text.count("\n", 0, block.start(1)), block[1]) for block in blocks if prompt.search(block[1])]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_run(document: Path) -> None:
    # The blocks of one document share their names, as a reader would expect.
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    report: list[str] = []
    failed = 0
    for line, block in prompt_blocks(document):
        test = doctest.DocTestParser().get_doctest(block, names, document.name, str(document), line)
        failed += runner.run(test, out=report.append, clear_globs=False).failed
        names = test.globs
    assert failed == 0, "".join(report)


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    # On a code host, which has runs of workflows in ../../actions; `make docs` looks at those of the site. It makes
    # docs/gallery, which only the home page links to.
    prose = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose)
    local = [target for target in targets if not target.startswith(("https://", "gallery/", "../../actions/"))]
    missing = [target for target in local if not (document.parent / target).exists()]
    assert not missing


def test_maths_has_examples() -> None:
    assert len(prompt_blocks(MATHS)) >= 7


def anchors() -> set[str]:
    found = re.findall(r'<a id="([^"]+)"></a>', MATHS.read_text(encoding="utf-8"))
    assert len(found) == len(set(found)), "an anchor occurs twice"
    return set(found)


@functools.cache
def cited_labels() -> dict[str, set[str]]:
    """Label -> the files that cite it."""
    cited: dict[str, set[str]] = {}
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        for pattern in CITATIONS:
            for label in pattern.findall(text):
                cited.setdefault(label, set()).add(source.name)
    return cited


def test_citations_are_found() -> None:
    # All three ways of citing, so that the next test cannot pass because the patterns find nothing.
    assert {"objective", "prbep-risk", "simplex-qp", "plane", "certificate", "slips"} <= cited_labels().keys()


def test_cited_labels_exist() -> None:
    known = anchors()
    missing = [
        f"({label}) in {', '.join(sorted(files))}"
        for label, files in cited_labels().items()
        if label not in known and f"eq-{label}" not in known
    ]
    assert not missing, f"without an anchor in docs/maths.md, or not meant as a citation: {missing}"


def test_equations_show_their_label() -> None:
    text = MATHS.read_text(encoding="utf-8")
    labels = {anchor.removeprefix("eq-") for anchor in anchors() if anchor.startswith("eq-")}
    # Each anchor stands right before the equation with its tag; no tag is without an anchor.
    tagged = re.findall(rf'<a id="eq-({LABEL})"></a>\n\n\$\$\n[^$]*\\tag\{{({LABEL})\}}\n\$\$', text)
    assert all(anchor == tag for anchor, tag in tagged)
    assert {anchor for anchor, _ in tagged} == labels == set(re.findall(r"\\tag\{([^}]*)\}", text))


def test_document_cites_only_its_own_labels() -> None:
    text = MATHS.read_text(encoding="utf-8")
    known = anchors()
    prose = re.sub(r"^```.*?^```$|\$\$.*?\$\$|\$.*?\$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert {f"eq-{label}" for label in CITATIONS[1].findall(prose)} <= known
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= known


def code_names() -> list[str]:
    """Read the expressions in backticks in the last column of the notation table."""
    table = MATHS.read_text(encoding="utf-8").split('<a id="notation"></a>')[1].split("\n\n")[1]
    rows = [row.strip().strip("|").split("|") for row in table.strip().splitlines()]
    assert all(len(row) == 3 for row in rows)
    return list(dict.fromkeys(name for row in rows[2:] for name in re.findall(r"`([^`]+)`", row[2])))


def assert_exists(node: ast.expr) -> object:
    """Find the object that a dotted name or a call's function refers to."""
    if isinstance(node, ast.Call):
        found = assert_exists(node.func)
        parameters = inspect.signature(found).parameters  # type: ignore[arg-type]
        unknown = {keyword.arg for keyword in node.keywords} - parameters.keys()
        assert not unknown, f"{ast.unparse(node.func)} has no argument {unknown}"
        return found
    if isinstance(node, ast.Attribute):
        return member(assert_exists(node.value), node.attr)
    assert isinstance(node, ast.Name)
    for module in MODULES:
        if hasattr(module, node.id):
            return getattr(module, node.id)
    raise AssertionError(f"no {node.id} in smoothperf")


def member(owner: object, name: str) -> object:
    """Find an attribute of a class: one that it has, that it declares, or that its constructor takes."""
    if hasattr(owner, name):
        return getattr(owner, name)
    assert inspect.isclass(owner)
    declared = {key for cls in owner.__mro__ for key in inspect.get_annotations(cls)}
    assert name in declared | inspect.signature(owner).parameters.keys(), f"{owner.__name__} has no {name}"
    return None


@pytest.mark.parametrize("name", code_names())
def test_notation_names_exist(name: str) -> None:
    assert_exists(ast.parse(name, mode="eval").body)


def listed_names() -> list[str]:
    """Read the full names in the tables of docs/api.rst."""
    names, module = [], ""
    for line in (ROOT / "docs" / "api.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_.]+", line):
            names.append(f"{module}.{line.strip()}")
    return names


def found_object(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_reference_lists_everything_public() -> None:
    listed = [found_object(name) for name in listed_names()]
    described = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    missing = [
        f"smoothperf{suffix}.{name}"
        for suffix in PUBLIC
        for name in importlib.import_module("smoothperf" + suffix).__all__
        # Ready scorers and names of types are in a sentence.
        if f"``{name}``" not in described
        and not any(found_object(f"smoothperf{suffix}.{name}") is known for known in listed)
    ]
    assert not missing


@pytest.mark.parametrize("name", listed_names())
def test_everything_in_the_reference_has_an_example(name: str) -> None:
    thing = found_object(name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        assert ">>> " in (thing.__doc__ or "")
    else:  # a table of names
        assert isinstance(thing, (dict, tuple))
