"""The parts of the package as its sources define them: functions, classes, methods, tables, and the names each uses.

Nothing is imported or run. A part is called by its dotted path: ``margin.linear.ridge.Ridge.fit``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ModuleParts", "SourcePart", "read_source", "read_sources", "statements"]

BODY = "<body>"  # what a module does besides defining its parts
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class SourcePart:
    """One function, class, method or assigned name.

    ``names`` are chains such as ``("np", "linalg", "qr")`` that begin outside the part, ``attributes`` those of objects
    that only a run knows, ``own`` those of ``self``, ``above`` those of ``super()``, and ``bases`` the chains of a
    class's bases.
    """

    names: set[tuple[str, ...]] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    above: set[str] = field(default_factory=set)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    bases: tuple[tuple[str, ...], ...] = ()
    methods: tuple[str, ...] = ()
    is_class: bool = False


@dataclass
class ModuleParts:
    """One module: where its names come from, and its parts by name (``Ridge``, ``Ridge.fit``)."""

    module: str
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    parts: dict[str, SourcePart] = field(default_factory=dict)


def read_sources(root: Path, without: Sequence[str] = ()) -> dict[str, ModuleParts]:
    """Every module below the folder ``root`` of a package, except subpackages named in ``without``."""
    sources = {}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).with_suffix("").parts
        if inside[0] not in without:
            module = ".".join([root.name, *(inside[:-1] if inside[-1] == "__init__" else inside)])
            sources[module] = read_source(module, path.read_text(encoding="utf-8"))
    return sources


def read_source(module: str, text: str) -> ModuleParts:
    source = ModuleParts(module, parts={BODY: SourcePart()})
    for statement in statements(ast.parse(text).body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            source.imports.update(_imported_names(statement))
        elif isinstance(statement, Function):
            source.parts[statement.name] = _part([statement])
        elif isinstance(statement, ast.ClassDef):
            source.parts.update(_class_parts(statement))
        else:
            targets = _names_assigned(statement)
            for name in targets or [BODY]:
                _read([statement], source.parts.setdefault(name, SourcePart()), is_scope=False)
    return source


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, also those below its ``if`` and ``try``."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from statements([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.Try):
            yield from statements([*statement.body, *statement.orelse, *statement.finalbody])
            yield from statements(inner for handler in statement.handlers for inner in handler.body)
        else:
            yield statement


def _imported_names(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Names bound by an import: the module, and the name in it or None for the module itself."""
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            yield alias.asname or alias.name, (statement.module or "", alias.name)
        elif alias.asname:
            yield alias.asname, (alias.name, None)
        else:
            yield alias.name.split(".")[0], (alias.name.split(".")[0], None)


def _names_assigned(statement: ast.stmt) -> list[str]:
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    flat = (part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target]))
    return [part.id for part in flat if isinstance(part, ast.Name)]


def _class_parts(definition: ast.ClassDef) -> Iterator[tuple[str, SourcePart]]:
    methods = [member for member in definition.body if isinstance(member, Function)]
    rest = [member for member in definition.body if not isinstance(member, Function)]
    owner = _part([*definition.decorator_list, *definition.bases, *(k.value for k in definition.keywords), *rest])
    owner.is_class = True
    owner.bases = tuple(chain for base in definition.bases if (chain := _chain(_without_subscript(base))) is not None)
    owner.methods = tuple(dict.fromkeys(method.name for method in methods))
    yield definition.name, owner
    for name in owner.methods:  # a property and its setter are one part
        yield f"{definition.name}.{name}", _part([method for method in methods if method.name == name])


def _without_subscript(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def _part(nodes: Sequence[ast.AST]) -> SourcePart:
    part = SourcePart()
    _read(nodes, part, is_scope=True)
    return part


def _read(nodes: Sequence[ast.AST], part: SourcePart, *, is_scope: bool) -> None:
    """Add the names that ``nodes`` use; in a function's scope those it binds itself are not names from outside."""
    found = [node for top in nodes for node in _walk_executed(top)]
    for node in found:
        if isinstance(node, ast.Import | ast.ImportFrom):
            part.imports.update(_imported_names(node))
    local = _bound(found) - part.imports.keys() if is_scope else set()
    inner = {id(node.value) for node in found if isinstance(node, ast.Attribute)}
    for node in found:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inner:
            if node.id not in local:
                part.names.add((node.id,))
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            _read_attribute(node, part, local)
        elif isinstance(node, ast.Call):
            _read_getattr(node, part, local)


def _read_attribute(node: ast.Attribute, part: SourcePart, local: set[str]) -> None:
    chain = _chain(node)
    if chain is None:
        if isinstance(node.value, ast.Call) and _chain(node.value.func) == ("super",):
            part.above.add(node.attr)
            return
        part.attributes.update(_attributes(node))
    elif chain[0] in ("self", "cls"):
        part.own.add(chain[1])
        part.attributes.update(chain[2:])
    elif chain[0] in local:
        part.attributes.update(chain[1:])
    else:
        part.names.add(chain)


def _read_getattr(node: ast.Call, part: SourcePart, local: set[str]) -> None:
    """``getattr(object, name)``: a name known here counts as an attribute, one known only in a run as any: ``*``."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) > 1):
        return
    owner, name = _chain(node.args[0]), node.args[1]
    if isinstance(name, ast.Constant):
        part.attributes.add(str(name.value))
    elif owner is not None and owner[0] not in local:
        part.names.add((*owner, "*"))


def _chain(node: ast.expr) -> tuple[str, ...] | None:
    """``a.b.c`` as a tuple; None where it begins with something else than a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else None


def _attributes(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value


def _walk_executed(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that runs: annotations do not, unless they call something (``Annotated[...]``)."""
    yield node
    skipped = []
    if isinstance(node, Function):
        skipped = [node.returns]
    elif isinstance(node, ast.arg | ast.AnnAssign):
        skipped = [node.annotation]
    for child in ast.iter_child_nodes(node):
        if child in skipped and not any(isinstance(inner, ast.Call) for inner in ast.walk(child)):
            continue
        yield from _walk_executed(child)


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
    return names
