"""Data that does not fit into memory: a file of CSR rows in blocks with checksums, to train from while it is read.

The format is described byte by byte in docs/store-files.md.
"""

from .layout import StoreError, is_store
from .reader import Store, open_store
from .writer import StoreWriter

__all__ = ["Store", "StoreError", "StoreWriter", "is_store", "open_store"]
