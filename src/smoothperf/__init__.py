"""smoothperf: linear models trained for the performance measure itself, with certified gaps.

The names below are imported when they are first asked for, so that ``smoothperf --help`` need not wait for
scikit-learn.
"""

import importlib as _importlib
import os as _os
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from .estimators.choice import GridEdgeWarning
    from .estimators.classifier import MeasureClassifier
    from .estimators.classifier_cv import MeasureClassifierCV
    from .estimators.messages import ZeroModelWarning
    from .estimators.multilabel import MultilabelMeasureClassifier
    from .estimators.multilabel_cv import MultilabelMeasureClassifierCV
    from .estimators.operating_point import OperatingPointClassifier, threshold_for
    from .estimators.path import RegularizationPath, regularization_path
    from .estimators.ranker import MeasureRanker
    from .estimators.ranker_cv import MeasureRankerCV
    from .features import TableEncoder
    from .measures import (
        NDCG,
        PRBEP,
        AveragePrecision,
        BalancedErrorRate,
        ErrorRate,
        FBeta,
        Jaccard,
        LogLoss,
        MatthewsCorrelation,
        PartialROCArea,
        PooledSquaredLoss,
        PositivesAtTop,
        PrecisionAtK,
        PrecisionAtRecall,
        QueryAveragePrecision,
        QueryPrecision,
        QueryRecall,
        QueryROCArea,
        QuerySquaredLoss,
        RecallAtFPR,
        RecallAtK,
        RecallAtPrecision,
        ReciprocalRank,
        ROCArea,
        SquaredHinge,
        TargetWarning,
    )
    from .optimise import BMRM, LBFGS, Nesterov, Newton, Result, Status
    from .optimise.smoothing import Adaptive, Fixed

__version__: str

__all__ = [
    "BMRM",
    "LBFGS",
    "NDCG",
    "PRBEP",
    "Adaptive",
    "AveragePrecision",
    "BalancedErrorRate",
    "ErrorRate",
    "FBeta",
    "Fixed",
    "GridEdgeWarning",
    "Jaccard",
    "LogLoss",
    "MatthewsCorrelation",
    "MeasureClassifier",
    "MeasureClassifierCV",
    "MeasureRanker",
    "MeasureRankerCV",
    "MultilabelMeasureClassifier",
    "MultilabelMeasureClassifierCV",
    "Nesterov",
    "Newton",
    "OperatingPointClassifier",
    "PartialROCArea",
    "PooledSquaredLoss",
    "PositivesAtTop",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "QueryAveragePrecision",
    "QueryPrecision",
    "QueryROCArea",
    "QueryRecall",
    "QuerySquaredLoss",
    "ROCArea",
    "RecallAtFPR",
    "RecallAtK",
    "RecallAtPrecision",
    "ReciprocalRank",
    "RegularizationPath",
    "Result",
    "SquaredHinge",
    "Status",
    "TableEncoder",
    "TargetWarning",
    "ZeroModelWarning",
    "load",
    "regularization_path",
    "threshold_for",
]

#: Where names come from that are no measures.
_HOMES = {
    ".estimators.classifier": ("MeasureClassifier",),
    ".estimators.messages": ("ZeroModelWarning",),
    ".estimators.classifier_cv": ("MeasureClassifierCV",),
    ".estimators.multilabel": ("MultilabelMeasureClassifier",),
    ".estimators.multilabel_cv": ("MultilabelMeasureClassifierCV",),
    ".estimators.choice": ("GridEdgeWarning",),
    ".estimators.operating_point": ("OperatingPointClassifier", "threshold_for"),
    ".estimators.path": ("RegularizationPath", "regularization_path"),
    ".estimators.ranker": ("MeasureRanker",),
    ".estimators.ranker_cv": ("MeasureRankerCV",),
    ".features": ("TableEncoder",),
    ".optimise.smoothing": ("Adaptive", "Fixed"),
    ".optimise": ("BMRM", "LBFGS", "Nesterov", "Newton", "Result", "Status"),
}


def load(path: str | _os.PathLike[str]) -> _Any:
    """Read a fitted model from a file; see :func:`smoothperf.io.model_file.load_model`.

    Parameters
    ----------
    path : path-like
        The file, written by ``save``.

    Returns
    -------
    estimator
        The model, fitted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import smoothperf
    >>> clf = smoothperf.MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> file = Path(tempfile.mkdtemp(), "small.model")
    >>> clf.save(file)
    >>> smoothperf.load(file).predict([[0.0], [3.0]])
    array([0, 1])
    """
    from . import features  # noqa: F401 (which enters what a file may hold, as those do)
    from .estimators import classifier, multilabel, ranker  # noqa: F401
    from .io.model_file import load_model

    return load_model(path)


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("smoothperf")
    if name in __all__:
        home = next((home for home, names in _HOMES.items() if name in names), ".measures")
        return getattr(_importlib.import_module(home, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
