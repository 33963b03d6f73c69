"""The source text behind a dotted path, found without importing it: what a row of the notes cites, as it is written."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import margin
from margin.service.reach.parts import statements

__all__ = ["SourceText", "find_source"]

LONGEST = 400  # lines of a class or module that are shown


@dataclass(frozen=True)
class SourceText:
    """A function, class, method or constant: its file from the package on, its first line, and its text.

    ``omitted`` are the lines behind the first ``LONGEST``.
    """

    path: str
    file: str
    line: int
    text: str
    omitted: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def find_source(path: str) -> SourceText:
    """The text that defines ``path``, such as ``margin.trees.DecisionTreeClassifier.fit``; a KeyError if nothing does.

    >>> find_source("margin.service.source_code.find_source").text.splitlines()[0]
    'def find_source(path: str) -> SourceText:'
    """
    parts = path.split(".")
    if parts[0] != "margin" or not all(part.isidentifier() for part in parts):
        raise KeyError(f"{path!r} is no dotted path into margin.")
    found = _resolve(parts, set())
    if found is None:
        raise KeyError(f"Nothing in margin is called {path!r}.")
    file, node = found
    lines = file.read_text(encoding="utf-8").splitlines()
    first, last = (1, len(lines)) if node is None else _span(node)
    text = lines[first - 1 : last]
    shown = str(Path("margin", file.relative_to(_root())))
    return SourceText(path, shown, first, "\n".join(text[:LONGEST]), max(len(text) - LONGEST, 0))


def _root() -> Path:
    return Path(margin.__file__).parent


def _span(node: Any) -> tuple[int, int]:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]), node.end_lineno


def _resolve(parts: list[str], seen: set[str]) -> tuple[Path, Any] | None:
    """The file and node of a path: the longest beginning of it that is a module, and the names inside."""
    if (path := ".".join(parts)) in seen:
        return None  # two modules that import a name from each other
    seen.add(path)
    for length in range(len(parts), 0, -1):
        file = _module_file(parts[:length])
        if file is not None:
            return (file, None) if length == len(parts) else _inside(file, parts[:length], parts[length:], seen)
    return None


def _module_file(parts: list[str]) -> Path | None:
    base = _root().joinpath(*parts[1:])
    if (base / "__init__.py").is_file():
        return base / "__init__.py"
    file = base.with_suffix(".py")
    return file if file.is_file() and len(parts) > 1 else None


@lru_cache(maxsize=256)
def _body(file: Path, _changed: int) -> list[Any]:
    """Statements of a file; who edits it while the program runs gets those of the new one."""
    return list(statements(ast.parse(file.read_text(encoding="utf-8")).body))


def _inside(file: Path, module: list[str], names: list[str], seen: set[str]) -> tuple[Path, Any] | None:
    name, *rest = names
    node = _find_name(_body(file, file.stat().st_mtime_ns), name)
    if isinstance(node, ast.ImportFrom):
        return _follow_import(node, module, file, name, rest, seen)
    if not rest or node is None:
        return None if node is None else (file, node)
    member = _find_name(getattr(node, "body", []), rest[0])
    if member is not None:
        return file, member
    bases = [base.id for base in getattr(node, "bases", []) if isinstance(base, ast.Name)]
    inherited = (_inside(file, module, [base, *rest], seen) for base in bases)
    return next((found for found in inherited if found is not None), None)


def _find_name(body: list[Any], name: str) -> Any:
    return next((node for node in body if name in _names_of(node)), None)


def _follow_import(
    node: ast.ImportFrom, module: list[str], file: Path, name: str, rest: list[str], seen: set[str]
) -> tuple[Path, Any] | None:
    alias = next(each for each in node.names if (each.asname or each.name) == name)
    package = module if file.name == "__init__.py" else module[:-1]
    base = package[: len(package) - node.level + 1] if node.level else []
    source = [*base, *(node.module.split(".") if node.module else [])]
    return _resolve([*source, alias.name, *rest], seen) if source[0] == "margin" else None


def _names_of(node: Any) -> list[str]:
    """The names that a statement of a module or class defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
