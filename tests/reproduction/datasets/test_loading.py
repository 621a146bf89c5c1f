"""Loading by name: where files are looked for, how rows are divided, and that nothing stands in silently."""

import gzip

import numpy as np
import pytest

from reproduction.datasets import MissingDataError, Relation, cache, load, registry
from reproduction.datasets.recipes import RECIPES


def identical(one, other):
    return all(
        np.array_equal(a.X.toarray(), b.X.toarray()) and np.array_equal(a.y, b.y)
        for a, b in zip(one, other, strict=True)
    )


def parts(data):
    return data.train, data.validation, data.test


def test_with_a_second_file_all_rows_of_the_first_are_trained_on(data_dir, write):
    write(data_dir / "a9a.svm.bz2", 80)
    write(data_dir / "a9a.t", 40, seed=1)
    data = load("adult9", data_dir=data_dir)
    assert data.relation is Relation.PAPER
    assert [part.X.shape for part in parts(data)] == [(80, 123), (20, 123), (20, 123)]
    assert [int((part.y > 0).sum()) for part in parts(data)] == [20, 5, 5]
    assert [path.name for path in data.files] == ["a9a.svm.bz2", "a9a.t"]


@pytest.mark.parametrize(
    ("name", "file", "sizes"), [("covertype", "covtype.svm", (90, 5, 5)), ("worm", "worm", (60, 20, 20))]
)
def test_one_file_is_divided_as_table_1_has_it(data_dir, write, name, file, sizes):
    write(data_dir / file, 100)
    assert tuple(part.y.shape[0] for part in parts(load(name, data_dir=data_dir))) == sizes


def test_parts_have_no_row_in_common_and_are_always_the_same(data_dir):
    # The value of a row is its number.
    lines = "\n".join(f"{1 if i % 4 else -1} 1:{i + 1}" for i in range(200))
    (data_dir / "w8a").write_text(lines)
    data = load("web8", data_dir=data_dir)
    numbers = [part.X[:, 0].toarray().ravel().tolist() for part in parts(data)]
    assert sorted(number for part in numbers for number in part) == list(range(1, 201))
    assert identical(parts(data), parts(load("web8", data_dir=data_dir)))


def test_a_stand_in_says_so_and_the_papers_set_comes_first(data_dir, write):
    write(data_dir / "news20-bigram.svm", 40)
    assert load("news20", data_dir=data_dir).relation is Relation.STAND_IN
    write(data_dir / "news20.binary", 40)
    assert load("news20", data_dir=data_dir).relation is Relation.PAPER


def test_the_users_folder_comes_before_the_cache(data_dir, cache_dir, write, monkeypatch):
    cache_dir.mkdir()
    write(cache_dir / "news20.binary", 40)
    assert load("news20").relation is Relation.PAPER
    write(data_dir / "news20-bigram.svm", 40)
    assert load("news20", data_dir=data_dir).relation is Relation.STAND_IN
    monkeypatch.setenv("SMOOTHPERF_DATA", str(data_dir))
    assert load("news20").relation is Relation.STAND_IN


def test_missing_sets_are_one_clear_line(data_dir):
    with pytest.raises(
        MissingDataError, match=r"^real-sim is missing: .*'python -m reproduction fetch real-sim'"
    ) as error:
        load("real-sim", data_dir=data_dir)
    assert "\n" not in str(error.value)
    with pytest.raises(MissingDataError, match=r"^aut-avn is missing: .* cannot be fetched"):
        load("aut-avn", data_dir=data_dir)
    with pytest.raises(ValueError, match="data_dir must name a folder"):
        load("web8", data_dir=data_dir / "nowhere")


def test_the_larger_label_is_positive(data_dir, write):
    write(data_dir / "covtype.libsvm.binary.scale.bz2", 80, labels=("1", "2"))
    data = load("covertype", data_dir=data_dir)
    assert sorted(set(data.train.y.tolist())) == [-1, 1]
    assert (data.train.y > 0).mean() == 0.25


def test_three_kinds_of_labels_are_an_error(data_dir):
    (data_dir / "w8a").write_text("1 1:1\n2 1:1\n3 1:1\n")
    with pytest.raises(ValueError, match=r"3 kinds of labels"):
        load("web8", data_dir=data_dir)


def test_parsed_files_are_in_the_cache_and_never_in_the_users_folder(data_dir, cache_dir, write):
    write(data_dir / "a9a.svm")
    write(data_dir / "a9a.t")
    before = sorted(data_dir.iterdir())
    first = load("adult9", data_dir=data_dir)
    assert sorted(data_dir.iterdir()) == before
    assert len(list(cache_dir.glob("*.npz"))) == 2
    assert identical(parts(first), parts(load("adult9", data_dir=data_dir)))


def test_parsed_files_are_used(data_dir, write, monkeypatch):
    write(data_dir / "a9a.svm")
    first = load("adult9", data_dir=data_dir)

    def must_not_run(paths, form):
        raise AssertionError("parsed again")

    monkeypatch.setitem(RECIPES, "svmlight", must_not_run)
    assert identical(parts(first), parts(load("adult9", data_dir=data_dir)))


def test_other_sources_are_parsed_again_whatever_their_size_and_date(data_dir, write):
    import os

    file = write(data_dir / "a9a.svm")
    first = load("adult9", data_dir=data_dir)
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    text = file.read_text()
    digit = text.index("0.") + 2
    file.write_text(text[:digit] + ("1" if text[digit] != "1" else "2") + text[digit + 1 :])
    os.utime(file, ns=times)
    assert file.stat().st_size == len(text)
    assert not identical(parts(first), parts(load("adult9", data_dir=data_dir)))


def test_damaged_parsed_files_are_made_again(data_dir, cache_dir, write):
    write(data_dir / "a9a.svm")
    first = load("adult9", data_dir=data_dir)
    for path in cache_dir.glob("*.npz"):
        path.write_bytes(path.read_bytes()[:100])
    assert identical(parts(first), parts(load("adult9", data_dir=data_dir)))


def test_without_a_cache_folder_all_works(data_dir, cache_dir, write):
    cache_dir.write_text("a file where the folder should be")
    write(data_dir / "a9a.svm")
    assert load("adult9", data_dir=data_dir).train.X.shape == (64, 123)


def test_small_files_are_not_worth_it(data_dir, cache_dir, write, monkeypatch):
    monkeypatch.setattr(cache, "WORTH_IT", 2**18)
    write(data_dir / "a9a.svm")
    load("adult9", data_dir=data_dir)
    assert not cache_dir.exists()


def test_rcv1_vectors_and_topics(data_dir):
    def packed(name, text):
        (data_dir / name).write_bytes(gzip.compress(text.encode()))

    documents = "".join(f"{2286 + i}  2:0.6 47236:0.8\n" for i in range(8))
    packed("lyrl2004_vectors_train.dat.gz", documents)
    packed("lyrl2004_vectors_test_pt0.dat.gz", "".join(f"{3000 + i}  1:1\n" for i in range(8)))
    topics = [(2286, "CCAT"), (2286, "C11"), (2289, "CCAT"), (3001, "CCAT"), (3002, "CCAT"), (2287, "GCAT")]
    packed("rcv1v2.topics.qrels.gz", "".join(f"{topic} {document} 1\n" for document, topic in topics))
    data = load("reuters-ccat", data_dir=data_dir)
    assert data.relation is Relation.PAPER
    assert data.train.X.shape == (8, 47_236)
    assert np.flatnonzero(data.train.y > 0).tolist() == [0, 3]
    assert data.train.X[0].toarray()[0, [1, 47_235]].tolist() == [0.6, 0.8]
    assert int((data.validation.y > 0).sum()) == int((data.test.y > 0).sum()) == 1


def test_covtype_is_scaled_and_class_2_is_positive(data_dir):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 50, (40, 54))
    table[:, 5] = 7  # a constant column becomes zero
    classes = np.arange(40) % 7 + 1
    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(table, classes, strict=True))
    (data_dir / "covtype.data.gz").write_bytes(gzip.compress(rows.encode()))
    train, other = RECIPES["covtype"]([data_dir / "covtype.data.gz"], registry.describe("covertype").forms[0])
    assert other is None
    X = train.X.toarray()
    assert X.min() == 0.0
    assert X.max() == 1.0
    assert not X[:, 5].any()
    varied = [column for column in range(54) if column != 5]
    low, high = table.min(axis=0)[varied], table.max(axis=0)[varied]
    np.testing.assert_allclose(X[:, varied], (table[:, varied] - low) / (high - low))
    assert np.array_equal(train.y > 0, classes == 2)


def test_kdd99_numbers_and_words(data_dir):
    def row(duration, protocol, service, flag, label):
        return ",".join([str(duration), protocol, service, flag, *["0"] * 37, label])

    lines = [
        row(4, "udp", "http", "SF", "normal."),
        row(2, "tcp", "http", "S0", "smurf."),
        row(0, "tcp", "ftp", "SF", "normal."),
    ]
    file = data_dir / "kddcup99_data"
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    train, _ = RECIPES["kdd99"]([file], registry.describe("kdd99").forms[0])
    assert train.X.shape == (3, 38 + 6)
    assert train.X[:, 0].toarray().ravel().tolist() == [1.0, 0.5, 0.0]
    # In the order of the alphabet: tcp, udp; ftp, http; S0, SF.
    assert train.X[:, 38:].toarray().tolist() == [[0, 1, 0, 1, 0, 1], [1, 0, 0, 1, 1, 0], [1, 0, 1, 0, 0, 1]]
    assert train.y.tolist() == [-1, 1, -1]
    for text, reason in (
        ("1,2,3\n", "line 1: 3 columns where 42"),
        (row(-1, "udp", "http", "SF", "normal."), "a number is negative"),
        (row("x", "udp", "http", "SF", "normal."), "a number is none: "),
        ("", "it is empty"),
    ):
        file.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(ValueError, match=reason):
            RECIPES["kdd99"]([file], registry.describe("kdd99").forms[0])


def test_files_that_are_not_the_papers(data_dir):
    topics, table = data_dir / "topics.gz", data_dir / "covtype.gz"
    topics.write_bytes(gzip.compress(b"C15 1 1\n"))
    with pytest.raises(ValueError, match="no document has the topic C11"):
        RECIPES["rcv1"]([topics, topics, topics], registry.describe("reuters-c11").forms[0])
    for text, reason in (("1,2,3\n", "it has 3 columns where 55 are expected"), ("a,b\n", "it is no table of numbers")):
        table.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(ValueError, match=reason):
            RECIPES["covtype"]([table], registry.describe("covertype").forms[0])


def test_forms_need_all_files_but_optional_ones(data_dir, write):
    (data_dir / "rcv1v2.topics.qrels.gz").write_bytes(gzip.compress(b"C11 1 1\n"))
    with pytest.raises(MissingDataError):
        load("reuters-c11", data_dir=data_dir)
    write(data_dir / "rcv1-c11.svm", 80)
    assert load("reuters-c11", data_dir=data_dir).relation is Relation.PART


def test_a_single_positive_cannot_be_divided(data_dir):
    (data_dir / "w8a").write_text("1 1:1\n" + "-1 1:1\n" * 9)
    with pytest.raises(ValueError, match=r"^web8: a class has one example only"):
        load("web8", data_dir=data_dir)
