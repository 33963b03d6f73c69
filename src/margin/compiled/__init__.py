"""The kernels, compiled ahead of time: loops over plain arrays that the models call.

Each module here is made of ``*_kernels.py`` files, which stand beside the models that use them (``setup.py`` lists
them). These files are Python: imported as they are, they do the same slowly, and the tests hold both to the same bits.

Where wider vectors pay, a module exists a second time for processors of the level x86-64-v3 (AVX2), and gives the same
bits there. ``MARGIN_KERNELS=baseline`` leaves those out; ``MARGIN_KERNELS=debug`` takes the ones with checked bounds.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

__all__: list[str] = []

HERE = Path(__file__).parent


def has_wide_vectors() -> bool:
    """Whether this processor is of level x86-64-v3, as far as NumPy tells."""
    try:
        features = import_module("numpy._core._multiarray_umath").__cpu_features__  # NumPy has no public name for them
    except (ImportError, AttributeError):
        return False
    return bool(features.get("X86_V3") or (features.get("AVX2") and features.get("FMA3")))


def folders() -> list[str]:
    """Where modules are looked for, the best first."""
    wanted = os.environ.get("MARGIN_KERNELS", "")
    if wanted == "debug":
        return ["debug"]
    return ["v3", "baseline"] if wanted != "baseline" and has_wide_vectors() else ["baseline"]


__path__ = [str(HERE / name) for name in folders()]

if not any(path.name.endswith(tuple(EXTENSION_SUFFIXES)) for path in Path(__path__[-1]).glob("*")):
    raise ImportError(
        f"Margin's kernels are not compiled in {__path__[-1]}: `pip install .` compiles them (it needs a C compiler), "
        "and so does `make` in a checkout."
    )
