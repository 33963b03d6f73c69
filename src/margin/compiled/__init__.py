"""The kernels, compiled ahead of time: loops over plain arrays that the models call.

Each module here is made of ``*_kernels.py`` files, which stand beside the models that use them (``setup.py`` lists
them). These files are Python: imported as they are, they do the same slowly, and the tests hold both to the same bits.

Where wider vectors pay, a module exists once more for processors of the levels x86-64-v3 (AVX2) or v4 (AVX-512), and
gives the same bits there. ``MARGIN_KERNELS=baseline`` or ``v3`` goes no higher than that; ``MARGIN_KERNELS=debug``
takes the modules with checked bounds, ``MARGIN_KERNELS=sanitized`` those under the address sanitizer, whose library
must be loaded first (``make test-debug`` does).
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

__all__: list[str] = []

HERE = Path(__file__).parent


LEVELS = ("v4", "v3", "baseline")
CHECKED = ("debug", "sanitized")


def processor_level() -> str:
    """The highest level of this processor, as far as NumPy tells."""
    try:
        features = import_module("numpy._core._multiarray_umath").__cpu_features__  # NumPy has no public name for them
    except (ImportError, AttributeError):
        return "baseline"
    if features.get("X86_V4") or features.get("AVX512_SKX"):
        return "v4"
    return "v3" if features.get("X86_V3") or (features.get("AVX2") and features.get("FMA3")) else "baseline"


def folders() -> list[str]:
    """Where modules are looked for, the best first."""
    wanted = os.environ.get("MARGIN_KERNELS", "")
    if wanted in CHECKED:
        return [wanted]
    limit = LEVELS.index(wanted) if wanted in LEVELS else 0
    return list(LEVELS[max(limit, LEVELS.index(processor_level())) :])


__path__ = [str(HERE / name) for name in folders()]

if not any(path.name.endswith(tuple(EXTENSION_SUFFIXES)) for path in Path(__path__[-1]).glob("*")):
    raise ImportError(
        f"Margin's kernels are not compiled in {__path__[-1]}: `pip install .` compiles them (it needs a C compiler), "
        "and so does `make` in a checkout."
    )
