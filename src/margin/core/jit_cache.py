"""Numba's JIT cache for the kernels of this package: where it lies, and when an entry is still good.

:func:`njit` is Numba's, but what ``cache=True`` keeps lies in a folder that only the user can write (its files are code
that is run), NUMBA_CACHE_DIR if that is set. An entry is found by a fingerprint of the function and of everything it
calls or reads, whatever file that is in: an edit of a callee is noticed, which Numba itself does not do, and an edit
elsewhere costs nothing. Every entry is a file of its own, so processes may compile at the same time.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import time
import zlib
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import prange
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

__all__ = [
    "cached_kernel",
    "fingerprint",
    "inner_kernel",
    "is_ready",
    "njit",
    "prange",
    "private_folder",
    "sources_key",
]

PATIENCE = 1.0  # seconds of compiling before the user is told why nothing happens


def njit(function: Any = None, *, cache: bool = False, **options: Any) -> Any:
    """``numba.njit`` with the cache described above."""
    if function is None:
        return lambda given: njit(given, cache=cache, **options)
    decorate: Any = numba.njit
    dispatcher = decorate(**options)(function)
    if cache:
        dispatcher._cache = _KernelCache(function)
    return dispatcher


def cached_kernel(function: Any) -> Any:
    """A kernel that Python calls, which allocates nothing and lets other threads run."""
    return njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, _nrt=False)(function)


def inner_kernel(function: Any) -> Any:
    """A kernel that only kernels call: no way in from Python, no file of its own.

    It neither allocates nor counts references: two atomic additions per array and call cost more than the work on a
    small node of a tree.
    """
    return njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)(function)


def is_ready(dispatcher: Any) -> bool:
    """Whether ``dispatcher`` has been compiled: in this process, or, as far as its files tell, in an earlier one."""
    return bool(dispatcher.overloads) or dispatcher._cache._cache_file.exists()


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


def fingerprint(function: Any) -> str:
    """A digest of the code of ``function`` and of the functions and constants it names, and so on.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1) != fingerprint(lambda x: x + 2)
    True
    """
    seen: dict[int, int] = {}
    digest = hashlib.sha256()
    _add(digest, function, seen)
    return digest.hexdigest()[:32]


def _add(digest: Any, value: Any, seen: dict[int, int]) -> None:
    options = getattr(value, "targetoptions", {})
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType) or (function.__module__ or "").partition(".")[0] in ("numba", "numpy"):
        digest.update(_constant(value).encode())
        return
    if id(function) in seen:
        digest.update(f"function {seen[id(function)]}".encode())
        return
    seen[id(function)] = len(seen)
    digest.update(repr(sorted(options.items())).encode())
    names = _add_code(digest, function.__code__)
    for name in sorted(names & function.__globals__.keys()):
        digest.update(name.encode())
        _add(digest, function.__globals__[name], seen)
    for cell in function.__closure__ or ():
        _add(digest, cell.cell_contents, seen)


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


class _Files:
    """One file per entry, named by a digest of its key; the key is compared when it is read."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.name = folder, name

    def exists(self) -> bool:
        return self.folder.is_dir() and any(self.folder.glob(f"{self.name}.*.nbc"))

    def path(self, key: tuple[Any, ...]) -> Path:
        text = repr((numba.__version__, str(key[0]), *key[1:]))
        return self.folder / f"{self.name}.{hashlib.sha256(text.encode()).hexdigest()[:24]}.nbc"

    def load(self, key: tuple[Any, ...]) -> Any:
        try:
            stored, data = pickle.loads(self.path(key).read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return data if stored == key else None

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        with contextlib.suppress(OSError):  # a full or vanished disk costs the next process time, not this one its fit
            handle, unfinished = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(dumps((key, data)))
            os.replace(unfinished, self.path(key))

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.name}.*.nbc"):
            path.unlink(missing_ok=True)


class _Locator(_CacheLocator):
    def __init__(self, py_func: Any, py_file: str):
        self._py_file = py_file
        given = getattr(config, "CACHE_DIR", "")
        root = Path(given) if given else private_folder()
        self._folder = root / self.get_suitable_cache_subpath(py_file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> int:
        return 0  # the fingerprint says it

    def get_disambiguator(self) -> str:
        return "kernel"

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file)


class _Entries(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _KernelCache(FunctionCache):
    _impl_class = _Entries

    def __init__(self, py_func: Any):
        super().__init__(py_func)
        self._cache_file: Any = _Files(Path(self.cache_path), self._impl.filename_base)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple(), fingerprint(self._py_func)


class CompileNotice(event.Listener):
    """Says once per process that compiling takes its time, when it does."""

    def __init__(self, clock: Any = time.monotonic, write: Any = None):
        self.clock, self.write = clock, write
        self.depth, self.began, self.said = 0, 0.0, False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.began = self.clock()
        self.depth += 1
        self._look(event)

    def on_end(self, event: Any) -> None:
        self._look(event)
        self.depth -= 1

    def _look(self, event: Any) -> None:
        home = event.data["dispatcher"].py_func.__module__ or ""
        if not self.said and home.partition(".")[0] == "margin" and self.clock() - self.began > PATIENCE:
            self.said = True
            print("margin: compiling, once per machine", file=self.write or sys.stderr, flush=True)


event.register("numba:compile", CompileNotice())
