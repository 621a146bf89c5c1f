"""The page that shows each result next to what the paper claims: a function of the results alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from smoothperf.evaluation import NAMES

from .claims import CLAIMS, FAILS, HOLDS, PARTLY, Verdict, ratio_to_eps, times
from .datasets import REGISTRY, Relation
from .rates import Slope, exponent
from .results import Comparison, Results
from .runs import ADAPTIVE, CUTTING_PLANES, FACTORS, NESTEROV
from .settings import EPS
from .validation import TriedAlpha, chosen

ONE, HUNDRED, THOUSAND = FACTORS
SMOOTHING = (*FACTORS, ADAPTIVE, NESTEROV)
FIGURES = {
    "prbep": (("figure1.png", "objective for PRBEP"), ("figure3.png", "PRBEP on test rows")),
    "roc_area": (("figure2.png", "objective for ROC area"), ("figure4.png", "ROC area on test rows")),
}


def text(results: Results, verdicts: Sequence[Verdict]) -> str:
    """Return the page, in Markdown."""
    parts = [
        "# The paper's experiments, run again",
        "Everything on this page is made from the CSV files beside it, which `smoothperf paper all` writes "
        "(`--quick` for a first look of three minutes); `smoothperf paper all --redraw` makes figures, claims and page "
        "from them again.",
        _about(results),
        *_missing(results),
        *_summary(verdicts),
        *_table1(results),
        *_comparisons(results, verdicts),
        *_rates(results),
        *_claims(verdicts),
        *_departures(),
        *_future(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(results: Results) -> str:
    if not results.about:
        return ""
    about = results.about
    return (
        f"This is the {about['run']} run of {about['date']}: {about['minutes']} minutes on {about['machine']}, "
        f"one thread for whatever is timed; {about['software']}, smoothperf {about['smoothperf']}. A run ends at a "
        f"certified gap of {about['tolerance']}; with a fixed mu also when it is solved for its mu, or makes no more "
        f"progress; or after {about['CPU seconds at most, smoothing']} CPU seconds "
        f"(BMRM: {about['CPU seconds at most, BMRM']}), and then it is shown as stopped."
    )


def _missing(results: Results) -> list[str]:
    missing = [line.dataset for line in results.lines if line.have == "missing"]
    left_out = [line.dataset for line in results.lines if line.have == "left out"]
    others = [
        f"{line.dataset} ({line.have})" for line in results.lines if line.file and line.have != Relation.PAPER.value
    ]
    found = []
    if missing:
        found.append(f"**Missing, and replaced by nothing: {', '.join(missing)}.**")
    if left_out:
        found.append(f"Left out by `--quick`: {', '.join(left_out)}.")
    if others:
        found.append(f"Not the paper's own set: {', '.join(others)}.")
    return [" ".join(found)] if found else []


def _summary(verdicts: Sequence[Verdict]) -> list[str]:
    rows = []
    for claim, words in CLAIMS.items():
        own = [verdict.verdict for verdict in verdicts if verdict.claim == claim]
        if own:
            counts = [str(own.count(kind)) for kind in (HOLDS, PARTLY, FAILS)]
            rows.append([claim, words, *counts, str(len(own) - sum(map(int, counts)))])
    if not rows:
        return []
    header = ["claim", "the paper says", HOLDS, PARTLY, FAILS, "cannot be told"]
    return [
        "## Claims in short",
        "How often each claim holds, over data sets and measures. [All verdicts](#claims-one-by-one) and the rules "
        "that make them are below.",
        markdown(header, rows, words=2),
    ]


def _table1(results: Results) -> list[str]:
    if not results.lines:
        return []
    rows = []
    for line in results.lines:
        have = bool(line.file)
        rows.append(
            [
                line.dataset,
                line.have,
                f"{line.n:,}" if have else "",
                f"{line.d:,}" if have else "",
                f"{line.nonzeros:,}" if have else "",
                f"{line.density:.3g}" if have else "",
                f"{line.positives:,} ({line.positives / line.n:.1%})" if have else "",
                f"{line.n_train:,}" if have else "",
                f"{line.paper_n:,}",
                f"{line.paper_d:,}",
                f"{line.paper_density:g}",
                f"{line.implied_nonzeros:,.0f}" if line.slip else "",
            ]
        )
    header = ["data set", "what we have", "n", "d", "non-zeros", "density %", "positive", "trained on"]
    header += ["paper: n", "paper: d", "paper: density %", "paper: n x true d x density"]
    slips = [line.dataset for line in results.lines if line.slip]
    empty = [line for line in results.lines if line.dataset == "web8" and line.file]
    notes = (
        f"The paper's column d is the number of **non-zeros**, not of features, for {', '.join(slips)}: n, times the "
        "true number of features, times the density gives what is printed (last column). For the other sets it is the "
        "number of features."
    )
    for line in empty:
        notes += (
            f" The {line.nonzeros:,} non-zeros of web8 are the paper's d of {line.paper_d:,} to the digit; its n "
            f"leaves out empty rows ({line.n - line.empty_rows:,} of our {line.n:,} rows are not empty)."
        )
    return [
        "## Table 1",
        markdown(header, rows, words=2),
        notes,
        "Counted are the rows of the training file. *Trained on* are all of them where another file serves for "
        "validation and test; else the share that the paper's n is of the whole set, which is 90 % for covertype, "
        "60 % for worm and 80 % for the others. Validation and test are halves of the rest, drawn with a fixed seed.",
    ]


def _comparisons(results: Results, verdicts: Sequence[Verdict]) -> list[str]:
    parts = []
    for measure, comparisons in results.comparisons.items():
        if not comparisons:
            continue
        name = NAMES[measure]
        (objective, _), (score, _) = FIGURES[measure]
        numbers = [file[6] for file, _ in FIGURES[measure]]
        parts += [
            f"## {name}: figures {numbers[0]} and {numbers[1]}",
            f"![Figure {numbers[0]}: {FIGURES[measure][0][1]} against CPU time]({objective})",
            "The paper says, in short: for all values of mu, smoothing converges significantly faster than BMRM; with "
            "mu and 100 mu its solution is at most eps away from BMRM's, and the trajectories are nearly identical; "
            "1000 mu converges significantly faster, but to a worse solution.",
            "Here: " + _sentence(verdicts, measure, ("faster", "within eps", "same path", "faster but worse")),
            f"![Figure {numbers[1]}: {FIGURES[measure][1][1]} against CPU time]({score})",
            "The paper says, in short: the models on the way have comparable or better scores, orders of magnitude "
            "sooner than those of BMRM.",
            "Here: " + _sentence(verdicts, measure, ("test measure",)),
            f"CPU seconds until the exact objective is within eps = {EPS:g} of the best that any method found, and how "
            "many times as long BMRM took (more than, if it was stopped before):",
            _times_to_eps(comparisons),
            _bmrm_ahead(comparisons),
            _edges(results.candidates[measure]),
        ]
    return parts


def _sentence(verdicts: Sequence[Verdict], measure: str, claims: Iterable[str]) -> str:
    found = []
    for claim in claims:
        own = [verdict for verdict in verdicts if verdict.claim == claim and verdict.measure == measure]
        counts = {kind: [v.dataset for v in own if v.verdict == kind] for kind in (HOLDS, PARTLY, FAILS)}
        words = [f"{kind} on {_listed(names, len(own))}" for kind, names in counts.items() if names]
        found.append(f'"{claim}" {"; ".join(words)}')
    return ". ".join(found) + "."


def _listed(names: Sequence[str], total: int) -> str:
    return f"all {total} sets" if len(names) == total else ", ".join(names)


def _times_to_eps(comparisons: Sequence[Comparison]) -> str:
    rows = []
    for comparison in comparisons:
        cells = [comparison.dataset, f"{comparison.alpha:g}", f"{comparison.reference:.5f}"]
        for method in SMOOTHING:
            mine, _, ratio, at_least = ratio_to_eps(comparison, method)
            cells.append("never" if math.isnan(mine) else f"{_seconds(mine)} ({times(ratio, at_least)})")
        theirs = ratio_to_eps(comparison, ONE)[1]
        limit = comparison.curves[CUTTING_PLANES].run.cpu_seconds
        cells.append(f"> {_seconds(limit)}" if math.isnan(theirs) else _seconds(theirs))
        rows.append(cells)
    header = ["data set", "lambda", "best objective", "mu", "100 mu", "1000 mu", "adaptive", "accelerated", "BMRM"]
    return markdown(header, rows, words=1)


def _bmrm_ahead(comparisons: Sequence[Comparison]) -> str:
    """Say where cutting planes were first, and in how many iterations."""
    found = []
    for comparison in comparisons:
        ratio, at_least = ratio_to_eps(comparison, ONE)[2:]
        if not ratio >= 1.0 and not at_least:
            bmrm, own = comparison.curves[CUTTING_PLANES].run, comparison.curves[ONE].run
            found.append(f"{comparison.dataset} ({bmrm.iterations} iterations in all, {own.iterations} with mu)")
    if not found:
        return "Smoothing with mu was ahead of BMRM on every set."
    return (
        f"BMRM was ahead of smoothing with mu on {', '.join(found)}: with the lambda that validation chose, few planes "
        "are enough there."
    )


def _edges(candidates: Sequence[TriedAlpha]) -> str:
    """Say where the lambda that was chosen is the largest or the smallest of those that were tried."""
    found = []
    for name in dict.fromkeys(candidate.dataset for candidate in candidates):
        own = [candidate for candidate in candidates if candidate.dataset == name]
        alphas = sorted(candidate.alpha for candidate in own)
        alpha = chosen(own)
        if alpha in (alphas[0], alphas[-1]):
            found.append(f"{name} ({alpha:g})")
    return f"Lambda is at the edge of those that were tried on {', '.join(found)}." if found else ""


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _rates(results: Results) -> list[str]:
    if not results.hard_counts:
        return []
    parts = ["## Rates", "![Iterations until the gap is certified](rates.png)"]
    if results.slopes:
        parts += [
            "The theory: O(1/(lambda eps)) iterations for cutting planes, O(min{1/eps, 1/sqrt(lambda eps)}) for the "
            "accelerated method. These are bounds: a smaller exponent contradicts nothing. Fitted exponents of 1/eps "
            "(smallest to largest over lambda) and of 1/lambda (over eps), where three points or more were reached:",
            markdown(
                ["data set, measure", "method", "exponent of 1/eps", "theory", "exponent of 1/lambda", "theory "],
                _slope_rows(results.slopes),
                words=2,
            ),
            _ratios_by_lambda(results),
            "A problem is finite: after enough planes BMRM's model is exact where it matters, so that in practice its "
            "exponent of 1/eps is far from 1. The exponent of 1/lambda is what sets it apart from the others.",
        ]
    return [*parts, *_hard(results), *_entropy(results)]


def _ratios_by_lambda(results: Results) -> str:
    """Say how many times the iterations of L-BFGS BMRM takes, for the largest and the smallest lambda."""
    found = []
    for measure in dict.fromkeys(row.measure for row in results.counts):
        counts = {(r.method, r.alpha, r.eps): r.iterations for r in results.counts if r.measure == measure}
        alphas = sorted({alpha for _, alpha, _ in counts})
        accuracies = sorted({eps for _, _, eps in counts})
        for alpha in (alphas[-1], alphas[0]):
            ratios = [(eps, counts["bmrm", alpha, eps] / max(counts["lbfgs", alpha, eps], 1.0)) for eps in accuracies]
            reached = [(eps, ratio) for eps, ratio in ratios if not math.isnan(ratio)]
            if reached:
                eps, ratio = reached[0]
                found.append(f"{ratio:.2g} times for {NAMES[measure]} at lambda = {alpha:g} and eps = {eps:g}")
    return f"BMRM's iterations, as a multiple of those of L-BFGS: {', '.join(found)}." if found else ""


def _slope_rows(slopes: Sequence[Slope]) -> list[list[str]]:
    theory = {"bmrm": ("1", "1"), "nesterov, theorem": ("1/2 to 1", "0 to 1/2")}
    rows = []
    for problem, measure, method in dict.fromkeys((s.problem, s.measure, s.method) for s in slopes):
        own = [s for s in slopes if (s.problem, s.measure, s.method) == (problem, measure, method)]
        spans = [_span([s.slope for s in own if s.variable == variable]) for variable in ("eps", "lambda")]
        bounds = theory.get(method, ("", ""))
        rows.append([f"{problem}, {NAMES[measure]}", method, spans[0], bounds[0], spans[1], bounds[1]])
    return rows


def _span(values: Sequence[float]) -> str:
    finite = [value for value in values if not math.isnan(value)]
    return f"{min(finite):.2f} to {max(finite):.2f}" if finite else "-"


def _hard(results: Results) -> list[str]:
    rows = [
        [f"{row.alpha:g}", f"{row.eps:g}", f"{row.negatives:,}"]
        + [_iterations(results, method, row.alpha, row.eps) for method in ("bmrm", "nesterov", "lbfgs")]
        + [f"{row.first_gain:.0f}"]
        for row in results.hard_counts
        if row.method == "bmrm"
    ]
    fits = {
        method: exponent(
            [(row.alpha * row.eps, max(row.iterations, 1.0)) for row in results.hard_counts if row.method == method]
        )
        for method in ("bmrm", "nesterov", "lbfgs")
    }
    words = ", ".join(f"{value:.2f} for {method}" for method, value in fits.items())
    return [
        "### A problem made for cutting planes",
        "One positive at the origin, k negatives on an axis each. For PRBEP every cutting plane speaks of one axis, "
        "and the next one is always of an axis that had none; so BMRM needs exactly k planes, and k is chosen as "
        "G^2/(4 lambda eps), with G between 0.8 and 1. The derivation is in `smoothperf/paper/hard.py`; the idea that "
        "a cutting-plane method can be shown one coordinate at a time is that of Nemirovski and Yudin (1983) and, for "
        "this method, of Zhang, Saha and Vishwanathan (NIPS 2010).",
        markdown(
            ["lambda", "eps", "k", "BMRM", "accelerated", "L-BFGS", "BMRM's first gain on w = 0"],
            rows,
            words=0,
        ),
        f"Fitted exponents of 1/(lambda eps): {words}. What this does not show: that real data are like this (see "
        "above: they are not). Nor is the problem hard in itself; a gradient that sees all axes at once solves it in "
        "few steps, so it says something on cutting planes, not on what the best method could do.",
    ]


def _iterations(results: Results, method: str, alpha: float, eps: float) -> str:
    rows = [row for row in results.hard_counts if (row.method, row.alpha, row.eps) == (method, alpha, eps)]
    return f"{rows[0].iterations:.0f}" if rows else ""


def _entropy(results: Results) -> list[str]:
    if not results.entropy_counts:
        return []
    rows = [
        [
            str(row.n),
            row.smoothing,
            row.step,
            str(row.iterations) if row.reached else f"> {row.iterations}",
            f"{row.constant:.1f}",
            f"{row.milliseconds:.2f}",
        ]
        for row in results.entropy_counts
    ]
    return [
        "### Smoothing by entropy, section 2.1.2",
        "The paper says that entropy over labelings has a constant sqrt(D) |A| that can grow linearly with n, and "
        "chooses squares over examples, whose constant does not grow. For PRBEP the alternative can be run, because "
        "its partition function is an elementary symmetric polynomial; rows are drawn from adult9.",
        markdown(["n", "smoothing", "step", "iterations", "sqrt(D) |A|", "ms per evaluation"], rows, words=0),
        f"Fitted exponents of n: {_growth(results)}. The constant of entropy grows like sqrt(n), not like n: on a "
        "simplex of mass 1/n, entropy is n-strongly convex, which the paper's figure leaves out. With the step that "
        "the theorem allows, iterations follow the constant. With backtracking they follow the curvature that is met, "
        "which need not grow with the bound. What does grow for sure is the cost of an evaluation, n n+ operations "
        "instead of n: one more reason for the paper's choice.",
    ]


def _growth(results: Results) -> str:
    found = []
    for smoothing in ("squares", "entropy"):
        for step in ("theorem", "backtracking"):
            points = [
                (1.0 / row.n, float(row.iterations))
                for row in results.entropy_counts
                if (row.smoothing, row.step) == (smoothing, step) and row.reached
            ]
            found.append(f"{exponent(points):.2f} for {smoothing} and {step}")
    return ", ".join(found)


def _claims(verdicts: Sequence[Verdict]) -> list[str]:
    if not verdicts:
        return []
    rows = [
        [verdict.claim, verdict.dataset, NAMES.get(verdict.measure, verdict.measure), verdict.verdict, verdict.figures]
        for verdict in verdicts
    ]
    rules = (
        f"*faster*: BMRM's CPU time divided by that with 1, 100 and 1000 mu, each to its own best objective plus eps = "
        f'{EPS:g} (">": BMRM was stopped before). *within eps*: the best objectives with 1 and 100 mu, less the best '
        "of all methods. *same path*: the time with mu divided by that with 100 mu, median over ten levels of the "
        "objective; nearly the same if between 1/1.25 and 1.25. *faster but worse*: the time with mu divided by that "
        "with 1000 mu, each to its own best objective plus eps (and both to that of 1000 mu); faster if 1.25 at least, "
        "worse if more than eps above the best of all. *test measure*: from when on the test score stays within 0.002 "
        "of the lower of both final scores, BMRM divided by 100 mu, and the final scores; holds if 10 at least, partly "
        "if above 1."
    )
    header = ["claim", "data set", "measure", "verdict", "figures"]
    return ["## Claims, one by one", rules, markdown(header, rows, words=5)]


def _departures() -> list[str]:
    return [
        "## Where we differ, and why",
        "- **BMRM.** Ours, not the authors': its quadratic program is solved by a warm-started active-set method, and "
        "its planes are built without sorting; all our methods share their products with X. Ratios of times depend on "
        "such things, ratios of iterations do not.\n"
        "- **mu.** The runs with a fixed mu use the paper's D, n/2 for PRBEP and m/2 for ROC area. For PRBEP the "
        "largest value of the prox-function is min(n+, n-), so that with rare positives 1000 mu is a milder "
        "smoothing than the paper's bound says.\n"
        "- **ROC area.** The hinge max(0, 1 - d) of each pair; the printed formula (3), max(d, 1 - d), would punish "
        "correct margins.\n"
        "- **Ends.** Runs go on to a gap of a tenth of eps, so that it can be said which objectives are within eps.\n"
        f"- **Data.** {len(REGISTRY)} sets in the paper; what we have of them is in Table 1.\n"
        "- **lambda.** Chosen on the validation rows among powers of ten, by the measure itself.\n"
        "- **Time.** CPU time of one thread, without reading data and without looking at the run on its way; "
        "of runs below a second, the fastest of three. Objectives are the best so far; test scores are those of the "
        "iterates.",
    ]


def _future() -> list[str]:
    return [
        "## What the paper left for later",
        "Its last section names two extensions as future work.",
        "- **F1, and other measures of the contingency table.** The risks of F-beta and Jaccard are found in "
        "O(n log n), and smoothed by level sets ([maths](../maths.md#fractional)).\n"
        '- **"A smoothed version of the Hungarian marriage problem"**, for measures of rankings. With the discounts of '
        "NDCG as weights of places, the best matching of documents and places is a sort. The matchings have the "
        "permutahedron as their hull, and smoothing is the projection on it: a sort and an isotonic regression, "
        "O(m log m) for a query of m documents, where the Hungarian method takes O(m^3) "
        "([maths](../maths.md#rankings)). The convex risk is often least where all scores are equal; its tight bound "
        "is what is worth training ([rankings](../ranking.md#which-one-when)).",
    ]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int) -> str:
    """Return a table whose first ``words`` columns are text and the others numbers.

    Examples
    --------
    >>> print(markdown(["name", "n"], [["a", "1"]], words=1))
    | name | n |
    |---|---:|
    | a | 1 |
    """
    rule = "".join("---|" if place < words else "---:|" for place in range(len(header)))
    lines = [header, *rows]
    shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([shown[0], "|" + rule, *shown[1:]])
