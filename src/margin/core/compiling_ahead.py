"""Whether work waits for kernels to be compiled, or is left to Python and NumPy while none are there.

The first trees of a process are grown and walked without kernels as long as that is sooner done than compiling, to the
same bits. Whoever compiles ahead of use (``margin warm``) wants the kernels all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["FirstWork", "compiling_ahead", "is_compiling_ahead", "is_loaded"]

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


class FirstWork:
    """Work that a process leaves to Python and NumPy before kernels are compiled for it; at ``most`` so much.

    What a unit of it is, and how much takes as long as compiling, is up to the owner.

    >>> first = FirstWork(most=100)
    >>> [first.takes(40), first.takes(40), first.takes(40)]
    [True, True, False]
    """

    def __init__(self, most: float):
        self.most, self.done = most, 0.0
        self._was_ready: dict[Any, bool] = {}

    def takes(self, work: float, *kernels: Any, wanted: float | None = None) -> bool:
        """Whether ``work`` is left to Python: not if its kernels are there, or more is ``wanted`` than it may do.

        No kernels are given where Numba itself has not been imported yet.
        """
        if is_compiling_ahead() or self.done + (work if wanted is None else wanted) > self.most:
            return False
        if kernels and all(self._is_ready(kernel) for kernel in kernels):
            return False
        self.done += work
        return True

    def _is_ready(self, kernel: Any) -> bool:
        if kernel not in self._was_ready:  # its files are looked for once: that takes as long as a small tree
            from margin.core.cached_kernels import is_ready

            self._was_ready[kernel] = is_ready(kernel)
        return self._was_ready[kernel] or bool(kernel.overloads)
