"""Small mistakes in the code of a function: a sign, a factor, an axis, an index.

A mutant is the module's syntax tree with one node changed. Compiling it gives the code object of the function with the
mistake, which takes the place of the right one while a check runs.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from fuzz.equal_changes import EQUAL

__all__ = ["Mutant", "apply", "definition_of", "functions_of", "mutants_of", "watch"]

SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
GUARD = re.compile(  # names of guards and limits
    r"EPS|TOL|TIE$|TINY|SMALL|WITHIN|NOTHING|NEGLIGIBLE|MOST|LEAST|LIMIT|tol$|tolerance|tiny|negligible|max_iter"
)
# Constants for rounding, for what stands where nothing is divided, and for the choice between two ways to one result.
# They are guards only where they are an operand themselves.
CONSTANT_GUARD = re.compile(
    r"^eps$|ROUNDING|CANCELLATION|NEVER_ZERO|NOBODY|FITTED|SAME_ERRORS|MANY_EDGES|WORK_PER|^FEW$|SAFETY|DIFFERENCE$|EDGE$"
)
# Calls and arguments that only say how much work there is, so how many threads share it: the result is the same bits.
SHARING = frozenset({"threads_for", "_threads", "_work"})
SHARED_WORK = frozenset({"work", "threads", "n_jobs", "n_threads"})
# Draws whose law is the same with the other sign; "normal" only where neither mean nor deviation is given.
SYMMETRIC = frozenset({"standard_normal", "_normal", "randn", "randn_like", "standard_cauchy", "standard_t"})
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
    left_alone, deviates = _left_alone(node), _symmetric_names(node)
    for index, part in enumerate(ast.walk(node)):
        if part in left_alone:
            continue
        for number, (kind, changed) in enumerate(_changes(part)):
            if kind == "sign" and isinstance(part, ast.BinOp) and deviates & _factors(part.right):
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
        if kind == "factor" or not _draws_symmetric(part.right):
            yield kind, ast.BinOp(part.left, SWAPPED[type(part.op)](), part.right)
        if isinstance(part.op, ast.Mult):
            yield "factor", part.left if not isinstance(part.left, ast.Constant) else part.right
    elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) and not isinstance(part.operand, ast.Constant):
        if not _draws_symmetric(part.operand):
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
        elif isinstance(part, ast.BinOp) and any(_is_guard(side) for side in (part.left, part.right)):
            left.add(part)  # not what is inside it
        elif isinstance(part, ast.Call) and _name_of(part.func) in SHARING:
            roots += [*part.args, *part.keywords]
        elif isinstance(part, ast.keyword) and part.arg in SHARED_WORK:
            roots.append(part)
        elif isinstance(part, ast.If) and (_refuses(part) or _only_warns(part)):
            roots.append(part.test)
        for root in roots:
            if root is not None:
                left.update(ast.walk(root))
    return left


def _refuses(part: ast.If) -> bool:
    return any(isinstance(child, ast.Raise) for child in part.body)


def _only_warns(part: ast.If) -> bool:
    """Whether nothing but a warning hangs on a condition: then no result does."""
    calls = [child.value for child in part.body if isinstance(child, ast.Expr) and isinstance(child.value, ast.Call)]
    return len(calls) == len(part.body) and not part.orelse and all("warn" in _name_of(call.func) for call in calls)


def _is_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and CONSTANT_GUARD.search(node.id) is not None


def _name_of(function: ast.AST) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _symmetric_names(node: ast.AST) -> set[str]:
    """Names that stand for a normal deviate and are read once: with the other sign it is as good there."""
    drawn: list[str] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call) and isinstance(part.targets[0], ast.Name):
            drawn += [part.targets[0].id] * (_name_of(part.value.func) in SYMMETRIC)
    seen = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in drawn]
    reads = [part.id for part in seen if isinstance(part.ctx, ast.Load)]
    writes = [part.id for part in seen if isinstance(part.ctx, ast.Store)]
    return {name for name in drawn if reads.count(name) == 1 and writes.count(name) == 1}


def _factors(node: ast.AST) -> set[str]:
    """Names that an expression is proportional to."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left) | _factors(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _factors(node.left)
    return {node.id} if isinstance(node, ast.Name) else set()


def _draws_symmetric(node: ast.AST) -> bool:
    """Whether a normal deviate is drawn here: with the other sign it is as good, so that nobody could notice."""
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        is_standard = not call.args and {keyword.arg for keyword in call.keywords} <= {"size"}
        if name in SYMMETRIC or (name == "normal" and is_standard):
            return True
    return False


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
