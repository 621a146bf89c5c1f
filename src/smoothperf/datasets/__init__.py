"""Data to learn from: generated problems, and the data sets of the paper by name."""

from .download import fetch
from .loading import MissingDataError, PaperData, load
from .recipes import Part
from .registry import REGISTRY, PaperDataset, Relation, describe
from .synthetic import make_rare_positives

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
    "make_rare_positives",
]
