"""The same benchmarks as on a processor with AVX2 only: ``python -m benchmarks FAMILY --avx2``.

Every library that chooses its code by the processor is told of a narrower one before it is loaded: NumPy, OpenBLAS,
MKL, torch, oneDNN, Numba, our kernels. What oneDAL (scikit-learn-intelex) chooses cannot be told, so it keeps the wide
code.
"""

from __future__ import annotations

import os
import sys

__all__ = ["is_narrow", "narrow_environment", "restart_narrow"]

_TOLD = "MARGIN_BENCH_AVX2"


def is_narrow() -> bool:
    """Whether this process was started anew for AVX2."""
    return _TOLD in os.environ


def restart_narrow() -> None:
    """Start this program again, with the same arguments, as on a processor with AVX2 only."""
    os.execve(
        sys.executable, [sys.executable, "-m", "benchmarks", *sys.argv[1:]], {**os.environ, **narrow_environment()}
    )


def narrow_environment() -> dict[str, str]:
    """What a process must find in its environment to work as on a processor with AVX2 only."""
    return {
        _TOLD: "1",
        "NPY_DISABLE_CPU_FEATURES": " ".join(_wide_features()),
        "OPENBLAS_CORETYPE": "Haswell",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "+avx2,+fma",
        "MARGIN_KERNELS": "v3",
    }


def _wide_features() -> list[str]:
    from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched

    return [name for name in dispatched if name.startswith("AVX512") or name == "X86_V4"]
