"""Models as other programs read them: search engines, databases, plain Python, scorecards, ONNX."""

from .onnx import to_onnx
from .opensearch import to_opensearch
from .python import to_python
from .scorecard import to_scorecard
from .solr import to_solr
from .sql import to_sql
from .vespa import to_vespa

__all__ = ["to_onnx", "to_opensearch", "to_python", "to_scorecard", "to_solr", "to_sql", "to_vespa"]
