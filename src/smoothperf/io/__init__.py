"""Files: data of every format, stores of rows that need not fit into memory, and models."""

from .conversion import convert
from .dataset import DataError, Dataset
from .npz import write_npz
from .read import read_data
from .store import Store, StoreError, StoreWriter, open_store

__all__ = [
    "DataError",
    "Dataset",
    "Store",
    "StoreError",
    "StoreWriter",
    "convert",
    "open_store",
    "read_data",
    "write_npz",
]
