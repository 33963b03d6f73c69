"""Small mistakes in the code of a function: a sign, a factor, an axis, an index.

A mutant is the module's syntax tree with one node changed. Compiling it gives the code object of the function with the
mistake, which takes the place of the right one while a check runs.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["Mutant", "apply", "definition_of", "functions_of", "mutants_of"]

SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
GUARD = re.compile(r"EPS|TOL|TINY|SMALL|WITHIN|NOTHING|MOST|LIMIT|tol$|tiny|max_iter")  # names of guards and limits
SMALL = 1e-4  # smaller constants are tolerances and guards, whose double is as good


@dataclass(frozen=True)
class Mutant:
    """One mistake: what kind, where, and how the line reads with it."""

    function: FunctionType
    kind: str
    line: int
    text: str
    path: tuple[int, ...]  # of the changed node among the nodes of the function, and the number of the change

    def __str__(self) -> str:
        return f"{self.function.__module__}:{self.line} {self.kind}: {self.text}"


def functions_of(cited: Any) -> list[FunctionType]:
    """The Python functions behind a cited object: itself, or the methods that a class defines in this package."""
    if isinstance(cited, property):
        cited = cited.fget
    if isinstance(cited, type):
        members = [inspect.unwrap(getattr(m, "fget", None) or getattr(m, "__func__", m)) for m in vars(cited).values()
                   if callable(m) or isinstance(m, property | classmethod | staticmethod)]  # fmt: skip
        return [m for m in members if isinstance(m, FunctionType) and m.__module__ == cited.__module__ and _source(m)]
    function = inspect.unwrap(cited) if callable(cited) else None
    return [function] if isinstance(function, FunctionType) and _source(function) else []


def mutants_of(function: FunctionType) -> Iterator[Mutant]:
    """Every mistake this module knows for one function."""
    node = definition_of(function)
    if node is None:
        return
    left_alone = _left_alone(node)
    for index, part in enumerate(ast.walk(node)):
        if part in left_alone:
            continue
        for number, (kind, changed) in enumerate(_changes(part)):
            yield Mutant(function, kind, getattr(part, "lineno", node.lineno), ast.unparse(changed), (index, number))


def apply(mutant: Mutant) -> None:
    """Put the mistake into the running program; the function's ``__code__`` from before takes it out again."""
    *classes, node = _path(mutant.function)
    index, number = mutant.path
    part = list(ast.walk(node))[index]
    _, changed = list(_changes(part))[number]
    # Only the function is compiled, inside empty classes of the right names: that is enough for its qualified name.
    tree: ast.AST = _replaced(node, part, changed)
    for owner in reversed(classes):
        tree = ast.ClassDef(owner.name, bases=[], keywords=[], body=[tree], decorator_list=[])
    module = ast.fix_missing_locations(ast.Module([tree], []))
    code = compile(module, mutant.function.__code__.co_filename, "exec")
    mutant.function.__code__ = _find(code, mutant.function.__code__)


def _replaced(node: ast.AST, part: ast.AST, changed: ast.AST) -> ast.AST:
    """A copy of the nodes from ``node`` down to ``part``, which is changed; all others are shared."""
    if node is part:
        return ast.copy_location(changed, part)
    same = type(node)(**{name: _replaced_in(value, part, changed) for name, value in ast.iter_fields(node)})
    return ast.copy_location(same, node)


def _replaced_in(value: Any, part: ast.AST, changed: ast.AST) -> Any:
    if isinstance(value, list):
        return [_replaced_in(item, part, changed) for item in value]
    return _replaced(value, part, changed) if isinstance(value, ast.AST) else value


def _changes(part: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(part, ast.BinOp) and type(part.op) in SWAPPED and not _is_text(part):
        kind = "sign" if isinstance(part.op, ast.Add | ast.Sub) else "factor"
        yield kind, ast.BinOp(part.left, SWAPPED[type(part.op)](), part.right)
        if isinstance(part.op, ast.Mult):
            yield "factor", part.left if not isinstance(part.left, ast.Constant) else part.right
    elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) and not isinstance(part.operand, ast.Constant):
        yield "sign", part.operand
    elif isinstance(part, ast.keyword) and part.arg == "axis":
        axis = _number(part.value)
        if axis in (0, 1, -1):
            yield "axis", ast.keyword("axis", ast.Constant(1 if axis == 0 else 0))
    elif isinstance(part, ast.Subscript) and isinstance(_number(part.slice), int):
        index = _number(part.slice)
        yield "index", ast.Subscript(part.value, ast.Constant(index + 1 if index >= 0 else index - 1), part.ctx)
    elif isinstance(part, ast.Constant) and type(part.value) is float and abs(part.value) >= SMALL:
        yield "factor", ast.Constant(2 * part.value if part.value != 0 else 1.0)


def _left_alone(node: ast.AST) -> set[ast.AST]:
    """Defaults, annotations, messages and the conditions of refusals: what they say is not the equation."""
    left: set[ast.AST] = set()
    for part in ast.walk(node):
        roots: list[ast.AST | None] = []
        if isinstance(part, ast.FunctionDef | ast.Lambda):
            roots += [*part.args.defaults, *part.args.kw_defaults, *(a.annotation for a in part.args.args)]
            roots += [getattr(part, "returns", None), *getattr(part, "decorator_list", [])]
        elif isinstance(part, ast.AnnAssign):
            roots.append(part.annotation)
        elif isinstance(part, ast.Raise | ast.JoinedStr | ast.Assert):
            roots.append(part)
        elif isinstance(part, ast.keyword) and part.arg in ("total", "atol", "rtol", "tol", "tolerance"):
            roots.append(part)  # how far a progress bar runs, how near is near enough
        elif isinstance(part, ast.BinOp) and any(GUARD.search(n.id) for n in ast.walk(part) if isinstance(n, ast.Name)):
            roots.append(part)
        elif isinstance(part, ast.If) and any(isinstance(child, ast.Raise) for child in part.body):
            roots.append(part.test)
        for root in roots:
            if root is not None:
                left.update(ast.walk(root))
    return left


def _is_text(part: ast.BinOp) -> bool:
    sides = (part.left, part.right)
    return any(
        isinstance(s, ast.JoinedStr | ast.List | ast.Tuple) or isinstance(getattr(s, "value", None), str) for s in sides
    )


def _number(node: ast.AST) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if type(node.operand.value) in (int, float) else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) in (int, float) else None


_trees: dict[str, ast.Module] = {}


def _tree(module: ModuleType) -> ast.Module:
    if module.__name__ not in _trees:
        _trees[module.__name__] = ast.parse(inspect.getsource(module))
    return _trees[module.__name__]


def _source(function: FunctionType) -> bool:
    return function.__module__.startswith("margin.") and function.__code__.co_filename.endswith(".py")


def _path(function: FunctionType) -> list[Any]:
    """The classes around a function's definition and the definition itself; nothing if its module has none such.

    It is found by its name and the line of its ``def`` or first decorator.
    """
    name, line = function.__code__.co_name, function.__code__.co_firstlineno

    def search(node: ast.AST) -> list[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef) and (child.name, _first_line(child)) == (name, line):
                return [child]
            found = search(child) if isinstance(child, ast.ClassDef | ast.If | ast.Try) else []
            if found:
                return [child, *found] if isinstance(child, ast.ClassDef) else found
        return []

    return search(_tree(sys.modules[function.__module__]))


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def definition_of(function: FunctionType) -> ast.FunctionDef | None:
    found = _path(function)
    return found[-1] if found else None


def _find(code: CodeType, wanted: CodeType) -> CodeType:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == wanted.co_qualname and constant.co_firstlineno == wanted.co_firstlineno:
                return constant
            try:
                return _find(constant, wanted)
            except LookupError:
                continue
    raise LookupError(wanted.co_qualname)
