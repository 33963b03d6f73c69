"""Small mistakes in the code of a function: a sign, a factor, an axis, an index.

A mutant is the module's syntax tree with one node changed. Compiling it gives the code object of the function with the
mistake, which takes the place of the right one while a check runs.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from fuzz.equal_changes import EQUAL
from fuzz.not_planted import SHARING, draws_symmetric, factors, left_alone, symmetric_names

__all__ = ["Mutant", "apply", "definition_of", "functions_of", "mutants_of", "watch"]

SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
WATCHER = "__margin_watcher__"  # a global name for the time of a run
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
    if node is None or function.__name__ in SHARING:
        return
    alone, deviates = left_alone(node), symmetric_names(node)
    for index, part in enumerate(ast.walk(node)):
        if part in alone:
            continue
        for number, (kind, changed) in enumerate(_changes(part)):
            if kind == "sign" and isinstance(part, ast.BinOp) and deviates & factors(part.right):
                continue
            text = ast.unparse(changed)
            if (function.__module__, function.__name__, text) not in EQUAL:
                yield Mutant(function, kind, getattr(part, "lineno", node.lineno), text, (index, number))


def apply(mutant: Mutant) -> None:
    """Put the mistake into the running program; the function's ``__code__`` from before takes it out again."""
    node = definition_of(mutant.function)
    assert node is not None
    index, number = mutant.path
    part = list(ast.walk(node))[index]
    _, changed = list(_changes(part))[number]
    mutant.function.__code__ = _compiled(mutant.function, {part: changed})


def watch(mutants: Sequence[Mutant], seen: Callable[[int], Any]) -> None:
    """From now on ``seen(i)`` is called whenever the expression that mutant ``i`` would change is evaluated.

    A line that runs need not run in full: the other branch of a conditional expression never notices a mistake.
    """
    by_function: dict[FunctionType, dict[ast.AST, list[int]]] = {}
    for i, mutant in enumerate(mutants):
        node = definition_of(mutant.function)
        assert node is not None
        part = list(ast.walk(node))[mutant.path[0]]
        by_function.setdefault(mutant.function, {}).setdefault(_evaluated(part), []).append(i)
    for function, parts in by_function.items():
        function.__globals__[WATCHER] = seen
        function.__code__ = _compiled(function, {part: _watched(numbers) for part, numbers in parts.items()})


def _evaluated(part: ast.AST) -> ast.AST:
    """The expression whose evaluation means that ``part`` is: a subscript may be assigned to, a keyword is none."""
    if isinstance(part, ast.keyword):
        return part.value
    return part.slice if isinstance(part, ast.Subscript) else part


def _watched(numbers: list[int]) -> Callable[[ast.AST], ast.AST]:
    """Puts calls of the watcher before an expression: ``(seen(1), seen(2), expression)[-1]``."""
    calls = [ast.Call(ast.Name(WATCHER, ast.Load()), [ast.Constant(i)], []) for i in numbers]

    def wrap(inner: Any) -> ast.AST:
        return ast.Subscript(ast.Tuple([*calls, inner], ast.Load()), ast.Constant(-1), ast.Load())

    return wrap


def _compiled(function: FunctionType, changes: Mapping[ast.AST, Any]) -> CodeType:
    """The code of a function with some nodes replaced, by another node or by what a function makes of their copy.

    Only the function is compiled, inside empty classes of the right names: that is enough for its qualified name.
    """
    *classes, node = _path(function)
    tree = _changed(node, changes)
    for owner in reversed(classes):
        tree = ast.ClassDef(owner.name, bases=[], keywords=[], body=[tree], decorator_list=[])
    module = ast.fix_missing_locations(ast.Module([tree], []))
    return _find(compile(module, function.__code__.co_filename, "exec"), function.__code__)


def _changed(value: Any, changes: Mapping[ast.AST, Any]) -> Any:
    """A copy of a tree with the changes; the tree itself stays as it is."""
    if isinstance(value, list):
        return [_changed(item, changes) for item in value]
    if not isinstance(value, ast.AST):
        return value
    change = changes.get(value)
    if isinstance(change, ast.AST):
        return ast.copy_location(change, value)
    same = type(value)(**{name: _changed(item, changes) for name, item in ast.iter_fields(value)})
    same = ast.copy_location(same, value) if hasattr(value, "lineno") else same
    return same if change is None else ast.copy_location(change(same), value)


def _changes(part: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(part, ast.BinOp) and type(part.op) in SWAPPED and not _is_text(part) and not _adds_nothing(part):
        kind = "sign" if isinstance(part.op, ast.Add | ast.Sub) else "factor"
        if kind == "factor" or not draws_symmetric(part.right):
            yield kind, ast.BinOp(part.left, SWAPPED[type(part.op)](), part.right)
        if isinstance(part.op, ast.Mult):
            yield "factor", part.left if not isinstance(part.left, ast.Constant) else part.right
    elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) and not isinstance(part.operand, ast.Constant):
        if not draws_symmetric(part.operand):
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


def _adds_nothing(part: ast.BinOp) -> bool:
    """``x + 0.0`` turns -0.0 into 0.0 and changes nothing else."""
    return isinstance(part.op, ast.Add | ast.Sub) and _number(part.right) == 0


def _is_text(part: ast.BinOp) -> bool:
    sides = (part.left, part.right)
    return any(
        isinstance(s, ast.JoinedStr | ast.List | ast.Tuple) or isinstance(getattr(s, "value", None), str) for s in sides
    )


def _number(node: ast.AST) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value: Any = node.operand.value
        return -value if type(value) in (int, float) else None
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
            path = search(child) if isinstance(child, ast.ClassDef | ast.If | ast.Try) else []
            if path:
                return [child, *path] if isinstance(child, ast.ClassDef) else path
        return []

    return search(_tree(sys.modules[function.__module__]))


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def definition_of(function: FunctionType) -> ast.FunctionDef | None:
    path = _path(function)
    return path[-1] if path else None


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
