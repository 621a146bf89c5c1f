"""Figures: the right lines from the right columns, no global state, files that are whole."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from smoothperf import plots, regularization_path
from smoothperf.optimise import Trace, TraceRow


def trace(objectives, bounds, *, passes_per_iteration=2):
    best = np.minimum.accumulate(objectives)
    return Trace(
        [
            TraceRow(
                iteration=i,
                seconds=0.1 * i,
                passes=1 + passes_per_iteration * i,
                objective=float(objective),
                smoothed_objective=float(objective),
                lower_bound=float(bound),
                gap=float(least - bound),
                mu=0.0,
            )
            for i, (objective, bound, least) in enumerate(zip(objectives, bounds, best, strict=True))
        ]
    )


@pytest.fixture
def runs():
    return {
        "L-BFGS": trace([1.0, 0.6, 0.7, 0.55], [0.0, 0.2, 0.4, 0.5]),
        "BMRM": trace([1.0, 0.8, 0.9, 0.7, 0.6], [0.0, 0.1, 0.2, 0.3, 0.45]),
    }


def lines_named(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def test_lines_are_the_running_best_above_the_best_bound(runs):
    axes = plots.convergence(runs, title="A title")
    lines = lines_named(axes)
    assert list(lines) == ["L-BFGS", "BMRM"]
    np.testing.assert_array_equal(lines["L-BFGS"].get_xdata(), [1, 3, 5, 7])
    np.testing.assert_allclose(lines["L-BFGS"].get_ydata(), [0.5, 0.1, 0.1, 0.05])
    np.testing.assert_allclose(lines["BMRM"].get_ydata(), [0.5, 0.3, 0.3, 0.2, 0.1])
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel() == "passes over the data"
    assert axes.get_title(loc="left") == "A title"
    assert len({line.get_color() for line in lines.values()}) == 2


def test_certified_gaps_are_dashed_and_optional(runs):
    def dashed(axes):
        return [line for line in axes.get_lines() if line.is_dashed()]

    gaps = dashed(plots.convergence(runs))
    np.testing.assert_allclose(gaps[0].get_ydata(), [1.0, 0.4, 0.2, 0.05])
    assert len(gaps) == 2
    assert dashed(plots.convergence(runs, gaps=False)) == []


def test_own_bound_seconds_and_tolerance(runs):
    axes = plots.convergence(runs, best_lower_bound=0.25, axis="seconds", tol=0.1)
    line = lines_named(axes)["L-BFGS"]
    np.testing.assert_allclose(line.get_xdata(), [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(line.get_ydata(), [0.75, 0.35, 0.35, 0.3])
    assert axes.get_xlabel() == "seconds"
    assert any(np.all(np.asarray(line.get_ydata()) == 0.1) for line in axes.get_lines())


def test_legend_names_every_kind_of_line(runs):
    axes = plots.convergence(runs, tol=0.1)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "L-BFGS",
        "BMRM",
        "certified gap",
        "tolerance 0.1",
    ]
    assert plots.convergence(runs, legend=False).get_legend() is None


def test_draws_into_given_axes(runs):
    figure = plots.require_matplotlib()()
    axes = figure.subplots()
    assert plots.convergence(runs, ax=axes) is axes


def test_an_objective_at_the_bound_leaves_a_hole_instead_of_minus_infinity():
    axes = plots.convergence({"exact": trace([1.0, 0.5], [0.0, 0.5])})
    np.testing.assert_array_equal(lines_named(axes)["exact"].get_ydata(), [0.5, np.nan])
    axes.figure.canvas.draw()


def test_data_is_not_changed(runs):
    before = copy.deepcopy(runs)
    plots.convergence(runs).figure.canvas.draw()
    assert runs == before


def test_nothing_optional_is_imported_before_it_is_needed_and_pyplot_never():
    code = """if True:
        import sys
        import smoothperf
        from smoothperf import plots
        from smoothperf.optimise import Trace, TraceRow
        assert not {"matplotlib", "typer", "smoothperf.cli"} & set(sys.modules)
        plots.convergence({"one": Trace([TraceRow(0, 0.0, 1, 1.0, 1.0, 0.0, 1.0, 0.0)])}).figure.canvas.draw()
        assert "matplotlib.pyplot" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": {}}, "runs must hold traces of one iteration at least, got no run"),
        ({"runs": {"nothing": Trace()}}, "got .'nothing'."),
        ({"axis": "hours"}, "axis must be one of 'passes', 'seconds', got 'hours'"),
        ({"best_lower_bound": 0.6}, "best_lower_bound is 0.6, but an objective of 0.55 was reached"),
        ({"tol": 0}, "tol must be a finite number above 0"),
    ],
)
def test_wrong_arguments(runs, arguments, message):
    with pytest.raises(ValueError, match=message):
        plots.convergence(**{"runs": runs, **arguments})


@pytest.mark.parametrize(("count", "columns"), [(1, 2), (3, 2), (4, 2), (4, 3)])
def test_grid_has_one_panel_per_problem_and_one_legend(runs, count, columns):
    figure = plots.convergence_grid({f"problem {i}": runs for i in range(count)}, columns=columns, title="All")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"problem {i}" for i in range(count)]
    assert len(figure.legends) == 1
    assert all(axes.get_legend() is None for axes in figure.axes)
    # Every column has its words below its last panel.
    assert [bool(axes.get_xlabel()) for axes in figure.axes] == [i + columns >= count for i in range(count)]
    figure.canvas.draw()


def test_grid_needs_the_same_labels_everywhere(runs):
    with pytest.raises(ValueError, match="same labels in the same order"):
        plots.convergence_grid({"one": runs, "two": {"L-BFGS": runs["L-BFGS"]}})
    with pytest.raises(ValueError, match="same labels"):
        plots.convergence_grid({})


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_save_writes_the_file_and_leaves_nothing_else(runs, tmp_path, suffix):
    figure = plots.convergence(runs).figure
    path = tmp_path / f"figure.{suffix}"
    path.write_text("old")
    assert plots.save(figure, path) == path
    assert path.read_bytes()[:4] in (b"\x89PNG", b"%PDF", b"<?xm")
    assert os.listdir(tmp_path) == [path.name]


def test_saved_files_have_the_usual_permissions(runs, tmp_path):
    (tmp_path / "plain").touch()
    path = plots.save(plots.convergence(runs).figure, tmp_path / "figure.png")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failed_save_keeps_the_old_file_and_leaves_nothing_else(tmp_path):
    class Broken:
        def savefig(self, file, **_):
            file.write(b"half")
            raise RuntimeError("disk on fire")

    path = tmp_path / "figure.png"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="disk on fire"):
        plots.save(Broken(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["figure.png"]


def test_save_needs_a_suffix(runs, tmp_path):
    with pytest.raises(ValueError, match="must end in a suffix"):
        plots.save(plots.convergence(runs).figure, tmp_path / "figure")


def test_missing_matplotlib_says_what_to_install(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'smoothperf\[plots\]'"):
        plots.convergence(runs)


def test_comparison_draws_a_dot_with_its_interval_for_each_model_and_measure():
    models = {
        "for F1": {"F1": (0.8, 0.7, 0.9), "accuracy": (0.6, 0.5, 0.65)},
        "LinearSVC": {"F1": (0.7, 0.6, 0.8), "accuracy": (0.7, 0.6, 0.75)},
    }
    figure = plots.comparison(models, title="new rows")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["F1", "accuracy"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(models)
    for axes, name in zip(figure.axes, ("F1", "accuracy"), strict=True):
        for place, values in enumerate(models.values()):
            interval, dot = axes.get_lines()[2 * place : 2 * place + 2]
            assert (dot.get_xdata()[0], *interval.get_xdata()) == values[name]
            assert dot.get_ydata()[0] == place
    with pytest.raises(ValueError, match="models must all have the same measures"):
        plots.comparison({"one": {"F1": (0.8, 0.7, 0.9)}, "other": {}})


def test_path_draws_scores_and_certified_objectives():
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    found = regularization_path(X[::2], y[::2], n_alphas=4, validation=(X[1::2], y[1::2]))
    figure = plots.path(found, measure="ROC area", title="A path", data="cancer.csv: 285 rows")
    above, below = figure.axes
    training, held_out, best = above.get_lines()
    np.testing.assert_array_equal(training.get_ydata(), found.train_scores)
    np.testing.assert_array_equal(held_out.get_ydata(), found.validation_scores)
    assert best.get_xdata()[0] == found.alphas[found.best]
    assert best.get_ydata()[0] == found.validation_scores[found.best]
    objective, bound = below.get_lines()
    np.testing.assert_array_equal(objective.get_ydata(), found.objectives)
    np.testing.assert_array_equal(bound.get_ydata(), found.lower_bounds)
    assert (above.get_ylabel(), below.get_xscale(), figure.get_suptitle()) == ("ROC area", "log", "A path")
    assert above.get_title(loc="left") == "cancer.csv: 285 rows"
    without = plots.path(regularization_path(X, y, n_alphas=2))
    assert len(without.axes[0].get_lines()) == 1


def test_path_shades_where_no_weights_are_best_and_keeps_the_legend_off_the_curves():
    X, y = load_breast_cancer(return_X_y=True)
    alphas = [1e5, 1e4, 1e-2, 1e-3]
    found = regularization_path(X / X.max(axis=0), y, measure="prbep", alphas=alphas)
    assert found.zero_is_best.tolist() == [True, True, False, False]
    figure = plots.path(found)
    for axes in figure.axes:
        (shade,) = axes.patches
        shaded = shade.get_extents().transformed(axes.transData.inverted())
        assert (shaded.x0, shaded.x1) == pytest.approx((10.0, 1e5))
        assert axes.get_legend() is None
    figure.canvas.draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "lower bound of the optimum"
    assert not legend.get_window_extent().overlaps(figure.axes[1].get_window_extent())
    found = regularization_path(X / X.max(axis=0), y, measure="prbep", alphas=[1e-2, 1e-3])
    assert not plots.path(found).axes[0].patches


def test_shapes_are_what_columns_add():
    from export_tables import FEATURES, fitted

    model, frame = fitted(FEATURES["curves of a table"])
    figure = plots.shapes(model, frame[:1000])
    panels = {ax.get_title(loc="left"): ax for ax in figure.axes}
    assert {"age", "in come", "town", "signed month"} <= set(panels)
    _, line, rug = panels["age"].get_lines()
    row = frame.iloc[[0] * line.get_xdata().size].assign(age=line.get_xdata())
    found = model.positive_scores(row)
    np.testing.assert_allclose(line.get_ydata() - line.get_ydata()[0], found - found[0], atol=1e-9)
    assert rug.get_xdata().size > 20
    assert len(panels["town"].patches) == 6  # Rome, Oslo, Bonn, Köln, Rieti, and others
    assert "age" in {ax.get_title(loc="left") for ax in plots.shapes(model).axes}
