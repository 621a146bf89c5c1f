"""Downloads, from a server on this machine."""

import dataclasses
import functools
import hashlib
import http.server
import threading

import pytest

from reproduction.datasets import REGISTRY, fetch, load
from reproduction.datasets.registry import File


@pytest.fixture
def server(tmp_path):
    """Serve a folder; returns the folder and its address."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture
def web8_at(monkeypatch):
    """Let web8 be fetched from elsewhere, with a checksum for its first file."""

    def web8_at(address, sha256=None):
        entry = REGISTRY["web8"]
        files = (File("w8a", f"{address}/w8a", sha256), File("w8a.t", f"{address}/w8a.t", optional=True))
        form = dataclasses.replace(entry.forms[0], files=files)
        monkeypatch.setitem(REGISTRY, "web8", dataclasses.replace(entry, forms=(form,)))

    return web8_at


def test_fetch_then_load(server, web8_at, write, cache_dir):
    folder, address = server
    content = write(folder / "w8a", 80).read_bytes()
    write(folder / "w8a.t", 40)
    web8_at(address, hashlib.sha256(content).hexdigest())
    told = []
    paths = fetch("web8", tell=told.append)
    assert [path.name for path in paths] == ["w8a", "w8a.t"]
    assert all(path.parent == cache_dir for path in paths)
    assert paths[0].read_bytes() == content
    assert "as it should be" in told[0]
    assert "not known, so not checked" in told[1]
    assert load("web8").train.X.shape == (80, 300)


def test_what_is_there_is_not_fetched_again(server, web8_at, write, cache_dir):
    folder, address = server
    write(folder / "w8a")
    write(folder / "w8a.t")
    web8_at(address)
    cache_dir.mkdir()
    (cache_dir / "w8a").write_text("mine")
    told = []
    fetch("web8", tell=told.append)
    assert (cache_dir / "w8a").read_text() == "mine"
    assert "there already" in told[0]


def test_what_differs_is_left_alone_and_reported(web8_at, cache_dir):
    web8_at("http://127.0.0.1:1", "0" * 64)
    cache_dir.mkdir()
    (cache_dir / "w8a").write_text("mine")
    with pytest.raises(ValueError, match="left as it is"):
        fetch("web8")
    assert (cache_dir / "w8a").read_text() == "mine"


def test_a_wrong_checksum_leaves_no_file(server, web8_at, write, cache_dir):
    folder, address = server
    write(folder / "w8a")
    web8_at(address, "0" * 64)
    with pytest.raises(ValueError, match="could not be fetched"):
        fetch("web8")
    assert not (cache_dir / "w8a").exists()


def test_no_network_is_one_line(web8_at):
    web8_at("http://127.0.0.1:1")
    with pytest.raises(ValueError, match=r"w8a could not be fetched: no answer; is there a network\?$"):
        fetch("web8")


def test_what_is_not_there_is_one_line(server, web8_at):
    web8_at(server[1])
    with pytest.raises(ValueError, match=r"w8a could not be fetched: 404"):
        fetch("web8")


@pytest.mark.parametrize("name", ["astro-ph", "aut-avn", "worm"])
def test_sets_without_a_location_say_so(name):
    with pytest.raises(ValueError, match=f"^{name} cannot be fetched: "):
        fetch(name)
