"""Hyperparameters that a search left on a bound which the user had set: another bound may fit better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from margin.core.notices import warn_user
from margin.kernels.kernel import Kernel

__all__ = ["on_bounds", "warn_of_bounds"]


def on_bounds(kernel: Kernel, prefix: str = "") -> Iterator[str]:
    """What rests on a bound, in words, in the order of ``kernel.theta``.

    >>> from margin.kernels import RBF, WhiteKernel
    >>> list(on_bounds(RBF(2.0, length_scale_bounds=(0.1, 2.0)) + WhiteKernel(0.5)))
    ['k1__length_scale is 2 at its upper bound']
    """
    parts = {name: value for name, value in kernel.get_params(deep=False).items() if isinstance(value, Kernel)}
    for name, part in parts.items():
        yield from on_bounds(part, f"{prefix}{name}__")
    for name in () if parts else kernel.free:
        values = np.atleast_1d(np.asarray(getattr(kernel, name), dtype=np.float64))
        for number, (value, bounds) in enumerate(zip(values, kernel._bounds_of(name))):
            place = f"{prefix}{name}" if len(values) == 1 else f"{prefix}{name}[{number}]"
            for side, bound in zip(("lower", "upper"), bounds):
                if bounds[0] < bounds[1] and np.isclose(np.log(value), np.log(bound)):
                    yield f"{place} is {value:.6g} at its {side} bound"


def warn_of_bounds(model: Any, kernels: list[Kernel]) -> None:
    """One warning for every number on a bound, if ``model`` searched and was given a kernel object, bounds and all."""
    if model.optimizer is None or model.kernel is None or isinstance(model.kernel, str):
        return
    for kernel in kernels:
        for sentence in on_bounds(kernel):
            warn_user(
                f"{type(model).__name__}: of the kernel {sentence}; another bound may fit better.", ConvergenceWarning
            )
