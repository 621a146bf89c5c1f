"""Linear-fractional measures: F-beta and the Jaccard index. See :mod:`.fractional_risk` for their risk."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from .._arrays import Array, Numbers
from .._validation import positive_number
from ..cuts.steady import steady_cut
from ..cuts.threshold_search import Ordering
from .base import Measure
from .examples import Examples
from .fractional_risk import FractionalRisk


class FractionalMeasure(Measure):
    """Base of F-beta and the Jaccard index: a linear-fractional loss of missed and false positives."""

    fits_bias: ClassVar[bool] = True

    @property
    @abstractmethod
    def _coefficients(self) -> tuple[float, float]:
        """``p`` and ``r`` of (fractional-loss)."""

    def risk(self, examples: Examples) -> FractionalRisk:
        """Return the convex risk (fractional-risk); see :meth:`Measure.risk`."""
        return examples.version(FractionalRisk)(examples, *self._coefficients)

    def score_of(self, examples: Examples, scores: Array) -> float:
        """Return the measure of the predictions ``scores > 0``."""
        predicted, positive = scores > 0.0, examples.positive
        hits, false = examples.here(predicted & positive), examples.here(predicted & ~positive)
        return float(self.of_counts(hits, false, examples.positive_weight))

    def cut(self, examples: Examples, scores: Array) -> float:
        """Return where to cut scores: amid the cuts for which the measure is almost highest."""
        positives = examples.positive_weight

        def loss(hits: Array, false: Array) -> Array:
            return 1.0 - self.of_counts(hits, false, positives)

        return steady_cut(examples.version(Ordering)(scores, examples.weights), examples.positive, loss)

    def of_counts(self, hits: Numbers, false: Numbers, positives: Any) -> Numbers:
        """``1 - delta``, from the weights of true and of false positives: numbers or arrays.

        Parameters
        ----------
        hits, false : float or ndarray
            Weights of true and of false positives.
        positives : float or ndarray
            Weight of all positives.

        Returns
        -------
        float or ndarray
            The measure.
        """
        above, below = self.parts_of_counts(hits, false, positives)
        return above / below

    def parts_of_counts(self, hits: Numbers, false: Numbers, positives: Any) -> tuple[Numbers, Numbers]:
        """Numerator and denominator of :meth:`of_counts`: both add up over labels.

        Parameters
        ----------
        hits, false : float or ndarray
            Weights of true and of false positives.
        positives : float or ndarray
            Weight of all positives.

        Returns
        -------
        above, below : float or ndarray
            Their ratio is the measure.
        """
        p, r = self._coefficients
        return (p + r) * hits, p * positives + r * hits + false


@dataclass(frozen=True)
class FBeta(FractionalMeasure):
    """Weighted harmonic mean of precision and recall, of the examples with a score above 0.

    Parameters
    ----------
    beta : float, default=1.0
        Importance of recall, in units of that of precision.

    Examples
    --------
    >>> from smoothperf import FBeta
    >>> y, scores = [1, 1, -1, -1, -1], [0.9, -0.2, 0.7, -0.1, -0.5]
    >>> FBeta().score(y, scores)
    0.5
    >>> FBeta().threshold(y, scores)
    -0.35
    >>> FBeta(beta=2).name
    'f2'
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", positive_number("beta", self.beta, hint="F1 has beta=1."))

    @property
    def name(self) -> str:
        """``f`` and the beta; with a point beyond 9."""
        number = f"{self.beta:g}"
        return f"f{number}" if self.beta < 10.0 or "." in number else f"f{number}.0"

    @property
    def _coefficients(self) -> tuple[float, float]:
        return self.beta**2, 1.0


@dataclass(frozen=True)
class Jaccard(FractionalMeasure):
    """Jaccard index of the positives and of the examples with a score above 0: their intersection over their union.

    Examples
    --------
    >>> from smoothperf import Jaccard
    >>> Jaccard().score([1, 1, -1, -1, -1], [0.9, 0.2, 0.7, -0.1, -0.5])
    0.6666666666666666
    """

    @property
    def name(self) -> str:
        """The name that :func:`~smoothperf.measures.get_measure` knows."""
        return "jaccard"

    @property
    def _coefficients(self) -> tuple[float, float]:
        return 1.0, 0.0
