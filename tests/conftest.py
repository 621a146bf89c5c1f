"""Settings for all tests; the environment is read when numpy and scipy are imported."""

import os

from hypothesis import settings

# scikit-learn's estimator checks skip their array-API part without this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# The tests run side by side, on matrices for which BLAS threads only cost time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Files that take long, longest first. They come first, so that at the end no process is left alone with one of them.
LONG = (
    "cluster/test_fit.py",
    "cli/test_process.py",
    "measures/test_contract.py",
    "test_docs.py",
    "reproduction/test_whole.py",
    "cli/test_documents.py",
    "estimators/test_classifier.py",
    "optimise/test_penalised.py",
    "cluster/test_processes.py",
    "cluster/test_faults.py",
    "io/store/test_fit.py",
    "cli/test_demo.py",
    "cluster/test_ranker.py",
    "estimators/test_penalties.py",
    "cli/test_measures.py",
    "comparison/test_table.py",
)


if sparse := os.environ.get("SPARSE_INTERFACE"):  # scikit-learn 1.9 on: what it returns, in all threads
    import sklearn

    sklearn.set_config(sparse_interface=sparse)


def pytest_configure(config):
    """Generated cases are the same in every run, and others for each ``--hypothesis-seed``."""
    alike = config.getoption("--hypothesis-seed", None) is None
    settings.register_profile("smoothperf", deadline=None, database=None, derandomize=alike)
    settings.load_profile("smoothperf")


def pytest_collection_modifyitems(items):
    """Sort tests by file, as far as these are long; all processes get the same order."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.nodeid.split("::")[0].removeprefix("tests/"), len(LONG)))
