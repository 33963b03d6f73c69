"""Oracles: code that rows of the atlas cite, held against an independent implementation at generic inputs.

A claim tests a statement, often where it is simplest: mean 0, scale 1, equal weights. There a wrong factor of the code
behind it can hide. ``oracles/<package>.py``, or the files of ``oracles/<package>/``, hold for functions and classes of
``margin.<package>`` a comparison with SciPy, scikit-learn, torch or a formula written out, at inputs without symmetry
and away from 0 and 1. ``python -m tests.oracles`` runs them, and so do the tests. A row may cite such code by another
name (``margin.generative.VAE`` for ``margin.generative.vae.VAE``) or cite a method only: it is the same code, and the
comparison of its class runs.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import cache

from margin.core.verdict import Verdict
from margin.notes.claims.citations import resolve

__all__ = ["agrees", "all_paths", "has_oracle", "oracle", "oracle_of"]

Oracle = Callable[[int], Verdict]

_registered: dict[str, Oracle] = {}


def oracle(*paths: str) -> Callable[[Oracle], Oracle]:
    """Register a comparison, a function of a seed, for the dotted paths by which rows cite the code."""

    def register(function: Oracle) -> Oracle:
        for path in paths:
            _registered.setdefault(path, function)  # a test runner may import the same file twice
        return function

    return register


def has_oracle(path: str) -> bool:
    """Whether something is registered for this path; imports only the modules of its package."""
    return _registered_oracle(path) is not None


def oracle_of(path: str) -> Oracle:
    oracle = _registered_oracle(path)
    if oracle is None:
        raise KeyError(f"{path} has no oracle.")
    return oracle


def agrees(path: str, seed: int) -> Verdict:
    """Run the comparison of one path, or tell what came out before: with the same seed it is the same."""
    return _outcome(oracle_of(path), seed)


def all_paths() -> tuple[str, ...]:
    for part in pkgutil.iter_modules(__path__):
        if not part.name.startswith("_"):
            _register_those_of(part.name)
    return tuple(sorted(_registered))


@cache
def _registered_oracle(path: str) -> Oracle | None:
    """The comparison for the path itself, else for the same object by another name, else for the class of a method."""
    package = path.split(".")[1]
    _register_those_of(package)
    if path in _registered:
        return _registered[path]
    name, known = _own_name(path), _by_own_name(package)
    return known.get(name) or known.get(name.rpartition(".")[0])


@cache
def _by_own_name(package: str) -> dict[str, Oracle]:
    return {_own_name(path): oracle for path, oracle in _registered.items() if path.split(".")[1] == package}


def _own_name(path: str) -> str:
    """Module and qualified name of what a path leads to, which are the same whatever it was imported as."""
    cited = resolve(path)
    if isinstance(cited, property):
        cited = cited.fget
    if callable(cited) and not isinstance(cited, type):
        cited = inspect.unwrap(cited)
    module, name = getattr(cited, "__module__", None), getattr(cited, "__qualname__", None)
    return f"{module}.{name}" if module and name else path


@cache
def _outcome(compare: Oracle, seed: int) -> Verdict:
    return compare(seed)  # one comparison may stand for several paths


@cache
def _register_those_of(package: str) -> None:
    if all(part.name != package for part in pkgutil.iter_modules(__path__)):
        return
    module = importlib.import_module(f"{__name__}.{package}")
    for part in pkgutil.iter_modules(getattr(module, "__path__", [])):
        importlib.import_module(f"{module.__name__}.{part.name}")
