"""The numbers that every report shows, whatever its model was trained for, and the parts of its page."""

from __future__ import annotations

from dataclasses import dataclass, field

from .training import TrainingFacts

#: A value and its 95 % bootstrap interval.
ValueAndInterval = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class ReportContents:
    """The numbers of a report; those of one kind of models are in :class:`LabelContents` and :class:`RankingContents`.

    Attributes
    ----------
    model_name, data_name : str
        Names of the two files.
    training : TrainingFacts
        About the model.
    constant, empty : bool
        Whether the model is constant: all rows have the same score, perhaps because it has no weight at all.
    measures : dict of str to (float, float, float)
        Values and 95 % bootstrap intervals.
    made : str
        Date and version.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> from smoothperf.report import gather
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> isinstance(gather(MeasureClassifier(alpha=0.1).fit(X, y), X, y), ReportContents)
    True
    """

    model_name: str
    data_name: str
    training: TrainingFacts
    constant: bool
    empty: bool
    measures: dict[str, ValueAndInterval]
    made: str


@dataclass(frozen=True)
class Parts:
    """Parts of a page that depend on the kind of model, as HTML.

    Attributes
    ----------
    lead : str
        Kind of model, and the rows that judge it, around the words for its training.
    note : str
        Below the tiles.
    sections : str
        Between the tiles and the certificate.
    rows, labels : dict of str to str
        Facts on training rows and on labels, as text.
    script, data : str
        The script, and JSON for it.
    """

    lead: tuple[str, str]
    note: str
    sections: str
    rows: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    script: str | None = None
    data: str = ""
