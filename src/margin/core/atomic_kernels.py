"""Numbers that several threads read and write at once, for compiled loops that share work without a way through Python.

``array`` holds int64 and ``at`` is an index into it. What a thread has written before it stores or adds here is seen by
every thread that has read the result (sequential consistency).
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array

__all__ = ["add_atomic", "clear_atomic", "load_atomic", "pause", "store_atomic"]

# A change of what is made of the functions below must change COMPILED_BY of margin.core.jit_cache.
ORDER, ALIGNMENT = "seq_cst", 8
# What tells a processor that a thread only waits, so that one which shares its core runs faster meanwhile.
WAITING = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}.get(platform.machine())


def load_atomic(array: Any, at: int) -> int:
    """The number at ``at``."""
    return int(array[at])


def store_atomic(array: Any, at: int, value: int) -> int:
    """Write ``value``; returns it."""
    array[at] = value
    return value


def add_atomic(array: Any, at: int, value: int) -> int:
    """Add ``value``; returns what was there before."""
    before = int(array[at])
    array[at] += value
    return before


def clear_atomic(array: Any, at: int, bits: int) -> int:
    """Set ``bits`` to zero; returns what was there before."""
    before = int(array[at])
    array[at] &= ~bits
    return before


def pause() -> int:
    """Nothing, for a moment: for loops that wait for another thread."""
    return 0


def _is_shared(array: Any, *integers: Any) -> bool:
    numbers = isinstance(array, types.Array) and array.dtype == types.int64 and array.ndim == 1 and array.layout == "C"
    return numbers and all(isinstance(value, types.Integer) for value in integers)


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = make_array(signature.args[0])(context, builder, args[0]).data
    at = context.cast(builder, args[1], signature.args[1], types.int64)
    return builder.gep(data, [at])


def _value(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.cast(builder, args[2], signature.args[2], types.int64)


@type_callable(load_atomic)
def _type_of_load(_context: Any) -> Any:
    return lambda array, at: types.int64 if _is_shared(array, at) else None


@type_callable(store_atomic)
@type_callable(add_atomic)
@type_callable(clear_atomic)
def _type_of_change(_context: Any) -> Any:
    return lambda array, at, value: types.int64 if _is_shared(array, at, value) else None


@lower_builtin(load_atomic, types.Array, types.Integer)
def _load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load_atomic(_address(context, builder, signature, args), ORDER, ALIGNMENT)


@lower_builtin(store_atomic, types.Array, types.Integer, types.Integer)
def _store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    value = _value(context, builder, signature, args)
    builder.store_atomic(value, _address(context, builder, signature, args), ORDER, ALIGNMENT)
    return value


@lower_builtin(add_atomic, types.Array, types.Integer, types.Integer)
def _add(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    address = _address(context, builder, signature, args)
    return builder.atomic_rmw("add", address, _value(context, builder, signature, args), ORDER)


@lower_builtin(clear_atomic, types.Array, types.Integer, types.Integer)
def _clear(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    address = _address(context, builder, signature, args)
    kept = builder.not_(_value(context, builder, signature, args))
    return builder.atomic_rmw("and", address, kept, ORDER)


@type_callable(pause)
def _type_of_pause(_context: Any) -> Any:
    return lambda: types.int64


@lower_builtin(pause)
def _pause(_context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
    if WAITING is not None:
        builder.call(builder.module.declare_intrinsic(WAITING, fnty=ir.FunctionType(ir.VoidType(), ())), ())
    return ir.IntType(64)(0)
