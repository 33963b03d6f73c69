"""How the kernels of this package are compiled: by Numba, into the cache of :mod:`margin.core.jit_cache`.

Every entry of the cache is a file of its own, so processes may compile at the same time. NUMBA_CACHE_DIR, if it is set,
is where the files go.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
import time
from functools import cached_property
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

import numba
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from margin.core.jit_cache import fingerprint, private_folder
from margin.core.linked_kernels import LinkedCompiler
from margin.core.named_kernels import NamedCompiler

__all__ = ["CompileNotice", "cached_kernel", "inner_kernel", "interpreted", "is_ready", "njit"]

PATIENCE = 1.0  # seconds of compiling before the user is told why nothing happens


def njit(function: Any = None, *, cache: bool = False, **options: Any) -> Any:
    """``numba.njit`` with the cache described above.

    A division by zero gives what NumPy gives: one that raised an exception would end every loop it stands in, and no
    such loop becomes vector instructions.
    """
    if function is None:
        return lambda given: njit(given, cache=cache, **options)
    decorate: Any = numba.njit
    options["pipeline_class"] = LinkedCompiler if options.get("no_cpython_wrapper") else NamedCompiler
    dispatcher = decorate(**{"error_model": "numpy", **options})(function)
    if cache:
        dispatcher._cache = _KernelCache(dispatcher)
    return dispatcher


def cached_kernel(function: Any) -> Any:
    """A kernel that Python calls, which allocates nothing and lets other threads run."""
    return njit(cache=True, nogil=True, no_cfunc_wrapper=True, _nrt=False)(function)


def inner_kernel(function: Any) -> Any:
    """A kernel that only kernels call: no way in from Python, no file of its own.

    It neither allocates nor counts references: two atomic additions per array and call cost more than the work on a
    small node of a tree.
    """
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)(function)


def is_ready(dispatcher: Any) -> bool:
    """Whether ``dispatcher`` has been compiled: in this process, or, as far as its files tell, in an earlier one."""
    return bool(dispatcher.overloads) or dispatcher._cache.exists()


def interpreted(kernel: Any, _made: dict[int, Any] | None = None) -> Any:
    """``kernel`` and all kernels it calls as plain Python functions: slow, but there is nothing to compile.

    Additions, products, comparisons and integer arithmetic give the same bits; logarithms may not. Division by zero and
    overflow are left to ``np.errstate``, and records must come from a ``np.recarray``.
    """
    made = {} if _made is None else _made
    function = kernel.py_func
    if id(function) not in made:
        # The copy must exist before what it calls is looked at: kernels may call themselves.
        cells = tuple(CellType() for _ in function.__closure__ or ())
        names = dict(function.__globals__)
        made[id(function)] = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        for name in function.__code__.co_names:
            if hasattr(names.get(name), "py_func"):
                names[name] = interpreted(names[name], made)
        for cell, given in zip(cells, function.__closure__ or (), strict=True):
            value = given.cell_contents
            cell.cell_contents = interpreted(value, made) if hasattr(value, "py_func") else value
    return made[id(function)]


class _Files:
    """One file per entry, named by the fingerprint and a digest of its key; the key is compared when it is read."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.name = folder, name

    def path(self, key: tuple[Any, ...]) -> Path:
        sig, machine, code = key
        text = repr((numba.__version__, str(sig), machine))
        return self.folder / f"{self.name}.{code}.{hashlib.sha256(text.encode()).hexdigest()[:24]}.nbc"

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

    def ensure_cache_path(self) -> None:
        with contextlib.suppress(OSError):  # then nothing is kept
            super().ensure_cache_path()

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

    def __init__(self, dispatcher: Any):
        super().__init__(dispatcher.py_func)
        self._dispatcher = dispatcher
        self._cache_file: Any = _Files(Path(self.cache_path), self._impl.filename_base)

    @cached_property
    def code(self) -> str:
        return fingerprint(self._dispatcher)

    def exists(self) -> bool:
        """Whether there is an entry of this code, for whatever types."""
        files = self._cache_file
        return files.folder.is_dir() and any(files.folder.glob(f"{files.name}.{self.code}.*.nbc"))

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple(), self.code


class CompileNotice(event.Listener):
    """Says once per process that compiling takes its time, when it does, and counts the seconds it took."""

    def __init__(self, clock: Any = time.monotonic, write: Any = None):
        self.clock, self.write = clock, write
        self.depth, self.began, self.announced, self.seconds = 0, 0.0, False, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.began = self.clock()
        self.depth += 1
        self._look(event)

    def on_end(self, event: Any) -> None:
        self._look(event)
        self.depth -= 1
        if self.depth == 0:
            self.seconds += self.clock() - self.began

    def _look(self, event: Any) -> None:
        home = event.data["dispatcher"].py_func.__module__ or ""
        if not self.announced and home.partition(".")[0] == "margin" and self.clock() - self.began > PATIENCE:
            self.announced = True
            print("margin: compiling, once per machine", file=self.write or sys.stderr, flush=True)


NOTICE = CompileNotice()
event.register("numba:compile", NOTICE)
