"""The contract between commands and the kind of their rows: reading, training, judging, and the words for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .._features import columns_document, tell_columns
from .._files import Likeness, form_as, form_for, read_rows, shape_line
from .._options import Form
from .._screen import Screen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...comparison.table import Compared
    from ...design.scaling import Scaling
    from ...io import Dataset


@dataclass(frozen=True)
class Worth:
    """The worth of scores by several measures, and the tables that say so.

    Attributes
    ----------
    measures : callable
        All measures by name, of the draw that it is given, or of the rows as they are.
    draws : callable
        Draws with replacement, as multiplicities, given their number and a seed.
    tables : dict
        By heading, the names of measures and what people call them.
    footnote : str
        Said below the tables.
    counts : dict
        By measure, how many of the unit count; empty if all do.
    each : list of dict
        What scores are worth for each of many labels, the best first; empty for others.
    """

    measures: Callable[[NDArray[Any] | None], dict[str, float]]
    draws: Callable[[int, int], Iterator[NDArray[Any]]]
    tables: dict[str, dict[str, str]]
    footnote: str
    counts: dict[str, int] = field(default_factory=dict)
    each: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Kind(ABC):
    """A kind of rows, as far as commands have to know it.

    Attributes
    ----------
    screen : Screen
        The screen for what was found.
    form : Form
        The form of files.
    default_measure : str
        The measure by default.
    unit : str
        The name of what is held out and counted.
    ranks : bool
        Whether models put rows in order, and tell no classes apart.
    """

    screen: Screen
    form: Form

    default_measure: ClassVar[str]
    unit: ClassVar[str]
    ranks: ClassVar[bool]

    @abstractmethod
    def refuse(self, **options: Any) -> None:
        """Fail if an option is given that only makes sense for other kinds."""

    @abstractmethod
    def title(self, measure: Any) -> str:
        """Return what people call the score of a measure."""

    @staticmethod
    @abstractmethod
    def measure_of(measure: Any) -> Any:
        """Return the measure of a name; a ValueError if there is none of such rows."""

    @classmethod
    def knows(cls, measure: str) -> bool:
        """Tell whether there is a measure of such rows of this name; the other kind may have it, too."""
        try:
            cls.measure_of(measure)
        except ValueError:
            return False
        return True

    # --- rows

    @abstractmethod
    def checked(
        self, rows: Dataset, measures: Sequence[str], *, like: Likeness | None = None, pos_label: str | None = None
    ) -> Dataset:
        """Check what rows are, for some measures, and say it."""

    def _tell(self, lines: list[str], data: Dataset, like: Likeness | None) -> None:
        """Say what rows are, and, of a table to learn from, what its columns are taken for."""
        for line in lines:
            self.screen.say(line)
        if like is None and data.encoder is not None:
            tell_columns(self.screen, data.encoder)

    def read_for(self, model: Any, path: Path, *, labelled: bool = True) -> Dataset:
        """Read rows that fit a model: the same features and, if labelled, what the model can be judged by.

        Columns of tables are found by their names, in any order; those that training did not have are not looked at.
        Indices of an svmlight file count as they did in training, unless the user says how they do.
        """
        like = Likeness.of_model(model)
        rows = read_rows(self.screen, path, form_for(model, self.form), like=like, labelled=labelled)
        if labelled:
            return self.checked(rows, [model.measure], like=like)
        self.screen.say(shape_line(rows))
        return rows

    def summary(self, data: Dataset) -> dict[str, Any]:
        """Return what rows are, for machines."""
        import numpy as np

        found = np.unique(data.y, return_counts=True)
        return {
            "path": data.path,
            "format": data.format,
            "rows": data.X.shape[0],
            "features": data.X.shape[1],
            **({} if data.encoder is None else {"columns": columns_document(data.encoder)}),
            **self._counted(data, list(zip(*map(np.ndarray.tolist, found), strict=True))),
        }

    @abstractmethod
    def _counted(self, data: Dataset, found: list[tuple[Any, int]]) -> dict[str, Any]:
        """Return kinds of labels, of which it is known how many rows have them, for machines."""

    @abstractmethod
    def known(self, data: Dataset) -> dict[str, Any]:
        """Return what fit gets beside X."""

    # --- models

    @abstractmethod
    def unscale(self, scaling: Scaling, model: Any) -> None:
        """Turn a model of scaled rows into one of rows as they are."""

    @abstractmethod
    def scores(self, model: Any, X: Any) -> NDArray[Any]:
        """Return scores of rows; higher is more positive, or a better place."""

    @abstractmethod
    def predictions(
        self, model: Any, rows: Dataset, *, what: str, with_ranks: bool, cut: Callable[[Any], float]
    ) -> dict[str, list[Any]]:
        """Return the columns of predictions by name: "label", "score" or "probability", or what there is of a ranking.

        ``cut`` says above which of all scores labels are positive.
        """

    def predicted(self, columns: dict[str, list[Any]]) -> dict[str, Any]:
        """Return predictions for machines."""
        return {f"{name[:-1]}ies" if name[-1] == "y" else f"{name}s": column for name, column in columns.items()}

    @abstractmethod
    def worth(self, model: Any, data: Dataset, scores: NDArray[Any]) -> Worth:
        """Return what scores are worth by all measures."""


@dataclass(frozen=True)
class SingleKind(Kind):
    """A kind of rows that have one answer each: labels of two kinds, or documents of queries.

    Attributes
    ----------
    compared_by_default : tuple of str
        The measures that models are compared by, by default.
    """

    compared_by_default: ClassVar[tuple[str, ...]]

    # --- rows

    def others(self, path: Path, examples: Dataset, measures: Sequence[str]) -> Dataset:
        """Read rows of the same kind as those to train on: the same features, indices that count alike."""
        like = Likeness.of_data(examples)
        rows = read_rows(self.screen, path, form_as(self.form, examples), like=like)
        return self.checked(rows, measures, like=like)

    @abstractmethod
    def count(self, data: Dataset) -> int:
        """Return how many there are of the unit."""

    def part(self, data: Dataset, numbers: NDArray[Any]) -> Dataset:
        """Return some of the rows."""
        known = {name: values[numbers] for name, values in self.known(data).items()}
        return replace(data, X=data.X[numbers], **known)

    @abstractmethod
    def split(self, data: Dataset, measure: str, share: float, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of rows to train on and of a share that is held out."""

    def stacked(self, examples: Dataset, others: Dataset) -> tuple[Dataset, list[tuple[Any, Any]]]:
        """Return the rows of two files one below the other, and the split between them."""
        import numpy as np
        from scipy.sparse import issparse, vstack

        known = self._joined(examples, others)
        if examples.encoder is not None:
            X, n = examples.X.stacked(others.X), examples.X.n_rows
            return replace(examples, X=X, **known), [(np.arange(n), np.arange(n, X.n_rows))]
        pair = (examples.X, others.X)
        X = vstack(pair, format="csr") if issparse(pair[0]) or issparse(pair[1]) else np.vstack(pair)
        n = examples.X.shape[0]
        return replace(examples, X=X, **known), [(np.arange(n), np.arange(n, X.shape[0]))]

    @abstractmethod
    def _joined(self, examples: Dataset, others: Dataset) -> dict[str, Any]:
        """Return what is known of the rows of both."""

    # --- training

    @abstractmethod
    def settings(self, examples: Dataset, shared: dict[str, Any], for_labels: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of an estimator."""

    @abstractmethod
    def single(self, settings: dict[str, Any]) -> Any:
        """Return an estimator for one alpha."""

    @abstractmethod
    def choosing(self, examples: Dataset, settings: dict[str, Any]) -> Any:
        """Return an estimator that chooses; fail if there is too little to choose by."""

    @abstractmethod
    def chosen(self, model: Any) -> Any:
        """Return what such an estimator has chosen, as a model for one alpha."""

    @abstractmethod
    def times_drawn(self, model: Any, examples: Dataset, folds: int) -> int:
        """Return how often folds were drawn for a choice."""

    @abstractmethod
    def compared(
        self, examples: Dataset, others: Dataset | None, measures: list[str], folds: int, pos_label: str | None
    ) -> tuple[Compared[Any], Any, Any, bool]:
        """Return columns and lines of a comparison, rows, others to judge on, perhaps, and whether trees suit them."""

    # --- models

    @abstractmethod
    def about(self, model: Any) -> dict[str, Any]:
        """Return what a model was trained for, and with."""

    @abstractmethod
    def score(self, model: Any, data: Dataset, scores: NDArray[Any]) -> float:
        """Return what scores are worth by the measure of a model."""
