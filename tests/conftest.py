"""Settings for all tests; the environment is read when numpy and scipy are imported."""

import os

import pytest

# scikit-learn's estimator checks skip their array-API part without this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# The tests run side by side, on matrices for which BLAS threads only cost time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Folders of tests that share what takes seconds to set up: a cluster, and a whole run of the paper. One process runs
#: all tests of such a folder, so it is set up once.
TOGETHER = {"cluster", "paper"}


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items):
    """Mark them for ``--dist loadgroup``, before xdist looks at the marks."""
    for item in items:
        if item.path.parent.name in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(item.path.parent.name))
    return (yield)
