"""Names of compiled functions that say what is in them, so that code of several processes can be loaded together.

Numba tells functions of one name and signature apart by a number that it counts up within a process: variants that a
factory makes, each with another constant in its closure, differ by nothing else. Two processes may give one number to
two variants and put both into the cache; a third that loads both would then run one of them for the other. Here the
number is a digest of the code and of the types it is compiled for.

Steps that change nothing in a kernel which allocates nothing are left out: they took a twelfth of compiling a grower of
trees. Numba's options are compared at once: it looks up every function by them, and took a twentieth for that.
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from margin.core.jit_cache import fingerprint

__all__ = ["KernelCompiler", "NamedCompiler", "name_by_code", "needed_steps"]

DIGITS = 15  # of the digest, hexadecimal: a number that fits 64 bits
# Expressions of whole arrays and functions within functions: both make new arrays or objects.
OF_ALLOCATIONS = (InlineClosureLikes, NopythonRewrites)


def name_by_code(state: Any) -> None:
    """Replace the number of the function that is about to be compiled."""
    function = state.func_id
    text = f"{fingerprint(function.func)} {state.args}"
    function.unique_id = int(hashlib.sha256(text.encode()).hexdigest()[:DIGITS], 16)
    function.unique_name = f"{function.func_qualname}${function.unique_id}"


def needed_steps(state: Any) -> Any:
    """Numba's own steps, less those that only a function which allocates can need."""
    steps = DefaultPassBuilder.define_nopython_pipeline(state)
    if not state.flags.nrt:
        steps.passes = [step for step in steps.passes if step[0] not in OF_ALLOCATIONS]
    return steps


class _KernelFlags(Flags):
    """Numba's options; whether two are equal is seen by what was set, where Numba reads some thirty properties each."""

    __slots__ = ()

    def __eq__(self, other: Any) -> Any:
        return self._values == other._values if isinstance(other, _KernelFlags) else super().__eq__(other)

    def __hash__(self) -> int:
        return FLAGS_HASH


FLAGS_HASH = hash(Flags())  # Numba's is that of the names of options, the same for all


class KernelCompiler(CompilerBase):
    """Numba's own compiler with such options."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ):
        super().__init__(typingctx, targetctx, library, args, return_type, _KernelFlags(flags), locals)


class NamedCompiler(KernelCompiler):
    """It gives a name of this kind and takes no needless steps."""

    def define_pipelines(self) -> list[Any]:
        name_by_code(self.state)
        steps = needed_steps(self.state)
        steps.finalize()
        return [steps]
