"""The frame of every page: its head, its style, and at most one script, which a content security policy allows."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources


def framed(title: str, made: str, header: str, main: str, script: str | None = None, data: str = "") -> str:
    """Return a whole page; the one script that may run is the given one, and ``data`` is JSON for it."""
    allowed, scripts = "'none'", ""
    if script is not None:
        allowed = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        scripts = f"""<script type="application/json" id="data">{data}</script>
<script>{script}</script>
"""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src {allowed}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{resource("page.css")}</style>
</head>
<body>
<header>
{header}
</header>
<main>
{main}
</main>
<footer>Made {escape(made)}. This page needs no network.</footer>
{scripts}</body>
</html>
"""


def resource(name: str) -> str:
    """Return a file of this folder."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
