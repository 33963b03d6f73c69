"""Plain gradient descent."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from margin.optimize.rules.base import Array, Rule

__all__ = ["Descent"]


class Nothing(NamedTuple):
    """The state of a rule without memory."""


class Descent(Rule):
    r"""Plain gradient descent, :math:`\Delta\theta = -\eta g`."""

    usual_rate: ClassVar[float] = 0.1

    def _start(self, x: Array) -> Nothing:
        return Nothing()

    def update(self, state: Nothing, gradient: Array, x: Array, rate: float) -> tuple[Nothing, Array]:
        return state, -rate * gradient
