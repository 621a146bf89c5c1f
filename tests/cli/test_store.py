"""``smoothperf convert``, and the commands that take a store."""

import numpy as np
import pytest

import smoothperf
from smoothperf.io import open_store


@pytest.fixture
def store(run, train_file, tmp_path):
    run("convert", train_file, tmp_path / "train.store")
    return tmp_path / "train.store"


def test_convert(run, run_json, train_file, tmp_path):
    path = tmp_path / "train.store"
    out = run("convert", train_file, path).stdout
    assert f"{path}: store, 300 rows x 4 features" in out
    assert "Positive: " in out
    assert "MiB, 1 block\n" in out
    document = run_json("convert", train_file, path, "--float32")
    assert document["rows"] == 300
    assert document["bytes"] == path.stat().st_size
    assert open_store(path).types.value == np.float32
    assert run("convert", train_file, path, "--quiet").stdout == ""


def test_queries(run, run_json, tmp_path):
    file, path = tmp_path / "data.csv", tmp_path / "data.store"
    file.write_text("query,a,b,grade\nred,1,2,0\nred,2,1,2\nblue,0,1,1\nblue,3,0,0\n")
    assert "Queries: 2\n" in run("convert", file, path, "--label", "grade", "--query", "query").stdout
    assert open_store(path).qid().tolist() == ["red", "red", "blue", "blue"]
    assert open_store(path).feature_names == ["a", "b"]
    (tmp_path / "data.svm").write_text("1 qid:7 1:2\n0 qid:7 1:1\n0 qid:9 2:1\n")
    assert run_json("convert", tmp_path / "data.svm", path)["queries"] == 2
    assert open_store(path).qid().tolist() == [7, 7, 9]
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


def test_what_needs_the_rows_in_memory(run, store, test_file, tmp_path):
    for more in ([], ["--validation", test_file]):
        line = run("train", store, *more, "-o", tmp_path / "model", code=2).stderr
        assert "train.store: a store cannot be cross-validated, as its rows are not in memory: give --alpha" in line
    line = run("train", store, "-a", "1e-3", "--scale", "maxabs", "-o", tmp_path / "model", code=2).stderr
    assert "--scale maxabs needs the rows in memory" in line


def test_other_commands_read_a_store_whole(run, model_file, store, tmp_path):
    run("report", model_file, store, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 1000


def test_wrong_number_of_features(run, model_file, csv_file, tmp_path):
    (tmp_path / "wide.svm").write_text("1 7:1\n-1 1:1\n")
    run("convert", tmp_path / "wide.svm", tmp_path / "wide.store")
    assert (
        "it has 7 features where 4 are expected" in run("predict", model_file, tmp_path / "wide.store", code=2).stderr
    )


def test_damage_is_one_line(run, store, tmp_path):
    content = bytearray(store.read_bytes())
    content[100] ^= 1
    store.write_bytes(content)
    assert (
        "block 0 (rows 1 to 300) is damaged"
        in run("train", store, "-a", "1e-3", "-q", "-o", tmp_path / "m", code=2).stderr
    )
    assert [path.name for path in tmp_path.iterdir()] == ["train.store"]
