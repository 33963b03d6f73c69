"""The JIT cache of the package: the folder it lies in, and what tells whether an entry is still good.

Compiled code lies in a folder that only the user can write, because what lies there is run. An entry is found by a
fingerprint of the function and of everything it calls or reads, whatever file that is in: an edit of a callee is
noticed, which Numba itself does not do, and an edit elsewhere costs nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["fingerprint", "is_private", "private_folder", "user_cache_folder"]


#: How kernels are compiled here, beyond what their options say: to be changed with it, so that old code is not loaded.
COMPILED_BY = b"numba.njit, 9"


def fingerprint(function: Any) -> str:
    """A digest of the code of ``function`` and of the functions and constants it names, and so on.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1) != fingerprint(lambda x: x + 2)
    True
    """
    seen: dict[int, int] = {}
    digest = hashlib.sha256(COMPILED_BY)
    _add(digest, function, seen)
    return digest.hexdigest()[:32]


def _add(digest: Any, value: Any, seen: dict[int, int]) -> None:
    options = {**getattr(value, "targetoptions", {}), "compiler": _compiler(value)}
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType) or (function.__module__ or "").partition(".")[0] in ("numba", "numpy"):
        digest.update(_constant(value).encode())
        return
    if id(function) in seen:
        digest.update(f"function {seen[id(function)]}".encode())
        return
    seen[id(function)] = len(seen)
    digest.update(_options(options).encode())
    names = _add_code(digest, function.__code__)
    for name in sorted(names & function.__globals__.keys()):
        digest.update(name.encode())
        _add(digest, function.__globals__[name], seen)
    for cell in function.__closure__ or ():
        _add(digest, cell.cell_contents, seen)


def _compiler(value: Any) -> str:
    """The name of the class that compiles a kernel; empty for a function that is none."""
    compiler = getattr(getattr(value, "_compiler", None), "pipeline_class", None)
    return getattr(compiler, "__name__", "")


def _options(options: dict[str, Any]) -> str:
    """How a kernel is compiled, as the same text in every process: the order of a set differs from run to run."""
    flags = {name: getattr(value, "flags", value) for name, value in options.items()}  # Numba's class for fast math
    return repr(sorted((name, sorted(v) if isinstance(v, set | frozenset) else v) for name, v in flags.items()))


def _add_code(digest: Any, code: CodeType) -> set[str]:
    digest.update(code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _add_code(digest, constant)
        else:
            digest.update(_constant(constant).encode())
    return names


def _constant(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, set | frozenset):
        return f"set {sorted(map(_constant, value))}"
    if isinstance(value, bool | int | float | str | bytes | tuple | np.generic | np.dtype | None):
        return f"{type(value).__name__} {value!r}"
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def user_cache_folder() -> Path:
    """Where programs keep what they can make again, on this platform."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@cache
def private_folder() -> Path:
    """The folder of compiled code: the user's, mode 0700; one for this process alone where that cannot be had."""
    with contextlib.suppress(OSError, RuntimeError):  # no home, a home that cannot be written
        folder = user_cache_folder() / "margin" / "jit"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(folder):
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    folder = Path(tempfile.mkdtemp(prefix="margin-jit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_private(folder: Path) -> bool:
    """Whether nobody else can put files there, which would be run."""
    if not hasattr(os, "getuid"):
        return True  # Windows: the profile folder is the user's
    facts = folder.stat()
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
