"""Data that need not fit into memory: a folder of NumPy files, which are mapped into memory to train from.

docs/store-files.md says what is in it.
"""

from .layout import StoreError, is_store
from .reader import Store, open_store
from .writer import StoreWriter

__all__ = ["Store", "StoreError", "StoreWriter", "is_store", "open_store"]
