"""Words of others on a terminal: names of files and features, and labels, may hold characters that command it."""

from __future__ import annotations

import re

#: Control characters, among them the escape that sequences begin with and all that end a line; the two other characters
#: that do; and the stand-ins for bytes of file names that are not UTF-8, which cannot be written.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def visible(text: object) -> str:
    r"""Return text as one line in which such characters are written as in Python: ``\n``, ``\t``, ``\x1b``.

    Examples
    --------
    >>> print(visible("spam\n\x1b[2J"))
    spam\n\x1b[2J
    >>> visible("Füße [1]")
    'Füße [1]'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def visible_lines(text: str) -> str:
    """Return text of several lines, each of them visible."""
    return "\n".join(map(visible, text.split("\n")))


def visible_json(text: str) -> str:
    r"""Return JSON in which such characters, which are in strings only, are written as ``\u001b``."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
