"""The paper's eleven data sets: the numbers of its Table 1, and the forms in which each can be had.

A form is a set of files and a recipe that makes matrices of them. It says how it relates to what the paper used: the
set itself, part of it, or a stand-in that was made anew in its spirit. Nothing takes the place of anything silently:
whatever is loaded carries its relation with it.

Checksums are known where another project publishes them (those of scikit-learn's own downloads). None means unknown:
then nothing can be checked, and ``fetch`` prints what it got.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from smoothperf._validation import choice

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
#: scikit-learn's mirror of RCV1-v2, Forest CoverType and KDD Cup 99.
MIRROR = "https://ndownloader.figshare.com/files"
#: How svmlight files of a stem may end.
ENDINGS = tuple(kind + packed for kind in (".svm", ".libsvm", "") for packed in ("", ".bz2", ".gz", ".xz"))


class Relation(Enum):
    """Relation of a form to the set that the paper used.

    Examples
    --------
    >>> Relation.STAND_IN.value
    'a stand-in, re-made'
    """

    PAPER = "the paper's set"
    PART = "part of the paper's set"
    STAND_IN = "a stand-in, re-made"


@dataclass(frozen=True)
class File:
    """One file of a form.

    Attributes
    ----------
    stem : str
        Its name, or for the recipe "svmlight" its name without endings: ``a9a`` is also found as ``a9a.svm.bz2``.
    url : str or None
        Public location; None if there is none.
    sha256 : str or None
        Of what is found there; None if unknown.
    optional : bool
        Whether the form can do without it.
    """

    stem: str
    url: str | None = None
    sha256: str | None = None
    optional: bool = False

    @property
    def download_name(self) -> str:
        """Its name after a download: as at its location where that tells the format, else as its stem."""
        last = (self.url or "").rsplit("/", 1)[-1]
        return last if last.startswith(self.stem) else self.stem


@dataclass(frozen=True)
class Form:
    """A way to have a data set.

    Attributes
    ----------
    relation : Relation
        To the paper's set.
    files : tuple of File
        Training rows first; for the recipe "svmlight" the second, if any, has other rows for validation and test.
    n_features : int or None
        Number of columns; None if the recipe finds it.
    note : str
        Its origin, and how it becomes a matrix.
    recipe : str
        A name in :data:`reproduction.datasets.recipes.RECIPES`.
    topic : str
        Topic of the positive rows, for recipes that need to be told.
    """

    relation: Relation
    files: tuple[File, ...]
    n_features: int | None
    note: str
    recipe: str = "svmlight"
    topic: str = ""

    @property
    def can_be_fetched(self) -> bool:
        """True if every file that it cannot do without has a location."""
        return all(file.url is not None or file.optional for file in self.files)


@dataclass(frozen=True)
class PaperDataset:
    """One line of the paper's Table 1.

    Attributes
    ----------
    name : str
        As the paper calls it.
    about : str
        Meaning of a row, and of a positive one.
    paper_n, paper_d : int
        Printed numbers of examples and features.
    paper_density : float
        Printed density in percent.
    n_features : int
        Number of features of the set; differs from ``paper_d`` where that is the number of non-zeros.
    train_share : float
        Share of the rows to train on where all are in one file: that of ``paper_n`` in the whole set. The others are
        halved for validation and test.
    forms : tuple of Form
        In the order in which they are looked for.

    Examples
    --------
    >>> entry = describe("adult9")
    >>> entry.paper_n, entry.n_features, entry.form_to_fetch is not None
    (32561, 123, True)
    """

    name: str
    about: str
    paper_n: int
    paper_d: int
    paper_density: float
    n_features: int
    train_share: float
    forms: tuple[Form, ...]

    @property
    def form_to_fetch(self) -> Form | None:
        """The first form that can be downloaded."""
        return next((form for form in self.forms if form.can_be_fetched), None)


def _reuters(topic: str, stem: str) -> tuple[Form, ...]:
    return (
        Form(
            Relation.PAPER,
            (
                File(
                    "lyrl2004_vectors_train.dat.gz",
                    f"{MIRROR}/5976057",
                    "5468f656d0ba7a83afc7ad44841cf9a53048a5c083eedc005dcdb5cc768924ae",
                ),
                File(
                    "lyrl2004_vectors_test_pt0.dat.gz",
                    f"{MIRROR}/5976069",
                    "ed40f7e418d10484091b059703eeb95ae3199fe042891dcec4be6696b9968374",
                ),
                File(
                    "rcv1v2.topics.qrels.gz",
                    f"{MIRROR}/5976048",
                    "2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1",
                ),
            ),
            47_236,
            f"RCV1-v2 as LYRL2004 has it: tf-idf rows of norm 1, +1 = topic {topic}. 23,149 rows to train; of the test "
            "rows the first of four files.",
            recipe="rcv1",
            topic=topic,
        ),
        Form(
            Relation.PART,
            (File(stem), File(f"{stem}.t", optional=True)),
            47_236,
            f"14,361 + 13,252 rows of RCV1-v2, tf-idf of norm 1, +1 = topic {topic}: five published subsets of "
            "3,000 + 3,000 rows, duplicates removed.",
        ),
    )


_SETS = (
    PaperDataset(
        "adult9",
        "A person from the census of 1994; positive: an income above 50,000 dollars.",
        32_561,
        123,
        11.28,
        123,
        0.8,
        (
            Form(
                Relation.PAPER,
                (File("a9a", f"{LIBSVM}/a9a"), File("a9a.t", f"{LIBSVM}/a9a.t", optional=True)),
                123,
                "LIBSVM's a9a: binary features, read as it is.",
            ),
        ),
    ),
    PaperDataset(
        "astro-ph",
        "An abstract of arXiv; positive: astrophysics.",
        62_369,
        99_757,
        0.077,
        99_757,
        0.8,
        (
            Form(Relation.PAPER, (File("astro-ph"),), 99_757, "The paper's set, of T. Joachims; on request only."),
            Form(
                Relation.STAND_IN,
                (File("arxiv-astro"), File("arxiv-astro.t", optional=True)),
                40_878,
                "60,000 + 15,000 titles and abstracts of arXiv, tf-idf of norm 1, +1 = any astro-ph category. "
                "Other documents and other words than the paper's.",
            ),
        ),
    ),
    PaperDataset(
        "aut-avn",
        "A message to a discussion group; positive: on aviation rather than on cars.",
        56_862,
        20_707,
        0.25,
        20_707,
        0.8,
        (
            Form(
                Relation.PAPER,
                (File("aut-avn"),),
                20_707,
                "Made from http://www.cs.umass.edu/~mccallum/data/sraa.tar.gz; the paper does not say how words became "
                "features, so there is no recipe: bring an svmlight file aut-avn.svm.",
            ),
        ),
    ),
    PaperDataset(
        "covertype",
        "A patch of forest; positive: mostly lodgepole pine.",
        522_911,
        6_274_932,
        22.22,
        54,
        0.9,
        (
            Form(
                Relation.PAPER,
                (
                    File(
                        "covtype.data.gz",
                        f"{MIRROR}/5976039",
                        "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
                    ),
                ),
                54,
                "UCI's Forest CoverType: +1 = class 2, every column scaled to [0, 1].",
                recipe="covtype",
            ),
            Form(
                Relation.PAPER,
                (File("covtype"),),
                54,
                "UCI's Forest CoverType as svmlight: +1 = class 2, every column scaled to [0, 1].",
            ),
            Form(
                Relation.PAPER,
                (File("covtype.libsvm.binary.scale", f"{LIBSVM}/covtype.libsvm.binary.scale.bz2"),),
                54,
                "LIBSVM's covtype.libsvm.binary.scale; the larger of its labels, 2, is positive.",
            ),
        ),
    ),
    PaperDataset(
        "news20",
        "A message to a newsgroup; positive: half of the groups.",
        15_960,
        7_264_867,
        0.033,
        1_355_191,
        0.8,
        (
            Form(
                Relation.PAPER,
                (File("news20.binary", f"{LIBSVM}/news20.binary.bz2"),),
                1_355_191,
                "LIBSVM's news20.binary: words and pairs of words, rows of norm 1.",
            ),
            Form(
                Relation.STAND_IN,
                (File("news20-bigram"), File("news20-bigram.t", optional=True)),
                1_143_009,
                "20 Newsgroups by date, words and pairs of words, rows of norm 1, +1 = sci.*, comp.* and "
                "misc.forsale: made anew in the style of news20.binary.",
            ),
        ),
    ),
    PaperDataset(
        "real-sim",
        "A message to a discussion group; positive: on real rather than simulated cars and planes.",
        57_763,
        2_969_737,
        0.25,
        20_958,
        0.8,
        (
            Form(
                Relation.PAPER,
                (File("real-sim", f"{LIBSVM}/real-sim.bz2"),),
                20_958,
                "LIBSVM's real-sim, read as it is.",
            ),
        ),
    ),
    PaperDataset(
        "reuters-c11",
        "A news story; positive: topic C11, strategy and plans.",
        23_149,
        1_757_801,
        0.16,
        47_236,
        0.8,
        _reuters("C11", "rcv1-c11"),
    ),
    PaperDataset(
        "reuters-ccat",
        "A news story; positive: topic CCAT, corporate and industrial.",
        23_149,
        1_757_801,
        0.16,
        47_236,
        0.8,
        _reuters("CCAT", "rcv1-ccat"),
    ),
    PaperDataset(
        "web8",
        "A web page; positive: of one category.",
        45_546,
        579_586,
        4.24,
        300,
        0.8,
        (
            Form(
                Relation.PAPER,
                (File("w8a", f"{LIBSVM}/w8a"), File("w8a.t", f"{LIBSVM}/w8a.t", optional=True)),
                300,
                "LIBSVM's w8a, with its empty rows; the paper counts the others only.",
            ),
        ),
    ),
    PaperDataset(
        "worm",
        "A window of the genome of C. elegans; positive: around a splice site.",
        615_620,
        804,
        25.0,
        804,
        0.6,
        (
            Form(Relation.PAPER, (File("worm"),), 804, "The paper's set; no public location is known to us."),
            Form(
                Relation.PART,
                (File("worm100k"), File("worm100k.t", optional=True)),
                804,
                "100,000 + 100,000 acceptor sites and decoys as shipped with easysvm: 201 letters, four indicators "
                "each.",
            ),
        ),
    ),
    PaperDataset(
        "kdd99",
        "A network connection; positive: an attack.",
        4_898_431,
        127,
        12.86,
        127,
        0.8,
        (
            Form(
                Relation.PAPER,
                (
                    File(
                        "kddcup99_data",
                        f"{MIRROR}/5976045",
                        "3b6c942aa0356c0ca35b7b595a26c89d343652c9db428893e7494f837b274292",
                    ),
                ),
                None,
                "KDD Cup 99, all 4,898,431 rows: 38 numbers, each divided by its largest, and indicators of protocol, "
                "service and flag; +1 = any attack.",
                recipe="kdd99",
            ),
            Form(
                Relation.PART,
                (File("kdd99-10pct"), File("kdd99-10pct.t", optional=True)),
                118,
                "The 10 % file of KDD Cup 99 and its corrected test file: 38 numbers scaled to [0, 1] and indicators; "
                "+1 = any attack.",
            ),
        ),
    ),
)

#: By name, in the order of the alphabet but for kdd99, which the paper names last.
REGISTRY: dict[str, PaperDataset] = {entry.name: entry for entry in _SETS}


def describe(name: str) -> PaperDataset:
    """Return what is known of a data set by the paper's name for it.

    Examples
    --------
    >>> describe("web8").paper_d, describe("web8").n_features
    (579586, 300)
    """
    return REGISTRY[choice("name", name, tuple(REGISTRY))]
