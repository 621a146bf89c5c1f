"""Columns of texts: the features of scikit-learn's TfidfVectorizer, learnt from training rows, kept as data."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

import smoothperf
from smoothperf import MeasureClassifier, MeasureClassifierCV, TableEncoder
from smoothperf.estimators.effects import NotAdditiveError
from smoothperf.export import to_sql
from smoothperf.features import DroppedColumnWarning
from smoothperf.io import DataError
from smoothperf.io.model_file import ModelFileError

TEXT = "crude barrel price rose fell wheat harvest tonnes bank rate Köln 7th of the in and"
WORDS = np.array(TEXT.split())


def texts(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=rng.integers(6, 15))) + "." for _ in range(n)]


def frame(n=90, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["Rome", "Oslo"], size=n), "body": texts(n)})


def test_features_are_those_of_scikit_learn_beside_others():
    train, new = frame(), frame(30, 1).assign(body=["unheard words and wheat", None, ""] * 10)
    encoder = TableEncoder(text=["body"]).fit(train)
    peer = TfidfVectorizer(sublinear_tf=True, min_df=2).fit(train["body"])
    for part in (train, new):
        found = encoder.transform(part)
        assert sp.issparse(found)
        np.testing.assert_array_equal(found[:, 3:].toarray(), peer.transform(part["body"].fillna("")).toarray())
    at_once = clone(encoder).fit_transform(train).toarray()
    np.testing.assert_allclose(at_once, encoder.transform(train).toarray(), rtol=1e-12)
    names = [f"body: {word}" for word in peer.get_feature_names_out()]
    assert encoder.get_feature_names_out().tolist() == ["size", "town=Oslo", "town=Rome", *names]
    assert encoder.unseen(new) == {}


def test_settings_for_a_column():
    given = {"ngram_range": (1, 2), "stop_words": "english", "min_df": 1, "sublinear_tf": False}
    encoder = TableEncoder(text={"body": given}).fit(frame())
    peer = TfidfVectorizer(**given).fit(texts())
    assert encoder.columns_[-1].words == peer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(encoder.transform(frame())[:, 3:].toarray(), peer.transform(texts()).toarray())
    with pytest.raises(ValueError, match="text has 'input' for 'body', which is none of analyzer, "):
        TableEncoder(text={"body": {"input": "filename"}}).fit(frame())
    with pytest.raises(DataError, match="there is no column 'bod' for text=; there are 'size', 'town', 'body'"):
        TableEncoder(text=["bod"]).fit(frame())
    with pytest.raises(ValueError, match="'min_df' parameter"):
        TableEncoder(text={"body": {"min_df": -1}}).fit(frame())


def test_texts_that_nobody_declared_are_named():
    with pytest.warns(DroppedColumnWarning, match="has 90 texts in 90 rows, .*; --text body or text=.'body'. makes"):
        encoder = TableEncoder().fit(frame())
    assert encoder.columns_[-1].reason.startswith("its cells are texts; --text body")
    with (
        pytest.warns(DroppedColumnWarning),
        pytest.raises(DataError, match=r"no column has values .*: its cells are texts; --text 'the body' or text=\["),
    ):
        TableEncoder().fit(frame()[["body"]].rename(columns={"body": "the body"}))
    often = TableEncoder().fit(pd.DataFrame({"body": texts(60) * 2}))
    assert often.columns_[0].reason.startswith("has 60 texts in 120 rows, and --text body or")


def test_texts_without_a_common_word_are_dropped():
    encoder = TableEncoder(text=["body"]).fit(pd.DataFrame({"n": [1, 2], "body": ["one thing", "another matter"]}))
    assert [(column.kind, column.reason) for column in encoder.columns_] == [
        ("number", ""),
        ("dropped", "its texts have no word in common"),
    ]


def test_a_model_of_texts_in_a_file(tmp_path):
    X, y = frame(), np.array(["crude" in text for text in texts()])
    model = MeasureClassifier(alpha=0.1, features=TableEncoder(text=["body"])).fit(X, y)
    model.save(file := tmp_path / "model")
    again = smoothperf.load(file)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.feature_names[np.abs(again.coef_[0]).argmax()] == "body: crude"
    with pytest.raises(NotAdditiveError, match="column 'body' is text"):
        to_sql(model)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["smoothperf-model.json"])
    column = header["model"]["fitted"]["features_"]["fitted"]["columns_"][-1]["fields"]
    harmful = {"type": "dict", "items": [["input", "filename"]]}
    for name, value, message in (("idf", column["idf"][1:], "not described"), ("settings", harmful, "has 'input'")):
        kept, column[name] = column[name], value
        with zipfile.ZipFile(tmp_path / "other", "w") as archive:
            archive.writestr("smoothperf-model.json", json.dumps(header))
            for member, content in list(members.items())[1:]:
                archive.writestr(member, content)
        with pytest.raises(ModelFileError, match=message):
            smoothperf.load(tmp_path / "other")
        column[name] = kept


def test_inside_a_choice_words_are_learnt_from_the_training_part(monkeypatch):
    seen = []
    fit = TfidfVectorizer.fit_transform

    def seeing(self, texts, y=None):
        seen.append(len(texts))
        return fit(self, texts)

    monkeypatch.setattr(TfidfVectorizer, "fit_transform", seeing)
    y = np.array(["crude" in text for text in texts()])
    MeasureClassifierCV("f1", bound="convex", cv=3, features=TableEncoder(text=["body"])).fit(frame(), y)
    assert set(seen) == {60, 90}
