"""Values to JSON nodes and arrays.

None, truth values, strings, integers and finite numbers are JSON themselves, and lists are JSON lists. Everything else
is an object with the key ``"!"`` naming its kind, which :mod:`margin.store.decoding` reads back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from margin import catalog
from margin.store.container import MAX_MODELS, StoreError
from margin.store.resources import RESOURCES

__all__ = ["Encoder"]

# Attributes that belong to a running fit or to whoever watches it, not to the model.
NOT_LEARNED = {"_sklearn_version", "_skl_callbacks", "_parent_callback_ctx", "_loop"}


@dataclass
class Encoder:
    """Collects the arrays met while encoding; ``where`` names the place in error sentences."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    depth: int = 0  # of models inside models

    def encode(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, where)
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"!": "float", "value": repr(value)}
        if isinstance(value, list):
            return [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"!": "tuple", "items": self.encode(list(value), where)}
        if isinstance(value, dict):
            return {
                "!": "dict",
                "items": [[self.encode(k, where), self.encode(v, f"{where}[{k!r}]")] for k, v in value.items()],
            }
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        if isinstance(value, slice):
            return {"!": "slice", "items": [self.encode(part, where) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
            return {"!": "dtype", "name": np.dtype(value).str, "scalar_type": isinstance(value, type)}
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return self._generator(value, where)
        if hasattr(value, "tocsr") and hasattr(value, "nnz"):
            return self._sparse(value, where)
        if hasattr(value, "get_params") and not isinstance(value, type):
            return self._estimator(value, where)
        raise StoreError(f"save: {where} is a {type(value).__name__}, which a model file cannot hold.")

    def _array(self, value: np.ndarray | np.generic, where: str) -> Any:
        array = np.asarray(value)
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        node: dict[str, Any] = {"!": kind, "dtype": array.dtype.newbyteorder("=").str, "shape": list(array.shape)}
        if array.dtype.kind in "UO":
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(array.ravel().tolist())]
            return node | {"items": items}
        if array.dtype.kind not in "biufcMm" or array.dtype.itemsize > 16 or array.dtype == np.longdouble:
            raise StoreError(f"save: {where} is an array of {array.dtype}, which a model file cannot hold.")
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(array.shape)
        if array.dtype.kind == "c":
            array = (
                array.view(f"f{array.dtype.itemsize // 2}")
                if array.ndim
                else array.reshape(1).view(f"f{array.dtype.itemsize // 2}")
            )
        elif array.dtype.kind in "Mm":
            array = array.view(np.int64)
        name = f"a{len(self.arrays)}"
        self.arrays[name] = array
        return node | {"data": name}

    def _generator(self, value: Any, where: str) -> Any:
        if isinstance(value, np.random.RandomState):
            kind, state = "random-state", value.get_state(legacy=False)
        else:
            kind, state = "generator", value.bit_generator.state
        if state["bit_generator"] not in {"MT19937", "PCG64"}:
            raise StoreError(f"save: {where} uses {state['bit_generator']}, a model file can hold MT19937 and PCG64.")
        return {"!": kind, "state": self.encode(state, where)}

    def _sparse(self, value: Any, where: str) -> Any:
        csr = value.tocsr()
        parts = [self._array(part, where) for part in (csr.data, csr.indices, csr.indptr)]
        return {"!": "csr", "shape": [int(n) for n in csr.shape], "items": parts}

    def _estimator(self, value: Any, where: str) -> Any:
        name = catalog.name_of(value)
        if name is None:
            raise StoreError(
                f"save: {where} is a {type(value).__module__}.{type(value).__qualname__}, "
                "which is not in the registry of classes a model file may hold."
            )
        if self.depth == MAX_MODELS:
            raise StoreError(f"save: {where} is nested in {MAX_MODELS} models, deeper than a model file may be.")
        self.depth += 1
        node = self._model(value, name, where)
        self.depth -= 1
        return node

    def _model(self, value: Any, name: str, where: str) -> Any:
        params = value.get_params(deep=False)
        left_out = RESOURCES | getattr(type(value), "_python_only", frozenset())
        state = value.__getstate__()
        learned = {key: item for key, item in state.items() if key not in params and key not in NOT_LEARNED}
        return {
            "!": "estimator",
            "class": name,
            "params": {key: self.encode(item, f"{where}.{key}") for key, item in params.items() if key not in left_out},
            "learned": {key: self.encode(item, f"{where}.{key}") for key, item in learned.items()},
        }
