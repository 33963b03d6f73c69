"""Parts of a function in which no mistake is planted, because no result hangs on them.

Defaults, annotations and messages; conditions of refusals and warnings; tolerances, guards against rounding and the
choice between two ways to one result; how much work threads share; the sign of a deviate whose law is symmetric.
"""

from __future__ import annotations

import ast
import re

__all__ = ["SHARING", "draws_symmetric", "factors", "left_alone", "symmetric_names"]

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


def left_alone(node: ast.AST) -> set[ast.AST]:
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


def symmetric_names(node: ast.AST) -> set[str]:
    """Names that stand for a normal deviate and are read once: with the other sign it is as good there."""
    drawn: list[str] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call) and isinstance(part.targets[0], ast.Name):
            drawn += [part.targets[0].id] * (_name_of(part.value.func) in SYMMETRIC)
    seen = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in drawn]
    reads = [part.id for part in seen if isinstance(part.ctx, ast.Load)]
    writes = [part.id for part in seen if isinstance(part.ctx, ast.Store)]
    return {name for name in drawn if reads.count(name) == 1 and writes.count(name) == 1}


def factors(node: ast.AST) -> set[str]:
    """Names that an expression is proportional to."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return factors(node.left) | factors(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return factors(node.left)
    return {node.id} if isinstance(node, ast.Name) else set()


def draws_symmetric(node: ast.AST) -> bool:
    """Whether a normal deviate is drawn here: with the other sign it is as good, so that nobody could notice."""
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        is_standard = not call.args and {keyword.arg for keyword in call.keywords} <= {"size"}
        if name in SYMMETRIC or (name == "normal" and is_standard):
            return True
    return False
