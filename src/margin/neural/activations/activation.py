r"""An activation as an object: ``activation="elu"`` or ``activation=ELU(alpha=0.5)``.

Each has its equation (:meth:`~Activation.function`), its derivative (:meth:`~Activation.slope`), the facts of the table
of the notes, and the layer that networks run (:meth:`~Activation.layer`): torch's own kernel where it has one. One test
holds layer, equation and derivative of all of them together.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn

from margin.core.parts import Part

__all__ = ["SMOOTH", "Activation"]

SMOOTH = math.inf


class Activation(Part):
    """A function of every unit. An end of the range is a value of the function only if it is ``attained``."""

    name: ClassVar[str]
    formula: ClassVar[str]
    high: ClassVar[float] = math.inf
    continuity: ClassVar[float] = SMOOTH  # how many derivatives are continuous; -1 for a jump
    attained: ClassVar[tuple[bool, bool]] = (False, False)
    monotone: ClassVar[bool] = True
    rectifies: ClassVar[bool] = True  # whether He's initialization suits it, or Glorot's, made for slopes near 1 at 0

    @abstractmethod
    def function(self, x: Tensor) -> Tensor:
        """The equation, entry by entry."""

    @abstractmethod
    def slope(self, x: Tensor) -> Tensor:
        """Its derivative, written out."""

    @abstractmethod
    def layer(self) -> nn.Module:
        """What a network runs."""

    @property
    def low(self) -> float:
        """The lower end of the range."""
        return 0.0

    @property
    def pieces(self) -> int:
        """How many inputs a unit has: 1 but for maxout."""
        return 1

    @property
    def options(self) -> dict[str, Any]:
        """What may be chosen about it."""
        return self.get_params(deep=False)

    @property
    def zero_centered(self) -> bool:
        """Whether the range reaches as far below 0 as above."""
        return self.low == -self.high

    @property
    def interval(self) -> str:
        """The range, with a square bracket at an end that is attained."""
        low, high = (f"{end:.5g}".replace("inf", "∞") for end in (self.low, self.high))
        return f"{'(['[self.attained[0]]}{low}, {high}{')]'[self.attained[1]]}"
