"""The benchmark beside published tables: LETOR's NDCG by hand, and the page."""

import numpy as np
import pytest

from benchmarks.published import AUTO, LINEAR, LINES, letor_ndcg, page


def test_the_ndcg_of_letor_discounts_from_the_third_document_on():
    grades, scores = np.array([0.0, 2.0, 1.0, 0.0]), np.array([4.0, 3.0, 2.0, 1.0])
    gains, ideal = [0.0, 3.0, 3.0 + 1 / np.log2(3)], [3.0, 4.0, 4.0]  # at depths 1, 2 and 3
    assert letor_ndcg("NDCG@2", grades, scores) == pytest.approx(gains[1] / ideal[1])
    assert letor_ndcg("NDCG@10", grades, scores) == pytest.approx(gains[2] / ideal[2])
    by_depth = [gains[depth] / ideal[depth] for depth in (0, 1, 2, 2)]
    assert letor_ndcg("MeanNDCG", grades, scores) == pytest.approx(np.mean(by_depth))
    assert letor_ndcg("MeanNDCG", np.zeros(3), np.arange(3.0)) == 0.0


def test_the_page_says_first_where_ours_is_short():
    line = LINES[0]
    name, best = line.best
    row = {"data": line.data, "goal": line.goal, "test_positives": "100", "seconds": "1.0", "chosen": ""}
    rows = [
        {**row, "method": method, "split": str(split), "value": str(value + split * 1e-3)}
        for method, value in ((LINEAR, best - 0.1), (AUTO, best + 0.1))
        for split in range(2)
    ]
    written = page(rows)
    assert '0 of 1 lines with the defaults, 1 of 1 with `features="auto"`' in written
    assert written.index(f"- {line.data}, {line.goal}") < written.index("| data |")
    assert f"published {best:g} ({name})" in written
