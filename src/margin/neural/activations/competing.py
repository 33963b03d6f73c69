"""Maxout: a unit is the largest of several affine maps."""

from __future__ import annotations

import math

from torch import Tensor, nn

from margin.core.domains import Integer
from margin.core.parameters import parameter
from margin.neural.activations.activation import Activation
from margin.neural.activations.layers import LargestOfGroup, maxout

__all__ = ["MaxoutUnits"]


class MaxoutUnits(Activation):
    """Every unit of a hidden layer is the largest of ``n_pieces`` affine maps of the layer before."""

    name, formula, continuity = "maxout", r"\max_k (w_k^\top x + b_k)", 0

    n_pieces: int = parameter(2, Integer(low=1, high=64), "Affine maps among which a unit takes the largest.")

    @property
    def low(self) -> float:
        return -math.inf

    @property
    def pieces(self) -> int:
        return int(self.n_pieces)

    def function(self, x: Tensor) -> Tensor:
        return maxout(x, self.pieces)

    def slope(self, x: Tensor) -> Tensor:
        """1 for the winner of every group, 0 for the others."""
        groups = x.unflatten(-1, (-1, self.pieces))
        return nn.functional.one_hot(groups.argmax(dim=-1), self.pieces).to(x.dtype).flatten(-2)

    def layer(self) -> nn.Module:
        return LargestOfGroup(self.pieces)
