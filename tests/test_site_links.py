"""The checker of the site's links finds what is wrong, and nothing else."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "docs" / "check_links.py"
OTHER = '<h1 id="top">Other</h1>'


@pytest.fixture(scope="module")
def wrong_links():
    spec = importlib.util.spec_from_file_location("check_links", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.wrong_links


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ('<a href="pages/other.html#top">', None),
        ('<a href="#here">', None),
        ('<a href="pages/">', "there is no such file"),
        ('<a href="https://docs.dask.org/en/">', None),
        ('<img src="data:image/png;base64,aaaa">', None),
        ('<a href="missing.html">', "there is no such file"),
        ('<a href="pages/other.html#bottom">', "the page has no such anchor"),
        ('<a href="#there">', "the page has no such anchor"),
        ('<a href="mailto:precision@100">', "is no address"),
        ('<a href="https://nowhere">', "is no address"),
        ('<script src="https://cdn.example.org/a.js">', "is loaded from the network"),
        ('<link rel="stylesheet" href="//cdn.example.org/a.css">', "is loaded from the network"),
        ('<img src="missing.png">', "there is no such file"),
    ],
)
def test_each_kind_of_link(wrong_links, tmp_path, tag, reason):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "other.html").write_text(OTHER)
    (tmp_path / "index.html").write_text(f'<p id="here">{tag}')
    found = wrong_links(tmp_path)
    assert [line.rpartition(": ")[2] for line in found] == ([] if reason is None else [reason])
