"""Where the time of a training goes, measured only inside :func:`measuring`.

>>> with measuring() as spent:
...     with timed("data"):
...         pass
>>> list(spent)
['data']
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

__all__ = ["measuring", "timed"]

_spent: ContextVar[dict[str, float] | None] = ContextVar("margin_training_times", default=None)
_NOTHING = nullcontext()


@contextmanager
def measuring() -> Iterator[dict[str, float]]:
    """Seconds by name of what is :func:`timed` inside."""
    spent: dict[str, float] = {}
    token = _spent.set(spent)
    try:
        yield spent
    finally:
        _spent.reset(token)


def timed(name: str) -> AbstractContextManager[None]:
    """Count the time inside for ``name``, if anybody measures."""
    spent = _spent.get()
    return _NOTHING if spent is None else _added(spent, name)


@contextmanager
def _added(spent: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        spent[name] = spent.get(name, 0.0) + time.perf_counter() - began
