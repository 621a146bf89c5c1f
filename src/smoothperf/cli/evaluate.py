"""``smoothperf evaluate``: all measures of a model on a file of examples, with bootstrap intervals."""

from __future__ import annotations

from .. import load
from . import _options as options
from ._errors import one_line_errors
from ._files import Form, read_for_model, summary
from ._progress import shown_progress
from ._screen import Screen, number, table

#: These need a decision, which the model makes with its own threshold.
DECISIONS = ("f1", "precision", "recall", "false_positive_rate", "accuracy")


@one_line_errors
def evaluate(
    model: options.ModelFile,
    data: options.Data,
    bootstrap: options.Resamples = 1000,
    seed: options.Seed = 0,
    label: options.Label = None,
    query: options.Query = None,
    format: options.Format = None,
    zero_based: options.ZeroBased = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge a model by all measures, with 95 % intervals.

    Example: smoothperf evaluate mails.model test.svm

    The measure that the model was trained for is among them.

    The intervals say how much the figures could differ had other rows of the
    same kind been drawn. They come from a bootstrap with a fixed seed, so the
    same command prints the same numbers. For a ranker it is queries that are
    drawn.
    """
    screen = Screen(as_json=as_json, quiet=quiet)
    fitted = load(model)
    form = Form(label, format, zero_based, query)

    from .ranking.documents import is_ranker
    from .ranking.evaluate import evaluate_ranker

    if is_ranker(fitted):
        evaluate_ranker(screen, model, fitted, data, form, bootstrap, seed)
        return
    examples = read_for_model(screen, fitted, data, form)

    from ..evaluation import NAMES, Ranking, column_of, interval, resamples, tells_nothing, title_of
    from ..measures import get_measure

    positive = examples.y == fitted.label_pair[1]
    scores = fitted.positive_scores(examples.X)
    if tells_nothing(scores):
        screen.note("this model tells nothing: it has the same score for all rows.")
    ranking = Ranking(positive, scores)
    trained_for = get_measure(fitted.measure)
    # What the model was trained for gets a line of its own if it is not in the tables anyway.
    own = None if column_of(trained_for) in NAMES else trained_for
    try:
        values = ranking.measures(also=own)
    except ValueError as error:  # for example, precision@k of fewer than k examples
        screen.note(f"{error} So it is not in the table.")
        own = None
        values = ranking.measures()
    draws = shown_progress(screen, "Bootstrap", resamples(positive, bootstrap, seed), bootstrap)
    drawn = [ranking.measures(multiplicity=draw, also=own) for draw in draws]
    intervals = {name: interval([draw[name] for draw in drawn]) for name in values}
    ranked = [name for name in NAMES if name not in DECISIONS]
    decided = list(DECISIONS)
    if own is not None:
        (decided if trained_for.fits_bias else ranked).insert(0, own.name)

    def rows(names: list[str]) -> list[list[str]]:
        titles = {"best_f1": "F1 at the best threshold *"}
        return [[titles.get(n, title_of(n)), number(values[n]), *map(number, intervals[n])] for n in names]

    headers = ["value", "95 % from", "to"]
    screen.say()
    screen.result(
        table(["of the ranking", *headers], rows(ranked)),
        "",
        table(["at the model's threshold", *headers], rows(decided)),
    )
    screen.say("\n* chosen on these very rows, so it flatters")
    screen.document(
        {
            "command": "evaluate",
            "model": model,
            "data": summary(examples),
            "bootstrap": bootstrap,
            "seed": seed,
            "measures": {
                name: {"value": values[name], "low": intervals[name][0], "high": intervals[name][1]} for name in values
            },
        }
    )
