"""Imports go down only: a module imports from its own room or from layers below it.

So do those inside functions, and those for the sake of types alone: what a type says of a layer above, a Protocol says
without knowing it.
"""

import ast
from pathlib import Path

import pytest

import smoothperf

ROOT = Path(smoothperf.__file__).parent
#: Rooms (folders and modules of the package), from the top down; rooms of one line do not know each other.
LAYERS = (
    ("__main__",),
    ("cli",),
    ("__init__",),  # what users import; it imports nothing before it is asked for
    ("report", "export"),
    ("plots", "dask", "comparison", "torch", "jax"),
    ("estimators", "datasets", "scorers"),
    ("tasks", "features"),
    ("io",),
    ("evaluation",),
    ("optimise", "losses"),
    ("measures",),
    ("cuts", "design"),
    ("communicator",),
    ("kernels",),
    ("threads", "_files"),
    ("_validation", "_warnings"),
    ("_arrays",),
)
LEVELS = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def imports_of(path, root=ROOT):
    """Yield line and module (a tuple of names below the package) of every import of this package."""
    package = path.relative_to(root).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "smoothperf":
                    yield node.lineno, tuple(name.name.split(".")[1:])
        elif isinstance(node, ast.ImportFrom):
            base = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = package[: len(package) - node.level + 1] + base
            elif base[:1] == ("smoothperf",):
                base = base[1:]
            else:
                continue
            for name in node.names:
                yield node.lineno, (*base, name.name)


def room_of(module, root=ROOT):
    """Return the room of an imported name; names that are no room are of the package itself."""
    known = module and ((root / module[0]).is_dir() or (root / f"{module[0]}.py").exists())
    return module[0] if known else "__init__"


def offences(root=ROOT):
    """Describe every import that goes up, or sideways."""
    for path in sorted(root.rglob("*.py")):
        here = path.relative_to(root).parts
        room = here[0].removesuffix(".py")
        for line, module in imports_of(path, root):
            other = room_of(module, root)
            if other == room or module == ("__version__",):
                continue
            if LEVELS.get(other, -1) <= LEVELS.get(room, len(LAYERS)):
                yield f"{'/'.join(here)}:{line} imports {'.'.join(module)}"


def test_every_room_has_a_layer():
    rooms = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__pycache__"} <= set(LEVELS)


def test_imports_go_down():
    assert "\n".join(offences()) == ""


@pytest.mark.parametrize(
    ("room", "line", "found"),
    [
        ("measures", "from ..optimise import LBFGS", True),
        ("measures", "def late():\n    from .. import optimise", True),
        ("measures", "import smoothperf.optimise.lbfgs", True),
        ("measures", "from smoothperf import LBFGS", True),
        ("cuts", "from ..design import Design", True),
        ("measures", "if TYPE_CHECKING:\n    from ..optimise import LBFGS", True),
        ("measures", "from .. import __version__, kernels", False),
        ("optimise", "from ..measures import Risk", False),
    ],
)
def test_an_import_that_goes_up_is_named(tmp_path, room, line, found):
    for name in ("measures", "cuts", "optimise", "design", "kernels"):
        (tmp_path / name).mkdir()
    (tmp_path / room / "module.py").write_text(line)
    named = list(offences(tmp_path))
    assert bool(named) == found
    assert not found or named[0].startswith(f"{room}/module.py:{line.count(chr(10)) + 1} imports ")
