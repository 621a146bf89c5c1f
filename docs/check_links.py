"""Look at the built site: every link inside it leads somewhere, and no page loads anything from the network.

``python docs/check_links.py docs/_build/html`` prints what is wrong, and ends with status 1 if anything is. Links to
other sites are looked at for their form only: whether they answer depends on the day.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes whose files a browser fetches when it shows a page.
LOADED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src")}
#: Kinds of <link> that it fetches, too.
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag."""
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        self.loaded += [found[name] for kind, name in LOADED if kind == tag and name in found]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and LOADED_LINKS & set(found.get("rel", "").split()):
            self.loaded.append(found["href"])


def wrong_links(root: Path) -> list[str]:
    """Return a line for each link that leads nowhere, and for each file from elsewhere that a page loads."""
    root = root.resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html")) if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            reason = _whats_wrong(link, path, pages, is_loaded=link in page.loaded)
            if reason:
                found.append(f"{path.relative_to(root)}: {link}: {reason}")
    return found


def _whats_wrong(link: str, path: Path, pages: dict[Path, Page], *, is_loaded: bool) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        if parts.scheme == "data":
            return None
        if is_loaded:
            return "is loaded from the network"
        good = parts.scheme in ("http", "https") and "." in parts.netloc and " " not in link
        return None if good else "is no address"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "the page has no such anchor"
    return None


if __name__ == "__main__":
    wrong = wrong_links(Path(sys.argv[1]))
    print("\n".join(wrong) or "All links lead somewhere, and nothing is loaded from the network.")
    sys.exit(bool(wrong))
