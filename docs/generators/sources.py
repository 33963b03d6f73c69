"""Fingerprints of code: which files a module of the package can run, and one hash of what stands in them.

A picture or verdict is kept as long as its fingerprint is the same. Imports are read from the sources, wherever in a
file they stand, so nothing has to be imported to know whether anything changed. Comments, docstrings and the layout of
lines compute nothing, so a file is hashed without them: to reword one does not run every experiment again.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import margin

__all__ = ["fingerprint", "parsed_files", "reachable_files"]

PACKAGE = Path(margin.__file__).parent
_PARSED: dict[str, tuple[str, list[str]]] = {}  # by the hash of a text: that of its code, and what it imports


def fingerprint(modules: Iterable[str]) -> str:
    """A hash over the code of every file of the package that the modules can import."""
    digest = hashlib.sha256()
    for path in sorted(reachable_files(tuple(modules))):
        digest.update(f"{path.relative_to(PACKAGE)}\0".encode())
        digest.update(_file_hash(path).encode())
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
def _file_hash(path: Path) -> str:
    return _facts(path)[0]


@cache
def _imported_files(path: Path) -> tuple[Path, ...]:
    return tuple(file for name in _facts(path)[1] for file in _files_of(name))


def _facts(path: Path) -> tuple[str, list[str]]:
    """Of a file: a hash of its code, and the modules that it imports; parsed only if its text is new."""
    text = path.read_bytes()
    key = hashlib.sha256(text).hexdigest()
    if key not in _PARSED:
        code = _Silence().visit(ast.parse(text))
        _PARSED[key] = hashlib.sha256(ast.dump(code).encode()).hexdigest(), sorted(_imports(code))
    return _PARSED[key]


def _imports(code: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package import module` and `from module import name` look alike: both are tried.
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


class _Silence(ast.NodeTransformer):
    """Without the strings that are statements of their own."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


@contextmanager
def parsed_files(record: Path) -> Iterator[None]:
    """What was parsed in an earlier build is read from ``record``, and what is parsed inside is kept there."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
        _PARSED.update({key: (code, imports) for key, (code, imports) in kept.items()})
    except (OSError, ValueError, AttributeError, TypeError):
        pass  # the first build, or a damaged record: everything is parsed
    before = len(_PARSED)
    yield
    if len(_PARSED) > before:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(_PARSED), encoding="utf-8")


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
