"""Options about few features, and about signs and sizes of weights."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._errors import fail
from ._options import Options

if TYPE_CHECKING:
    from ..io import Dataset


@dataclass(frozen=True)
class Bounds(Options):
    """Bounds of weights: options of commands that train."""

    coef_bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--coef-bounds",
            metavar="BOUNDS",
            help="Bounds of the weight of a feature, FEATURE=LOW:HIGH, such as income=:0 (never above 0) or age=0: "
            "(never below); again for more.",
        ),
    ] = None

    def checked(self, scaled: str) -> dict[str, tuple[float | None, float | None]]:
        """Return the bounds by the names of features; fail before a file is read if they make no sense."""
        found = dict(map(_bound, self.coef_bounds or ()))
        for name, ends in found.items():
            if scaled != "none" and any(ends):
                fail(
                    f"--coef-bounds {name}: weights are those of scaled features while they are trained, and only 0 is "
                    "the same bound for both; give 0, or --scale none."
                )
        return found


@dataclass(frozen=True)
class Sparsity(Options):
    """Number of features that a choice may leave in the model."""

    max_features: Annotated[
        int | None,
        typer.Option(
            "--max-features",
            metavar="N",
            min=1,
            show_default=False,
            help="Choose among models of at most so many features.",
        ),
    ] = None
    sparsest: Annotated[
        bool,
        typer.Option(
            "--sparsest", help="Choose the model with the fewest features within a standard error of the best one."
        ),
    ] = False

    def settings(self, strength: float | None) -> dict[str, Any]:
        """Return the same for an estimator that chooses; nothing for one that does not."""
        given = "--max-features" if self.max_features is not None else "--sparsest" if self.sparsest else None
        if given is not None and strength is not None:
            fail(f"{given} is for a choice among models, and with --alpha NUMBER there is one: leave out one of them.")
        return {} if given is None else {"max_features": self.max_features, "sparsest": self.sparsest}


def _bound(text: str) -> tuple[str, tuple[float | None, float | None]]:
    name, equals, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    try:
        if equals and colon:
            return name, (float(low) if low else None, float(high) if high else None)
    except ValueError:
        pass
    fail(f"--coef-bounds must be FEATURE=LOW:HIGH, such as income=:0 or age=0:10, got {text!r}.")


def bounds_of(examples: Dataset, given: dict[str, tuple[float | None, float | None]]) -> dict[Any, Any] | None:
    """Return bounds by the places of features; of svmlight files, features are called by their indices."""
    if not given:
        return None
    if examples.feature_names is None and examples.encoder is not None:
        return dict(given)  # names of features that are not made yet
    names = examples.feature_names
    if names is None:
        first = 0 if examples.zero_based in (True, None) else 1
        names = [str(first + place) for place in range(examples.X.shape[1])]
    places = {name: place for place, name in enumerate(names)}
    for name in given:
        if name not in places:
            near = get_close_matches(name, places, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            fail(f"--coef-bounds: {examples.path} has no feature {name!r}.{hint}")
    return {places[name]: ends for name, ends in given.items()}
