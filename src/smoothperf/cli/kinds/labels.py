"""Rows with labels of two kinds, and the classifiers that commands train for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .._errors import fail
from .._files import Likeness, shape_line
from .._visible import visible
from .base import SingleKind, Worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...comparison.table import Compared
    from ...design.scaling import Scaling
    from ...estimators.classifier import MeasureClassifier
    from ...estimators.classifier_cv import MeasureClassifierCV
    from ...io import Dataset
    from ...measures import Measure

#: More different labels than this are no classes.
MOST_LABELS = 100
#: These need a decision, which the model makes with its own threshold.
DECISIONS = ("f1", "precision", "recall", "false_positive_rate", "accuracy")


class Labels(SingleKind):
    """Rows with labels of two kinds."""

    default_measure: ClassVar[str] = "roc_area"
    compared_by_default: ClassVar[tuple[str, ...]] = ("prbep", "roc_area")
    unit: ClassVar[str] = "rows"
    ranks: ClassVar[bool] = False

    def refuse(self, **options: Any) -> None:
        """Take them all: those that are for rankings are refused where the file or the model has a name to say."""

    def title(self, measure: Any) -> str:
        """Return what people call the score of a measure."""
        from ...evaluation import title_of

        return title_of(self.measure_of(measure).name)

    @staticmethod
    def measure_of(measure: Any) -> Measure:
        """Return the measure of a name."""
        from ...measures import get_measure

        return get_measure(measure)

    def checked(
        self, rows: Dataset, measures: Sequence[str], *, like: Likeness | None = None, pos_label: str | None = None
    ) -> Dataset:
        """Say the shape of examples and, if they have labels, the balance of their classes.

        Of three labels or more, that which ``pos_label`` names is held against the rest.
        """
        if like is None:
            rows = _one_against_the_rest(rows, pos_label, self.form.label)
        elif rows.y is not None and like.labels is not None:
            rows = _labels_as(rows, like.labels)
        self._tell(summary_lines(rows, label_named(rows, pos_label if like is None else like.positive)), rows, like)
        return rows

    def read_for(self, model: Any, path: Path, *, labelled: bool = True) -> Dataset:
        """Read rows that fit a model: the same features and, if labelled, the same labels, both of them."""
        import numpy as np

        if getattr(model, "has_base_scores_", False):
            fail(
                "this model is added to base_scores, which commands have no way to take: use it in Python, with "
                "smoothperf.load(MODEL) and predict(X, base_scores=...)."
            )
        data = super().read_for(model, path, labelled=labelled)
        if not labelled:
            return data
        known, found = set(model.classes_.tolist()), set(np.unique(data.y).tolist())
        if found != known:
            fail(
                f"{path}: the model knows the labels {_listed(known)}, but these data have {_listed(found)}; "
                "both classes are needed, under the names they were trained with."
            )
        return data

    def _counted(self, data: Dataset, found: list[tuple[Any, int]]) -> dict[str, Any]:
        return {"classes": [{"label": label, "rows": count} for label, count in found]}

    def known(self, data: Dataset) -> dict[str, Any]:
        """Return the labels."""
        return {"y": data.y}

    def count(self, data: Dataset) -> int:
        """Return how many rows there are."""
        return int(data.X.shape[0])

    def split(self, data: Dataset, measure: str, share: float, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of rows to train on and of a share that is held out, of each class."""
        import numpy as np
        from sklearn.model_selection import train_test_split

        if np.unique(data.y, return_counts=True)[1].min() < 2:
            fail(f"{data.path}: a class has one example only, so none can be held out; use --holdout 0.")
        train, held_out = train_test_split(
            np.arange(data.X.shape[0]), test_size=share, stratify=data.y, random_state=seed
        )
        return train, held_out

    def _joined(self, examples: Dataset, others: Dataset) -> dict[str, Any]:
        import numpy as np

        from ...estimators.problem import encode_labels
        from ...estimators.scores import known_labels

        classes, _ = encode_labels(examples.y)
        known_labels(others.y, classes, length=others.X.shape[0])
        return {"y": np.concatenate([examples.y, others.y])}

    def settings(self, examples: Dataset, shared: dict[str, Any], for_labels: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of an estimator: all of them, with the label itself for its name."""
        solver = solver_for_classes(shared["solver"])
        return {
            **shared,
            **for_labels,
            "solver": solver,
            "pos_label": label_named(examples, for_labels["pos_label"]),
        }

    def single(self, settings: dict[str, Any]) -> MeasureClassifier:
        """Return a classifier for one alpha."""
        from ...estimators.classifier import MeasureClassifier

        return MeasureClassifier(**settings)

    def choosing(self, examples: Dataset, settings: dict[str, Any]) -> MeasureClassifierCV:
        """Return a classifier that chooses."""
        from ...estimators.classifier_cv import MeasureClassifierCV

        return MeasureClassifierCV(**settings)

    def chosen(self, model: MeasureClassifierCV) -> MeasureClassifier:
        """Return what was chosen."""
        return model.as_classifier()

    def times_drawn(self, model: MeasureClassifierCV, examples: Dataset, folds: int) -> int:
        """Return how often folds were drawn: more than once where a class is small."""
        from ...tasks.label_choice import times_drawn

        return times_drawn(examples.y == model.pos_label_)

    def compared(
        self, examples: Dataset, others: Dataset | None, measures: list[str], folds: int, pos_label: str | None
    ) -> tuple[Compared[Any], Any, Any, bool]:
        """Return columns and lines of a comparison, rows, others to judge on, perhaps, and whether trees suit them."""
        from ...comparison import ComparedLabels
        from ...comparison.table import suits_trees
        from ...estimators.problem import encode_labels
        from ...estimators.scores import known_labels
        from ...tasks.labels import LabelRows

        pair, positive = encode_labels(examples.y, label_named(examples, pos_label))
        compared, train, judging = ComparedLabels(measures), LabelRows(examples.X, pair, positive), None
        if others is None:
            compared.check(train, folds)
        else:
            judging = LabelRows(others.X, pair, known_labels(others.y, pair, length=others.X.shape[0]))
        n, d = examples.X.shape
        if not (
            trees := suits_trees(n, d if (made := examples.encoder) is None else len(made.get_feature_names_out()))
        ):
            why = "which would take too long with so many rows and features."
            self.screen.note(f"there are no trees in the table, {why}")
        return compared, train, judging, trees

    def unscale(self, scaling: Scaling, model: MeasureClassifier) -> None:
        """Turn a model of scaled rows into one of rows as they are."""
        before = model.intercept_[0]
        scaling.fold_into(model)
        if hasattr(model, "calibration_"):
            sign = 1.0 if model.label_pair[1] == model.classes_[1] else -1.0
            model.calibration_ = model.calibration_.moved(sign * (before - model.intercept_[0]))

    def about(self, model: MeasureClassifier) -> dict[str, Any]:
        """Return what a model was trained for, and with."""
        return {
            "measure": model.measure,
            "pos_label": model.label_pair[1].item(),
            "trained_with": model.trained_with.name,
            "l1_ratio": model.l1_ratio,
            "nonnegative": model.positive,
            "features_in_model": model.n_features_in_model_,
            "bound": model.bound_,
        }

    def scores(self, model: MeasureClassifier, X: Any) -> NDArray[Any]:
        """Return scores that are higher for the positive label."""
        return model.positive_scores(X)

    def score(self, model: MeasureClassifier, data: Dataset, scores: NDArray[Any]) -> float:
        """Return what scores are worth by the measure of a model."""
        return self.measure_of(model.measure).score(data.y == model.label_pair[1], scores)

    def predictions(
        self, model: MeasureClassifier, rows: Dataset, *, what: str, with_ranks: bool, cut: Callable[[Any], float]
    ) -> dict[str, list[Any]]:
        """Return labels, scores or probabilities of the positive label as a column."""
        if what == "probability":
            positive = int(model.label_pair[1] == model.classes_[1])
            return {what: model.predict_proba(rows.X)[:, positive].tolist()}
        scores = self.scores(model, rows.X)
        if what == "score":
            return {what: scores.tolist()}
        return {"label": model.label_pair[(scores > cut(scores)).astype(int)].tolist()}

    def worth(self, model: MeasureClassifier, data: Dataset, scores: NDArray[Any]) -> Worth:
        """Return what scores are worth as a ranking, and at the threshold of the model."""
        from ...evaluation import NAMES, Ranking, column_of, resamples, title_of

        positive = data.y == model.label_pair[1]
        ranking = Ranking(positive, scores)
        trained_for = self.measure_of(model.measure)
        # What the model was trained for gets a line of its own if it is not in the tables anyway.
        own = None if column_of(trained_for) in NAMES else trained_for
        try:
            ranking.measures(also=own)
        except ValueError as error:  # for example, precision@k of fewer than k examples
            self.screen.note(f"{error} So it is not in the table.")
            own = None
        ranked = [name for name in NAMES if name not in DECISIONS]
        decided = list(DECISIONS)
        if own is not None:
            (decided if trained_for.fits_bias or trained_for.judges_decisions else ranked).insert(0, own.name)
        tables = {"of the ranking": ranked, "at the model's threshold": decided}
        titles = {"best_f1": "F1 at the best threshold *"}
        return Worth(
            lambda draw: ranking.measures(multiplicity=draw, also=own),
            lambda number, seed: resamples(positive, number, seed),
            {head: {name: titles.get(name, title_of(name)) for name in names} for head, names in tables.items()},
            "* chosen on these very rows, so it flatters",
        )


def solver_for_classes(solver: str) -> str:
    """Return the solver that is meant where rows have no queries."""
    return "lbfgs" if solver == "auto" else solver


def _one_against_the_rest(data: Dataset, pos_label: str | None, label: str | None) -> Dataset:
    """Make two labels of more, one of which was named; say how to name it otherwise."""
    import numpy as np

    from ...io.label_sets import SEPARATOR

    labels = np.unique(data.y) if data.y is not None else np.zeros(0)
    if labels.size > 2 and any(SEPARATOR in str(text) for text in labels.tolist()):
        several = next(text for text in labels.tolist() if SEPARATOR in str(text))
        fail(
            f"{data.path}: a row has the label {visible(several)}; if these are several, say --labels in place of "
            "--label to 'smoothperf train'."
        )
    if not 2 < labels.size <= MOST_LABELS:
        return data
    if pos_label is None:
        first, *others = map(str, labels.tolist())
        column = "" if label is None else f" --label {label}"
        fail(
            f"{data.path}: there are {labels.size} labels where a measure needs two; train for one against the rest, "
            f"first smoothperf train {data.path}{column} --pos-label {first} -o {first}.model and then the same for "
            f"{', '.join(others)}; or train all of them with --average macro."
        )
    positive = label_named(data, pos_label)
    return replace(data, y=np.where(data.y == positive, str(positive), rest_of(positive)))


def rest_of(label: Any) -> str:
    """Return the label of all examples that have another one."""
    return f"not {label}"


def _labels_as(data: Dataset, labels: tuple[Any, Any]) -> Dataset:
    """Tell one label from the rest where training did."""
    import numpy as np

    for positive, rest in (labels, labels[::-1]):
        if rest == rest_of(positive) and rest not in data.y:
            return replace(data, y=np.where(data.y.astype(str) == positive, positive, rest))
    return data


def label_named(data: Dataset, text: str | None) -> Any:
    """Return the label that is written so, None for None; fail if there is none."""
    import numpy as np

    if text is None or data.y is None:
        return None
    labels = np.unique(data.y).tolist()
    for known in labels:
        if str(known) == text or (not isinstance(known, (str, bool)) and _as_number(text) == known):
            return known
    fail(f"{data.path}: --pos-label {text} is not among the labels {_listed(set(labels))}.")


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _listed(labels: set[Any]) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def summary_lines(data: Dataset, positive_label: Any = None) -> list[str]:
    """Return shape and, with labels, class balance as lines; the larger label is positive by default."""
    import numpy as np

    rows = data.X.shape[0]
    lines = [shape_line(data)]
    if data.y is None:
        return lines
    labels, counts = np.unique(data.y, return_counts=True)
    if labels.size == 2:
        if positive_label is not None and labels[0] == positive_label:
            labels, counts = labels[::-1], counts[::-1]
        (negative, positive), (n_negative, n_positive) = labels, counts
        lines.append(
            f"Positive: {n_positive:,} ({n_positive / rows:.2%}) labelled {visible(positive)}; "
            f"negative: {n_negative:,} labelled {visible(negative)}"
        )
    else:
        shown = ", ".join(
            f"{visible(label)} ({count:,})" for label, count in list(zip(labels, counts, strict=True))[:5]
        )
        lines.append(f"Labels: {shown}{', ...' if labels.size > 5 else ''}")
    return lines
