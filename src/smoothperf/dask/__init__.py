"""Training on a Dask cluster: rows stay on the workers, and only small things travel. docs/dask.md says how.

Needs the extra ``dask``: ``pip install 'smoothperf[dask]'``, on the workers as well.
"""

try:
    import distributed as _distributed  # noqa: F401  (it needs dask itself)
except ImportError as _error:
    raise ImportError(
        "smoothperf.dask needs dask and distributed, which are not installed: pip install 'smoothperf[dask]'."
    ) from _error

from .classifier import MeasureClassifier
from .classifier_cv import MeasureClassifierCV
from .connection import Traffic
from .placement import RowsLostError, WorkerError
from .ranker import MeasureRanker

__all__ = ["MeasureClassifier", "MeasureClassifierCV", "MeasureRanker", "RowsLostError", "Traffic", "WorkerError"]
