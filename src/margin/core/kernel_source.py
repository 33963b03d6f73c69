"""What kernels are written with: two decorators, and types of arrays.

A ``*_kernels.py`` file holds functions over plain arrays and numbers whose arguments and results are annotated with
types of C. ``setup.py`` compiles them into a module of :mod:`margin.compiled`, which is what models import. Imported as
it is, such a file is ordinary Python that does the same slowly; only tests do that.

Arrays are contiguous by rows; ``Const`` means that a kernel only reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import cython

__all__ = [
    *("inner", "kernel"),
    *("ConstCube", "ConstMatrix", "ConstVector", "Cube", "Matrix", "Vector"),
    *("ConstMatrix32", "ConstVector32", "Matrix32", "Vector32"),
    *("ConstIntegerMatrix", "ConstIntegers", "IntegerMatrix", "Integers"),
    *("ConstIntegerMatrix32", "ConstIntegers32", "IntegerMatrix32", "Integers32"),
    *("ByteMatrix", "Bytes", "ConstByteMatrix", "ConstBytes"),
    *("ConstIndices", "ConstRealMatrix", "ConstRealVector", "Index", "Real", "RealMatrix", "RealVector"),
]

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Marks a function that Python calls, and other kernels too. It runs without the interpreter lock."""
    return function


def inner(function: Function) -> Function:
    """Marks a function that only kernels call."""
    return function


# float64
Vector = cython.double[::1]
Matrix = cython.double[:, ::1]
Cube = cython.double[:, :, ::1]
ConstVector = cython.const[cython.double][::1]
ConstMatrix = cython.const[cython.double][:, ::1]
ConstCube = cython.const[cython.double][:, :, ::1]

# float32
Vector32 = cython.float[::1]
Matrix32 = cython.float[:, ::1]
ConstVector32 = cython.const[cython.float][::1]
ConstMatrix32 = cython.const[cython.float][:, ::1]

# int64 (long is 32 bits wide on Windows)
Integers = cython.longlong[::1]
IntegerMatrix = cython.longlong[:, ::1]
ConstIntegers = cython.const[cython.longlong][::1]
ConstIntegerMatrix = cython.const[cython.longlong][:, ::1]

# int32
Integers32 = cython.int[::1]
IntegerMatrix32 = cython.int[:, ::1]
ConstIntegers32 = cython.const[cython.int][::1]
ConstIntegerMatrix32 = cython.const[cython.int][:, ::1]

# uint8; arrays of truth values are given as ``array.view(np.uint8)``
Bytes = cython.uchar[::1]
ByteMatrix = cython.uchar[:, ::1]
ConstBytes = cython.const[cython.uchar][::1]
ConstByteMatrix = cython.const[cython.uchar][:, ::1]

# One of two types: a kernel is compiled for each. All arrays of a call that are ``Real`` have the same type.
Real = cython.fused_type(cython.float, cython.double)
RealVector = Real[::1]
RealMatrix = Real[:, ::1]
ConstRealVector = cython.const[Real][::1]
ConstRealMatrix = cython.const[Real][:, ::1]
Index = cython.fused_type(cython.int, cython.longlong)
ConstIndices = cython.const[Index][::1]
