"""Models as ONNX graphs: linear and additive ones, and kernel features of numbers.

Effects of numbers are looked up: the piece is the number of breaks that are at most x, its origin and coefficients are
rows of tables. Words are looked up by themselves. Everything in between is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import Array
from .._validation import choice
from ..estimators.effects import (
    DateEffect,
    Effect,
    Effects,
    NotAdditiveError,
    WordsEffect,
    affine,
    effects_of,
    stages_of,
)
from ..estimators.weights import weights_for_positive
from ..features import KernelFeatures
from ..features.kernel import OF_COLUMNS, OF_KERNEL
from .sql import labels_of

#: Versions that runtimes of the last years read.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 9


class _Graph:
    """Nodes and constants on their way into a graph."""

    def __init__(self) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError as error:
            raise ImportError("--to onnx needs onnx: pip install 'smoothperf[onnx]'.") from error
        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Keep an array, and return its name."""
        name = f"constant{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.asarray(values), name))
        return name

    def __call__(
        self, operator: str, *inputs: Any, name: str | None = None, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node, and return the name of its output; inputs that are no names are constants."""
        output = name or f"{operator.lower()}{len(self.nodes)}"
        names = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        self.nodes.append(self.helper.make_node(operator, names, [output], domain=domain, **attributes))
        return output


def to_onnx(model: Any, *, dtype: str = "float", names: Sequence[str] | None = None) -> Any:
    """Return a model as an ONNX graph.

    Parameters
    ----------
    model : MeasureClassifier or MeasureRanker
        A fitted model: linear, additive, or with KernelFeatures of numbers.
    dtype : {"float", "double"}, default="float"
        Type of the numbers that go in and come out; those between are double.
    names : sequence of str, optional
        Names of the columns of a table; by default their own.

    Returns
    -------
    onnx.ModelProto
        ``SerializeToString`` of it is the file. A model of an array has one input, ``X`` of shape (n, d); one of a
        table has an input of shape (n, 1) for each column, of numbers or of strings. Outputs are ``score``, above 0
        where the positive label is predicted, and for classifiers ``label``. NaN and "" are missing values.

    Examples
    --------
    >>> from smoothperf import MeasureClassifier
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], ["ham", "ham", "spam", "spam"])
    >>> graph = to_onnx(clf).graph  # doctest: +SKIP
    >>> [output.name for output in graph.output]  # doctest: +SKIP
    ['score', 'label']
    """
    graph, elements = _Graph(), choice("dtype", dtype, ("float", "double"))
    single = np.float32 if elements == "float" else np.float64
    kind = graph.helper.np_dtype_to_tensor_dtype(np.dtype(single))
    stages = stages_of(model)
    if stages and isinstance(stages[-1], KernelFeatures):
        inputs = [graph.helper.make_tensor_value_info("X", kind, [None, model.n_features_in_])]
        score = _of_kernel(graph, graph("Cast", "X", to=DOUBLE), stages, model)
    else:
        effects = effects_of(model, names)
        inputs = _inputs(graph, effects, kind)
        score = _of_effects(graph, effects, inputs, single)
    graph("Cast", score, to=kind, name="score")
    outputs = [graph.helper.make_tensor_value_info("score", kind, [None])]
    if getattr(model, "label_pair", None) is not None:
        pair = labels_of(model)
        labels = np.array(pair, dtype=object) if isinstance(pair[0], str) else np.array(pair)
        above = graph("Cast", graph("Greater", score, np.float64(0.0)), to=INT64)
        graph("Gather", labels, above, name="label")
        strings = labels.dtype.kind == "O"
        label = STRING if strings else graph.helper.np_dtype_to_tensor_dtype(labels.dtype)
        outputs.append(graph.helper.make_tensor_value_info("label", label, [None]))
    helper = graph.helper
    whole = helper.make_graph(graph.nodes, "smoothperf", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=IR_VERSION, producer_name="smoothperf")


#: Types of tensors, by ONNX's numbers.
INT64, STRING, DOUBLE = 7, 8, 11


def _inputs(graph: _Graph, effects: Effects, kind: int) -> list[Any]:
    """Inputs: a matrix, or the columns of a table."""
    make = graph.helper.make_tensor_value_info
    if not effects.of_table:
        return [make("X", kind, [None, len(effects.columns)])]
    if any(isinstance(effect, DateEffect) for effect in effects.columns):
        raise NotAdditiveError("the model has a column of dates, which ONNX does not know: take SQL or Python.")
    return [
        make(effect.name, STRING if isinstance(effect, WordsEffect) else kind, [None, 1]) for effect in effects.columns
    ]


def _of_effects(graph: _Graph, effects: Effects, inputs: list[Any], single: Any) -> str:
    """The score: a base, effects of numbers, and effects of words."""
    numbers = [effect for effect in effects.columns if isinstance(effect, Effect)]
    terms = []
    if numbers:
        given = "X"
        if effects.of_table:
            given = graph("Concat", *(effect.name for effect in numbers), axis=1)
        terms.append(_of_numbers(graph, graph("Cast", given, to=DOUBLE), numbers, single))
    for effect in effects.columns:
        if isinstance(effect, WordsEffect):
            looked_up = _of_words(graph, effect)
            terms.append(graph("Squeeze", looked_up, np.array([1])))
    total = graph("Sum", *terms) if len(terms) > 1 else terms[0]
    return graph("Add", total, np.float64(effects.base))


def _of_numbers(graph: _Graph, X: str, effects: Sequence[Effect], single: Any) -> str:
    """The sum of the effects of columns of numbers."""
    if all(effect.missing is None and not effect.pieces.breaks.size for effect in effects):
        slopes = np.array([effect.pieces.coefs[0, 1] for effect in effects])
        return graph("MatMul", X, slopes)
    most = max(effect.pieces.breaks.size for effect in effects)
    breaks = np.full((len(effects), most), np.inf)
    origins, coefs = np.zeros((len(effects), most + 1)), np.zeros((4, len(effects), most + 1))
    for j, pieces in enumerate(effect.pieces for effect in effects):
        m = pieces.breaks.size
        breaks[j, :m] = pieces.breaks.astype(single)  # as numbers of that type are compared with it
        origins[j, : m + 1], coefs[:, j, : m + 1] = pieces.origins, pieces.coefs.T
    missing = graph("IsNaN", X)
    x = graph("Where", missing, np.float64(0.0), X)
    beyond = graph("GreaterOrEqual", graph("Unsqueeze", x, np.array([2])), breaks)
    count = graph("ReduceSum", graph("Cast", beyond, to=INT64), np.array([2]), keepdims=0)
    piece = graph("Add", count, np.arange(len(effects)) * (most + 1))
    t = graph("Sub", x, graph("Gather", origins.ravel(), piece))
    value = graph("Gather", coefs[3].ravel(), piece)
    for k in (2, 1, 0):
        value = graph("Add", graph("Gather", coefs[k].ravel(), piece), graph("Mul", t, value))
    # A model without missing values has no score for a row with one.
    absent = np.array([np.nan if effect.missing is None else effect.missing for effect in effects])
    return graph("ReduceSum", graph("Where", missing, absent, value), np.array([1]), keepdims=0)


def _of_words(graph: _Graph, effect: WordsEffect) -> str:
    """The effect of a column of words."""
    values = [*effect.words.values(), effect.missing, effect.other]
    empty = [word for word in sorted({"", *effect.empty}) if word not in effect.words]
    places = graph(
        "LabelEncoder",
        effect.name,
        domain="ai.onnx.ml",
        keys_strings=[*effect.words, *empty],
        values_int64s=[*range(len(effect.words)), *[len(effect.words)] * len(empty)],
        default_int64=len(effect.words) + 1,
    )
    return graph("Gather", np.array(values), places)


def _of_kernel(graph: _Graph, X: str, stages: Sequence[Any], model: Any) -> str:
    """The score of a model with kernel features of columns of numbers."""
    *scalers, features = stages
    for stage in [*scalers, features.scaler_]:
        shift, scale = affine(stage)
        X = graph("Div", graph("Sub", X, shift), scale)
    weights, d = weights_for_positive(model), features.n_features_in_
    kernel, landmarks = features.kernel_, features.kernel_.components_
    of_kernel: Array = OF_KERNEL * weights[d:]
    base = model._sign * float(model.intercept_[0]) if hasattr(model, "_sign") else 0.0
    squares = graph("ReduceSum", graph("Mul", X, X), np.array([1]), keepdims=1)
    products = graph("MatMul", X, -2.0 * landmarks.T)
    distances = graph("Add", graph("Add", squares, products), np.square(landmarks).sum(axis=1))
    similar = graph("Exp", graph("Mul", distances, np.float64(-kernel.gamma)))
    bent = graph("MatMul", similar, kernel.normalization_.T @ of_kernel)
    straight = graph("MatMul", X, OF_COLUMNS * weights[:d])
    return graph("Add", graph("Add", bent, straight), np.float64(base - features.means_ @ of_kernel))
