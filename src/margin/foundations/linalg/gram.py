r"""Gram matrices summed block by block, :math:`G \leftarrow G + X_b^\top X_b`, at half the work of a product.

BLAS adds into one triangle (``syrk``). NumPy calls it too, but allocates and mirrors a new matrix for every block;
SciPy's wrapper adds in place but holds the interpreter lock, so threads would wait for each other. Calling the
routine behind that wrapper directly does neither.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

__all__ = ["add_gram", "mirror"]

# Arguments of dsyrk as SciPy's capsule spells them: uplo, trans, n, k, alpha, a, lda, beta, c, ldc.
SIGNATURE = ["char", "char", "int", "int", "d", "d", "int", "d", "d", "int"]


def add_gram(rows: np.ndarray, total: np.ndarray) -> None:
    """Add ``rows.T @ rows`` to the lower triangle of ``total`` (p, p), in place; other threads run meanwhile.

    ``rows`` (b, p) is float64 with adjacent columns or adjacent rows (a block of a table in either order), ``total``
    float64 in C order, so nothing is copied. What is above the diagonal of ``total`` is left alone; :func:`mirror`
    fills it.

    >>> total = np.zeros((2, 2))
    >>> add_gram(np.array([[1.0, 2.0], [3.0, 4.0]]), total)
    >>> mirror(total)
    array([[10., 14.],
           [14., 20.]])
    """
    b, p = rows.shape
    if total.dtype != np.float64 or total.shape != (p, p) or not total.flags.c_contiguous or not total.flags.writeable:
        raise ValueError(f"add_gram: total must be a C-ordered float64 ({p}, {p}); got {total.dtype} {total.shape}.")
    if not rows.size:
        return
    transposed, leading = _order(rows)
    dsyrk = _dsyrk()
    if dsyrk is None:
        total += np.tril(rows.T @ rows)
        return
    # Rows in C order are columns in Fortran order, so the upper triangle there is the lower one here.
    size, depth, step, one = ctypes.c_int(p), ctypes.c_int(b), ctypes.c_int(leading), ctypes.c_double(1.0)
    dsyrk(
        b"U",
        transposed,
        ctypes.byref(size),
        ctypes.byref(depth),
        ctypes.byref(one),
        rows.ctypes.data,
        ctypes.byref(step),
        ctypes.byref(one),
        total.ctypes.data,
        ctypes.byref(size),
    )


def _order(rows: np.ndarray) -> tuple[bytes, int]:
    """How Fortran sees the rows (already transposed, or to be), and the distance between its columns."""
    (b, p), (row, column) = rows.shape, (stride / 8 for stride in rows.strides)
    if rows.dtype == np.float64:
        if (column == 1 or p == 1) and (b == 1 or (row >= p and row.is_integer())):
            return b"N", p if b == 1 else int(row)
        if row == 1 and column >= b and column.is_integer():
            return b"T", int(column)
    raise ValueError(
        f"add_gram: rows must be float64 with adjacent rows or columns; got {rows.dtype} with strides {rows.strides}."
    )


def mirror(lower: np.ndarray) -> np.ndarray:
    """The symmetric matrix with this lower triangle."""
    return np.where(np.tri(len(lower), dtype=bool), lower, lower.T)


@cache
def _dsyrk() -> Callable[..., None] | None:
    """SciPy's own BLAS routine; a call through ctypes releases the interpreter lock. None if it is not as expected."""
    from scipy.linalg import cython_blas

    capsule = getattr(cython_blas, "__pyx_capi__", {}).get("dsyrk")
    if capsule is None:
        return None
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # The name of the capsule is the signature; a build with other integers than C's int must not be called.
    if _kinds(name(capsule).decode()) != SIGNATURE:
        return None
    text, address = ctypes.c_char_p, ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(None, text, text, *[address] * 8)
    return prototype(pointer(capsule, name(capsule)))


def _kinds(signature: str) -> list[str]:
    """The last word of every argument's type: ``int *`` is "int", SciPy's own name for double ends in "d"."""
    arguments = signature.partition("(")[2].rpartition(")")[0].split(",")
    return [argument.replace("*", "").strip().rpartition("_")[2] for argument in arguments]
