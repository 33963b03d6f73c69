"""Modules of kernels as they are compiled for one level of processors."""

import importlib.util
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np

import margin.compiled

__all__ = ["agree", "is_compiled", "module_at", "other_levels"]

HERE = Path(margin.compiled.__file__).parent


def file_of(level, bundle):
    return next(
        (path for path in (HERE / level / f"{bundle}{end}" for end in EXTENSION_SUFFIXES) if path.exists()), None
    )


def other_levels(bundle):
    """Those of this processor below the one that models use."""
    return [level for level in margin.compiled.folders() if file_of(level, bundle)][1:]


@cache
def module_at(level, bundle):
    """A module of its own: two of one name live side by side."""
    spec = importlib.util.spec_from_file_location(f"margin.compiled.{bundle}", file_of(level, bundle))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_compiled(kernels):
    return not kernels.__file__.endswith(".py")


def agree(ours, others, beside, **tolerance):
    """Equal bits of two levels; within the tolerance of the file as it is written."""
    for one, other in zip(ours, others, strict=True):
        if beside == "written":
            np.testing.assert_allclose(one, other, **tolerance)
        else:
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
