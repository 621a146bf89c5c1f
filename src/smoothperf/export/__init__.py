"""Models as other programs read them: search engines, databases, plain Python, scorecards, ONNX."""

from .opensearch import to_opensearch
from .solr import to_solr
from .vespa import to_vespa

__all__ = ["to_opensearch", "to_solr", "to_vespa"]
