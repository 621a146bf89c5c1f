"""What scores are worth: rankings and every measure of them, bootstrap, and contests between ways of training."""

from .bootstrap import interval, resamples
from .names import NAMES, column_of, title_of
from .ranking import Ranking, tells_nothing

__all__ = ["NAMES", "Ranking", "column_of", "interval", "resamples", "tells_nothing", "title_of"]
