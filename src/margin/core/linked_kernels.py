"""How kernels that only kernels call are compiled: into LLVM's intermediate code, and no further.

Numba optimizes each function and makes machine code of it, and does both once more within every function that calls
it. Where Python never calls a kernel, the first time is wasted: it took a fifth of compiling a grower of trees.

LLVM puts a copy of such a kernel wherever it is called. A large one with several callers can be kept apart instead, as
one function that all of them call.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import AnnotateTypes

from margin.core.named_kernels import KernelCompiler, name_by_code, needed_steps

__all__ = ["LinkedCompiler", "SeparateCompiler"]

ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba begins the names of what holds a function's Python objects


class _LinkedLibrary(JITCodeLibrary):
    """Code that waits for being linked into that of its callers and has no address of its own."""

    def _optimize_final_module(self) -> None:
        """Left to the callers."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._add_environments()
        self._finalized = True

    def _add_environments(self) -> None:
        """Places for the environments, which Numba fills as soon as a function is compiled."""
        names = [value.name for value in self._final_module.global_variables if value.name.startswith(ENVIRONMENT)]
        # An integer of a pointer's size: older versions of LLVM have no pointers without a type.
        places = parse_assembly("\n".join(f'@"{name}" = common global i64 0' for name in names))
        self._codegen._add_module(places)
        self._codegen._engine.finalize_object()


class _SeparateLibrary(_LinkedLibrary):
    """Such code that is not copied into its callers."""

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if not function.is_declaration:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)


@register_pass(mutates_CFG=False, analysis_only=True)
class _BeLinked(AnalysisPass):
    _name = "margin_be_linked"
    library: type[_LinkedLibrary] = _LinkedLibrary

    def __init__(self) -> None:  # abstract in Numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False  # the function is as it was


@register_pass(mutates_CFG=False, analysis_only=True)
class _BeCalled(_BeLinked):
    _name = "margin_be_called"
    library = _SeparateLibrary


class LinkedCompiler(KernelCompiler):
    """Numba's own steps, with a library of the first kind."""

    library_step: type[_BeLinked] = _BeLinked

    def define_pipelines(self) -> list[Any]:
        name_by_code(self.state)
        steps = needed_steps(self.state)
        steps.add_pass_after(self.library_step, AnnotateTypes)
        steps.finalize()
        return [steps]


class SeparateCompiler(LinkedCompiler):
    """With a library of the second kind."""

    library_step = _BeCalled
