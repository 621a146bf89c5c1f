"""Columns that bend: which features are made of them, and which effects must rise or fall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._errors import fail
from ._options import Options

if TYPE_CHECKING:
    from ..io import Dataset

KINDS = ("linear", "additive", "kernel", "leaves", "auto")
SIGNS = {"+": 1, "-": -1}
#: With more rows, or numbers in them, other features are made only if the user says so: those of kernels take 1.6 kB a
#: row, curves ten times as much as the columns.
MANY_ROWS, MANY_NUMBERS = 100_000, 5_000_000


@dataclass(frozen=True)
class Bends(Options):
    """The features of models, as far as the user says so: options of commands that train."""

    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="KIND",
            show_default="auto for tables",
            help="linear: columns as they are; additive: a curve for each; kernel; leaves: of a random forest; auto "
            "chooses.",
        ),
    ] = None
    monotone: Annotated[
        str | None,
        typer.Option(
            "--monotone",
            metavar="COLUMN=+,..",
            show_default=False,
            help="The score never falls as a column rises (=+), or never rises (=-): age=+,income=-; with curves.",
        ),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether features are to be other ones than the columns."""
        return self.features not in (None, "linear") or self.monotone is not None

    def checked(self, *, alone: bool) -> Bends:
        """Fail where options do not go together; ``alone`` if nothing is chosen."""
        from .._validation import choice

        if self.features is not None:
            choice("--features", self.features, KINDS)
        if self.monotone is not None and self.features not in (None, "additive"):
            fail("--monotone is for curves: leave out --features, or say additive.")
        if alone and self.features in ("kernel", "auto"):
            fail(
                f"--features {self.features} is a choice, which 'train' makes without --alpha NUMBER; here it can be "
                "linear, additive or leaves."
            )
        return self

    def by_default(self, examples: Dataset, *, of_columns: bool) -> Bends:
        """Return what to choose from if the user does not say: everything, for dense tables that are not too large.

        ``of_columns`` says that other options speak of columns, so that there is nothing else to choose.
        """
        encoder = examples.encoder
        if self.asked or self.features is not None or of_columns or encoder is None or encoder.makes_sparse:
            return self
        rows, columns = examples.X.shape[0], encoder.get_feature_names_out().size
        return self if rows > MANY_ROWS or rows * columns > MANY_NUMBERS else replace(self, features="auto")

    def made(self, examples: Dataset, plain: Any) -> Any:
        """Return the transformers to choose from, or the one, not fitted; ``plain`` is that of columns as they are."""
        from scipy.sparse import issparse
        from sklearn.base import clone

        from ..estimators.feature_choice import NAMED, Way, of_columns
        from ..features import Shapes

        if not self.asked:
            return plain
        texts = examples.encoder is not None and any(column.kind == "text" for column in examples.encoder.columns_)
        if issparse(examples.X) or texts:
            what = "features of texts" if texts else "columns"
            fail(f"{examples.path}: its {what} are sparse, and stay as they are: leave out --features and --monotone.")
        signs = self._signs(examples)

        def transformer(of_numbers: Any) -> Any:
            if of_numbers is None:
                return plain
            own = clone(of_numbers)
            if isinstance(own, Shapes):
                own.set_params(monotonic_cst=signs)
            return own if examples.encoder is None else of_columns(own, plain)

        kinds = ["additive"] if signs else KINDS[:4] if self.features == "auto" else [str(self.features)]
        ways = [
            Way(name, transformer(one), rank) for rank, kind in enumerate(kinds) for name, one in NAMED[kind].items()
        ]
        return ways if len(ways) > 1 else ways[0].transformer

    def told(self, choosing: Any) -> list[str]:
        """Return what each of several kinds of features is worth on rows held out, as a line."""
        worth = getattr(choosing, "feature_scores_", {})
        means = [f"{name} {values.mean():.4f}" for name, values in worth.items()]
        # What all are compared by, whatever the measure is: estimators/feature_choice.py.
        finer = "NDCG" if getattr(choosing, "label_pair", None) is None else "average precision"
        return [f"Features: {choosing.best_features_}; {finer} on rows held out: {', '.join(means)}"] if means else []

    def _signs(self, examples: Dataset) -> Any:
        """The directions asked for: by name for a table, by place for columns of numbers; None for none."""
        if self.monotone is None:
            return None
        asked = dict(_sign(part) for part in self.monotone.split(","))
        names = list(examples.feature_names or []) if examples.encoder is None else list(examples.X.columns)
        if unknown := [name for name in asked if name not in names]:
            fail(f"--monotone {unknown[0]}: there is no such column; there are {', '.join(map(str, names[:8]))}.")
        return asked if examples.encoder is not None else [asked.get(name, 0) for name in names]


def _sign(part: str) -> tuple[str, int]:
    name, found, sign = part.rpartition("=")
    if not found or sign not in SIGNS:
        fail(f"--monotone {part!r}: say COLUMN=+ or COLUMN=-, with commas between.")
    return name.strip(), SIGNS[sign]
