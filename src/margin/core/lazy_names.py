"""Packages that import a module of theirs when one of its names is asked for, not when they are imported.

A package says what it offers as any other does, in imports at its head (``import *`` too, of what the ``__all__`` of a
module lists), but below ``if TYPE_CHECKING:``, where readers, editors and mypy see them; ``__getattr__, __dir__ =
lazy_names(__name__)`` reads the same lines when the first name is asked for. A name that a module of the package has
too must be imported outright: importing that module would bind the module to it.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

__all__ = ["lazy_homes", "lazy_names", "names_of", "read_imports"]


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of the package."""

    def __getattr__(name: str) -> Any:
        home = None if name.startswith("__") else lazy_homes(package).get(name)
        if home is None:
            return _module_in(package, name)
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *lazy_homes(package)})

    return __getattr__, __dir__


def _module_in(package: str, name: str) -> Any:
    """The module of the package with that name: a package that imports outright has these as attributes too."""
    if not name.startswith("__") and importlib.util.find_spec(f"{package}.{name}") is not None:
        return importlib.import_module(f"{package}.{name}")
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


@cache
def lazy_homes(package: str) -> dict[str, str]:
    """The modules from which the package imports each of its lazy names."""
    spec = sys.modules[package].__spec__
    source = spec.loader.get_source(package)  # type: ignore[union-attr]
    return dict(_type_checking_imports(ast.parse(source or "")))


def read_imports(module: str) -> dict[str, str]:
    """The modules from which a module imports each name at its head, read and not run."""
    froms = [statement for statement in _tree_of(module).body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: each.module or "" for each in froms for alias in each.names}


@cache
def names_of(module: str) -> tuple[str, ...]:
    """What the ``__all__`` of a module lists, read and not run; the packages around it are imported."""
    assigned = [statement for statement in _tree_of(module).body if isinstance(statement, ast.Assign)]
    lists = [each.value for each in assigned if ast.unparse(each.targets[0]) == "__all__"]
    return tuple(name for found in lists for name in ast.literal_eval(found))


def _tree_of(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    return ast.parse((spec.loader.get_source(module) if spec is not None else "") or "")  # type: ignore[union-attr]


def _type_checking_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for statement in tree.body:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Name):
            for inner in statement.body:
                if isinstance(inner, ast.ImportFrom) and inner.module:
                    for alias in inner.names:
                        names = names_of(inner.module) if alias.name == "*" else (alias.name,)
                        yield from ((name, inner.module) for name in names)
