"""The data sets of the paper by name."""

from .download import fetch
from .loading import MissingDataError, PaperData, load
from .recipes import Part
from .registry import REGISTRY, PaperDataset, Relation, describe

__all__ = [
    "REGISTRY",
    "MissingDataError",
    "PaperData",
    "PaperDataset",
    "Part",
    "Relation",
    "describe",
    "fetch",
    "load",
]
