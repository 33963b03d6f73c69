"""Kernels of boosting as they are written, under the names of the compiled ones: slow, and with checked indices.

In C a code of 255 plus 1 is 256, in NumPy it overflows: so these kernels get arrays whose elements are Python's
numbers, and records whose fields are attributes.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from margin.core import team_kernels
from margin.trees.boosting import (
    bundle_kernels,
    growth_kernels,
    histogram_kernels,
    leaf_kernels,
    node_kernels,
    packing_kernels,
    prediction_kernels,
    round_kernels,
    sharing_kernels,
    state_kernels,
    worker_kernels,
)

__all__ = ["boosting_as_written", "numbers"]

FILES = {
    team_kernels: ("claim", "finish", "is_over", "offer", "wait_for"),
    bundle_kernels: ("store",),
    growth_kernels: ("assist", "grow"),
    histogram_kernels: ("pack",),
    leaf_kernels: ("add_to_leaves", "leaf_sums", "node_means"),
    node_kernels: ("plant",),
    packing_kernels: ("choose_units",),
    prediction_kernels: ("add_predictions", "find_leaves"),
    round_kernels: ("grow_round",),
    sharing_kernels: ("describe_rows", "take_part"),
    worker_kernels: worker_kernels.__all__,
}


class Record:
    """An element of an array of records."""

    def __init__(self, record):
        object.__setattr__(self, "record", record)

    def __getattr__(self, name):
        return _plain(self.record[name])

    def __setattr__(self, name, value):
        self.record[name] = value


class Numbers:
    """An array whose integers are Python's, and in which no index may be negative."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __getitem__(self, at):
        return _plain(self.array[_checked(at)])

    def __setitem__(self, at, value):
        self.array[_checked(at)] = value


def numbers(value):
    """An array as kernels that are not compiled get it; anything else as it is."""
    return Numbers(value) if isinstance(value, np.ndarray) else value


def boosting_as_written() -> ModuleType:
    """What stands for ``margin.compiled.boosting``."""
    module = ModuleType("boosting_as_written")
    for file, names in FILES.items():
        for name in names:
            setattr(module, name, _with_numbers(getattr(file, name)))
    module.Packing, module.Limits = state_kernels.Packing, state_kernels.Limits
    module.Growth, module.Round = _with_numbers_inside(state_kernels.Growth), _with_numbers_inside(state_kernels.Round)
    return module


def _plain(found):
    if isinstance(found, np.void):
        return Record(found)
    if isinstance(found, np.ndarray):
        return Numbers(found)
    return int(found) if isinstance(found, np.integer | np.bool_) else found


def _checked(at):
    for index in at if isinstance(at, tuple) else (at,):
        if index < 0:
            raise IndexError(f"A kernel reads at {index}.")
    return at


def _with_numbers(function):
    return lambda *values: function(*(numbers(value) for value in values))


def _with_numbers_inside(kind):
    class Inside(kind):
        def __setattr__(self, name, value):
            super().__setattr__(name, numbers(value))

    return Inside
