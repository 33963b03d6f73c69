"""One Cython source of several kernel files.

What is done to them on the way: a function marked ``@kernel`` becomes one of C and another around it that Python calls
and that releases the interpreter lock; ``@inner`` becomes one of C alone; imports between kernels are left out, since
they stand in one source; ``from math import`` means C's own functions; names of array types are replaced by what they
stand for, and upper-case numbers at the top of a file become constants of C.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["NATIVE", "make_bundle"]

#: Modules whose functions stand for those of C, by the name under which Cython has them.
NATIVE = {
    "math": "libc.math",
    "margin.core.atomic_kernels": "margin.core.atomics",
    "margin.core.blas_kernels": "margin.core.blas",
    "margin.core.float_bits_kernels": "margin.core.float_bits",
}

Number = int | float


def make_bundle(modules: list[str], sources: Path, *, checked: bool) -> str:
    """The source of ``modules`` (dotted) below the folder ``sources``; with ``checked`` bounds exceptions may pass."""
    return _Bundle(modules, sources, checked).source()


class _Bundle:
    def __init__(self, modules: list[str], sources: Path, checked: bool):
        self.sources, self.checked = sources, checked
        self.trees: dict[str, ast.Module] = {}
        self._collect(modules)
        self.kernels = {node.name for tree in self.trees.values() for node in tree.body if _is_marked(node, "kernel")}
        self.numbers: dict[str, Number] = {}  # constants of C
        self.arrays: dict[str, ast.expr] = {}  # names of array types
        self.types: dict[str, str] = {}  # structures, and types that stand for several
        self.native: dict[str, set[str]] = {}  # functions of C by their header

    def _parse(self, module: str) -> ast.Module:
        path = self.sources.joinpath(*module.split(".")).with_suffix(".py")
        return ast.parse(path.read_text(encoding="utf-8"), str(path))

    def _collect(self, modules: list[str]) -> None:
        """The modules and all kernels that they import, those before these."""
        for module in modules:
            if module not in self.trees:
                tree = self._parse(module)
                needed = [node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
                self._collect([name for name in needed if _is_kernels(name) and name not in self.trees])
                self.trees[module] = tree

    def source(self) -> str:
        parts = [self._part(module, tree) for module, tree in self.trees.items()]
        imports = [f"from cython.cimports.{home} import {', '.join(sorted(it))}" for home, it in self.native.items()]
        head = ["# Made by setup.py of the files named below.", "import cython", *imports]
        return "\n".join([*head, *_constants(self.numbers), *self.types.values(), "", *parts, ""])

    def _part(self, module: str, tree: ast.Module) -> str:
        kept = [node for node in tree.body if not self._is_told(node)]
        own = _numbers(ast.Module(kept, []), self.numbers)
        self._define(own, module)
        self.arrays |= _arrays(tree)
        gone = own.keys() | self.arrays.keys()
        kept = [node for node in kept if not (isinstance(node, ast.Assign) and _assigned(node) <= gone)]
        return f"\n# From {module}\n" + "\n\n".join(self._translate(node) for node in kept)

    def _is_told(self, node: ast.stmt) -> bool:
        """Whether there is nothing to translate: an import, of which what is needed is kept, a docstring, a list."""
        if isinstance(node, ast.ImportFrom):
            wanted = {alias.name for alias in node.names}
            if node.module in NATIVE:
                self.native.setdefault(NATIVE[node.module], set()).update(wanted)
            elif node.module and node.module.startswith("margin.") and not _is_kernels(node.module):
                self._take(wanted, self._parse(node.module))
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_list = isinstance(node, ast.Assign) and _assigned(node) == {"__all__"}
        return isinstance(node, ast.Import | ast.ImportFrom) or is_text or is_list

    def _take(self, wanted: set[str], theirs: ast.Module) -> None:
        """Numbers and types of a file that kernels and Python share."""
        self._define({name: value for name, value in _numbers(theirs, {}).items() if name in wanted}, "imports")
        self.arrays |= {name: value for name, value in _arrays(theirs).items() if name in wanted}
        used = wanted | {name.id for value in self.arrays.values() for name in ast.walk(value) if _is_name(name)}
        for node in theirs.body:
            if isinstance(node, ast.Assign) and _is_type(node.value) and _assigned(node) <= used:
                self.types |= dict.fromkeys(_assigned(node), ast.unparse(node))

    def _define(self, numbers: dict[str, Number], module: str) -> None:
        for name, value in numbers.items():
            if repr(self.numbers.setdefault(name, value)) != repr(value):
                raise SystemExit(f"Kernels: {module} calls {value} {name}, which is {self.numbers[name]} elsewhere.")

    def _translate(self, node: ast.stmt) -> str:
        node = _InC(self.arrays, self.kernels, self.numbers).visit(node)
        if _is_marked(node, "inner"):
            return self._in_c(node, node.name)
        if _is_marked(node, "kernel"):
            name, outer = node.name, _from_python(node)
            return self._in_c(node, f"c_{name}") + "\n\n" + outer
        return ast.unparse(node)

    def _in_c(self, node: ast.FunctionDef, name: str) -> str:
        marks = ["@cython.cfunc", "@cython.nogil", *([] if self.checked else ["@cython.exceptval(check=False)"])]
        node.decorator_list, node.name = [], name
        return "\n".join([*marks, ast.unparse(node)])


class _InC(ast.NodeTransformer):
    """Calls between kernels stay in C; names of array types, and of lengths of C's own arrays, are spelled out."""

    def __init__(self, arrays: dict[str, ast.expr], kernels: set[str], numbers: dict[str, Number]):
        self.arrays, self.kernels, self.numbers = arrays, kernels, numbers

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.slice, ast.Name) and ast.unparse(node.value).startswith("cython."):
            node.slice = ast.Constant(self.numbers[node.slice.id])
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.arrays:
            return self.arrays[node.id]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in self.kernels:
            node.func = ast.Name(f"c_{node.func.id}", ast.Load())
        return self.generic_visit(node)  # type: ignore[return-value]


def _from_python(node: ast.FunctionDef) -> str:
    """The function that Python calls, around one of C."""
    arguments = ", ".join(argument.arg for argument in node.args.args)
    returns = node.returns is not None and ast.unparse(node.returns) not in ("cython.void", "None")
    lines = [
        f"def {node.name}({ast.unparse(node.args)}):",
        f"    {ast.get_docstring(node)!r}",
        "    with cython.nogil:",
    ]
    lines += [f"        {'result = ' if returns else ''}c_{node.name}({arguments})"]
    return "\n".join([*lines, *(["    return result"] if returns else [])])


def _numbers(tree: ast.Module, known: dict[str, Number]) -> dict[str, Number]:
    """Upper-case names that a file gives to numbers, those of earlier files being ``known``."""
    found: dict[str, Number] = {}
    for node in tree.body:
        names = _assigned(node) if isinstance(node, ast.Assign) else set()
        if not names or not all(name.lstrip("_").isupper() for name in names):
            continue
        space = {**known, **found}
        try:
            exec(compile(ast.Module([node], []), "constants", "exec"), space)
        except Exception:  # something else than numbers, which a kernel cannot use
            continue
        # Sorted: a set has another order in every process, and a source that differs is compiled again.
        found |= {name: space[name] for name in sorted(names) if isinstance(space[name], int | float)}
    return found


def _arrays(tree: ast.Module) -> dict[str, ast.expr]:
    """Names that a file gives to types of arrays, such as ``Vector = cython.double[::1]``."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and len(_assigned(node)) == 1:
            (name,) = _assigned(node)
            if name[0].isupper() and any(isinstance(part, ast.Slice) for part in ast.walk(node.value)):
                found[name] = node.value
    return found


def _constants(values: dict[str, Number]) -> Iterator[str]:
    if values:
        yield 'cdef extern from *:\n    """\n    #include <math.h>'
        for name, value in values.items():
            yield f"    #define MARGIN_{name} ({_written(value)})"
        yield '    """'
        for name, value in values.items():
            yield f'    const {_type(value)} {name} "MARGIN_{name}"'


def _written(value: Number) -> str:
    if isinstance(value, float):
        return repr(value).replace("inf", "INFINITY").replace("nan", "NAN")
    return f"{int(value)}{'LL' if value < 2**63 else 'ULL'}"


def _type(value: Number) -> str:
    if isinstance(value, float):
        return "double"
    return "long long" if value < 2**63 else "unsigned long long"


def _is_kernels(module: str) -> bool:
    return module.endswith("_kernels") and module not in NATIVE


def _is_marked(node: ast.AST, mark: str) -> bool:
    return isinstance(node, ast.FunctionDef) and [ast.unparse(one) for one in node.decorator_list] == [mark]


def _is_type(value: ast.expr) -> bool:
    """Whether it is a structure or a type that stands for several."""
    return isinstance(value, ast.Call) and ast.unparse(value.func) in ("cython.struct", "cython.fused_type")


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _assigned(node: ast.Assign) -> set[str]:
    return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
