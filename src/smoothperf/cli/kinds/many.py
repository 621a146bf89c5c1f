"""Rows with any number of labels, or one of three and more, and the classifiers that commands train for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from .._errors import fail
from .._files import Likeness, shape_line
from .._options import LabelForm
from .._visible import visible
from .base import Kind, Worth
from .labels import Labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...design.scaling import Scaling
    from ...estimators.multilabel import MultilabelMeasureClassifier
    from ...io import Dataset

#: What else people write between labels, and in so large a share of the rows.
OTHER_SIGNS, OFTEN = (",", "|", "/"), 0.05
#: Labels that are named where there are more.
LISTED = 5


@dataclass(frozen=True)
class ManyLabels(Kind):
    """Rows with any number of labels, or one of three and more."""

    form: LabelForm

    default_measure: ClassVar[str] = "f1"
    unit: ClassVar[str] = "rows"
    ranks: ClassVar[bool] = False

    measure_of = staticmethod(Labels.measure_of)

    def refuse(self, **options: Any) -> None:
        """Fail if an option is given that only makes sense for one label."""
        for name, value in options.items():
            if value not in (None, False):
                fail(f"--{name.replace('_', '-')} is for one label, and these rows have many: leave it out.")

    def title(self, measure: Any) -> str:
        """Return what people call the score of a measure."""
        from ...evaluation import title_of

        return title_of(self.measure_of(measure).name)

    def checked(
        self, rows: Dataset, measures: Sequence[str], *, like: Likeness | None = None, pos_label: str | None = None
    ) -> Dataset:
        """Say how many labels there are; those that training did not have are left out, and a note counts them."""
        from ...io.label_sets import are_sets

        if rows.y is not None and like is not None and like.several:
            rows = replace(rows, y=self._known(rows.y, like.labels or ()))
        elif are_sets(rows.y) and like is not None:
            fail(f"{rows.path}: its rows have any number of labels, but those of training had one each.")
        self._tell([shape_line(rows), _labels_line(rows.y)], rows, like)
        if like is None:
            self._note_other_signs(rows)
        return rows

    def _note_other_signs(self, rows: Dataset) -> None:
        """Say so if another sign seems to be between labels than the one that was looked for."""
        labels = [row for row in rows.y.tolist() if isinstance(row, tuple)]
        if max(map(len, labels), default=2) > 1:
            return
        for sign in OTHER_SIGNS:
            count = sum(sign in str(label) for row in labels for label in row)
            if count > OFTEN * len(labels):
                self.screen.note(
                    f"{count:,} labels have {sign!r} in them; if it separates them, say --separator {sign!r}."
                )

    def _known(self, y: NDArray[Any], labels: Sequence[Any]) -> NDArray[Any]:
        """Return sets of the labels of training, of files that may write numbers as text."""
        from ...io.label_sets import are_sets, array_of

        known = {str(label): label for label in labels}
        rows = y.tolist() if are_sets(y) else [(label,) for label in y.tolist()]
        if unknown := Counter(label for row in rows for label in row if str(label) not in known):
            several = f"{len(unknown):,} labels" if len(unknown) > 1 else "a label"
            first = visible(unknown.most_common(1)[0][0])
            self.screen.note(f"there is {several} that training did not have, such as {first}: they are not judged.")
        return array_of([known[str(label)] for label in row if str(label) in known] for row in rows)

    def _counted(self, data: Dataset, found: list[tuple[Any, int]]) -> dict[str, Any]:
        counts = _counts(data.y)
        return {"labels": [{"label": label, "rows": count} for label, count in counts.most_common()]}

    def known(self, data: Dataset) -> dict[str, Any]:
        """Return the labels."""
        return {"y": data.y}

    def unscale(self, scaling: Scaling, model: MultilabelMeasureClassifier) -> None:
        """Turn a model of scaled rows into one of rows as they are."""
        model.coef_ = scaling.unscaled(model.coef_)
        if scaling.shift is not None:
            model.intercept_ = model.intercept_ - model.coef_ @ scaling.shift

    def scores(self, model: MultilabelMeasureClassifier, X: Any) -> NDArray[Any]:
        """Return the scores of rows for each label."""
        return model.decision_function(X)

    def predictions(
        self, model: MultilabelMeasureClassifier, rows: Dataset, *, what: str, with_ranks: bool, cut: Callable[..., Any]
    ) -> dict[str, list[Any]]:
        """Return the labels of each row as text, or a column of scores for each label."""
        if what == "score":
            scores = self.scores(model, rows.X)
            return {str(label): column.tolist() for label, column in zip(model.classes_, scores.T, strict=True)}
        sign = self.form.separator
        return {"labels": [sign.join(map(str, labels.tolist())) for labels in model.predict_sets(rows.X)]}

    def predicted(self, columns: dict[str, list[Any]]) -> dict[str, Any]:
        """Return predictions for machines: labels as lists, or scores by label."""
        if list(columns) != ["labels"]:
            return {"scores": columns}
        return {"labels": [row.split(self.form.separator) if row else [] for row in columns["labels"]]}

    def worth(self, model: MultilabelMeasureClassifier, data: Dataset, scores: NDArray[Any]) -> Worth:
        """Return what decisions are worth for each label and in all, and the measure of the model."""
        from ...evaluation import multiplicities
        from ...evaluation.decisions import Decisions

        members, predicted = model.members_of(data.y), model.decisions(scores)
        decisions = Decisions(members, predicted)
        titles = {"macro_f1": "macro-F1, the mean over labels", "micro_f1": "micro-F1, of all decisions"}
        own: dict[str, float] = {}
        if (name := self.measure_of(model.measure).name) != "f1":
            own = {name: model.score(data.X, data.y)}
            titles = {name: f"{self.title(name)}, {model.average}", **titles}
        nothing = dict.fromkeys(own, float("nan"))  # of draws: labels would have to be ranked again in each
        return Worth(
            lambda draw: {**(own if draw is None else nothing), **decisions.measures(draw)},
            lambda number, seed: multiplicities(members.shape[1], number, seed),
            {f"of {members.shape[0]:,} labels": titles},
            "A label that no row has counts as 0 in the mean.",
            each=decisions.each(model.classes_),
        )


def _counts(y: NDArray[Any]) -> Counter[Any]:
    """Return how many rows have each label."""
    from ...io.label_sets import are_sets

    return Counter(label for row in y.tolist() for label in row) if are_sets(y) else Counter(y.tolist())


def _labels_line(y: NDArray[Any]) -> str:
    """Return how many labels there are, and how many rows have them, as a line."""
    from ...io.label_sets import are_sets

    counts = _counts(y)
    if not counts:
        return "Labels: none in any row"
    common = [f"{visible(label)} ({count:,})" for label, count in counts.most_common(LISTED)]
    others = f", ... {visible(counts.most_common()[-1][0])} ({min(counts.values()):,})" if len(counts) > LISTED else ""
    a_row = ""
    if are_sets(y):
        sizes = [len(row) for row in y.tolist()]
        a_row = f", {min(sizes)} to {max(sizes)} a row, {sum(sizes) / len(sizes):.2f} on average"
    return f"Labels: {len(counts):,}{a_row}; {', '.join(common)}{others}"
