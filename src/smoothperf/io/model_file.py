"""Model files: a fitted model as a zip archive of JSON and .npy members. Loading one never executes code from it.

The member ``smoothperf-model.json`` says what kind of file it is and describes the model; numbers in bulk are arrays in
members of their own, written in NumPy's format and read without pickle. Objects are rebuilt from a table of this
package's own classes, which those of higher layers enter themselves (:func:`kept_in_files`), and of some transformers
of scikit-learn. Every member has a checksum, and the same model always gives the same bytes.
docs/model-files.md describes the format.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import warnings
import zipfile
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from .. import __version__, measures
from .. import optimise as solvers
from .._files import written_whole
from ..optimise import smoothing
from ..optimise.result import Status, Trace, TraceRow
from .annotated import check_attributes
from .dataset import one_line
from .npz import read_array

T = TypeVar("T")
FORMAT = "smoothperf model"
#: Raised when a reader of the version before would misunderstand a file.
VERSION = 3
HEADER = "smoothperf-model.json"
#: Estimators that can be saved, by name.
MODELS: dict[str, type[Any]] = {}
#: Parts that a model may have, by name: our own data classes, whose fields are numbers, text and one another.
PARTS: dict[str, Any] = {
    name: value
    for module in (measures, smoothing, solvers)
    for name, value in vars(module).items()
    if isinstance(value, type) and is_dataclass(value)
}
#: Our own transformers that make features, by name.
TRANSFORMERS: dict[str, type[Any]] = {}
#: Those of scikit-learn, with their modules, which are imported when a file has one: that takes a quarter of a second.
OF_SKLEARN = {
    "MaxAbsScaler": "preprocessing",
    "MinMaxScaler": "preprocessing",
    "Nystroem": "kernel_approximation",
    "Pipeline": "pipeline",
    "StandardScaler": "preprocessing",
}
#: Attribute of scikit-learn's transformers whose features have numbers for names.
NAMES = "_n_features_out"
#: Parameters that are functions, which no file can hold, or files of one machine; they are left out.
NOT_KEPT = ("callback", "checkpoint", "memory")
#: Numbers in an array of which no more than this share is not zero are kept with their places.
FEW = 0.25
#: Arrays that are kept: truth values, numbers and text.
KINDS = "biufU"
#: Types of the entries of an array of labels.
LABELS = (str, bool, int, float, np.generic)
#: A date that every archive gets, so that its bytes depend on the model only.
NO_DATE = (1980, 1, 1, 0, 0, 0)


def kept_in_files(kind: type[T]) -> type[T]:
    """Let model files hold objects of a class: a model, a transformer, or a data class that these are made of.

    A model says which arrays of numbers it has, by shape (``_numbers_in_files``), and which labels, by their number
    (``_labels_in_files``). A class that had another name in earlier versions keeps that in files (``_name_in_files``).
    """
    known = PARTS if is_dataclass(kind) else TRANSFORMERS if hasattr(kind, "transform") else MODELS
    known[_name(kind)] = kind
    return kind


def _name(kind: type[Any]) -> str:
    """Name of a class in files."""
    return getattr(kind, "_name_in_files", kind.__name__)


class ModelFileError(ValueError):
    """A model file cannot be written or read; one line says which file, and why."""


def _error(path: str | os.PathLike[str], reason: str) -> ModelFileError:
    return ModelFileError(f"{path}: {one_line(reason)}")


def save_model(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted model to a file, whole or not at all.

    Everything is kept except ``callback``, a function, and ``checkpoint``, a file of this machine: parameters, labels,
    weights, operating point, names of features, and the solver's result with its trace.

    Parameters
    ----------
    model : MeasureClassifier or MeasureRanker
        A fitted model.
    path : path-like
        The file; any name will do. The folder must exist.

    Returns
    -------
    Path
        The path written.

    Examples
    --------
    >>> import tempfile
    >>> from smoothperf import MeasureClassifier, load
    >>> clf = MeasureClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], ["ham", "ham", "spam", "spam"])
    >>> file = save_model(clf, Path(tempfile.mkdtemp(), "spam.model"))
    >>> load(file).predict([[0.5], [2.5]])
    array(['ham', 'spam'], dtype='<U4')
    """
    if type(model) not in MODELS.values():
        known = " or ".join(sorted(MODELS))
        raise _error(path, f"a {type(model).__name__} cannot be saved, only a {known}.")
    return _write(model, path)


def save_transformer(transformer: Any, path: str | os.PathLike[str]) -> Path:
    """Write one of our fitted transformers, whole or not at all, as :func:`save_model` writes a model."""
    return _write(transformer, path)


def _write(model: Any, path: str | os.PathLike[str]) -> Path:
    check_is_fitted(model)
    arrays = Arrays()
    try:
        description = encode(model, arrays, "")
    except TypeError as error:
        of_measure = str(error).startswith("measure")
        remedy = ' To keep the predictions without it, set_params(measure="roc_area") first.' if of_measure else ""
        raise _error(path, f"not written, as {error}.{remedy}") from error
    header = {"format": FORMAT, "version": VERSION, "smoothperf": __version__, "model": description}
    try:
        with written_whole(path) as file, zipfile.ZipFile(file, "w") as archive:
            _add(archive, HEADER, json.dumps(header, indent=1, allow_nan=False).encode())
            for name, content in arrays.members.items():
                _add(archive, name, content)
    except OSError as error:
        raise _error(path, f"cannot be written: {error.strerror or error}.") from error
    return Path(path)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save_model` has written; it predicts exactly what the saved one did.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    MeasureClassifier or MeasureRanker
        The fitted model.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is truncated, damaged, of another kind, or of a later version.
    """
    return _read(path, MODELS, "model")


def load_transformer(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save_transformer` has written."""
    return _read(path, TRANSFORMERS, "transformer")


def _read(path: str | os.PathLike[str], kinds: dict[str, type[Any]], what: str) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            if HEADER not in archive.namelist():
                raise _error(path, f"not a model file of smoothperf: it is an archive without {HEADER}.")
            header = json.loads(archive.read(HEADER))
            _check_version(header, path)
            model = decode(header["model"], archive)
            if type(model) not in kinds.values():
                raise ValueError(f"there is a {type(model).__name__} in place of a {what}")
            return model
    except ModelFileError:
        raise
    except OSError as error:
        raise _error(path, f"cannot be read: {error.strerror or error}.") from error
    except zipfile.BadZipFile as error:
        kind = "truncated or damaged" if _begins_like_an_archive(path) else "not a model file of smoothperf"
        raise _error(path, f"{kind}: {error}.") from error
    except Exception as error:  # whatever a damaged file can lead to, it is the file that is wrong
        reason = f"{type(error).__name__}: {error}"
        raise _error(path, f"damaged, or written by another version of smoothperf: {reason}.") from error


@dataclass
class Arrays:
    """Arrays on their way into an archive; equal ones are kept once, as ``coef_`` and ``result_.coef`` are."""

    members: dict[str, bytes] = field(default_factory=dict)
    _names: dict[bytes, str] = field(default_factory=dict)

    def add(self, array: NDArray[Any], name: str) -> str:
        """Return the name of the member that holds these numbers, flattened."""
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array.ravel(), allow_pickle=False)
        content = buffer.getvalue()
        digest = hashlib.sha256(content).digest()
        if digest not in self._names:
            plain = re.sub(r"[^A-Za-z0-9_.]", "-", name)
            member = f"{plain}.npy"
            while member in self.members:  # another name that differs only in characters that were replaced
                member = f"{plain}-{len(self.members)}.npy"
            self._names[digest] = member
            self.members[member] = content
        return self._names[digest]


def encode(value: Any, arrays: Arrays, name: str) -> Any:
    """Turn a value into JSON: plain values stay, others become ``{"type": ..., ...}``; arrays go to ``arrays``.

    A TypeError says what cannot be kept.
    """

    def part(child: Any, child_name: object) -> Any:
        return encode(child, arrays, f"{name}.{child_name}" if name else str(child_name))

    if isinstance(value, np.generic):  # before float: a np.float64 is one
        return {"type": "scalar", "dtype": value.dtype.str, "value": part(value.item(), "value")}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"type": "float", "value": str(value)}
    if isinstance(value, list):
        return [part(child, i) for i, child in enumerate(value)]
    if isinstance(value, tuple):
        return {"type": "tuple", "items": [part(child, i) for i, child in enumerate(value)]}
    if isinstance(value, dict):
        return {"type": "dict", "items": [[part(key, "key"), part(child, key)] for key, child in value.items()]}
    if hasattr(value, "index") and hasattr(value, "to_dict") and not hasattr(value, "columns"):
        return encode(value.to_dict(), arrays, name)  # a Series of pandas, which means what a dict does
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and 0 < np.count_nonzero(value) <= FEW * value.size:
        places = np.flatnonzero(value)
        return {
            "type": "sparse",
            "places": arrays.add(places, f"{name}.places"),
            "values": arrays.add(value.ravel()[places], f"{name}.values"),
            "shape": list(value.shape),
        }
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        return {"type": "array", "member": arrays.add(value, name), "shape": list(value.shape)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1:
        return {"type": "objects", "items": [part(child, i) for i, child in enumerate(value.tolist())]}
    if isinstance(value, Status):
        return {"type": "status", "value": value.name}
    if isinstance(value, Trace):
        return {
            "type": "trace",
            "columns": {column.name: part(value[column.name], column.name) for column in fields(TraceRow)},
        }
    if PARTS.get(_name(type(value))) is type(value):
        contents = {part_.name: part(getattr(value, part_.name), part_.name) for part_ in fields(value)}
        return {"type": "object", "class": _name(type(value)), "fields": contents}
    if isinstance(value, type) and issubclass(value, np.number):
        return {"type": "dtype", "value": np.dtype(value).str}
    is_model = MODELS.get(type(value).__name__) is type(value)
    if is_model or _is_transformer(value):
        kept = {key: child for key, child in value.get_params(deep=False).items() if key not in NOT_KEPT}
        fitted = {key: child for key, child in vars(value).items() if is_fitted_attribute(key) or key == NAMES}
        return {
            "type": "model" if is_model else "transformer",
            "class": type(value).__name__,
            "parameters": {key: part(child, key) for key, child in kept.items()},
            "fitted": {key: part(child, key) for key, child in fitted.items()},
        }
    raise TypeError(f"{name or 'it'} is a {type(value).__name__}, which a model file cannot hold")


def decode(value: Any, archive: zipfile.ZipFile) -> Any:
    """Turn what :func:`encode` has made into the value again; any kind of error if it was not made so."""

    def items() -> list[Any]:
        return [decode(child, archive) for child in value["items"]]

    def contents(key: str) -> dict[str, Any]:
        return {name: decode(child, archive) for name, child in value[key].items()}

    if isinstance(value, list):
        return [decode(child, archive) for child in value]
    if not isinstance(value, dict):
        return value
    match value["type"]:
        case "scalar":
            return np.array(decode(value["value"], archive), dtype=_plain_dtype(value["dtype"]))[()]
        case "float":
            return float(value["value"])
        case "tuple":
            return tuple(items())
        case "dict":
            return {decode(key, archive): decode(child, archive) for key, child in value["items"]}
        case "array":
            return _member(archive, value["member"]).reshape(value["shape"])
        case "sparse":
            whole = np.zeros(math.prod(value["shape"]))
            whole[_member(archive, value["places"])] = _member(archive, value["values"])
            return whole.reshape(value["shape"])
        case "objects":
            objects = np.empty(len(value["items"]), dtype=object)
            objects[:] = items()
            return objects
        case "status":
            return Status[value["value"]]
        case "trace":
            columns = contents("columns")
            if "exact" not in columns:  # as in earlier versions: then it is not known
                columns["exact"] = np.zeros(columns["iteration"].size, dtype=bool)
            rows = zip(*(columns[column.name].tolist() for column in fields(TraceRow)), strict=True)
            return Trace([TraceRow(*row) for row in rows])
        case "object":
            found = contents("fields")
            if found.get("as_printed") is False:  # ROCArea of earlier versions, which could also be something else
                del found["as_printed"]
            if value["class"] == "Newton":
                found.pop("updates", None)  # of earlier versions, for pairs of documents
            part = PARTS[value["class"]](**found)
            check_attributes(part)
            return part
        case "dtype":
            return _plain_dtype(value["value"]).type
        case "model" | "transformer" as kind:
            parameters, fitted = contents("parameters"), contents("fitted")
            for key in NOT_KEPT:
                if key in parameters:
                    raise ValueError(f"{key!r} is a parameter that no model file has")
            if "table_encoder_" in fitted:  # of earlier versions, whose models did not have it as their features
                encoder = fitted["features_"] = fitted.pop("table_encoder_")
                fitted |= {name: getattr(encoder, name) for name in ("n_features_in_", "feature_names_in_")}
            name = value["class"]
            model = (MODELS[name] if kind == "model" else _transformer(name))(**parameters)
            for key, child in fitted.items():
                if not (is_fitted_attribute(key) or (kind == "transformer" and key == NAMES)):
                    raise ValueError(f"{key!r} is not the name of a fitted attribute")
                setattr(model, key, child)
            check_attributes(model)
            if kind == "model":
                _check_shapes(model)
            elif fitted and hasattr(model, "check_sound"):
                model.check_sound()
            return model
    raise ValueError(f"unknown type {value['type']!r}")


def _member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """An array of an archive."""
    array = read_array(io.BytesIO(archive.read(name)))
    if array.dtype.kind not in KINDS:
        raise ValueError(f"arrays of type {array.dtype} are not kept in model files")
    return array


def _check_shapes(model: Any) -> None:
    """Refuse a model whose parts do not fit one another: prediction relies on that they do."""
    d = model.n_features_in_
    if type(d) is not int or d < 1:
        raise ValueError(f"n_features_in_ must be a whole number of at least 1, got {d!r}")
    features = getattr(model, "features_", None)
    width = d if features is None else _width(features, d)
    arrays = dict(model._numbers_in_files(width))
    if hasattr(model, "coef_band_"):
        arrays["coef_band_"] = (len(model.coef_band_), width)
    for name, shape in arrays.items():
        numbers = getattr(model, name)
        if not isinstance(numbers, np.ndarray) or numbers.dtype != np.float64 or numbers.shape != shape:
            raise ValueError(f"{name} must be an array of float64 of shape {shape}")
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite")
    for name, count in model._labels_in_files.items():
        _check_entries(name, getattr(model, name), count, LABELS)
    if hasattr(model, "feature_names_in_"):
        _check_entries("feature_names_in_", model.feature_names_in_, d, str)
    if hasattr(model, "pos_label_") and not (
        isinstance(model.pos_label_, LABELS) and model.pos_label_ in model.classes_.tolist()
    ):
        raise ValueError("pos_label_ must be one of classes_")


def _transformer(name: str) -> type[Any]:
    """A class of transformers that files may have; a KeyError if there is none."""
    own = TRANSFORMERS.get(name)
    return getattr(import_module(f"sklearn.{OF_SKLEARN[name]}"), name) if own is None else own


def _is_transformer(value: Any) -> bool:
    name = type(value).__name__
    return name in (TRANSFORMERS | OF_SKLEARN) and type(value) is _transformer(name)


def _width(features: Any, n_columns: int) -> int:
    """Number of features that a transformer makes, which it shows with a row of so many columns; any error if not."""
    if not _is_transformer(features):
        raise ValueError(f"features_ cannot be a {type(features).__name__}")
    check_is_fitted(features)
    first = features[0] if hasattr(features, "steps") else features
    row = first.row_without_values() if hasattr(first, "row_without_values") else np.zeros((1, n_columns))
    with warnings.catch_warnings(action="ignore"):  # rows without names of columns
        made = check_array(features.transform(row), accept_sparse=True)
    if first.n_features_in_ != n_columns or made.shape[0] != 1:
        raise ValueError(f"features_ must be of {n_columns} columns")
    return int(made.shape[1])


def _check_entries(name: str, entries: Any, count: int, kind: Any) -> None:
    if not isinstance(entries, np.ndarray) or entries.shape != (count,):
        raise ValueError(f"{name} must be an array of {count} entries")
    if not all(isinstance(entry, kind) for entry in entries.tolist()):
        raise ValueError(f"{name} holds what cannot be there")


def is_fitted_attribute(name: str) -> bool:
    """By scikit-learn's convention: what ends in an underscore and does not begin with one."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def _plain_dtype(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.kind not in KINDS:
        raise ValueError(f"scalars of type {text!r} are not kept in model files")
    return dtype


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, NO_DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, content)


def _check_version(header: Any, path: str | os.PathLike[str]) -> None:
    version = header.get("version") if isinstance(header, dict) and header.get("format") == FORMAT else None
    if type(version) is not int or version < 1:
        raise _error(path, f"not a model file of smoothperf: its {HEADER} says something else.")
    if version > VERSION:
        raise _error(
            path,
            f"written by smoothperf {header.get('smoothperf')} in version {version} of the format; "
            f"smoothperf {__version__} reads up to version {VERSION}: upgrade smoothperf.",
        )


def _begins_like_an_archive(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"
