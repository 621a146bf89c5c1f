"""What ``smoothperf train`` says of a model: in words, for machines, and as its exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._errors import INTERRUPTED, MISSED_TOLERANCE, TELLS_NOTHING, complain, fail
from ._files import remember_data, summary
from ._point import expectations
from ._screen import Screen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..design.scaling import Scaling
    from ..io import Dataset
    from ..measures import Measure


class Trained:
    """A fitted model for features as they are, and what there is to say of it.

    Its threshold was chosen on the rows that ``where`` names. What was chosen to train with is in ``choice``, for
    machines, and in ``lines``, in words.
    """

    def __init__(
        self,
        model: Any,
        examples: Dataset,
        where: str,
        caught: list[Any],
        *,
        interrupted: bool,
        choice: dict[str, Any] | None = None,
        lines: Sequence[str] = (),
    ):
        from ..evaluation import tells_nothing

        self.model, self.examples, self.where, self.interrupted = model, examples, where, interrupted
        self.choice, self.lines = choice, lines
        scores, self.score = self._judged()
        self.constant = tells_nothing(scores)
        self.converged = bool(model.result_.reached <= model.tol)
        self.expected = getattr(model, "expected_", None)
        self.notes = _notes(caught, constant=self.constant)

    def _judged(self) -> tuple[NDArray[Any], float]:
        """Return the scores of the rows, and what they are worth."""
        from ..measures import get_measure

        model, examples = self.model, self.examples
        scores = model.positive_scores(examples.X)
        return scores, get_measure(model.measure).score(examples.y == model.label_pair[1], scores)

    @property
    def title(self) -> str:
        """What people call the measure."""
        return title(self.model.measure)

    @property
    def bound(self) -> str:
        """Which bound was minimised."""
        return str(self.model.bound)

    def save(self, output: Path) -> None:
        """Write the model, without what is of this machine."""
        _save(self.model, self.examples, output)

    def tell(self, screen: Screen, output: Path) -> None:
        """Say how it ended, as certified, and what the model is worth."""
        for line in self.lines:
            screen.say(line)
        self._tell_ending(screen)
        screen.say(f"{self.title} on these rows: {self.score:.4f}")
        for line in [] if self.expected is None else expectations(self.expected, self.where):
            screen.say(line)
        screen.say(f"Saved: {output}")
        for note in self.notes:
            screen.note(note)

    def _tell_ending(self, screen: Screen) -> None:
        model, result = self.model, self.model.result_
        work = f"{result.n_iter:,} iterations, {result.n_matvec + result.n_rmatvec:,} passes over the data"
        screen.say(f"Finished: {work}, {result.seconds:.2f} s", wrap=True)
        if self.bound == "tight":
            meaning = f"with which no convex step can gain more than {result.reached:.2g}"
        else:
            meaning = f"certified to be at most {result.reached:.2g} above the optimum"
        screen.say(f"{self._objective_of()} {model.objective_:.6f}, {meaning}", wrap=True)
        if penalty := self._penalty():
            used, of = f"{model.n_features_in_model_:,}", f"{model.coef_.size:,}"
            screen.say(f"Features in the model: {used} of {of} ({', '.join(penalty)})", wrap=True)
        if not self.converged:
            why = "Interrupted: this is the best model so far." if self.interrupted else result.status.value
            screen.say(f"The tolerance of {model.tol:g} was not reached. {why}", wrap=True)

    def _objective_of(self) -> str:
        """What was minimised, in words."""
        return "Objective"

    def _penalty(self) -> list[str]:
        """What keeps features out of the model, in words."""
        model = self.model
        return [
            *([f"l1_ratio {model.l1_ratio:g}"] if model.l1_ratio else []),
            *(["no negative weights"] if model.positive else []),
        ]

    def document(self, kind: str, output: Path) -> dict[str, Any]:
        """Return the same for machines."""
        model, result = self.model, self.model.result_
        return {
            "command": "train",
            **self._what(),
            "bound": self.bound,
            "alpha": model.alpha,
            "choice": self.choice,
            "scale": kind,
            "solver": model.solver,
            "tol": model.tol,
            "objective": model.objective_,
            "lower_bound": model.lower_bound_,
            "gap": model.gap_,
            "stationarity_gap": model.stationarity_gap_,
            "converged": self.converged,
            "constant": self.constant,
            "status": result.status.name.lower(),
            "interrupted": self.interrupted,
            "iterations": model.n_iter_,
            "passes": result.n_matvec + result.n_rmatvec,
            "seconds": result.seconds,
            "training_score": self.score,
            "expected": self.expected,
            "notes": self.notes,
            "model": output,
        }

    def _what(self) -> dict[str, Any]:
        """What was trained for, on what."""
        return {
            "data": summary(self.examples),
            "measure": self.model.measure,
            "pos_label": self.model.label_pair[1].item(),
            "trained_with": self.model.trained_with.name,
            "l1_ratio": self.model.l1_ratio,
            "nonnegative": self.model.positive,
            "features_in_model": self.model.n_features_in_model_,
        }

    def leave(self, output: Path) -> None:
        """Exit with the code that says how it went."""
        if self.constant:
            remedy = (
                "Whatever was tried does no better: perhaps the features have nothing to do with the labels."
                if self.choice is not None
                else "Leave out --alpha to have it chosen, or give a smaller one."
            )
            complain(f"{output}: this model tells nothing: it has the same score for all rows. {remedy}")
        if self.interrupted:
            raise typer.Exit(INTERRUPTED)
        if self.constant:
            raise typer.Exit(TELLS_NOTHING)
        if not self.converged:
            raise typer.Exit(MISSED_TOLERANCE)


@dataclass(frozen=True)
class Checkpoints:
    """Files with the model so far: where it goes, and where an earlier training has left it."""

    checkpoint: Path | None = None
    resume: Path | None = None

    def prepare(self, model: Any, examples: Dataset, scaling: Scaling, unscale: Callable[[Any], None]) -> None:
        """Have a model begin where the earlier one ended, and be kept on the way, for features as they are."""
        from .. import load

        if self.checkpoint is not None:
            file = self.checkpoint

            def keep(model: Any) -> None:
                unscale(model)
                _save(model, examples, file)

            model.set_params(checkpoint=keep)
        if self.resume is not None:
            before, d = load(self.resume), examples.X.shape[1]
            if type(before) is not type(model) or before.n_features_in_ != d:
                fail(
                    f"{self.resume}: a {type(before).__name__} with {before.n_features_in_} features cannot be gone on "
                    f"with here, as {examples.path} is for a {type(model).__name__} with {d}."
                )
            model.coef_, model.result_ = scaling.scaled(before.coef_), before.result_
            model.set_params(warm_start=True)


def _save(model: Any, examples: Dataset, output: Path) -> None:
    model.set_params(callback=None, checkpoint=None, n_threads=None, warm_start=False)
    remember_data(model, examples)
    model.save(output)


def title(measure: str | Measure) -> str:
    """Return what people call the score of a measure."""
    from ..evaluation import title_of
    from ..measures import get_measure

    return title_of(get_measure(measure).name)


def _notes(caught: list[Any], *, constant: bool = False) -> list[str]:
    """Return warnings as sentences; that a tolerance was missed, or a model tells nothing, is said elsewhere."""
    from sklearn.exceptions import ConvergenceWarning

    from ..estimators.messages import ZeroModelWarning

    elsewhere = (ConvergenceWarning, DeprecationWarning, *((ZeroModelWarning,) if constant else ()))
    wanted = [str(w.message) for w in caught if not issubclass(w.category, elsewhere)]
    return list(dict.fromkeys(wanted))
