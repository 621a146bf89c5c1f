"""The end of ``smoothperf train``: a model in words, for machines, and as an exit code; and files with it so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ._choice import averaged
from ._errors import CONSTANT_MODEL, INTERRUPTED, MISSED_TOLERANCE, complain, fail
from ._files import check_writable, remember_data
from ._point import expectations

if TYPE_CHECKING:
    from ..design.scaling import Scaling
    from ..io import Dataset
    from .kinds import SingleKind


class Trained:
    """A fitted model for features as they are, and what there is to say of it.

    Its threshold was chosen on the rows that ``where`` names. What was chosen to train with is in ``choice``, for
    machines, and in ``lines``, in words.
    """

    def __init__(
        self,
        kind: SingleKind,
        model: Any,
        examples: Dataset,
        where: str,
        caught: list[Any],
        *,
        interrupted: bool,
        choice: dict[str, Any] | None = None,
        lines: Sequence[str] = (),
    ):
        from ..evaluation import is_constant

        self.kind, self.model, self.examples = kind, model, examples
        self.where, self.interrupted, self.choice, self.lines = where, interrupted, choice, lines
        scores = kind.scores(model, examples.X)
        self.score = kind.score(model, examples, scores)
        self.about = kind.about(model)
        self.constant = is_constant(scores)
        self.converged = bool(model.result_.reached <= model.tol)
        self.expected = getattr(model, "expected_", None)
        self.fell_back = choice is None and model.bound == "auto" and self.about["bound"] == "tight" and not kind.ranks
        self.notes = notes_of(caught, zero=self.constant or self.fell_back)

    def save(self, output: Path) -> None:
        """Write the model, without what is of this machine."""
        _save(self.model, self.examples, self.kind, output)

    def tell(self, output: Path) -> None:
        """Say how it ended, as certified, and what the model is worth."""
        screen = self.kind.screen
        for line in self.lines:
            screen.say(line)
        self._tell_ending()
        screen.say(f"{self.kind.title(self.model.measure)} on these rows: {self.score:.4f}")
        for line in [] if self.expected is None else expectations(self.expected, self.where):
            screen.say(line)
        screen.say(f"Saved: {output}")
        for note in self.notes:
            screen.note(note)

    def _tell_ending(self) -> None:
        screen, model, result = self.kind.screen, self.model, self.model.result_
        work = f"{result.n_iter:,} iterations, {result.n_matvec + result.n_rmatvec:,} passes over the data"
        screen.say(f"Finished: {work}, {result.seconds:.2f} s", wrap=True)
        if self.about["bound"] == "tight":
            why = " (of the tight bound, as the convex one is least at w = 0)" if self.fell_back else ""
            meaning = f"with which no convex step can gain more than {result.reached:.2g}{why}"
        else:
            meaning = f"certified to be at most {result.reached:.2g} above the optimum"
        objective = "Objective of the chosen one" if len(averaged(model)) > 1 else "Objective"
        screen.say(f"{objective} {model.objective_:.6f}, {meaning}", wrap=True)
        if penalty := self._penalty():
            used, of = f"{self.about['features_in_model']:,}", f"{model.coef_.size:,}"
            screen.say(f"Features in the model: {used} of {of} ({', '.join(penalty)})", wrap=True)
        if not self.converged:
            why = "Interrupted: this is the best model so far." if self.interrupted else result.status.value
            screen.say(f"The tolerance of {model.tol:g} was not reached. {why}", wrap=True)

    def _penalty(self) -> list[str]:
        """Return what keeps features out of the model, in words; the penalty of some kinds leaves all in."""
        ratio = self.about.get("l1_ratio", 0.0)
        return [
            *([f"l1_ratio {ratio:g}"] if ratio else []),
            *(["no negative weights"] if self.about.get("nonnegative") else []),
        ]

    def _remedy(self) -> str:
        """Return what to do about a constant model."""
        convex = self.model.bound == "convex" and (self.choice is None or self.choice["best_safe"] is None)
        if convex:
            return "The convex bound is least there, on noisy data whatever alpha is: leave out --bound convex."
        if self.choice is None:
            return "Leave out --alpha to have it chosen, or give a smaller one."
        return "Whatever was tried does no better: perhaps the features have nothing to do with the labels."

    def document(self, scaled: str, output: Path) -> dict[str, Any]:
        """Return the same for machines."""
        model, result = self.model, self.model.result_
        return {
            "command": "train",
            "data": self.kind.summary(self.examples),
            **self.about,
            "alpha": model.alpha,
            "choice": self.choice,
            "scale": scaled,
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

    def leave(self, output: Path) -> None:
        """Exit with the code that says how it went."""
        if self.constant:
            complain(f"{output}: this model is constant: it has the same score for all rows. {self._remedy()}")
        if self.interrupted:
            raise typer.Exit(INTERRUPTED)
        if self.constant:
            raise typer.Exit(CONSTANT_MODEL)
        if not self.converged:
            raise typer.Exit(MISSED_TOLERANCE)


@dataclass(frozen=True)
class Checkpoints:
    """Files with the model so far: where it goes, and where an earlier training has left it."""

    checkpoint: Path | None = None
    resume: Path | None = None

    def check(self, strength: float | None) -> None:
        """Fail where they do not go together with a choice, or with a file that is there."""
        for option, given in (("--checkpoint", self.checkpoint), ("--resume", self.resume)):
            if given is not None and strength is None:
                fail(f"{option} is for one training, not for a choice among many: give --alpha NUMBER.")
        if self.checkpoint is None:
            return
        check_writable(self.checkpoint)
        if self.checkpoint.exists() and self.resume is None:
            fail(
                f"{self.checkpoint}: there is a file already; go on with --resume {self.checkpoint}, remove it, or "
                "name another."
            )

    def prepare(self, kind: SingleKind, model: Any, examples: Dataset, scaling: Scaling) -> None:
        """Have a model begin where the earlier one ended, and be kept on the way, for features as they are."""
        from .. import load

        if self.checkpoint is not None:
            file = self.checkpoint

            def keep(model: Any) -> None:
                kind.unscale(scaling, model)
                _save(model, examples, kind, file)

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


def _save(model: Any, examples: Dataset, kind: SingleKind, output: Path) -> None:
    model.set_params(callback=None, checkpoint=None, n_threads=None, warm_start=False)
    remember_data(model, examples, kind.form)
    model.save(output)


def notes_of(caught: list[Any], *, zero: bool = False) -> list[str]:
    """Return warnings as sentences; what is said elsewhere, such as that a tolerance was missed, is not among them."""
    from sklearn.exceptions import ConvergenceWarning

    from ..estimators.messages import ZeroModelWarning
    from ..features import DroppedColumnWarning

    elsewhere = (
        ConvergenceWarning,
        DeprecationWarning,
        DroppedColumnWarning,
        *((ZeroModelWarning,) if zero else ()),
    )
    wanted = [str(w.message) for w in caught if not issubclass(w.category, elsewhere)]
    return list(dict.fromkeys(wanted))
