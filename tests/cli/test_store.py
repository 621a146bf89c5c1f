"""``smoothperf convert``, and the commands that take a store."""

import numpy as np
import pandas as pd
import pytest

import smoothperf
from smoothperf.io import StoreWriter, open_store


@pytest.fixture
def store(run, train_file, tmp_path):
    run("convert", train_file, tmp_path / "train.store")
    return tmp_path / "train.store"


def test_convert(run, run_json, train_file, tmp_path):
    path = tmp_path / "train.store"
    out = run("convert", train_file, path).stdout
    assert f"{path}: store, 300 rows x 4 features, 1,200 stored values" in out
    assert "Positive: " in out
    assert out.endswith(" MiB\n")
    document = run_json("convert", train_file, path, "--float32")
    assert document["rows"] == 300
    assert document["entries"] == 1200
    assert document["bytes"] == sum(file.stat().st_size for file in path.iterdir())
    assert open_store(path).X.dtype == np.float32
    assert run("convert", train_file, path, "--quiet").stdout == ""


def test_queries(run, run_json, tmp_path):
    file, path = tmp_path / "data.csv", tmp_path / "data.store"
    file.write_text("query,a,b,grade\nred,1,2,0\nred,2,1,2\nblue,0,1,1\nblue,3,0,0\n")
    assert "Queries: 2\n" in run("convert", file, path, "--label", "grade", "--query", "query").stdout
    assert open_store(path).qid.tolist() == ["red", "red", "blue", "blue"]
    assert open_store(path).feature_names == ["a", "b"]
    (tmp_path / "data.svm").write_text("1 qid:7 1:2\n0 qid:7 1:1\n0 qid:9 2:1\n")
    assert run_json("convert", tmp_path / "data.svm", path)["queries"] == 2
    assert open_store(path).qid.tolist() == [7, 7, 9]
    (tmp_path / "plain.svm").write_text("1 1:2\n0 1:1\n")
    assert run_json("convert", tmp_path / "plain.svm", path)["queries"] is None
    assert not open_store(path).has_queries


def test_tables_need_a_label(run, csv_file, tmp_path):
    assert (
        "say with label= or --label which column holds the labels"
        in run("convert", csv_file, tmp_path / "s", code=2).stderr
    )
    run("convert", csv_file, tmp_path / "s", "--label", "kind")
    assert open_store(tmp_path / "s").feature_names == ["a", "b", "c", "d"]


def test_no_folder(run, train_file, tmp_path):
    assert "there is no folder" in run("convert", train_file, tmp_path / "nowhere" / "s", code=2).stderr


def test_training_from_a_store_is_training_from_the_file(run_json, run, train_file, store, tmp_path):
    documents = [
        run_json("train", path, "-m", "prbep", "-a", "1e-3", "--scale", "none", "-o", tmp_path / "model")
        for path in (train_file, store)
    ]
    for document in documents:
        del document["seconds"], document["data"]
    assert documents[0] == documents[1]
    model = smoothperf.load(tmp_path / "model")
    assert model.zero_based_ is False
    assert "prbep" in run("evaluate", tmp_path / "model", store, "--json").stdout
    one, other = (run("predict", tmp_path / "model", path).stdout for path in (train_file, store))
    assert one == other


def test_a_choice_from_a_store_is_that_from_the_file(run_json, train_file, store, test_file, tmp_path):
    for more in (["--folds", "2"], ["--validation", test_file], ["-a", "1e-3", "--scale", "maxabs"]):
        documents = [
            run_json("train", path, "-m", "f1", "--scale", "none", *more, "-o", tmp_path / "model")
            for path in (train_file, store)
        ]
        for document in documents:
            del document["seconds"], document["data"]
        assert documents[0] == documents[1]


@pytest.mark.parametrize("command", ["report", "evaluate", "compare", "path", "predict"])
def test_other_commands(run, run_json, model_file, train_file, store, tmp_path, command):
    if command == "report":
        run("report", model_file, store, "-o", tmp_path / "page.html")
        assert (tmp_path / "page.html").stat().st_size > 1000
        return
    if command == "predict":
        assert run(command, model_file, store).stdout == run(command, model_file, train_file).stdout
        return
    few = {"evaluate": ["--bootstrap", 5], "compare": ["--folds", 2], "path": ["--n-alphas", 3]}[command]
    before = [model_file] if command == "evaluate" else []
    found = [run_json(command, *before, path, *few) for path in (store, train_file)]
    for document in found:
        for key in ("data", "seconds"):
            document.pop(key, None)
    assert found[0].keys() == found[1].keys()


def test_columns_in_another_order_are_found_by_name(run, run_json, csv_file, tmp_path):
    run("train", csv_file, "--label", "kind", "-a", "1e-2", "-o", tmp_path / "model")
    header, *lines = csv_file.read_text().splitlines()
    turned = "\n".join(",".join(reversed(line.split(","))) for line in [header, *lines])
    (tmp_path / "turned.csv").write_text(turned)
    run("convert", tmp_path / "turned.csv", tmp_path / "turned.store", "--label", "kind")
    found = run("predict", tmp_path / "model", tmp_path / "turned.store").stdout
    assert found == run("predict", tmp_path / "model", csv_file, "--label", "kind").stdout


def test_weights_are_not_passed_over(run, tmp_path):
    with StoreWriter(tmp_path / "s") as writer:
        writer.add(np.eye(4), [0, 1, 0, 1], sample_weight=np.ones(4))
    line = run("train", tmp_path / "s", "-o", tmp_path / "model", code=2).stderr
    assert "its rows have weights, which commands do not look at; in Python fit(path) does" in line


def test_wrong_number_of_features(run, model_file, csv_file, tmp_path):
    (tmp_path / "wide.svm").write_text("1 7:1\n-1 1:1\n")
    run("convert", tmp_path / "wide.svm", tmp_path / "wide.store")
    assert (
        "it has 7 features where 4 are expected" in run("predict", model_file, tmp_path / "wide.store", code=2).stderr
    )


def test_verify(run, run_json, store):
    assert "as they were written" in run("convert", "--verify", store).stdout
    document = run_json("convert", "--verify", store)
    assert document["intact"]
    assert "writes nothing: leave out" in run("convert", "--verify", store, store, code=2).stderr
    content = bytearray((store / "values.npy").read_bytes())
    content[200] ^= 1
    (store / "values.npy").write_bytes(content)
    line = run("convert", "--verify", store, code=2).stderr
    assert f"{store / 'values.npy'}: it is damaged: the checksum is wrong; convert the data again" in line


def test_nothing_of_the_user_is_overwritten(run, train_file, store, tmp_path):
    (tmp_path / "mine").mkdir()
    assert (
        "there is a folder of this name that is no store"
        in run("convert", train_file, tmp_path / "mine", code=2).stderr
    )
    assert "there is a file of this name that is no store" in run("convert", store, train_file, code=2).stderr
    assert "say where the store goes" in run("convert", store, code=2).stderr
    run("convert", store, store, "--float32")  # a store is replaced


def test_damage_is_one_line(run, store, tmp_path):
    (store / "labels.npy").write_bytes(b"")
    line = run("train", store, "-a", "1e-3", "-q", "-o", tmp_path / "m", code=2).stderr
    assert f"{store / 'labels.npy'}: truncated or damaged" in line
    assert [path.name for path in tmp_path.iterdir()] == ["train.store"]


def test_words_become_numbers_and_their_encoder_stays(run, run_json, tmp_path):
    rng = np.random.default_rng(0)
    towns, ages = rng.choice(["Rome", "Oslo", "Bonn"], 300), rng.integers(20, 70, 300)
    labels = np.where((towns == "Rome") + (ages < 40) + 0.3 * rng.normal(size=300) > 0.8, "yes", "no")
    rows = [
        f"c-{n},{town},{age if n % 7 else ''},{label}"
        for n, (town, age, label) in enumerate(zip(towns, ages, labels, strict=True))
    ]
    table, store = tmp_path / "towns.csv", tmp_path / "towns.store"
    table.write_text("\n".join(["id,town,age,bought", *rows]))
    told = run("convert", table, store, "--label", "bought", "--id", "id").stdout
    assert "town    words   3 words" in told
    assert open_store(store).feature_names == ["town=Bonn", "town=Oslo", "town=Rome", "age", "age missing"]
    assert run("convert", "--verify", store).stdout.endswith("as they were written\n")
    for scale in ("none", "standard"):
        run("train", store, "-m", "f1", "--scale", scale, "-q", "-o", tmp_path / "model")
        found = run_json("evaluate", tmp_path / "model", table, "--bootstrap", "2")
        assert found["measures"]["f1"]["value"] > 0.7
    frame = pd.read_csv(table)
    predicted = smoothperf.load(tmp_path / "model").predict(frame)
    assert run("predict", tmp_path / "model", table).stdout.split() == predicted.tolist()
    assert "its rows are features already" in run("evaluate", tmp_path / "model", store, code=2).stderr
    run("convert", table, store, "--label", "bought", "--drop", "town")  # in its place
    assert open_store(store).shape == (300, 2)
    run("train", store, "-m", "f1", "--folds", "2", "--features", "additive", "-q", "-o", tmp_path / "model")
    assert smoothperf.load(tmp_path / "model").predict(frame).shape == (300,)


def test_options_of_columns_are_for_tables(run, train_file, tmp_path):
    told = run("convert", train_file, tmp_path / "some.store", "--drop", "town", code=2).stderr
    assert "a file of the svmlight format has no columns that options could be about" in told
    assert not (tmp_path / "some.store").exists()
