"""A key for Numba's JIT cache that changes with every kernel a function calls.

Numba caches the compiled form of a function until the file that defines it changes, and does not look at the files of
the functions it calls. It does look at the variables that a function takes from around it: a kernel that is defined
inside a function and mentions ``sources_key(...)`` of the files below it is compiled again when one of them changes.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from types import ModuleType

__all__ = ["sources_key"]


def sources_key(*modules: ModuleType) -> int:
    """A checksum of the source texts of ``modules``; 0 where there are none (then nobody edits them either).

    >>> from margin.core import records, threads
    >>> sources_key(records, threads) == sources_key(records, threads) != sources_key(records)
    True
    """
    key = 0
    for module in modules:
        path = Path(getattr(module, "__file__", None) or "")
        key = zlib.crc32(path.read_bytes(), key) if path.is_file() else key
    return key
