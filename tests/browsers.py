"""Find a Chromium for the tests of the report, or get one: ``python tests/browsers.py`` prints where it is."""

import os
import shutil
import subprocess
import sys

#: Names that a Chromium may have on the PATH.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HELP = (
    "No Chromium can be had here. Install one (Debian: apt-get install chromium; elsewhere Google Chrome will do), "
    "or name one that is there: CHROME=/path/to/chrome make test-browser."
)


def find():
    """Return the path of a Chromium: that of CHROME, one on the PATH, or playwright's own; None if there is none."""
    named = os.environ.get("CHROME")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None) or playwrights_own()


def playwrights_own():
    """Return the path of the browser that playwright has downloaded, None if it has not."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if os.path.exists(path) else None


def get():
    """Return the path of a Chromium, which is installed if need be: by apt as root, or by playwright; None if not.

    One that CHROME names is not looked for elsewhere.
    """
    if os.environ.get("CHROME"):
        return find()
    return find() or (by_apt() and find()) or (by_playwright() and find()) or None


def by_apt():
    """Install the system's package; only root may."""
    if shutil.which("apt-get") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium"]
    # Lists of packages are often missing in containers.
    return any(
        all(subprocess.run(command, env=quiet, stdout=sys.stderr).returncode == 0 for command in commands)
        for commands in ([install], [["apt-get", "update", "--quiet"], install])
    )


def by_playwright():
    """Have playwright download its own."""
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    return subprocess.run(command, stdout=sys.stderr).returncode == 0


if __name__ == "__main__":
    sys.exit(HELP if (found := get()) is None else print(found))
