"""Cuts of many labels: against every combination of cuts, and where labels have few rows."""

import itertools

import numpy as np
import pytest

from smoothperf.cuts.together import BORROWED, SharedCounts, cuts_together
from smoothperf.measures import FBeta, Jaccard


@pytest.mark.parametrize("measure", [FBeta(), FBeta(2.0), Jaccard()], ids=str)
def test_no_combination_of_cuts_is_better(measure):
    rng = np.random.default_rng(0)
    for _ in range(20):
        members = rng.random((3, 8)) < 0.4
        members[:, 0] = True
        scores = rng.normal(size=(3, 8)) + members
        counts = SharedCounts.of(list(members), list(scores))
        terms = [
            measure.parts_of_counts(tp, fp, n[0])
            for tp, fp, n in zip(counts.hits, counts.false, counts.positives, strict=True)
        ]

        def together(cuts, terms=terms):
            above, below = (sum(pair[i][cut] for pair, cut in zip(terms, cuts, strict=True)) for i in (0, 1))
            return above / below

        some = [range(0, counts.thresholds.size, 40) for _ in terms]
        found = together(cuts_together(terms))
        assert found >= max(together(cuts) for cuts in itertools.product(*some)) - 1e-12


def test_few_rows_borrow_and_many_decide():
    rng = np.random.default_rng(0)
    members = [np.arange(20_000) < n for n in (3, 100, 100, 10_000)]
    # The largest label would best be cut elsewhere than those of its neighbours' size.
    scores = [rng.normal(size=20_000) + 3.0 * mine for mine in members]
    scores[3] += 4.0
    own = SharedCounts.of(members, scores)
    sizes = own.positives[:, 0]
    lent = own.with_borrowed(sizes)
    np.testing.assert_allclose(lent.positives, own.positives + BORROWED)
    (_, alone), (_, shared) = (counts.best(FBeta().of_counts) for counts in (own, lent))
    assert abs(shared[3] - alone[3]) < 0.3
    assert abs(shared[0] - shared[1]) < 0.5
    # A label without rows is cut where those of its size are.
    none = SharedCounts.of([*members, np.zeros(5, dtype=bool)], [*scores, np.zeros(5)]).with_borrowed(
        np.append(sizes, 100)
    )
    assert none.best(FBeta().of_counts)[1][4] == pytest.approx(shared[1], abs=0.3)
