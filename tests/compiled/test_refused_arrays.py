"""Every compiled kernel refuses an array of another type, shape or order instead of reading past it."""

import ast
import importlib
from pathlib import Path

import numpy as np
import pytest
from tests.compiled.test_every_kernel import kernels_of

import margin
from margin.core import kernel_source

PACKAGE = Path(margin.__file__).parent
DTYPES = {"double": np.float64, "float": np.float32, "longlong": np.int64, "int": np.int32, "uchar": np.uint8}
NUMBERS = {"double": 0.0, "float": 0.0, "bint": False, "Py_ssize_t": 0, "longlong": 0, "int": 0, "ulonglong": 0}
REALS = ("Vector", "Matrix", "Cube", "Vector32", "Matrix32")
INTEGERS = ("Integers", "IntegerMatrix", "Integers32", "IntegerMatrix32", "Bytes", "ByteMatrix")
KINDS = (*REALS, *INTEGERS)  # the rest may be of one of two types


def forms():
    """Name of an array type -> its dtype, number of dimensions, and whether the kernel only reads it."""
    source = ast.parse(Path(kernel_source.__file__).read_text())
    found = {}
    for node in source.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).removeprefix("Const") in KINDS:
            text = ast.unparse(node.value)
            dtype = next(DTYPES[word] for word in DTYPES if f"cython.{word}" in text)
            found[ast.unparse(node.targets[0])] = dtype, text.count(":") - 1, "const" in text
    return found


FORMS = forms()


def arguments(path, name):
    """Types of the arguments."""
    body = ast.parse(path.read_text()).body
    function = next(node for node in body if isinstance(node, ast.FunctionDef) and node.name == name)
    for argument in function.args.args:
        yield ast.unparse(argument.annotation).removeprefix("cython.")


def valid(kind):
    if kind not in FORMS:
        return NUMBERS.get(kind)  # a record is looked at after the arrays
    dtype, n_dims, _ = FORMS[kind]
    return np.zeros((0,) * n_dims, dtype=dtype)


def wrong(kind):
    """Arrays that are almost right: every other element, by columns, of another type, with an axis less, locked."""
    dtype, n_dims, reads = FORMS[kind]
    yield np.zeros((8,) * n_dims, dtype=dtype)[(slice(None, None, 2),) * n_dims]
    yield np.zeros((8,) * n_dims, dtype=dtype)[::-1]
    yield np.zeros((8,) * n_dims, dtype=np.int16)
    yield np.zeros((8,) * n_dims, dtype=np.dtype(dtype).newbyteorder()) if dtype != np.uint8 else np.zeros(8, "S1")
    yield np.zeros((8,) * (n_dims - 1), dtype=dtype)
    if n_dims > 1:
        yield np.zeros((8,) * n_dims, dtype=dtype, order="F")
    if not reads:
        locked = np.zeros((8,) * n_dims, dtype=dtype)
        locked.setflags(write=False)
        yield locked


def compiled_kernels():
    """Module, name and types of arguments of kernels that take arrays of one type, each name meaning one kernel."""
    names = sorted(path.name.partition(".")[0] for path in (PACKAGE / "compiled" / "baseline").glob("*.*"))
    modules = [importlib.import_module(f"margin.compiled.{name}") for name in names if name != "__init__"]
    files = {}
    for path in sorted(PACKAGE.rglob("*_kernels.py")):
        for name in kernels_of(path):
            files.setdefault(name, []).append(path)
    for name, paths in sorted(files.items()):
        kinds = list(arguments(paths[0], name))
        of_two_types = any("Real" in kind or kind in ("ConstIndices", "Index") for kind in kinds)
        if len(paths) == 1 and not of_two_types and any(kind in FORMS for kind in kinds):
            yield from ((module, name, kinds) for module in modules if hasattr(module, name))


FOUND = list(compiled_kernels())
IDS = [f"{module.__name__.rpartition('.')[2]}-{name}" for module, name, _ in FOUND]


def test_most_kernels_are_held():
    assert len({name for _, name, _ in FOUND}) > 50


@pytest.mark.parametrize("module, name, kinds", FOUND, ids=IDS)
def test_an_array_that_is_almost_right_is_refused(module, name, kinds):
    for at, kind in enumerate(kinds):
        if kind in FORMS:
            for array in wrong(kind):
                values = [valid(kind) for kind in kinds]
                values[at] = array
                with pytest.raises(ValueError, match=r"[Bb]uffer|contiguous"):
                    getattr(module, name)(*values)
