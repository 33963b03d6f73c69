"""Learning-rate range test: a few steps at every rate of a sweep show where descent starts to fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.descent import descend
from margin.optimize.objective import Function, Gradient
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.rules import Descent, Rule
from margin.optimize.steps import Array, follow

__all__ = ["RateSweep", "rate_range_test"]


@dataclass(frozen=True)
class RateSweep:
    """The loss after the same number of steps at each rate (inf where it diverged), and a rate to use."""

    rates: Array
    losses: Array
    start: float

    @property
    def best(self) -> float:
        """The rate with the lowest loss."""
        return float(self.rates[int(np.argmin(self.losses))])

    @property
    def suggestion(self) -> float:
        """A third of the best rate: the loss rises steeply above it and only slowly below."""
        return self.best / 3

    @property
    def limit(self) -> float:
        """The smallest rate above the best that ends higher than it started; inf if none does."""
        failing = (self.rates > self.best) & ~(self.losses < self.start)
        return float(np.min(self.rates[failing], initial=np.inf))


@with_parameters(MINIMIZING)
def rate_range_test(
    f: Function, grad: Gradient, x0: Any, rates: Any, *, rule: Rule | None = None, steps: int = 50
) -> RateSweep:
    """Run ``steps`` of ``rule`` (plain descent by default) from ``x0`` at every rate.

    Parameters
    ----------
    rates : array-like of shape (k,)
        Learning rates to try.
    rule : Rule, optional
        How a gradient becomes a step.
    steps : int
        Steps at every rate.
    """
    rates = np.sort(np.asarray(rates, dtype=float))
    if rates.size == 0 or not np.all(rates > 0):
        raise ValueError(f"rate_range_test: rates must be positive and at least one; got {rates.tolist()}.")
    losses = np.empty_like(rates)
    start = np.nan
    for i, rate in enumerate(rates):
        result = follow(descend(f, grad, x0, rule or Descent(), learning_rate=float(rate), max_iter=steps, tol=0.0))
        start = result.trace[0].value
        finished = result.iterations == steps or result.gradient_norm == 0
        losses[i] = result.value if finished else np.inf
    return RateSweep(rates, losses, start)
