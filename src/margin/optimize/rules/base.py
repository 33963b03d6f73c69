r"""What every update rule is: a pure function (state, gradient, x, rate) -> (new state, step).

Arrays are NumPy's or torch's: a rule is written with operators, and the four operations that the two spell differently
stand below. It never changes its arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from margin.core.domains import Number
from margin.core.parts import Part

__all__ = ["DECAY", "EPSILON", "FRACTION", "Rule", "hyperparameters", "largest", "sign", "square_root", "zeros_like"]

Array = Any  # of NumPy or torch

FRACTION = Number(low=0, below=1)
EPSILON = Number(low=0)
DECAY = 0.01  # of the weights per step, times the rate, where neither the rule nor a network says another


class Rule(Part, ABC):
    """How a gradient becomes a step.

    What a rule learns along the way is the state it hands back, a named tuple of arrays of the shape of ``x`` and of
    numbers, so any run can be replayed, compared step by step with another library, or continued from a stored state.
    ``rate`` is the learning rate of this step; the new iterate is ``x + step``.

    ``usual_rate`` is the learning rate of :func:`~margin.optimize.minimize`. A rule that ``decouples`` shrinks weights
    itself, by its parameter ``weight_decay``, instead of through the gradient.
    """

    usual_rate: ClassVar[float] = 0.01
    decouples: ClassVar[bool] = False

    def start(self, x: Array) -> Any:
        """The state before the first gradient; parameters outside their domains are refused here."""
        self.check()
        return self._start(x)

    @abstractmethod
    def _start(self, x: Array) -> Any: ...

    def point(self, state: Any, x: Array) -> Array:
        """Where the next gradient is taken: ``x``, or a look-ahead."""
        return x

    @abstractmethod
    def update(self, state: Any, gradient: Array, x: Array, rate: float) -> tuple[Any, Array]:
        """The next state, and the step to add to ``x``."""

    def on_gradient_points(self) -> Rule:
        """The same rule with the points where gradients are taken as its iterates, which is what networks keep."""
        return self


def hyperparameters(rule: Rule) -> dict[str, Any]:
    """What of a ``rule`` was chosen before the run, as opposed to what the run learns.

    >>> from margin.optimize import Momentum
    >>> hyperparameters(Momentum(gamma=0.95))
    {'gamma': 0.95, 'convention': 'sum'}
    """
    return rule.get_params(deep=False)


def zeros_like(x: Array) -> Array:
    return x.new_zeros(x.shape) if hasattr(x, "new_zeros") else np.zeros_like(x)


def square_root(x: Array) -> Array:
    return x.sqrt() if hasattr(x, "sqrt") else np.sqrt(x)


def sign(x: Array) -> Array:
    return x.sign() if hasattr(x, "sign") else np.sign(x)


def largest(x: Array, y: Array) -> Array:
    """The larger of two numbers, entry by entry."""
    return x.maximum(y) if hasattr(x, "maximum") else np.maximum(x, y)
