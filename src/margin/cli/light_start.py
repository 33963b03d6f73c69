"""scikit-learn without what it loads for others: a command that lives for one row should not wait a second for it.

Only a command does this, in the main thread of a process of its own; a program that imports ``margin`` gets
scikit-learn as it is.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from margin.core.relations import relate_to_loaded_alone

__all__ = ["import_scikit_learn"]

#: What scikit-learn and SciPy import for single functions, or without need, and what that loads or does first.
DEFERRED = (
    "numpy.f2py",  # with numpy.testing: names that a copy of NumPy's namespace asks for
    "numpy.ma",
    "numpy.testing",
    "scipy.special",  # texts of its functions are parsed and written anew
    "scipy.stats",  # with optimization, interpolation, images and spatial trees
    "pandas",  # for a name that nothing reads
)


def import_scikit_learn() -> None:
    """Import scikit-learn, but what is ``DEFERRED`` only when something of it is asked for.

    Data frames are recognized by ``sys.modules``, where nothing of it stays unless it was loaded.
    """
    if "sklearn" not in sys.modules:
        relate_to_loaded_alone()
        with ExitStack() as stand_ins:
            for name in DEFERRED:
                stand_ins.enter_context(_stand_in(name))
            import sklearn  # noqa: F401


@contextmanager
def _stand_in(name: str) -> Iterator[None]:
    """While this lasts, an import of ``name`` gives a module that becomes the real one at its first use, also later."""
    if name in sys.modules or importlib.util.find_spec(name) is None:
        yield
        return
    module = ModuleType(name)

    def take_away() -> None:
        if sys.modules.get(name) is module:
            del sys.modules[name]

    def of_the_real_one(attribute: str) -> Any:
        take_away()
        return getattr(importlib.import_module(name), attribute)

    module.__getattr__ = of_the_real_one  # type: ignore[method-assign]
    sys.modules[name] = module
    package, _, child = name.rpartition(".")
    if package:  # as an import does; the real one, once imported, takes its place
        setattr(sys.modules[package], child, module)
    try:
        yield
    finally:
        take_away()
