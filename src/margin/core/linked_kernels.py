"""Kernels that only kernels call, compiled once: as part of those.

Numba optimizes every function to the end and makes machine code of it, then does the same with each caller into which
it was linked, once per level of calls. Of a kernel that Python cannot call only the last result is ever run; here the
others are not made, which saves about a sixth of the time that a tree grower takes to compile.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference

__all__ = ["PartCompiler"]


class _PartLibrary(JITCodeLibrary):
    """Code that waits to be linked into that of its callers."""

    def _optimize_final_module(self) -> None:
        """Callers optimize it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # there is nothing that Python could call

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Objects that code refers to: a kernel without Python objects has none."""


@register_pass(mutates_CFG=False, analysis_only=True)
class _ChooseLibrary(FunctionPass):
    _name = "margin_choose_library"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class PartCompiler(CompilerBase):
    """Numba's pipeline for compiled code, into such a library."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_ChooseLibrary, NopythonTypeInference)
        passes.finalize()
        return [passes]
