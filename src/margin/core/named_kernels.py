"""Names of compiled functions that say what is in them, so that code of several processes can be loaded together.

Numba tells functions of one name and signature apart by a number that it counts up within a process: variants that a
factory makes, each with another constant in its closure, differ by nothing else. Two processes may give one number to
two variants and put both into the cache; a third that loads both would then run one of them for the other. Here the
number is a digest of the code and of the types it is compiled for.
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core.compiler import Compiler

from margin.core.jit_cache import fingerprint

__all__ = ["NamedCompiler", "name_by_code"]

DIGITS = 15  # of the digest, hexadecimal: a number that fits 64 bits


def name_by_code(state: Any) -> None:
    """Replace the number of the function that is about to be compiled."""
    function = state.func_id
    text = f"{fingerprint(function.func)} {state.args}"
    function.unique_id = int(hashlib.sha256(text.encode()).hexdigest()[:DIGITS], 16)
    function.unique_name = f"{function.func_qualname}${function.unique_id}"


class NamedCompiler(Compiler):
    """Numba's own steps, with a name of this kind."""

    def define_pipelines(self) -> list[Any]:
        name_by_code(self.state)
        steps: list[Any] = super().define_pipelines()
        return steps
