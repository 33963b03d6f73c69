"""Derivatives against differences: what every rule has to pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from margin.neural.autodiff.modes import pullback, pushforward
from margin.neural.autodiff.tracing import raw

__all__ = ["Disagreement", "gradient_check"]


class Disagreement(NamedTuple):
    """Largest difference to central differences, relative to the size of the derivative."""

    reverse: float
    forward: float


def gradient_check(f: Callable[..., Any], *inputs: np.ndarray, seed: int = 0, step: float = 1e-5) -> Disagreement:
    r"""Compare both modes of ``f`` in random directions u (of the inputs) and w (of the outputs).

    .. math:: w^\top \frac{f(x + hu) - f(x - hu)}{2h} \approx w^\top J u = (J^\top w)^\top u

    >>> bool(gradient_check(lambda x: x * x * x, np.array([1.0, 2.0])).reverse < 1e-8)
    True
    """
    rng = np.random.default_rng(seed)
    directions = [rng.normal(size=np.shape(x)) for x in inputs]
    weights = rng.normal(size=np.shape(f(*inputs)))
    above, below = ([x + sign * step * u for x, u in zip(inputs, directions)] for sign in (1, -1))
    difference = np.sum(weights * (f(*above) - f(*below))) / (2 * step)
    gradients = pullback(f, *inputs)[1](weights)
    reverse = sum(float(np.sum(raw(g) * u)) for g, u in zip(gradients, directions))
    forward = float(np.sum(weights * pushforward(f, inputs, directions)[1]))
    scale = max(1.0, abs(float(difference)))
    return Disagreement(abs(reverse - difference) / scale, abs(forward - difference) / scale)
