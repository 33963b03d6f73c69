"""JSON nodes and arrays back to values, trusting nothing: every field is checked before it is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from margin import catalog
from margin.core.invariants import Violation
from margin.core.notices import warn_user
from margin.store.container import MAX_MODELS, StoreError
from margin.store.forms import check_model
from margin.store.resources import RESOURCES

__all__ = ["Decoder"]

MAX_TEXT_BYTES = 2**28  # strings stand in the manifest, so a small file must not ask for much memory


@dataclass
class Decoder:
    """Reads nodes written by :class:`margin.store.encoding.Encoder` from the file at ``path``."""

    path: Path
    arrays: Mapping[str, np.ndarray]
    classes: set[str] = field(default_factory=set)  # names of the classes met
    resources: set[str] = field(default_factory=set)  # parameters that were ignored
    depth: int = 0  # of models inside models

    def decode(self, node: Any) -> Any:
        if node is None or isinstance(node, bool | str | int | float):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            raise self._damage_error(f"a {type(node).__name__} stands where a value should")
        reader = _READERS.get(node.get("!", ""))
        if reader is None:
            raise self._damage_error(f"unknown kind of value {node.get('!')!r}")
        try:
            return reader(self, node)
        except StoreError:
            raise
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            ImportError,
            RuntimeError,
        ) as error:
            raise self._damage_error(f"{node['!']}: {error}") from None

    def _damage_error(self, reason: str) -> StoreError:
        return StoreError(f"{self.path} is damaged or refused: {' '.join(reason.split())}.")

    def _float(self, node: dict[str, Any]) -> float:
        return {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}[node["value"]]

    def _tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in node["items"])

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        items = [(self.decode(key), self.decode(value)) for key, value in node["items"]]
        if len({key for key, _ in items}) != len(items):
            raise self._damage_error("a dictionary repeats a key")
        return dict(items)

    def _slice(self, node: dict[str, Any]) -> slice:
        return slice(*self._tuple(node))

    def _dtype(self, node: dict[str, Any]) -> Any:
        dtype = _safe_dtype(node["name"])
        return dtype.type if node["scalar_type"] else dtype

    def _array(self, node: dict[str, Any]) -> np.ndarray:
        dtype, shape = _safe_dtype(node["dtype"]), tuple(int(n) for n in node["shape"])
        if "items" in node:
            if len(node["items"]) * dtype.itemsize > MAX_TEXT_BYTES:
                raise self._damage_error(f"an array of {len(node['items'])} strings of type {dtype} is too large")
            flat = np.empty(len(node["items"]), dtype=dtype)
            for i, item in enumerate(node["items"]):
                flat[i] = self.decode(item)
            return flat.reshape(shape)
        stored = self.arrays[node["data"]]
        if dtype.kind in "cMm":
            stored = stored.reshape(-1).view(dtype).reshape(shape)
        if stored.dtype != dtype or stored.shape != shape:
            raise self._damage_error(f"array {node['data']} is {stored.dtype}{stored.shape}, declared {dtype}{shape}")
        # A copy: the library's arrays may be read-only views of the file's bytes.
        return stored.copy()

    def _scalar(self, node: dict[str, Any]) -> Any:
        return self._array(node)[()]

    def _random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        generator = np.random.RandomState(0)
        generator.set_state(_checked_state(self.decode(node["state"])))
        return generator

    def _generator(self, node: dict[str, Any]) -> np.random.Generator:
        state = _checked_state(self.decode(node["state"]))
        bits = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}[state["bit_generator"]](0)
        bits.state = state
        return np.random.Generator(bits)

    def _csr(self, node: dict[str, Any]) -> Any:
        from scipy.sparse import csr_matrix

        data, indices, indptr = (self.decode(part) for part in node["items"])
        matrix = csr_matrix((data, indices, indptr), shape=tuple(node["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _estimator(self, node: dict[str, Any]) -> Any:
        self.depth += 1
        if self.depth > MAX_MODELS:
            raise self._damage_error(f"more than {MAX_MODELS} models are nested in one another")
        estimator = self._model(node)
        self.depth -= 1
        return estimator

    def _model(self, node: dict[str, Any]) -> Any:
        name = node["class"]
        if name not in catalog.registry():
            raise self._damage_error(f"class {name!r} is not in the registry of classes a model file may hold")
        self.classes.add(name)
        cls = catalog.class_of(name)
        params = {key: self.decode(value) for key, value in node["params"].items() if not self._is_resource(key, value)}
        estimator = cls(**params)
        names = estimator.get_params(deep=False)
        for key, value in node["learned"].items():
            if key in names or not _is_data_attribute(cls, key):
                raise self._damage_error(f"{name} cannot have an attribute {key!r}")
            vars(estimator)[key] = self.decode(value)
        try:
            check_model(estimator, catalog.registry()[name])
        except Violation as violation:
            raise self._damage_error(f"{name}: {str(violation).rstrip('.')}") from None
        if hasattr(estimator, "_complete"):
            estimator._complete()
        return estimator

    def _is_resource(self, name: str, value: Any) -> bool:
        """Whether a parameter is not the file's to set; a file that sets it nevertheless causes one warning."""
        if name in RESOURCES and value not in (None, False, True, 0) and name not in self.resources:
            self.resources.add(name)
            warn_user(f"{self.path} sets {name}, which is left to whoever loads a model: it is ignored.")
        return name in RESOURCES


def _checked_state(state: Any) -> dict[str, Any]:
    """The state of a generator; NumPy itself would read beyond the end of the key from a position out of range."""
    if state["bit_generator"] == "MT19937":
        key, position = state["state"]["key"], state["state"]["pos"]
        if key.shape != (624,) or key.dtype != np.uint32 or type(position) is not int or not 0 <= position <= 624:
            raise ValueError("a state of MT19937 is a key of 624 integers and a position among them")
    return state


@lru_cache(maxsize=64)  # a forest has a thousand arrays of five types
def _safe_dtype(name: str) -> np.dtype:
    if not isinstance(name, str) or not re.fullmatch(r"[<>|=]?[a-zA-Z]\d*(\[\d*[a-zA-Z]+\])?", name):
        raise ValueError(f"dtype {str(name)[:40]!r}")  # NumPy would read a string of its own language
    dtype = np.dtype(name)
    # NumPy 2.0 lets the size of a string overflow to a negative number.
    if dtype.kind not in "biufcMmUO" or not 0 <= dtype.itemsize <= 2**20:
        raise ValueError(f"dtype {name!r}")
    return dtype


def _is_data_attribute(cls: type, name: str) -> bool:
    """A learned attribute must not hide a method, a property or anything special of its class."""
    inherited = getattr(cls, name, None)
    hides = callable(inherited) or hasattr(type(inherited), "__set__")
    return name.isidentifier() and not name.startswith("__") and not hides


_READERS: Mapping[str, Callable[[Decoder, dict[str, Any]], Any]] = {
    "float": Decoder._float,
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "slice": Decoder._slice,
    "dtype": Decoder._dtype,
    "array": Decoder._array,
    "scalar": Decoder._scalar,
    "random-state": Decoder._random_state,
    "generator": Decoder._generator,
    "csr": Decoder._csr,
    "estimator": Decoder._estimator,
}
