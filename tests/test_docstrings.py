"""Docstrings of all that docs/api.rst lists: parameters and return values, as numpydoc validates them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from test_docs import found_object, listed_names

WHERE = "numpydoc comes with `make lint` and `make docs`"
validate = pytest.importorskip("numpydoc.validate", reason=WHERE).validate
get_doc_object = pytest.importorskip("numpydoc.docscrape", reason=WHERE).get_doc_object

#: No docstring; sections in an unusual order; parameters that are missing, unknown or written in another way; return
#: values or yields that are missing.
CHECKS = {"GL08", "GL07", "PR01", "PR02", "PR05", "PR07", "PR10", "RT01", "YD01"}
#: A line says it all of what members of a group ask each other.
OTHERS = "smoothperf.communicator"


def methods(cls: type[Any]) -> Iterator[FunctionType]:
    """Public methods of a class that are ours, each where it is defined first: others keep what is promised there."""
    for name in dir(cls):
        first = [vars(base)[name] for base in cls.__mro__ if name in vars(base)][-1:]
        for function in (getattr(method, "__func__", method) for method in first):
            ours = isinstance(function, FunctionType) and function.__module__.startswith("smoothperf")
            if ours and not name.startswith("_") and function.__module__ != OTHERS:
                yield function


def public() -> dict[str, Any]:
    things = {name: found_object(name) for name in listed_names()}
    classes = [thing for thing in things.values() if inspect.isclass(thing)]
    callables = {name: thing for name, thing in things.items() if thing in classes or inspect.isroutine(thing)}
    return callables | {f"{it.__module__}.{it.__qualname__}": it for cls in classes for it in methods(cls)}


def fields(cls: type[Any]) -> set[str]:
    """Names in the tables of a class and its bases: the fields of a data class are its attributes."""
    tables = [get_doc_object(base) for base in cls.__mro__ if base.__module__.startswith("smoothperf")]
    lines = [line for table in tables for part in ("Attributes", "Parameters") for line in table[part]]
    return {name for line in lines for name in line.name.split(", ")}


PUBLIC = public()


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_and_return_values_are_described(name: str) -> None:
    thing = PUBLIC[name]
    wrong = {code: text for code, text in validate(get_doc_object(thing))["errors"] if code in CHECKS}
    if "PR01" in wrong and inspect.isclass(thing):
        parameters = set() if issubclass(thing, Enum) else set(inspect.signature(thing).parameters)
        assert parameters <= fields(thing)
        del wrong["PR01"]
    assert not wrong


def test_docstrings_begin_with_nouns_or_verbs() -> None:
    clause = re.compile(r'^\s*[rf]?"""(What|How|Where|When|Who|Which)\b.*', re.MULTILINE)
    house = Path(__file__).parents[1]
    files = [path for room in ("src", "tests", "examples", "benchmarks") for path in (house / room).rglob("*.py*")]
    texts = {
        path.relative_to(house): path.read_text("utf-8") for path in files if path.suffix in (".py", ".pyx", ".pyi")
    }
    assert {str(path): found[0] for path, text in texts.items() if (found := clause.search(text))} == {}
