"""What a fitted attribute may hold, declared once, so that arrays from a file can be checked before they are used.

Kernels trust their arrays: an index out of range would read foreign memory, two children that point at each other would
never end. So every class that a model file may hold has a :class:`Form`: one :class:`Stored` per attribute, with
dtype, shape and range. Shapes are written with names (``ArrayOf("n_classes", "n_features")``), and one name has one
size in the whole model. The forms stand in the ``stored.py`` of each package.

>>> form = Form({"classes_": ArrayOf("n_classes", kind="labels"), "coef_": ArrayOf("n_classes", "n_features")})
>>> form.check({"n_features_in_": 2, "classes_": np.array([0, 1]), "coef_": np.zeros((2, 2))})
>>> form.check({"n_features_in_": 2, "classes_": np.array([0, 1]), "coef_": np.zeros((3, 2))})
Traceback (most recent call last):
margin.core.invariants.Violation: coef_ has shape (3, 2): n_classes is 2 elsewhere, here it is 3
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "Anything",
    "ArrayOf",
    "Count",
    "DictOf",
    "FieldsOf",
    "Form",
    "ListOf",
    "ModelWith",
    "NoneOnly",
    "OneOf",
    "Real",
    "Sizes",
    "SparseOf",
    "Stored",
    "StringOf",
    "TrueOrFalse",
    "Violation",
    "optional",
]

# What "f" and friends allow. Exact dtypes are written as such ("int32"): kernels are compiled for them.
KINDS: Mapping[str, Callable[[np.dtype], bool]] = {
    "f": lambda dtype: dtype in (np.dtype(np.float32), np.dtype(np.float64)),
    "i": lambda dtype: dtype in (np.dtype(np.int32), np.dtype(np.int64)),
    "b": lambda dtype: dtype.kind == "b",
    "labels": lambda dtype: dtype.kind in "biufUO",
    "names": lambda dtype: dtype.kind in "UO",
}


class Violation(ValueError):
    """A stored value is not what its class declares; the sentence says where and why."""


@dataclass
class Sizes:
    """The sizes met so far in one model, and the checks that need all of them."""

    known: dict[str, int] = field(default_factory=dict)
    later: list[Callable[[Sizes], None]] = field(default_factory=list)
    may_be_empty: Sequence[str] = ()

    def agree(self, name: str, size: int, said: str) -> None:
        if size == 0 and name not in self.may_be_empty:
            raise Violation(f"{said}: {name} must be at least 1")
        before = self.known.setdefault(name, size)
        if before != size:
            raise Violation(f"{said}: {name} is {before} elsewhere, here it is {size}")

    def __getitem__(self, name: str) -> int:
        if name not in self.known:
            raise Violation(f"{name} is not stored")
        return self.known[name]


class Stored(ABC):
    """One kind of value."""

    @abstractmethod
    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise a :class:`Violation` unless ``value`` may stand at ``where``."""


@dataclass(frozen=True)
class ArrayOf(Stored):
    """An array: ``dims`` are sizes, names of sizes, or None for any size; ``ArrayOf(...)`` has any shape.

    Values lie from ``low`` to ``high``; ``below`` names a size that all of them, being indices, are less than.
    """

    dims: tuple[Any, ...] = ()
    kind: str = "f"
    low: float | None = None
    high: float | None = None
    below: str = ""
    finite: bool = True
    any_shape: bool = False

    def __init__(
        self,
        *dims: Any,
        kind: str = "f",
        low: float | None = None,
        high: float | None = None,
        below: str = "",
        finite: bool = True,
    ):
        values = {"dims": dims, "kind": kind, "low": low, "high": high, "below": below, "finite": finite}
        for name, value in {**values, "any_shape": dims == (...,)}.items():
            object.__setattr__(self, name, value)

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray):
            raise Violation(f"{where} must be an array; got {type(value).__name__}")
        allowed = KINDS.get(self.kind)
        if not (allowed(value.dtype) if allowed else value.dtype == np.dtype(self.kind)):
            raise Violation(f"{where} must have dtype {self.kind}; got {value.dtype}")
        if not self.any_shape:
            self._check_shape(value, where, sizes)
        if self.finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise Violation(f"{where} must be finite")
        if self.low is not None and value.size and not value.min() >= self.low:
            raise Violation(f"{where} must be at least {self.low}; got {value.min()}")
        if self.high is not None and value.size and not value.max() <= self.high:
            raise Violation(f"{where} must be at most {self.high}; got {value.max()}")
        if self.below and value.size:
            largest = int(value.max())
            sizes.later.append(lambda all_sizes: _check_below(largest, self.below, where, all_sizes))

    def _check_shape(self, value: np.ndarray, where: str, sizes: Sizes) -> None:
        if value.ndim != len(self.dims):
            raise Violation(f"{where} has shape {value.shape}, not {len(self.dims)} dimensions")
        _check_dims(self.dims, value.shape, where, sizes)


def _check_dims(dims: tuple[Any, ...], shape: tuple[int, ...], where: str, sizes: Sizes) -> None:
    said = f"{where} has shape {shape}"
    for dim, size in zip(dims, shape):
        if isinstance(dim, str):
            sizes.agree(dim, size, said)
        elif dim is not None and dim != size:
            raise Violation(f"{said}: {size} should be {dim}")


def _check_below(largest: int, name: str, where: str, sizes: Sizes) -> None:
    if largest >= sizes[name]:
        raise Violation(f"{where} must be less than {name} ({sizes[name]}); got {largest}")


@dataclass(frozen=True)
class SparseOf(Stored):
    """A sparse matrix whose indices were checked when it was read."""

    rows: str | int
    columns: str | int

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not hasattr(value, "indptr"):
            raise Violation(f"{where} must be a sparse matrix; got {type(value).__name__}")
        ArrayOf(...).check(value.data, where, sizes)
        _check_dims((self.rows, self.columns), value.shape, where, sizes)


@dataclass(frozen=True)
class Real(Stored):
    """A number; ``finite`` where an infinite or missing one would do harm."""

    low: float = -np.inf
    high: float = np.inf
    finite: bool = False

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise Violation(f"{where} must be a number; got {type(value).__name__}")
        if self.finite and not np.isfinite(value):
            raise Violation(f"{where} must be finite; got {value}")
        if value == value and not self.low <= value <= self.high:
            raise Violation(f"{where} must be from {self.low} to {self.high}; got {value}")


@dataclass(frozen=True)
class Count(Stored):
    """An integer; ``size`` names the size that it is."""

    low: int = 0
    size: str = ""
    high: int = 2**63 - 1

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < self.low:
            raise Violation(f"{where} must be an integer of at least {self.low}; got {str(value)[:40]}")
        if value > self.high:
            raise Violation(f"{where} must be at most {self.high}; got {str(value)[:40]}")
        if self.size:
            sizes.agree(self.size, int(value), where)


@dataclass(frozen=True)
class TrueOrFalse(Stored):
    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, bool | np.bool_):
            raise Violation(f"{where} must be True or False; got {type(value).__name__}")


@dataclass(frozen=True)
class StringOf(Stored):
    """A string, one of ``allowed`` if any are named."""

    allowed: tuple[str, ...] = ()

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, str) or (self.allowed and value not in self.allowed):
            raise Violation(f"{where} must be {' or '.join(self.allowed) or 'a string'}; got {str(value)[:40]!r}")


@dataclass(frozen=True)
class NoneOnly(Stored):
    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if value is not None:
            raise Violation(f"{where} must be None; got {type(value).__name__}")


@dataclass(frozen=True)
class Anything(Stored):
    """A value that only Python reads, such as a category."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        pass


@dataclass(frozen=True)
class OneOf(Stored):
    """The first option that fits."""

    options: tuple[Stored, ...]

    def __init__(self, *options: Stored):
        object.__setattr__(self, "options", options)

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        problem: Violation | None = None
        for option in self.options:
            tried = Sizes(dict(sizes.known), may_be_empty=sizes.may_be_empty)
            try:
                option.check(value, where, tried)
            except Violation as violation:
                problem = problem or violation
                continue
            sizes.known.update(tried.known)
            sizes.later += tried.later
            return
        raise problem or Violation(f"{where} fits nothing")


def optional(stored: Stored) -> Stored:
    """``stored`` or None."""
    return OneOf(stored, NoneOnly())


@dataclass(frozen=True)
class ListOf(Stored):
    """A list or tuple of ``of``; ``size`` names its length. Names in ``own`` are sizes of each item by itself."""

    of: Stored
    size: str = ""
    own: Sequence[str] = ()

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, list | tuple):
            raise Violation(f"{where} must be a list; got {type(value).__name__}")
        if self.size:
            sizes.agree(self.size, len(value), f"{where} has {len(value)} items")
        for i, item in enumerate(value):
            for name in self.own:
                sizes.known.pop(name, None)
            self.of.check(item, f"{where}[{i}]", sizes)
        for name in self.own:
            sizes.known.pop(name, None)


@dataclass(frozen=True)
class DictOf(Stored):
    """A dict with ``keys`` and ``values`` of one kind each."""

    keys: Stored
    values: Stored

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, dict):
            raise Violation(f"{where} must be a dict; got {type(value).__name__}")
        for key, item in value.items():
            self.keys.check(key, f"a key of {where}", sizes)
            self.values.check(item, f"{where}[{key!r}]", sizes)


@dataclass(frozen=True)
class FieldsOf(Stored):
    """A dict with exactly these keys; ``rule`` checks what the fields are to each other."""

    fields: Mapping[str, Stored]
    rule: Callable[[Any, str, Sizes], None] | None = None

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, dict) or value.keys() != self.fields.keys():
            raise Violation(f"{where} must be a dict of {', '.join(self.fields)}")
        for name, stored in self.fields.items():
            stored.check(value[name], f"{where}[{name!r}]", sizes)
        if self.rule is not None:
            self.rule(value, where, sizes)


@dataclass(frozen=True)
class ModelWith(Stored):
    """A model, itself checked already, that can do all of ``can``; ``columns`` names the size of its input."""

    can: Sequence[str] = ()
    columns: str = ""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if isinstance(value, type) or not hasattr(value, "get_params"):
            raise Violation(f"{where} must be a model; got {type(value).__name__}")
        for method in self.can:
            if not hasattr(value, method):
                raise Violation(f"{where} is a {type(value).__name__}, which has no {method}")
        if self.columns and hasattr(value, "n_features_in_"):
            sizes.agree(self.columns, int(value.n_features_in_), where)


Rule = Callable[[Any, Sizes], None]
COMMON: Mapping[str, Stored] = {
    "n_features_in_": Count(low=1, size="n_features"),
    "feature_names_in_": ArrayOf("n_features", kind="names"),
}


@dataclass(frozen=True)
class Form:
    """What a fitted model of one class holds. ``rules`` see the whole model (its attributes by name).

    Sizes are at least 1 unless ``may_be_empty`` names them.
    """

    attributes: Mapping[str, Stored]
    rules: Sequence[Rule] = ()
    may_be_empty: Sequence[str] = ()

    def check(self, attributes: Mapping[str, Any]) -> None:
        sizes = Sizes(may_be_empty=self.may_be_empty)
        for name, stored in {**COMMON, **self.attributes}.items():
            if name in attributes:
                stored.check(attributes[name], name, sizes)
        for check in sizes.later:
            check(sizes)
        # A model that is not fitted, such as the member that an ensemble copies, has nothing for rules to look at.
        fitted = not self.attributes or any(name in attributes for name in self.attributes)
        for rule in self.rules if fitted else ():
            rule(attributes, sizes)

    def undeclared(self, attributes: Mapping[str, Any]) -> list[str]:
        """Names of attributes that have no declaration."""
        return [name for name in attributes if name not in self.attributes and name not in COMMON]
