"""Settings of the site: `make docs` builds it to docs/_build/html, without the network, and warnings are errors."""

import importlib.util
import re
from typing import Any

import matplotlib
from docutils import nodes

import smoothperf

project = "smoothperf"
author = "The smoothperf developers"
copyright = author
version = release = smoothperf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "myst_parser",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip"]
templates_path = ["_templates"]
html_static_path = ["_static"]
# The function that resets the look of figures is no value that could be kept between builds.
suppress_warnings = ["config.cache"]

# Markdown. Headings are link targets, named as code hosts name them.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

# Docstrings.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "smoothperf"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "smoothperf"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without neighbours need no list of them; long formulas need the room.
html_sidebars: dict[str, list[str]] = {"install": [], "first-steps": [], "scikit-learn": [], "maths": []}


#: The gallery, in the order in which it is read.
GALLERY = (
    "inspect_500_cases",
    "recall_at_90_percent_precision",
    "false_alarms_below_1_percent",
    "churn_from_csv_to_report",
    "text_topics",
    "many_labels",
    "why_w_is_zero",
    "certificate_and_convergence",
    "choosing_alpha",
    "a_monotone_scorecard",
    "a_scorecard_in_points",
    "shapes_of_a_churn_table",
    "kernel_features_where_lines_fail",
    "a_measure_of_your_own",
    "a_network_for_few_false_alarms",
    "a_certified_last_layer",
    "ranking_queries",
    "a_million_rows_out_of_core",
    "a_cluster_on_a_laptop",
)

#: Examples that are shown without being run where PyTorch is missing: the site needs none.
WITH_TORCH = ("a_network_for_few_false_alarms", "a_certified_last_layer")
SHOWN_ONLY = () if importlib.util.find_spec("torch") else WITH_TORCH


class ReadingOrder:
    """Sorts examples as they are listed above; one that is not listed is an error."""

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, name: str) -> int:
        """Return the place of a file."""
        return GALLERY.index(name.removesuffix(".py"))


def plain_figures(gallery_conf: dict[str, Any], name: str) -> None:
    """Before every example of the gallery: figures without frames, of one size."""
    matplotlib.rcParams.update(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.constrained_layout.use": True,
            "figure.figsize": (7.0, 4.2),
            "legend.frameon": False,
        }
    )


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "".join(f"(?<!{name})" for name in SHOWN_ONLY) + r"\.py$",
    "within_subsection_order": ReadingOrder,
    "reset_modules": ("matplotlib", plain_figures),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,  # its page would load from the network
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("smoothperf",),
    "abort_on_example_error": False,
}


def link_as_code_hosts_do(app: Any, docname: str, source: list[str]) -> None:
    """Turn anchors that code hosts understand into Sphinx's targets, so that links to them are checked.

    ``<a id="eq-slack"></a>`` becomes ``(eq-slack)=``, and ``maths.md#eq-slack``, a link from elsewhere, ``#eq-slack``.
    Links to examples lead to their pages in the gallery.
    """
    text = re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", source[0], flags=re.MULTILINE)
    text = re.sub(r"\]\(maths\.md#([a-z-]+)\)", r"](#\1)", text)
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)


def name_no_addresses(app: Any, doctree: nodes.document) -> None:
    """Take the links off ``precision@100`` and its like, which docutils holds to be somebody's address."""
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(nodes.Text(link.astext()))


def link_documents(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Link what docstrings call docs/measures.md to the page that is made of it."""
    lines[:] = [re.sub(r"\bdocs/([a-z-]+)\.md", r":doc:`docs/\1.md </\1>`", line) for line in lines]


def leave_out(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator, and how ours know one another."""
    return (
        True
        if re.fullmatch(r"set_\w+_request|set_output|get_metadata_routing|task_kind|single|in_memory", name)
        else None
    )


def keep_tags(app: Any, doctree: nodes.document) -> None:
    r"""Hand equations with a ``\tag`` to MathJax as they are: Sphinx would wrap them in one that has no tags."""
    for block in doctree.findall(nodes.math_block):
        if r"\tag" in block.astext():
            block["no-wrap"] = block["nowrap"] = True
            block.children = [nodes.Text(r"\[" + block.astext().strip() + r"\]")]


def setup(app: Any) -> None:
    """Connect what is above with the build."""
    app.connect("source-read", link_as_code_hosts_do)
    app.connect("autodoc-process-docstring", link_documents)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("doctree-read", keep_tags)
    app.connect("doctree-read", name_no_addresses)
