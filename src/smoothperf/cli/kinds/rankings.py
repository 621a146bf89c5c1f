"""Documents of queries, with grades of relevance, and the rankers that commands train for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from .._errors import fail
from .._files import Likeness, shape_line
from .._visible import visible
from .base import SingleKind, Worth
from .labels import Labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...comparison.table import Compared
    from ...design.scaling import Scaling
    from ...estimators.ranker import MeasureRanker
    from ...estimators.ranker_cv import MeasureRankerCV
    from ...io import Dataset
    from ...measures import Queries, QueryMeasure

#: Most grades to list.
LISTED = 6
#: Formats whose columns have names.
TABLES = ("csv", "parquet")


class Rankings(SingleKind):
    """Documents of queries, which are put in order."""

    default_measure: ClassVar[str] = "ndcg@10"
    compared_by_default: ClassVar[tuple[str, ...]] = ("ndcg@10",)
    unit: ClassVar[str] = "queries"
    ranks: ClassVar[bool] = True

    def refuse(self, **options: Any) -> None:
        """Fail if an option is given that only makes sense for classifiers."""
        for name, value in options.items():
            if value not in (None, False):
                fail(f"--{name.replace('_', '-')} is for classes, and these rows are documents to rank: leave it out.")

    def title(self, measure: Any) -> str:
        """Return what people call the score of a measure; said in full where classifiers have it, too."""
        from ...evaluation import title_of

        found = self.measure_of(measure)
        return title_of(found.full_name) + (" within queries" if Labels.knows(found.name) else "")

    @staticmethod
    def measure_of(measure: Any) -> QueryMeasure:
        """Return the measure of a name."""
        from ...measures import get_query_measure

        return get_query_measure(measure)

    @staticmethod
    def has(rows: Dataset) -> bool:
        """Tell whether rows are documents of queries."""
        return rows.qid is not None

    @staticmethod
    def check_rows(rows: Dataset, why: str = "") -> None:
        """Fail if rows have no queries, and say what to do."""
        if rows.qid is None:
            fail(
                f"{why}{rows.path} does not say which rows belong to the same query: name the column with --query "
                "(CSV, Parquet), or write qid:number after each label (svmlight)."
            )

    def checked(
        self, rows: Dataset, measures: Sequence[str], *, like: Likeness | None = None, pos_label: str | None = None
    ) -> Dataset:
        """Check the grades, for some measures, make them numbers, and say how many queries and grades there are."""
        self.check_rows(rows)
        documents = replace(rows, y=_grades(rows, measures))
        self._tell(_summary_lines(documents), documents, like)
        return documents

    def _counted(self, data: Dataset, found: list[tuple[Any, int]]) -> dict[str, Any]:
        grades = [{"grade": grade, "rows": count} for grade, count in found]
        return {"queries": self.count(data), "grades": grades}

    def known(self, data: Dataset) -> dict[str, Any]:
        """Return grades, and queries."""
        return {"y": data.y, "qid": data.qid}

    def count(self, data: Dataset) -> int:
        """Return how many queries there are."""
        import numpy as np

        return int(np.unique(data.qid).size)

    def split(self, data: Dataset, measure: str, share: float, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of rows to train on and of a share that is held out, of the queries that count."""
        import numpy as np

        from ...tasks.query_choice import query_splits

        queries = queries_of(data)
        counted = self.measure_of(measure).counted(queries)
        if counted.size < 2:
            fail(
                f"{data.path}: the order of {'one query only' if counted.size else 'no query'} makes a difference to "
                f"{measure}, so none can be held out; use --holdout 0."
            )
        counted = np.random.default_rng(seed).permutation(counted)
        [(train, held_out)] = query_splits(float(share), queries.numbers, counted)
        return train, held_out

    def _joined(self, examples: Dataset, others: Dataset) -> dict[str, Any]:
        """Return grades and queries, which are those of their file: the same name in both does not make one of two."""
        import numpy as np

        first, second = (np.unique(part.qid, return_inverse=True)[1] for part in (examples, others))
        return {
            "y": np.concatenate([examples.y, others.y]),
            "qid": np.concatenate([first, first.max() + 1 + second]),
        }

    def settings(self, examples: Dataset, shared: dict[str, Any], for_labels: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of an estimator: without those that are for labels."""
        return shared

    def single(self, settings: dict[str, Any]) -> MeasureRanker:
        """Return a ranker for one alpha."""
        from ...estimators.ranker import MeasureRanker

        return MeasureRanker(**settings)

    def choosing(self, examples: Dataset, settings: dict[str, Any]) -> MeasureRankerCV:
        """Return a ranker that chooses; fail if there are fewer queries than folds to deal them to."""
        from ...estimators.ranker_cv import MeasureRankerCV

        measure, folds = settings["measure"], settings["cv"]
        if isinstance(folds, int) and (count := self.measure_of(measure).counted(queries_of(examples)).size) < folds:
            fail(
                f"--folds {folds} needs at least {folds} queries whose order makes a difference to {measure}, but "
                f"there are {count}: use fewer, or train one model with --alpha NUMBER."
            )
        return MeasureRankerCV(**settings)

    def chosen(self, model: MeasureRankerCV) -> MeasureRanker:
        """Return what was chosen."""
        return model.as_ranker()

    def times_drawn(self, model: MeasureRankerCV, examples: Dataset, folds: int) -> int:
        """Return how often folds were drawn."""
        splits = [name for name in model.cv_results_ if name.startswith("split")]
        return len(splits) // folds

    def compared(
        self, examples: Dataset, others: Dataset | None, measures: list[str], folds: int, pos_label: str | None
    ) -> tuple[Compared[Any], Any, Any, bool]:
        """Return columns and lines of a comparison, rows, others to judge on, perhaps, and whether trees suit them."""
        from ...comparison import ComparedRankings
        from ...comparison.rankings import rows_of, suits_lambdarank

        train, judging = (None if part is None else rows_of(part) for part in (examples, others))
        compared = ComparedRankings(measures, [part.known for part in (train, judging) if part is not None])
        return compared, train, judging, suits_lambdarank(examples.y)

    def unscale(self, scaling: Scaling, model: MeasureRanker) -> None:
        """Turn a model of scaled rows into one of rows as they are, but for a constant, which ranks nothing."""
        model.coef_ = scaling.unscaled(model.coef_)

    def about(self, model: MeasureRanker) -> dict[str, Any]:
        """Return what a model was trained for, and with."""
        trained_with = model.trained_with
        return {
            "measure": model.measure,
            "trained_with": trained_with.measure.name,
            "target": trained_with.target,
            "bound": trained_with.bound,
        }

    def scores(self, model: MeasureRanker, X: Any) -> NDArray[Any]:
        """Return scores that are higher for better places."""
        return model.predict(X)

    def score(self, model: MeasureRanker, data: Dataset, scores: NDArray[Any]) -> float:
        """Return what scores are worth by the measure of a model."""
        return self.measure_of(model.measure).mean_score(queries_of(data), scores)

    def predictions(
        self, model: MeasureRanker, rows: Dataset, *, what: str, with_ranks: bool, cut: Callable[[Any], float]
    ) -> dict[str, list[Any]]:
        """Return scores as a column; if wanted, queries and ranks beside them."""
        scores = self.scores(model, rows.X)
        if not with_ranks:
            return {"score": scores.tolist()}
        if rows.qid is None:
            fail(
                f"--ranks needs queries, and {rows.path} has none: name the column with --query (CSV, Parquet), or "
                "write qid:number after each label (svmlight)."
            )
        return {"query": rows.qid.tolist(), "score": scores.tolist(), "rank": ranks_within(rows.qid, scores).tolist()}

    def worth(self, model: MeasureRanker, data: Dataset, scores: NDArray[Any]) -> Worth:
        """Return what scores are worth by all measures of a ranking, as means over queries."""
        from ...evaluation import QueryScores, multiplicities, query_columns, title_of

        queries = queries_of(data)
        measures = query_columns(self.measure_of(model.measure), queries.grades)
        found = {name: QueryScores.of(measure, queries, scores) for name, measure in measures.items()}
        own = next(iter(found))
        found = {name: worth for name, worth in found.items() if worth.count or name == own}
        return Worth(
            lambda draw: {name: worth.mean(draw) for name, worth in found.items()},
            lambda number, seed: multiplicities(queries.sizes.size, number, seed),
            {"mean over queries": {name: title_of(name) for name in found}},
            "Queries that every order suits alike are left out, and measures for which none remain.",
            {name: worth.count for name, worth in found.items()},
        )


def check_measure(name: str, *, ranks: bool) -> None:
    """Fail if there is no such measure: of rankings where rows are to be ranked, else of labels or of rankings."""
    from ...measures.queries.names import QUERY_MEASURE_WORDS, similar_query_measure

    if ranks:
        if Labels.knows(name) and not Rankings.knows(name):
            refuse_measure(name)
        Rankings.measure_of(name)
        return
    try:
        Labels.measure_of(name)
    except ValueError as error:
        if "cannot be read" in str(error):  # of labels, written wrongly
            raise
        try:
            Rankings.measure_of(name)
        except ValueError as other:
            if "cannot be read" in str(other):  # of rankings
                raise other from None
            near = similar_query_measure(name)
            hint = f" Did you mean {near!r}?" if near and "Did you mean" not in str(error) else ""
            raise ValueError(f"{error} Of rankings there are {QUERY_MEASURE_WORDS}.{hint}") from None


def refuse_measure(name: str) -> NoReturn:
    """Fail because a measure is of labels alone."""
    fail(f"{name} is not a measure of rankings; take one that is, such as ndcg@10, pairs or map.")


def ranks_within(qid: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
    """Return the rank of each row in its query: one more than there are rows with a higher score.

    Examples
    --------
    >>> import numpy as np
    >>> ranks_within(np.array(["a", "b", "a", "a"]), np.array([1.0, 5.0, 3.0, 1.0]))
    array([2, 1, 1, 2])
    """
    import numpy as np

    queries = np.unique(qid, return_inverse=True)[1]
    order = np.lexsort((-scores, queries))
    first_of_query = np.searchsorted(queries[order], queries[order])
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = (np.diff(queries[order]) != 0) | (np.diff(scores[order]) != 0.0)
    first_of_tie = np.maximum.accumulate(np.where(fresh, np.arange(order.size), 0))
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = 1 + first_of_tie - first_of_query
    return ranks


def queries_of(documents: Dataset) -> Queries:
    """Return the documents by query."""
    from ...measures import Queries

    return Queries.of(documents.y, documents.qid)


def _summary_lines(documents: Dataset) -> list[str]:
    """Return shape, queries and grades as lines."""
    import numpy as np

    queries = queries_of(documents)
    lowest, highest = (queries.reduced(extreme, queries.grades) for extreme in (np.minimum, np.maximum))
    grades, counts = np.unique(documents.y, return_counts=True)
    shown = ", ".join(f"{grade:g} ({count:,})" for grade, count in list(zip(grades, counts, strict=True))[:LISTED])
    return [
        shape_line(documents),
        f"Queries: {queries.sizes.size:,} with {queries.sizes.min():,} to {queries.sizes.max():,} documents, "
        f"{int((highest > lowest).sum()):,} of them with different grades",
        f"Grades: {shown}{', ...' if grades.size > LISTED else ''}",
    ]


def _grades(rows: Dataset, measures: Sequence[Any]) -> Any:
    """Return the grades of relevance as numbers, if they can be: 0 or more, and of two kinds in some query."""
    import numpy as np

    from ...io.dataset import data_error
    from ...measures import Queries
    from ...measures.queries.gains import HIGHEST_GRADE

    if rows.y.dtype.kind not in "biuf":
        wrong = next((at, text) for at, text in enumerate(rows.y.tolist()) if not _is_number(text))
        raise data_error(rows.path, f"grades are numbers, 0 or more, but row {wrong[0] + 1} has {wrong[1]!r}")
    grades = rows.y.astype(np.float64)
    if grades.min() < 0.0:
        at = int(grades.argmin())
        raise data_error(rows.path, f"grades are numbers, 0 or more, but row {at + 1} has {grades[at]:g}")
    if not all(Rankings.measure_of(measure).takes(grades) for measure in measures):
        at = int(grades.argmax())
        reason = f"row {at + 1} has the grade {grades[at]:g}, so that its gain, 2^grade - 1, is too large"
        remedy = "or a measure that does not look at their size, such as pairs"
        raise data_error(rows.path, f"{reason}; use grades up to {int(HIGHEST_GRADE)}, {remedy}")
    try:
        Queries.of(grades, rows.qid)
    except ValueError as error:
        reason = visible(error).partition(" Check y,")[0]
        columns = "the columns of --label and --query" if rows.format in TABLES else "the labels and what follows qid:"
        raise data_error(rows.path, f"{reason} Check {columns}.") from error
    return grades


def _is_number(text: str) -> bool:
    import math

    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
