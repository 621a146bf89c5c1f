"""Measures by the names that people type, and what is said about names that are none."""

import pytest

from smoothperf import (
    PRBEP,
    AveragePrecision,
    BalancedErrorRate,
    ErrorRate,
    FBeta,
    Jaccard,
    MatthewsCorrelation,
    PartialROCArea,
    PrecisionAtK,
    PrecisionAtRecall,
    RecallAtFPR,
    RecallAtK,
    RecallAtPrecision,
    ROCArea,
)
from smoothperf.measures import MEASURE_NAMES, NDCG, get_measure
from smoothperf.measures.names import _ALIASES


@pytest.mark.parametrize(
    ("typed", "measure"),
    [
        ("auc", ROCArea()),
        ("AUC", ROCArea()),
        ("roc_auc", ROCArea()),
        ("ROC AUC", ROCArea()),
        ("roc-auc-score", ROCArea()),
        ("auc@0.1", PartialROCArea(0.1)),
        ("ap", AveragePrecision()),
        ("average_precision_score", AveragePrecision()),
        ("accuracy", ErrorRate()),
        ("balanced_accuracy", BalancedErrorRate()),
        ("accuracy@10:1", ErrorRate(10.0, 1.0)),
        ("F1", FBeta()),
        ("f1_score", FBeta()),
        ("F0.5", FBeta(0.5)),
        ("f11.0", FBeta(11.0)),
        ("mcc", MatthewsCorrelation()),
        ("matthews_corrcoef", MatthewsCorrelation()),
        ("Jaccard", Jaccard()),
        ("iou", Jaccard()),
        (" PRBEP ", PRBEP()),
        ("Precision@100", PrecisionAtK(100)),
        ("precision_at_100", PrecisionAtK(100)),
        ("recall at 5%", RecallAtK(0.05)),
        ("recall at precision = 90%", RecallAtPrecision(0.9)),
        ("precision_at_recall=0.8", PrecisionAtRecall(0.8)),
        ("TPR@FPR=1%", RecallAtFPR(0.01)),
        ("recall@fpr=0.01,Confidence=None", RecallAtFPR(0.01, None)),
    ],
)
def test_names_that_people_type(typed, measure):
    assert get_measure(typed) == measure


def test_every_alias_leads_to_a_measure():
    assert not set(_ALIASES) & set(MEASURE_NAMES)
    for alias, name in _ALIASES.items():
        assert any(known == name or known.startswith(f"{name}@") for known in MEASURE_NAMES), alias


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("roc_aera", r"got 'roc_aera'. Did you mean 'roc_area'\?"),
        ("precison@100", r"Did you mean 'precision@100'\?"),
        ("precision", r"Did you mean 'precision@100'\?"),
        ("f11", r"got 'f11'\. Did you mean 'f1'\?"),
        ("acuracy", r"Did you mean 'accuracy'\?"),
        ("zzz", r"measure must be one of .*, got 'zzz'\.$"),
        ("", r"measure must be one of .*, got ''\.$"),
        (None, r"measure must be one of .* or a Measure object, got None\.$"),
        ("error_rate@1", r"'error_rate@1' cannot be read: '1' is not two costs.* Write it like 'error_rate@10:1'\."),
        ("error_rate@a:1", r"cannot be read: 'a' is not a number"),
        ("ndcg@10", r"got 'ndcg@10'\. It is a measure of rankings: use MeasureRanker, or get_query_scorer\.$"),
        (NDCG(), r"got NDCG\(.*\)\. It is a measure of rankings: use MeasureRanker, or get_query_scorer\.$"),
        ("prbep@3", r"measure 'prbep@3' cannot be read: 'prbep' has no '3'; write 'prbep' alone"),
        ("f1@0.5", r"'f1' has no '0.5'; write 'f1' alone"),
        (
            "recall@foo=3",
            r"'foo=3' is not a number. Write it like 'recall@5%', 'recall@precision=0.9', 'recall@fpr",
        ),
        ("recall@precision=2", r"cannot be read: precision must lie above 0 and not above 1, got 2"),
        ("recall@precision=high", r"cannot be read: 'high' is not a number. Write it like 'recall@precision=0.9'"),
    ],
)
def test_names_that_are_none(typed, message):
    with pytest.raises(ValueError, match=message):
        get_measure(typed)


@pytest.mark.parametrize("beta", [0.5, 1, 9, 9.5, 10, 11, 12.5])
def test_every_beta_has_a_name_that_leads_back_to_it(beta):
    assert get_measure(FBeta(beta).name) == FBeta(beta)
