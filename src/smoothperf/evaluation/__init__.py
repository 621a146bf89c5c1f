"""What scores are worth: rankings and every measure of them, bootstrap, and contests between ways of training."""

from .ranking import NAMES, Cuts, Ranking, column_of, interval, resamples, tells_nothing, title_of

__all__ = ["NAMES", "Cuts", "Ranking", "column_of", "interval", "resamples", "tells_nothing", "title_of"]
