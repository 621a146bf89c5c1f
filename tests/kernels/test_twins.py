"""Everything that is compiled is held to something independent: a list of what by which test."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import twins
from smoothperf import kernels

TESTS = Path(__file__).parent.parent
#: What computes nothing: how much memory ``scatter`` wants. A test of that kernel fails if it is too little.
NOTHING_COMPUTED = {"_sparse.room_for_sums"}
#: What each kernel is held to, a twin in ``twins.py`` or else what the library has no part in, and by which test.
HELD_TO = {
    "_best_flips.best_flips": ("fractional_best", "kernels/test_flips.py::test_best_flips"),
    "_best_flips.prefix_sums": ("prefix_sums", "kernels/test_flips.py::test_prefix_sums"),
    "_flips.flip_along": ("flips_along", "kernels/test_flips.py::test_ramps_flip_what_their_twin_does"),
    "_flips.ramp_table": ("flips_along", "kernels/test_flips.py::test_ramps_flip_what_their_twin_does"),
    "_levels.level_sets": ("fractional_levels", "kernels/test_flips.py::test_level_sets"),
    "_levels.ramp_masses": (
        "flips_along",
        "kernels/test_flips.py::test_masses_of_ramps_are_those_of_their_twin_or_a_little_less",
    ),
    "_permutahedron.rank_queries": ("rank_queries", "kernels/test_query_kernels.py::test_rankings"),
    "_permutahedron.sort_documents": (
        "sort_documents",
        "kernels/test_query_kernels.py::test_documents_are_sorted_stably",
    ),
    "_query_pairs.query_hinges": ("query_hinges", "kernels/test_query_kernels.py::test_hinges"),
    "_pointwise.logistic_losses": ("logistic_losses", "kernels/test_kernels.py::test_smooth_losses"),
    "_pointwise.pointwise_hinges": ("pointwise_hinges", "kernels/test_kernels.py::test_pointwise_hinges"),
    "_pointwise.squared_hinges": ("squared_hinges", "kernels/test_kernels.py::test_smooth_losses"),
    "_roc_area.RampTable": ("pair_ramps", "kernels/test_kernels.py::test_pair_ramps"),
    "_roc_area.huber_sums": ("huber_sums", "kernels/test_kernels.py::test_huber_sums"),
    "_roc_area.sorted_hinges": ("sorted_hinges", "kernels/test_kernels.py::test_sorted_hinges"),
    "_roc_area.sweep_bins": ("pair_ramps", "kernels/test_kernels.py::test_pair_ramps"),
    "_roc_bins.bin_gradient": ("bin_gradient", "kernels/test_roc_bins.py::test_gradient"),
    "_roc_bins.bin_lines": ("bin_lines", "kernels/test_roc_bins.py::test_lines"),
    "_roc_bins.bin_moments": ("bin_moments", "kernels/test_roc_bins.py::test_moments"),
    "_simplex_qp.maximise_on_simplex": ("maximise_on_simplex", "kernels/test_kernels.py::test_maximise_on_simplex"),
    "_sparse.gather": ("gather", "kernels/test_kernels.py::test_gather"),
    "_sparse.half_gram": ("half_gram", "kernels/test_kernels.py::test_half_gram"),
    "_sparse.row_norms": ("row_norms", "kernels/test_kernels.py::test_row_norms"),
    "_sparse.scatter": ("scatter", "kernels/test_kernels.py::test_scatter"),
    "_svmlight.SvmlightParser": (
        "load_svmlight_file of scikit-learn",
        "io/test_svmlight.py::test_whatever_is_accepted_means_the_same_to_scikit_learn",
    ),
    "_top_k.RootSearch": ("root", "kernels/test_top_k.py::test_root_search"),
    "_top_k.collect": ("collect", "kernels/test_top_k.py::test_collect"),
    "_top_k.cut_of_cells": ("cut_of_cells", "kernels/test_top_k.py::test_cells"),
    "_top_k.finish": ("finish", "kernels/test_top_k.py::test_finish"),
    "_top_k.pick_cells": ("pick_cells", "kernels/test_top_k.py::test_sums_of_cells_and_what_is_in_two_of_them"),
    "_top_k.sample": ("sample", "kernels/test_top_k.py::test_sample"),
    "_top_k.sum_cells": ("sum_cells", "kernels/test_top_k.py::test_sums_of_cells_and_what_is_in_two_of_them"),
    "_top_k.sums_at": ("sums_at", "kernels/test_top_k.py::test_sums_at"),
    "_top_k.weigh_cells": ("weigh_cells", "kernels/test_top_k.py::test_cells"),
    "_quadratic_model.minimise_model": ("minimise_model", "kernels/test_kernels.py::test_minimise_model"),
    "_two_loop.two_loop": ("two_loop", "kernels/test_kernels.py::test_two_loop"),
    "_vectors.differences": ("differences", "kernels/test_kernels.py::test_sums_with_inner_products"),
    "_vectors.inner_products": ("inner_products", "kernels/test_kernels.py::test_sums_with_inner_products"),
    "_vectors.sum_and_squares": ("sum_and_squares", "kernels/test_kernels.py::test_sums_with_inner_products"),
}


def defined(module):
    """Functions and classes that a module defines itself."""
    return {
        name
        for name, thing in vars(module).items()
        if callable(thing) and not name.startswith("_") and thing.__module__ == module.__name__
    }


def compiled():
    """All of them, in all modules that were built."""
    names = [found.name for found in pkgutil.iter_modules(kernels.__path__)]
    assert "_pool" in names  # the threads of the others, which offers nothing to Python
    modules = {name: importlib.import_module(f"{kernels.__name__}.{name}") for name in names}
    return {f"{name}.{function}" for name, module in modules.items() for function in defined(module)}


def test_every_kernel_is_held_to_something():
    assert compiled() == set(HELD_TO) | NOTHING_COMPUTED


def test_every_twin_is_that_of_a_kernel():
    # The twin of what computes nothing, and a part of ``rank_queries``, which measures are held to as well.
    others = {"room_for_sums", "project_on_permutahedron"}
    named = {twin for twin, _ in HELD_TO.values() if " " not in twin}
    assert defined(twins) == named | others


@pytest.mark.parametrize(
    ("kernel", "twin", "test"), [(kernel.split(".")[1], *held) for kernel, held in HELD_TO.items()], ids=HELD_TO.keys()
)
def test_the_test_of_a_kernel_is_there(kernel, twin, test):
    """In a file that speaks of the kernel and of what it is held to."""
    file, name = test.split("::")
    text = (TESTS / file).read_text("utf-8")
    for word in (f"def {name}", kernel, twin.split()[0]):
        assert re.search(rf"\b{word}\b", text), f"{file} does not have {word}"
