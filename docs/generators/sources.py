"""Fingerprints of code: which files a module of the package can run, and one hash of what stands in them.

A picture or verdict is kept as long as its fingerprint is the same. Imports are read from the sources, wherever in a
file they stand, so nothing has to be imported to know whether anything changed. Comments, docstrings and the layout of
lines compute nothing, so a file is hashed without them: to reword one does not run every experiment again.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import margin

__all__ = ["fingerprint", "reachable_files"]

PACKAGE = Path(margin.__file__).parent


def fingerprint(modules: Iterable[str]) -> str:
    """A hash over the code of every file of the package that the modules can import."""
    digest = hashlib.sha256()
    for path in sorted(reachable_files(tuple(modules))):
        digest.update(f"{path.relative_to(PACKAGE)}\0".encode())
        digest.update(_file_hash(path))
    return digest.hexdigest()[:32]


def reachable_files(modules: tuple[str, ...]) -> frozenset[Path]:
    """The files of the package behind the modules: their own, what these import, and so on.

    >>> names = {path.name for path in reachable_files(("margin.core.verdict",))}
    >>> "verdict.py" in names, "ridge.py" in names
    (True, False)
    """
    found: set[Path] = set()
    waiting = [path for module in modules for path in _files_of(module)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported_files(path)
    return frozenset(found)


@cache
def _code(path: Path) -> ast.AST:
    """The syntax of a file without the strings that are statements of their own."""
    return _Silence().visit(ast.parse(path.read_text(encoding="utf-8")))


class _Silence(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


@cache
def _file_hash(path: Path) -> bytes:
    return hashlib.sha256(ast.dump(_code(path)).encode()).digest()


@cache
def _imported_files(path: Path) -> tuple[Path, ...]:
    names: set[str] = set()
    for node in ast.walk(_code(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package import module` and `from module import name` look alike: both are tried.
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return tuple(file for name in sorted(names) for file in _files_of(name))


@cache
def _files_of(module: str) -> tuple[Path, ...]:
    """The file of a module of the package, and what its packages run when it is imported; nothing for other names."""
    parts = module.split(".")
    if parts[0] != "margin" or len(parts) == 1:  # margin/__init__.py imports nothing that computes
        return ()
    place = PACKAGE.joinpath(*parts[1:])
    file = place / "__init__.py" if (place / "__init__.py").exists() else place.with_suffix(".py")
    if not file.exists():
        return ()
    parents = (PACKAGE.joinpath(*parts[1:end], "__init__.py") for end in range(2, len(parts)))
    return (file, *(parent for parent in parents if parent.exists()))
