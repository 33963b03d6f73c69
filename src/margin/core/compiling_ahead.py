"""Whether small problems wait for kernels to be compiled, or are left to Python while none are there.

The first small trees of a process are grown and walked by Python and NumPy, to the same bits, because compiling would
take longer. Whoever compiles ahead of use (``margin warm``) wants the kernels all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["compiling_ahead", "is_compiling_ahead", "is_loaded"]

_ahead: ContextVar[bool] = ContextVar("margin_compiling_ahead", default=False)


@contextmanager
def compiling_ahead() -> Iterator[None]:
    """Compile whatever is used inside, however small the problem.

    >>> with compiling_ahead():
    ...     is_compiling_ahead()
    True
    """
    token = _ahead.set(True)
    try:
        yield
    finally:
        _ahead.reset(token)


def is_compiling_ahead() -> bool:
    """Whether kernels are wanted even where Python would be done sooner."""
    return _ahead.get()


def is_loaded(module: str, kernel: str) -> bool:
    """Whether this process has compiled ``kernel`` or loaded it from the cache; nothing is imported to find out.

    A module that another thread is about to import may be there without its kernels.

    >>> is_loaded("margin.trees.boosting.no_such_kernels", "grow")
    False
    """
    return bool(getattr(getattr(sys.modules.get(module), kernel, None), "overloads", None))
