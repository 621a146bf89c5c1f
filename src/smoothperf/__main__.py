"""``smoothperf`` and ``python -m smoothperf`` are the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is being imported is one line, too."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("smoothperf: interrupted; nothing was written.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
