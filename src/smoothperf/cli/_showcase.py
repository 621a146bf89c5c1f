"""The work of ``smoothperf demo``; apart from the command so that ``smoothperf --help`` need not import all this."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .. import plots
from .._files import written_whole
from ..datasets import make_rare_positives
from ..design import as_design
from ..measures import PRBEP, Measure, ROCArea
from ..optimise import BMRM, LBFGS, Callback, Nesterov, Result, Solver, Status, TraceRow
from ..optimise.objective import RegularizedRisk
from ..report import gather, render_report
from ._customers import ID, LABEL, Answered, Asked, answer
from ._errors import fail
from ._screen import Screen, table

TOL = 1e-3
MAX_ITER = 2000
REFERENCE = "L-BFGS"
SOLVERS: dict[str, Solver] = {
    REFERENCE: LBFGS(tol=TOL, max_iter=MAX_ITER),
    "Nesterov": Nesterov(tol=TOL, max_iter=MAX_ITER),
    "BMRM": BMRM(tol=TOL, max_iter=MAX_ITER),
}
MEASURES: dict[str, Measure] = {"PRBEP": PRBEP(), "ROC area": ROCArea()}
#: Powers of ten whose measure, by 5-fold cross-validation on the training rows, is within 0.025 of the best;
#: among these, one whose optimum is well below the objective at w = 0, which is 1, and large beside TOL.
ALPHAS = {
    ("digits", "PRBEP"): 1e-3,
    ("digits", "ROC area"): 1e-3,
    ("generated", "PRBEP"): 1e-7,
    ("generated", "ROC area"): 1e-3,
}


@dataclass(frozen=True)
class Problem:
    """Rows to train on and rows to test on."""

    name: str
    question: str
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]

    def __str__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"{self.name}: {self.question} {rows:,} x {columns:,} to train, "
            f"{self.X_test.shape[0]:,} to test, {(self.y > 0).mean():.0%} positive"
        )


@dataclass(frozen=True)
class SolverRun:
    """A solver's run of a case."""

    solver: str
    result: Result
    score: float

    @property
    def converged(self) -> bool:
        """Whether the tolerance is certified."""
        return self.result.status is Status.CONVERGED

    @property
    def passes(self) -> int:
        """Products with X and with its transpose."""
        return self.result.n_matvec + self.result.n_rmatvec


#: The runs for each data set and measure, by their names.
Cases = dict[tuple[str, str], list[SolverRun]]


def show(output: Path, *, quick: bool) -> bool:
    """Do all of it; returns whether every run reached the tolerance."""
    _check_that_files_can_be_written(output)
    screen = Screen()
    try:
        page = show_customers(output, screen, quick=quick)
        finished = show_solvers(output, screen, quick=quick)
    except OSError as error:
        fail(f"cannot write the results: {error}")
    screen.say()
    screen.say(f"Report on the model, to open in a browser: {page.resolve().as_uri()}")
    return finished


def show_customers(output: Path, screen: Screen, *, quick: bool) -> Path:
    """Ask whom to call, and answer it; returns the report on the model."""
    asked = Asked.of_size(*((3_000, 150) if quick else (4_000, 200)))
    known, new = asked.write(output)
    n = f"{len(asked.known):,}"
    screen.say(f"There is time to call {asked.k} of {n} customers. Which of them will say yes?")
    screen.say(f"{known} has {n} others, and their answers:")
    screen.say()
    screen.result(asked.preview())
    with screen.progress.status("") as status:
        answered = answer(asked, status.update)
    screen.say()
    screen.result(answered.promises())
    screen.say()
    screen.say(f"The {asked.k} highest scores among the {n} new customers, {new}:")
    screen.say()
    screen.result(answered.side_by_side())
    screen.say()
    for line in answered.findings():
        screen.say(line, wrap=True)
    answered.model.save(model := output / "customers.model")
    page = write_report(answered, asked, output / "report.html", str(model), screen)
    goal = f"--id {ID} --label {LABEL} --measure precision@{asked.k} --at k={asked.k}"
    screen.say("The same with a table of yours, and whom to call:")
    screen.say(f"  smoothperf train {known} {goal} -o {model}")
    screen.say(f"  smoothperf predict {model} {new} --id {ID} --at k={asked.k}")
    return page


def show_solvers(output: Path, screen: Screen, *, quick: bool) -> bool:
    """Compare the solvers; returns whether every run reached the tolerance."""
    screen.say()
    screen.say("What is under it: three solvers, each to a certified gap.")
    with screen.progress.status("Making the data"):
        problems = load_problems(quick=quick)
    for problem in problems:
        screen.say(str(problem), wrap=True)
    cases = train_all(problems, screen.progress)
    screen.say()
    screen.result(results_table(cases))
    screen.say()
    for line in findings(cases):
        screen.say(line, wrap=True)
    panels = {", ".join(case): {run.solver: run.result.trace for run in runs} for case, runs in cases.items()}
    figure = plots.convergence_grid(panels, tol=TOL, title="Three solvers on their way to the optimum")
    screen.say(f"Figure: {plots.save(figure, output / 'convergence.png')}")
    return all(run.converged for runs in cases.values() for run in runs)


def _check_that_files_can_be_written(folder: Path) -> None:
    """Fail now rather than after all the work."""
    plots.require_matplotlib()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"cannot make the folder {folder}: {error.strerror}. Choose another with --output.")
    if not os.access(folder, os.W_OK):
        fail(f"cannot write to the folder {folder}. Choose another with --output.")


def load_problems(*, quick: bool) -> list[Problem]:
    """Return real data that scikit-learn ships, and a generated sparse problem with rare positives."""
    images, digits = load_digits(return_X_y=True)
    rows, columns = (4_000, 3_000) if quick else (50_000, 20_000)
    return [
        _split("digits", "is it an 8?", images / 16.0, np.where(digits == 8, 1, -1)),
        _split("generated", "a rare topic.", *make_rare_positives(rows * 3 // 2, columns)),
    ]


def _split(name: str, question: str, X: Any, y: NDArray[Any]) -> Problem:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    return Problem(name, question, X_train, y_train, X_test, y_test)


def train_all(problems: list[Problem], console: Console) -> Cases:
    """Train everything with everything; shows a bar on a terminal, otherwise a line for every run."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    cases: Cases = {(problem.name, measure): [] for problem, measure in product(problems, MEASURES)}
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=len(cases) * len(SOLVERS))
        for problem, measure, solver in product(problems, MEASURES, SOLVERS):
            label = f"{problem.name}, {measure}, {solver}"

            def show_gap(row: TraceRow, label: str = label) -> None:
                progress.update(bar, description=f"{label}: gap {row.gap:.2e}")

            run = train(problem, measure, solver, show_gap)
            cases[problem.name, measure].append(run)
            progress.advance(bar)
            if not console.is_terminal:
                work = f"{run.passes} passes, {run.result.seconds:.2f} s"
                console.print(f"{label}: {work}, gap {run.result.gap:.2e}", soft_wrap=True)
    return cases


def train(problem: Problem, measure: str, solver: str, callback: Callback) -> SolverRun:
    """Train one model and test it."""
    alpha = ALPHAS[problem.name, measure]
    objective = RegularizedRisk(as_design(problem.X), MEASURES[measure].bind(problem.y), alpha)
    result = SOLVERS[solver].run(objective, callback=callback)
    return SolverRun(solver, result, MEASURES[measure].score(problem.y_test, problem.X_test @ result.coef))


def write_report(answered: Answered, asked: Asked, path: Path, model_name: str, screen: Screen) -> Path:
    """Write the page on the model, which names its file in the lines that use it."""
    with screen.progress.status("Writing the report"):
        new = asked.new
        contents = gather(
            answered.model, new.drop(columns=LABEL), new[LABEL], model_name=model_name, data_name="new customers"
        )
        page = render_report(contents).encode()
        with written_whole(path) as file:
            file.write(page)
    return path


def results_table(cases: Cases) -> Table:
    """Return everything as one table that fits 80 columns; a star marks runs that missed the tolerance."""
    numbers = ("passes", "seconds", "objective", "certified\ngap", "test\nmeasure")
    made = table(["data set", "measure", "solver", *numbers], [], words=3)
    if not all(run.converged for runs in cases.values() for run in runs):
        made.caption = f"* stopped before the certified gap was {TOL:g}"
    for (problem, measure), runs in cases.items():
        # A case is named once, on the first of its lines; alpha stands below the measure.
        names = [(problem, measure), ("", f"alpha {ALPHAS[problem, measure]:g}"), *[("", "")] * len(runs)]
        for name, run in zip(names, runs, strict=False):
            gap = f"{run.result.gap:.2e}"
            made.add_row(
                *name,
                run.solver,
                f"{run.passes:,}",
                f"{run.result.seconds:.2f}",
                f"{run.result.objective:.5f}",
                gap if run.converged else f"[red]{gap}*[/red]",
                f"{run.score:.4f}",
            )
        made.add_section()
    return made


def findings(cases: Cases) -> list[str]:
    """Say in words what the table shows."""
    runs = [run for case in cases.values() for run in case]
    converged = sum(run.converged for run in runs)
    everything = f"All {len(runs)} runs are" if converged == len(runs) else f"{converged} of {len(runs)} runs are"
    objectives = max(float(np.ptp([run.result.objective for run in case])) for case in cases.values())
    scores = max(float(np.ptp([run.score for run in case])) for case in cases.values())
    seconds = {solver: sum(run.result.seconds for run in runs if run.solver == solver) for solver in SOLVERS}
    return [
        f"{everything} certified to be within {TOL:g} of the optimum.",
        *filter(None, (_compare_passes(cases, solver) for solver in SOLVERS if solver != REFERENCE)),
        f"Training took {', '.join(f'{s:.1f} s with {solver}' for solver, s in seconds.items())}.",
        f"The solvers' objectives differ by at most {objectives:.1e}, their test measures by {scores:.3f}.",
    ]


def _compare_passes(cases: Cases, solver: str) -> str:
    """Say how many times the passes of the reference a solver took, over the cases where both converged."""
    ratios = []
    for case in cases.values():
        passes = {run.solver: run.passes for run in case if run.converged}
        if solver in passes and REFERENCE in passes:
            ratios.append(passes[solver] / passes[REFERENCE])
    if not ratios:
        return ""
    low, high = f"{min(ratios):.1f}", f"{max(ratios):.1f}"
    times = low if low == high else f"{low} to {high}"
    return f"{solver} took {times} times as many passes over the data as {REFERENCE}."
