"""Data files: svmlight, NumPy archives, CSV and Parquet, read by one function."""

from .dataset import DataError, Dataset
from .npz import write_npz
from .read import read_data

__all__ = ["DataError", "Dataset", "read_data", "write_npz"]
