"""The registry says what the paper says, and what it cannot know it does not invent."""

import re

import pytest

from reproduction.datasets import REGISTRY, Relation, describe
from reproduction.datasets.recipes import RECIPES

#: Table 1 of the paper.
PAPER = {
    "adult9": (32_561, 123, 11.28),
    "astro-ph": (62_369, 99_757, 0.077),
    "aut-avn": (56_862, 20_707, 0.25),
    "reuters-c11": (23_149, 1_757_801, 0.16),
    "covertype": (522_911, 6_274_932, 22.22),
    "news20": (15_960, 7_264_867, 0.033),
    "real-sim": (57_763, 2_969_737, 0.25),
    "reuters-ccat": (23_149, 1_757_801, 0.16),
    "web8": (45_546, 579_586, 4.24),
    "worm": (615_620, 804, 25.0),
    "kdd99": (4_898_431, 127, 12.86),
}


def test_all_eleven_sets_with_the_printed_numbers():
    printed = {name: (entry.paper_n, entry.paper_d, entry.paper_density) for name, entry in REGISTRY.items()}
    assert printed == PAPER


@pytest.mark.parametrize("entry", REGISTRY.values(), ids=lambda entry: entry.name)
def test_entries_are_complete(entry):
    assert entry.forms[0].relation is Relation.PAPER
    for form in entry.forms:
        assert form.recipe in RECIPES
        assert form.note.endswith(".")
        assert not form.files[0].optional
        for file in form.files:
            assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.url is None or file.url.startswith("https://")
            # A checksum of what has no location could only be that of somebody's own copy.
            assert file.url is not None or file.sha256 is None


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"name must be one of 'adult9', .*'kdd99', got 'a9a'"):
        describe("a9a")


def test_downloads_have_names_that_are_found_again():
    from reproduction.datasets.folders import names_of

    for entry in REGISTRY.values():
        for form in entry.forms:
            for file in form.files:
                assert file.url is None or file.download_name in names_of(file, form), file
