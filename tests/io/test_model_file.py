"""Model files: what is saved comes back bit for bit, nothing in them is executed, wrong files are refused in a line."""

import json
import os
import pickle
import subprocess
import sys
import zipfile
from copy import copy
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import smoothperf
from problems import searching
from smoothperf import (
    BMRM,
    LBFGS,
    PRBEP,
    Adaptive,
    BalancedErrorRate,
    ErrorRate,
    Fixed,
    MeasureClassifier,
    Nesterov,
    PartialROCArea,
    PrecisionAtK,
    RecallAtK,
    ROCArea,
    SquaredHinge,
)
from smoothperf.io import model_file
from smoothperf.io.model_file import ModelFileError, load_model, save_model
from smoothperf.optimise import TraceRow

LABELS = {
    "strings": np.array(["ham", "spam, eggs"]),
    "objects": np.array(["ham", "späm"], dtype=object),
    "bytes of ints": np.array([3, 200], dtype=np.uint8),
    "ints": np.array([-1, 1]),
    "floats": np.array([-2.0, 1e15]),
    "bools": np.array([False, True]),
}


def data(labels=LABELS["ints"]):
    rng = np.random.default_rng(0)
    positive = np.arange(40) % 4 == 0
    return rng.normal(size=(40, 5)) + positive[:, None], labels[positive.astype(int)]


def fitted(labels=LABELS["ints"], **parameters):
    return MeasureClassifier(**{"alpha": 1e-2, **parameters}).fit(*data(labels))


def assert_same_value(left, right):
    """The same type and the same bits, all the way down."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif hasattr(left, "__dataclass_fields__"):
        for part in fields(left):
            assert_same_value(getattr(left, part.name), getattr(right, part.name))
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same_value(one, other)
    else:
        assert left == right or (left != left and right != right)


def assert_same_model(left, right):
    assert type(left) is type(right)
    for mine, other in ((left.get_params(), right.get_params()), (vars(left), vars(right))):
        assert mine.keys() == other.keys()
        for name in mine:
            assert_same_value(mine[name], other[name])


# --- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize(
    "measure",
    [
        "roc_area",
        "prbep",
        "precision@5",
        "error_rate@10:1",
        PRBEP(),
        ROCArea(),
        RecallAtK(0.25),
        PrecisionAtK(np.int64(7)),
        PartialROCArea(0.2),
        ErrorRate(3.0),
        BalancedErrorRate(),
        "log_loss",
        SquaredHinge(),
    ],
    ids=str,
)
def test_round_trip(tmp_path, labels, measure):
    clf = fitted(labels, measure=measure)
    again = smoothperf.load(save_model(clf, tmp_path / "a.model"))
    assert_same_model(clf, again)
    X, y = data(labels)
    for features in (X, sp.csr_matrix(X), X.astype(np.float32)):
        np.testing.assert_array_equal(again.decision_function(features), clf.decision_function(features))
        np.testing.assert_array_equal(again.predict(features), clf.predict(features))
    assert again.score(X, y) == clf.score(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": LBFGS(tol=1e-2, memory=3, smoothing=Fixed(deviation=0.01))},
        {"solver": Nesterov(tol=0.1, smoothing=Adaptive(share=0.25))},
        {"solver": BMRM(tol=0.1)},
        {"solver": "bmrm", "tol": 0.1, "class_weight": "balanced", "fit_intercept": False},
        {"class_weight": {-1: 1, 1: 2.5}, "smoothing": 1e-3, "warm_start": True, "tol": 0.1},
        {"class_weight": {np.int64(-1): np.float32(1), 1: 2}, "alpha": np.float64(0.01), "max_iter": np.int64(900)},
    ],
    ids=str,
)
def test_parameters_come_back(tmp_path, parameters):
    clf = fitted(**parameters)
    again = load_model(save_model(clf, tmp_path / "a.model"))
    assert_same_model(clf, again)
    for name, value in parameters.items():
        assert getattr(again, name) == value
    # It can be trained again, to the same end.
    np.testing.assert_array_equal(clone(again).fit(*data()).coef_, clone(clf).fit(*data()).coef_)


def test_trace_comes_back(tmp_path):
    clf = fitted()
    again = load_model(save_model(clf, tmp_path / "a.model"))
    assert len(again.result_.trace) == len(clf.result_.trace) > 2
    assert list(again.result_.trace) == list(clf.result_.trace)
    assert again.result_.status is clf.result_.status
    for row in again.result_.trace:
        assert all(type(getattr(row, part.name)).__name__ == part.type for part in fields(TraceRow))


def test_names_of_features_come_back(tmp_path):
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "ü", "with space", "e"])
    clf = MeasureClassifier(alpha=1e-2).fit(frame, y)
    again = load_model(save_model(clf, tmp_path / "a.model"))
    assert_same_value(again.feature_names_in_, clf.feature_names_in_)
    np.testing.assert_array_equal(again.predict(frame), clf.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"a": "A"}))


def test_callback_is_left_out(tmp_path):
    clf = fitted(callback=lambda row: None)
    assert load_model(save_model(clf, tmp_path / "a.model")).callback is None


def test_model_that_was_stopped_comes_back(tmp_path):
    clf = fitted(callback=lambda row: row.iteration >= 1, tol=1e-9)
    again = load_model(save_model(clf, tmp_path / "a.model"))
    assert again.result_.status.name == "STOPPED"
    assert again.gap_ == clf.gap_


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.floats(width=32).map(np.float32),
        st.integers(-(2**63), 2**63 - 1).map(np.int64),
        st.lists(st.floats()).map(np.array),
        st.lists(st.text(), min_size=1).map(lambda texts: np.array(texts, dtype=object)),
    ),
    lambda parts: st.one_of(
        st.lists(parts), st.lists(parts).map(tuple), st.dictionaries(st.one_of(st.integers(), st.text()), parts)
    ),
    max_leaves=10,
)


MODEL = fitted(tol=0.1)


@searching(25)
@given(values)
def test_any_attribute_comes_back(tmp_path_factory, value):
    # As a later estimator may have: attributes of other kinds than those of today.
    clf = copy(MODEL)
    clf.extra_ = value
    again = load_model(save_model(clf, tmp_path_factory.getbasetemp() / "any.model")).extra_

    def assert_same(left, right):
        if isinstance(left, dict):
            assert list(left) == list(right)
            assert_same(list(left.values()), list(right.values()))
        elif isinstance(left, (list, tuple)):
            assert type(left) is type(right)
            assert len(left) == len(right)
            for one, other in zip(left, right, strict=True):
                assert_same(one, other)
        else:
            assert_same_value(left, right)

    assert_same(value, again)


def test_arrays_under_colliding_names(tmp_path):
    clf = fitted()
    clf.extra_ = {1: np.arange(3), "1": np.arange(4), "a/b": np.arange(5), "a b": np.arange(6), "../x": np.arange(7)}
    again = load_model(save_model(clf, tmp_path / "a.model")).extra_
    for name, array in clf.extra_.items():
        np.testing.assert_array_equal(again[name], array)
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        assert len(set(archive.namelist())) == len(archive.namelist())
        assert not any("/" in name for name in archive.namelist())


def test_model_within_a_model_comes_back(tmp_path):
    clf = fitted()
    clf.best_ = fitted(measure="prbep")
    assert_same_model(load_model(save_model(clf, tmp_path / "a.model")).best_, clf.best_)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_same_model_same_bytes_and_weights_once(tmp_path):
    clf = fitted()
    first = save_model(clf, tmp_path / "a.model").read_bytes()
    assert save_model(load_model(tmp_path / "a.model"), tmp_path / "b.model").read_bytes() == first
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        assert archive.namelist()[0] == "smoothperf-model.json"
        assert {member.date_time[0] for member in archive.infolist()} == {1980}
        assert "coef_.npy" in archive.namelist()
        assert "result_.coef.npy" not in archive.namelist()
        header = json.loads(archive.read("smoothperf-model.json"))
    assert (header["format"], header["version"]) == ("smoothperf model", 3)
    assert header["smoothperf"] == smoothperf.__version__
    assert header["model"]["fitted"]["gap_"] == clf.gap_


def test_old_file_survives_a_failed_write(tmp_path, monkeypatch):
    path = save_model(fitted(), tmp_path / "a.model")
    before = path.read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model_file, "_add", fail)
    with pytest.raises(ModelFileError, match="cannot be written: No space left on device"):
        save_model(fitted(measure="prbep"), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        save_model(MeasureClassifier(), tmp_path / "a.model")
    with pytest.raises(ModelFileError, match="a LogisticRegression cannot be saved, only a MeasureClassifier"):
        save_model(LogisticRegression(), tmp_path / "a.model")

    class Mine(LBFGS):
        pass

    with pytest.raises(ModelFileError, match="not written, as solver is a Mine, which a model file cannot hold"):
        save_model(fitted(solver=Mine()), tmp_path / "a.model")
    with pytest.raises(ModelFileError, match="cannot be written: No such file or directory"):
        save_model(fitted(), tmp_path / "folder" / "a.model")
    assert list(tmp_path.iterdir()) == []


# --- files that are refused -------------------------------------------------------------------------------------------


def complaint(path):
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_missing_files_and_folders(tmp_path):
    assert complaint(tmp_path / "a.model") == "cannot be read: No such file or directory."
    assert complaint(tmp_path) == "cannot be read: Is a directory."


@pytest.mark.parametrize(
    "content", [b"", b"hello", pickle.dumps({"a": 1}), b"\x93NUMPY" + bytes(100), b"+1 1:2\n", bytes(1000)]
)
def test_foreign_files(tmp_path, content):
    (tmp_path / "a.model").write_bytes(content)
    assert complaint(tmp_path / "a.model").startswith("not a model file of smoothperf")


def test_foreign_archives(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2))
    assert complaint(tmp_path / "a.npz").startswith("not a model file of smoothperf: it is an archive without")
    for header in (
        b"[]",
        b"{}",
        b'{"format": "other", "version": 1}',
        b'{"format": "smoothperf model", "version": "1"}',
    ):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("smoothperf-model.json", header)
        assert complaint(tmp_path / "a.zip").startswith(
            "not a model file of smoothperf: its smoothperf-model.json says"
        )


def test_every_truncation_is_noticed(tmp_path):
    whole = save_model(fitted(), tmp_path / "whole").read_bytes()
    for length in range(4, len(whole), 61):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert complaint(tmp_path / "cut").startswith("truncated or damaged")


def test_damage_is_noticed_or_harmless(tmp_path):
    clf = fitted(max_iter=3, tol=1.0)
    whole = save_model(clf, tmp_path / "whole").read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for position in rng.choice(len(whole), 400, replace=False):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            again = load_model(tmp_path / "damaged")
        except ModelFileError:
            noticed += 1
        else:  # dates and the like, which nobody reads
            assert_same_model(again, clf)
    assert noticed > 250


def rewrite(path, change):
    """Apply a change to the header, with all checksums right."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["smoothperf-model.json"])
    change(header)
    members["smoothperf-model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_the_printed_form_of_roc_area(tmp_path):
    """Earlier versions had it as an option: files without it are read, those with it refused."""
    path = save_model(fitted(measure=ROCArea()), tmp_path / "a.model")
    for as_printed in (False, True):
        rewrite(path, lambda header, value=as_printed: roc_area_of(header)["fields"].update(as_printed=value))
        if as_printed:
            with pytest.raises(ModelFileError, match="as_printed"):
                smoothperf.load(path)
        else:
            assert smoothperf.load(path).measure == ROCArea()


def roc_area_of(header):
    found = header["model"]["parameters"]["measure"]
    assert found == {"type": "object", "class": "ROCArea", "fields": found["fields"]}
    return found


def test_first_version(tmp_path):
    """It knew no bias, and the measures that need none."""
    clf = fitted()
    path = save_model(clf, tmp_path / "a.model")

    def older(header):
        header["version"] = 1
        del header["model"]["parameters"]["intercept_scaling"]

    rewrite(path, older)
    assert_same_model(clf, load_model(path))


def test_measures_that_a_file_cannot_hold(tmp_path):
    class Mine(PRBEP):
        """A measure that only this test knows."""

    clf = fitted(measure=Mine())
    with pytest.raises(ModelFileError, match=r"as measure is a Mine, which .* cannot hold. To keep the predictions"):
        clf.save(tmp_path / "a.model")
    assert list(tmp_path.iterdir()) == []
    clf.set_params(measure="roc_area").save(tmp_path / "a.model")
    np.testing.assert_array_equal(load_model(tmp_path / "a.model").predict(data()[0]), clf.predict(data()[0]))


def test_later_version(tmp_path):
    path = save_model(fitted(), tmp_path / "a.model")
    rewrite(path, lambda header: header.update(version=4, smoothperf="9.9"))
    assert complaint(path) == (
        "written by smoothperf 9.9 in version 4 of the format; "
        f"smoothperf {smoothperf.__version__} reads up to version 3: upgrade smoothperf."
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.update({"class": "Popen"}),
        lambda model: model.update({"class": "LogisticRegression"}),
        lambda model: model.update(type="function"),
        lambda model: model.pop("fitted"),
        lambda model: model["parameters"].update(shell=True),
        lambda model: model["parameters"].update(measure={"type": "object", "class": "os.system", "fields": {}}),
        lambda model: model["parameters"].update(solver={"type": "object", "class": "LBFGS", "fields": {"tol": -1}}),
        lambda model: model["fitted"].update(predict=1),
        lambda model: model["fitted"].update(__class__=1),
        lambda model: model["fitted"].update(_private_=1),
        lambda model: model["fitted"]["coef_"].update(member="nothing.npy"),
        lambda model: model["fitted"]["coef_"].update(shape=[7, 7]),
        lambda model: model["fitted"].update(x_={"type": "scalar", "dtype": "O", "value": 1}),
        lambda model: model["fitted"].update(x_={"type": "scalar", "dtype": "M8[s]", "value": 1}),
        lambda model: model["fitted"]["result_"]["fields"]["status"].update(value="FANTASTIC"),
        lambda model: model["fitted"]["result_"]["fields"].pop("gap"),
        lambda model: model["parameters"].update(checkpoint="/somebody/elses/file"),
        lambda model: model["parameters"].update(callback="print"),
        lambda model: model["fitted"].update(n_features_in_=1000),
        lambda model: model["fitted"].update(n_features_in_=True),
        lambda model: model["fitted"].pop("n_features_in_"),
        lambda model: model["fitted"]["coef_"].update(shape=[-1]),
        lambda model: model["fitted"].update(coef_=[[1.0] * 3]),
        lambda model: model["fitted"].update(intercept_=model["fitted"]["coef_"]),
        lambda model: model["fitted"].update(classes_=model["fitted"]["intercept_"]),
        lambda model: model["fitted"].update(feature_names_in_={"type": "objects", "items": ["a"]}),
    ],
)  # fmt: skip
def test_files_made_by_hand_are_refused(tmp_path, change):
    path = save_model(fitted(), tmp_path / "a.model")
    rewrite(path, lambda header: change(header["model"]))
    assert complaint(path).startswith("damaged, or written by another version of smoothperf: ")


def test_deeply_nested_header(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.model", "w") as archive:
        nested = "[" * 100_000 + "]" * 100_000
        archive.writestr("smoothperf-model.json", f'{{"format": "smoothperf model", "version": 1, "model": {nested}}}')
    assert "RecursionError" in complaint(tmp_path / "a.model")


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix])
def test_weights_fewer_than_features_are_no_model(tmp_path, make):
    """They were read beyond their end."""
    X, _ = data()
    path = save_model(fitted(), tmp_path / "a.model")
    rewrite(path, lambda header: header["model"]["fitted"].update(n_features_in_=X.shape[1] + 1000))
    assert "coef_ must be an array of float64 of shape" in complaint(path)
    # And a model that somebody has spoilt in memory is no better.
    model = fitted()
    model.n_features_in_ += 1000
    wide = make((np.ones(3, dtype=np.float32), ([0, 1, 2], [0, 5, X.shape[1] + 900])), shape=(3, X.shape[1] + 1000))
    with pytest.raises(ValueError, match=r"fit|needed"):
        model.predict(wide)


class Trap:
    def __reduce__(self):
        return (os._exit, (3,))


def test_pickles_are_not_opened(tmp_path):
    path = save_model(fitted(), tmp_path / "a.model")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    np.save(tmp_path / "trap.npy", np.array([Trap()], dtype=object))
    members["coef_.npy"] = (tmp_path / "trap.npy").read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert "Object arrays cannot be loaded" in complaint(path)


def test_importing_smoothperf_does_not_import_files():
    program = (
        "import sys, smoothperf; sys.exit('smoothperf.io.model_file' in sys.modules or 'smoothperf.io' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
