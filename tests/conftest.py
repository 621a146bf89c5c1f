"""Settings for all tests; the environment is read when numpy and scipy are imported."""

import os

# scikit-learn's estimator checks skip their array-API part without this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# The tests run side by side, on matrices for which BLAS threads only cost time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
