"""The larger and the smaller of two numbers, in a form in which a loop over many becomes vector instructions.

``v if v > best else best`` is left alone by the compiler in a loop that carries ``best`` along: NaN and the two zeros
make its result depend on the order. :func:`larger` and :func:`smaller` are for numbers of which none is NaN, and do not
say which zero they give, so any order will do; the value is the same in every order.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import lower_builtin, type_callable

__all__ = ["larger", "smaller"]

# A change of what is made of the two functions below must change COMPILED_BY of margin.core.jit_cache.
ANY_ORDER = ("nnan", "nsz")


def larger(a: float, b: float) -> float:
    """
    >>> larger(2.0, 3.0)
    3.0
    """
    return a if a > b else b


def smaller(a: float, b: float) -> float:
    """
    >>> smaller(2.0, 3.0)
    2.0
    """
    return a if a < b else b


def _compile(function: Any, comparison: str) -> None:
    @type_callable(function)
    def type_of_result(_context: Any) -> Any:
        return lambda a, b: a if a == b and isinstance(a, types.Float) else None

    @lower_builtin(function, types.Float, types.Float)
    def select(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        is_first = builder.fcmp_ordered(comparison, *args, flags=ANY_ORDER)
        return builder.select(is_first, *args, flags=ANY_ORDER)


_compile(larger, ">")
_compile(smaller, "<")
