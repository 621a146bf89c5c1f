"""Uses of each extra, tried in an environment that has one of them or none; see the script beside this file."""

import sys
import warnings
from pathlib import Path

import numpy as np

import smoothperf
from smoothperf.datasets import make_rare_positives
from smoothperf.io import read_data

HERE = Path.cwd()
#: What an extra brings along, besides what it is for: Dask's data frames need pyarrow.
BRINGS = {"dask": {"dask", "parquet"}}


def plots() -> None:
    """Draw and save a figure."""
    from smoothperf import plots

    X, y = make_rare_positives(500, 50, positive_rate=0.1)
    path = smoothperf.regularization_path(X, y, n_alphas=3)
    assert plots.save(plots.path(path).figure, HERE / "path.png").stat().st_size > 1000


def parquet() -> None:
    """Read a table."""
    table = HERE / "table.parquet"
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        table.write_bytes(b"PAR1" + bytes(16) + b"PAR1")
    else:
        pyarrow.parquet.write_table(pyarrow.table({"label": [0, 1, 1], "age": [1.0, 2.0, 3.0]}), table)
    assert read_data(table, label="label").X.shape == (3, 1)


def dask() -> None:
    """Train on a cluster of this process."""
    from smoothperf.dask import MeasureClassifier  # first, as it says what is missing

    # isort: split
    import dask.array
    from distributed import Client

    X, y = make_rare_positives(500, 50, positive_rate=0.1)
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
        rows = dask.array.from_array(X.toarray(), chunks=(250, 50))
        model = MeasureClassifier("roc_area").fit(rows, dask.array.from_array(y, chunks=250))
    assert 0.0 <= model.gap_ <= model.tol


def torch() -> None:
    """Evaluate a loss in PyTorch."""
    from smoothperf.torch import MeasureLoss, Tensor

    scores = Tensor([0.5, 1.0, -2.0]).requires_grad_()
    MeasureLoss("prbep")(scores, Tensor([1, 0, 0])).backward()
    assert scores.grad.tolist() == [-0.75, 0.75, 0.0]


def jax() -> None:
    """Evaluate a loss in JAX."""
    from smoothperf.jax import jax, measure_loss

    slope = jax.grad(measure_loss)(np.array([0.5, 1.0, -2.0]), np.array([1, 0, 0]), "prbep")
    assert slope.tolist() == [-0.75, 0.75, 0.0]


def main(installed: str) -> None:
    """Try everything; what belongs to an extra that is not installed must say which one is missing."""
    X, y = make_rare_positives(500, 50, positive_rate=0.1)
    model = smoothperf.MeasureClassifier("prbep", alpha=1e-3).fit(X, y)
    model.save(HERE / "model")
    assert np.array_equal(smoothperf.load(HERE / "model").decision_function(X), model.decision_function(X))
    for feature in (plots, parquet, dask, torch, jax):
        name = feature.__name__
        refusal = None
        try:
            feature()
        except (ImportError, ValueError) as error:
            refusal = str(error)
        if name in BRINGS.get(installed, {installed}):
            assert refusal is None, refusal
            print(f"  with {name}: works")
        else:
            assert refusal is not None, f"{name} works without its extra"
            assert f"pip install 'smoothperf[{name}]'" in refusal, refusal
            print(f"  without {name}: {refusal}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
