"""Whatever a file holds: it is read, or one line says which file is wrong. Damaged by chance, and forged on purpose."""

import copy
import gzip
import io
import json
import random
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import smoothperf
from smoothperf import MeasureClassifier, MeasureClassifierCV, MeasureRanker, TableEncoder
from smoothperf.features import KernelFeatures, Leaves, Shapes
from smoothperf.io import DataError, convert, open_store, read_data, write_npz
from smoothperf.io.ids import read_ids
from smoothperf.io.model_file import ModelFileError, load_model
from smoothperf.io.read import read_table

HEADER = "smoothperf-model.json"
LONG = "x" * 100_000


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


#: Two characters that there are not.
NO_TEXT = npy(np.array([0x110000, 0xFFFFFFFF], dtype=np.uint32).view("U1"))


def message_of(read, path, error):
    """The message of a reader for a file, if it does not read it; anything but one short line is a failure."""
    try:
        read(path)
    except error as caught:
        message = str(caught)
        assert message.startswith(f"{path}")
        message = message.removeprefix(f"{path}")
        assert len(message) < 500
        assert message.isprintable()
        return message.removeprefix(": ")
    return None


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def damaged(content, rng):
    """Some bytes changed, put in, or taken out; or the end cut off."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 20])):
        at = rng.randrange(len(content) or 1)
        match rng.randrange(8):
            case 0 | 1 | 2:
                content[at : at + 1] = [rng.randrange(256)]
            case 3:
                content[at : at + 1] = rng.choice([b"\0", b"\xff", b"\n", b",", b'"', b"-"])
            case 4:
                content[at:at] = rng.randbytes(rng.choice([1, 8, 100]))
            case 5:
                content[at:at] = content[: rng.choice([4, 50])]
            case 6:
                del content[at : at + rng.choice([1, 8, 100])]
            case _:
                del content[at:]
    return bytes(content)


# --- data -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A sound file of every kind, by name."""
    folder = tmp_path_factory.mktemp("sound")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.where(np.arange(12) % 3, "ham", "spam")
    few = sp.csr_matrix(X * (X > 0))
    write_npz(folder / "dense.npz", X, y, feature_names=["a", "b", "c"])
    write_npz(folder / "sparse.npz", few, np.arange(12))
    dump_svmlight_file(few, np.arange(12) % 2, str(folder / "text.svm"), query_id=np.arange(12) // 3)
    table = pd.DataFrame(X, columns=["a", "b", "ü"]).assign(word=y, label=y)
    table.to_csv(folder / "words.csv", index=False)
    (folder / "words.csv.gz").write_bytes(gzip.compress((folder / "words.csv").read_bytes(), mtime=0))
    table.drop(columns="word").to_csv(folder / "numbers.csv", index=False)
    try:
        table.to_parquet(folder / "words.parquet")
        table.drop(columns="word").set_index("a").to_parquet(folder / "numbers.parquet", compression=None)
    except ImportError:  # without pyarrow
        pass
    return {path.name: path for path in folder.iterdir()}


def column_of_labels(path):
    return {"label": "label"} if ".csv" in path.name or path.suffix == ".parquet" else {}


def read(path):
    data = read_data(path, **column_of_labels(path))
    assert np.isfinite(data.X.data if sp.issparse(data.X) else data.X).all()
    assert data.y.shape == data.X.shape[:1]
    str(data.y.tolist())
    str(data.feature_names)


def read_without_labels(path):
    assert read_data(path, labelled=False, **column_of_labels(path)).y is None


def read_into_store(path):
    store = open_store(convert(path, path.with_name("converted"), **column_of_labels(path)))
    assert store.X.shape[0] == store.y.size


def read_as_table(path):
    table = read_table(path, label="label")
    with warnings.catch_warnings(action="ignore"):  # columns that are dropped
        TableEncoder().fit(table).transform(table)


def read_one_column(path):
    assert all(isinstance(text, str) for text in read_ids(path, "label"))


@pytest.mark.parametrize(
    "name",
    [
        "dense.npz",
        "sparse.npz",
        "text.svm",
        "numbers.csv",
        "words.csv",
        "words.csv.gz",
        "numbers.parquet",
        "words.parquet",
    ],
)
def test_damaged_data(name, files, tmp_path):
    if name not in files:
        pytest.skip("needs pyarrow")
    rng, path = random.Random(name), tmp_path / name
    readers = [read, read_without_labels, read_into_store]
    if column_of_labels(path):
        readers += [read_as_table, read_one_column]
    refused = 0
    for case in range(30):
        members = members_of(files[name]) if path.suffix == ".npz" and case % 2 else None
        if members is None:
            path.write_bytes(damaged(files[name].read_bytes(), rng))
        else:  # with the right checksums
            member = rng.choice(sorted(members))
            members[member] = rng.choice([b"", b"hello", NO_TEXT, *[damaged(members[member], rng)] * 5])
            write_members(path, members)
        refused += sum(message_of(reader, path, DataError) is not None for reader in readers)
    assert refused > 30


@pytest.mark.parametrize("text", ["a,label", "a,b,label\n\n"])
def test_tables_without_rows(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert read_ids(path, "label") == []
    for reader in (read, read_into_store, read_as_table):
        assert message_of(reader, path, DataError) == "there are no examples in it"


@pytest.mark.parametrize("member", ["X", "y", "feature_names"])
@pytest.mark.parametrize("content", [b"hello", b"", NO_TEXT, npy(np.float64(1.0))])
def test_archives_with_something_else_in_place_of_an_array(member, content, files, tmp_path):
    members = members_of(files["dense.npz"])
    members[f"{member}.npy"] = content
    path = write_members(tmp_path / "a.npz", members)
    for reader in (read, read_into_store):
        assert message_of(reader, path, DataError)


def test_labels_beside_an_archive(files, tmp_path):
    path, labels = tmp_path / "a.npz", tmp_path / "a.y.npy"
    sp.save_npz(path, sp.eye(2, format="csr"))
    for content in (b"hello", b"", NO_TEXT, files["dense.npz"].read_bytes()):
        labels.write_bytes(content)
        assert message_of(read, path, DataError)


@pytest.mark.parametrize("about", [b"{", b"\xff\xfe", b"[]", b"7", b'{"index_columns": 7}'])
def test_parquet_files_that_pandas_has_not_written_as_they_say(about, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": [1.0, 2.0, 3.0], "label": [0, 1, 0]})
    path = tmp_path / "a.parquet"
    parquet.write_table(table.replace_schema_metadata({b"pandas": about}), path)
    for reader in (read, read_into_store, read_as_table):
        message_of(reader, path, DataError)


def test_parquet_files_whose_text_is_none(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    sound = pa.array(["ab", "cd"])
    text = pa.Array.from_buffers(sound.type, 2, [*sound.buffers()[:2], pa.py_buffer(b"a\xff\xfed")])
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0], "label": text}), path)
    for reader in (read, read_into_store, read_as_table):
        assert message_of(reader, path, DataError)


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory, files):
    """Sound files of models that have all there is to have, and what they predict from."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3 == 0
    X = rng.normal(size=(30, 3)) + y[:, None]
    words = np.where(y, "spam", "ham")
    table = read_table(files["words.csv"], label="label")
    encoded = MeasureClassifier(alpha=0.1, tol=0.1, features=TableEncoder(min_count=1)).fit(table, table.y)
    fitted = [
        MeasureClassifier("prbep", solver=smoothperf.LBFGS(tol=0.1), pos_label="ham").fit(
            pd.DataFrame(X, columns=["a", "b", "c"]), words
        ),
        MeasureClassifier(alpha=0.1, tol=0.1).fit(X, y).set_operating_point(X, y, recall=0.9, confidence=None),
        MeasureClassifierCV(alphas=[0.1], cv=2, tol=0.1, calibration="isotonic").fit(X, words),
        MeasureClassifierCV(alphas=[0.1], cv=2, tol=0.1, calibration="sigmoid").fit(X, words),
        MeasureRanker("pairs", alpha=0.1, tol=0.1).fit(X, np.arange(30) % 4, qid=np.arange(30) // 5),
        encoded,
        *(
            MeasureClassifier(alpha=0.1, tol=0.1, features=features).fit(X, y)
            for features in (make_pipeline(StandardScaler(), Shapes()), KernelFeatures(), Leaves(n_trees=2))
        ),
    ]
    for number, model in enumerate(fitted):
        model.save(folder / f"{number}.model")
    return sorted(folder.iterdir())


def use(path):
    """Load a model, and have it do what loaded models are for."""
    model = load_model(path)
    X = np.random.default_rng(1).normal(size=(4, min(model.n_features_in_, 1000)))
    if hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    assert model.predict(X).shape == (4,)
    str(model.predict(X).tolist())
    if hasattr(model, "calibration_"):
        assert ((model.predict_proba(X) >= 0.0) & (model.predict_proba(X) <= 1.0)).all()
    repr(model)
    model.save(path.with_name("again"))


#: Members that no model has, but a forged one may refer to.
OTHERS = {
    "none.npy": NO_TEXT,
    "two.npy": npy(np.array([0, 1])),
    "void.npy": npy(np.zeros(2, dtype="V4")),
    "nan.npy": npy(np.full(3, np.nan)),
}
PLAIN = [None, True, 0, -1, 3, 10**400, 0.5, "", "spam", "a\n\x1b[31m", LONG, [], [1], ["a", "b"], {}, {"a": 1}]
TYPED = [
    {"type": "float", "value": "nan"},
    {"type": LONG},
    {"type": []},
    {"type": "scalar", "dtype": "<U3", "value": "abc"},
    {"type": "scalar", "dtype": LONG, "value": 1},
    {"type": "tuple", "items": [1, 2]},
    {"type": "dict", "items": [[1, 2]]},
    {"type": "dict", "items": [[[1], 2]]},
    *({"type": "array", "member": name, "shape": [2]} for name in (*OTHERS, HEADER, LONG, "no\nmember")),
    {"type": "array", "member": "two.npy", "shape": [1, 2]},
    {"type": "array", "member": "coef_.npy", "shape": [LONG]},
    {"type": "sparse", "places": "two.npy", "values": "two.npy", "shape": [3]},
    {"type": "objects", "items": ["a", "b"]},
    {"type": "objects", "items": [None, {"type": "array", "member": "two.npy", "shape": [2]}]},
    {"type": "status", "value": LONG},
    {"type": "trace", "columns": {}},
    {"type": "object", "class": "ROCArea", "fields": {}},
    {"type": "object", "class": "LBFGS", "fields": {LONG: 1}},
    {"type": "object", "class": "Isotonic", "fields": {"scores": [1.0], "chances": []}},
    {"type": "object", "class": "Sigmoid", "fields": {"slope": "a", "offset": None}},
    {"type": "model", "class": "MeasureClassifier", "parameters": {}, "fitted": {}},
]


def places_in(value, place=()):
    """All places in nested lists and dictionaries but the outermost."""
    if place:
        yield place
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places_in(value[key], (*place, key))


def forged(header, rng):
    """Something else in one place, or nothing."""
    *outer, last = rng.choice(list(places_in(header)))
    inside = header
    for key in outer:
        inside = inside[key]
    if rng.random() < 0.1:
        del inside[last]
    else:
        inside[last] = copy.deepcopy(rng.choice(PLAIN + TYPED))


def test_damaged_and_forged_models(models, tmp_path):
    rng, path = random.Random(0), tmp_path / "a.model"
    refused = {"bytes": 0, "member": 0, "value": 0}
    for case in range(160):
        kind = ("bytes", "member", "value", "value")[case % 4]
        original = rng.choice(models)
        if kind == "bytes":
            path.write_bytes(damaged(original.read_bytes(), rng))
        else:
            members = {**members_of(original), **OTHERS}
            if kind == "value":
                header = json.loads(members[HEADER])
                forged(header, rng)
                members[HEADER] = json.dumps(header).encode()
            else:
                name = rng.choice(sorted(members))
                members[name] = damaged(members[name], rng)
            write_members(path, members)
        refused[kind] += message_of(use, path, ModelFileError) is not None
    assert all(count > 10 for count in refused.values())


def with_(path, target, change):
    """A copy of a model file with another header."""
    members = {**members_of(path), **OTHERS}
    header = json.loads(members[HEADER])
    change(header)
    members[HEADER] = json.dumps(header).encode()
    return write_members(target, members)


@pytest.mark.parametrize("value", ["text", 1, 0.5, None, True, [], {"type": "tuple", "items": []}])
def test_a_file_with_something_else_in_place_of_a_model(value, models, tmp_path):
    path = with_(models[0], tmp_path / "a.model", lambda header: header.update(model=value))
    assert "in place of a model" in message_of(smoothperf.load, path, ModelFileError)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes_", {"type": "array", "member": "none.npy", "shape": [2]}),
        ("classes_", {"type": "objects", "items": ["a", {"type": "array", "member": "two.npy", "shape": [2]}]}),
        ("pos_label_", {"type": "array", "member": "two.npy", "shape": [2]}),
        ("pos_label_", "neither"),
        ("feature_names_in_", {"type": "objects", "items": ["a", 1, "c"]}),
        ("calibration_", {"type": "object", "class": "ROCArea", "fields": {}}),
        ("has_base_scores_", [True]),
        ("objective_", "small"),
        ("result_", None),
        ("origin_", {"type": "dict", "items": [["date", 5]]}),
        ("coef_", {"type": "array", "member": LONG, "shape": [3]}),
        (LONG, 1),
    ],
)
def test_models_of_which_one_thing_is_forged(name, value, models, tmp_path):
    path = with_(models[0], tmp_path / "a.model", lambda header: header["model"]["fitted"].update({name: value}))
    assert message_of(smoothperf.load, path, ModelFileError).startswith("damaged, or written by another version")


@pytest.mark.parametrize("version", [True, 0, -1, 10**400, LONG, [3]], ids=lambda version: str(version)[:10])
def test_versions_that_are_none(version, models, tmp_path):
    path = with_(models[0], tmp_path / "a.model", lambda header: header.update(version=version, smoothperf=LONG))
    assert message_of(smoothperf.load, path, ModelFileError)
