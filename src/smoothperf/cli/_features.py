"""Features that commands have made of files: encoders of tables, scales of columns, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._screen import Screen, table

if TYPE_CHECKING:
    from ..features import EncodedColumn, TableEncoder
    from ..io import Dataset
    from .kinds import Kind

#: Columns that are plain numbers are counted where there are more than so many.
MOST_SHOWN = 20


def features_for(examples: Dataset, scaled: str) -> Any:
    """Return the transformer, not fitted, that is to make features of examples; None if they are taken as they are."""
    from sklearn.base import clone

    from ..features.scaling import Scaler

    if examples.encoder is not None:
        return clone(examples.encoder).set_params(scale=scaled)
    return None if scaled == "none" else Scaler(scaled)


def unscale(kind: Kind, model: Any) -> None:
    """Turn a model of scaled rows into one of rows as they are; one of a table has its encoder."""
    from ..features.scaling import Scaler

    fitted = getattr(model, "features_", None)
    if isinstance(fitted, Scaler):
        del model.features_
        model.set_params(features=None)
        kind.unscale(fitted.scaling_, model)


def encoder_of(model: Any) -> TableEncoder | None:
    """Return the encoder that a model begins with; None if it takes rows of numbers."""
    from ..features import TableEncoder

    features: Any = getattr(model, "features_", None)
    first = features[0] if hasattr(features, "steps") else features
    first = getattr(first, "encoder_", first)
    return first if isinstance(first, TableEncoder) else None


def tell_columns(screen: Screen, encoder: TableEncoder) -> None:
    """Say what became of the columns of a table."""
    plain = [column for column in encoder.columns_ if column.kind == "number" and not column.has_missing]
    others = [column for column in encoder.columns_ if column not in plain]
    counted = plain if not others or len(plain) > MOST_SHOWN else []
    if others and not screen.as_json and not screen.quiet:
        shown = [column for column in encoder.columns_ if column not in counted]
        rows = [[column.name, column.kind, _detail(column), f"{len(column.feature_names):,}"] for column in shown]
        screen.say()
        screen.result(table(["column", "is", "with", "features"], rows, words=3))
        screen.say()
    if counted:
        screen.say(f"{'Other columns' if others else 'Columns'}: {len(counted):,} of numbers, none missing")
    for column in encoder.columns_:
        if column.kind == "words" and column.reason:
            screen.note(
                f"column {column.name!r} {column.reason}; {len(column.rare):,} rare ones share one feature. If it "
                f"tells nothing, leave it out with --drop {column.name!r}."
            )
        elif column.kind == "dropped" and column.name not in encoder.drop:
            screen.note(f"column {column.name!r} is dropped: {column.reason}.")


def _detail(column: EncodedColumn) -> str:
    """Return what a column is like, in words."""
    if column.kind in ("dropped", "id"):
        return column.reason
    rare = f", {len(column.rare):,} more that are rare" if column.rare else ""
    kinds = {
        "number": [],
        "words": [f"{len(column.words or []):,} words{rare}"],
        "text": [f"{len(column.words or []):,} words"],
        "date": [f"from {(column.first or '')[:10]}"],
    }
    return ", ".join([*kinds[column.kind], *(["missing values"] if column.has_missing else [])])


def columns_document(encoder: TableEncoder) -> list[dict[str, Any]]:
    """Return what became of the columns of a table, for machines."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "features": len(column.feature_names),
            "missing": column.has_missing,
            **({} if column.words is None else {"words": len(column.words), "rare_words": len(column.rare)}),
            **({"reason": column.reason} if column.reason else {}),
        }
        for column in encoder.columns_
    ]


def note_unseen(screen: Screen, encoder: TableEncoder, data: Dataset) -> None:
    """Count words that training did not have."""
    columns = {column.name: column for column in encoder.columns_}
    for name, words in encoder.unseen(data.X).items():
        rows, first = sum(words.values()), max(words, key=lambda word: words[word])
        several = f"{len(words):,} words" if len(words) > 1 else "a word"
        meant = f"they count as {name}=other" if columns[name].rare else "they count for nothing"
        found = f"column {name!r} has {several} that training did not have, such as {first!r}"
        screen.note(f"{found}, in {rows:,} rows; {meant}.")
