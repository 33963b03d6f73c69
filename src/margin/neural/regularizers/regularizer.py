"""Regularizers of weights as objects: ``regularizer="l1"`` or ``regularizer=MaxNorm(2.0)``, beside the L2 of ``alpha``.

They act on matrices and kernels; biases, norms and embeddings are spared.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from margin.core.domains import Number
from margin.core.parameters import parameter
from margin.core.parts import Part
from margin.neural.regularizers.penalties import l1_gradient, l2_gradient, max_norm_

__all__ = ["L1", "REGULARIZERS", "ElasticPenalty", "MaxNorm", "Regularizer"]


class Regularizer(Part):
    """What acts on the weights of a network beside its loss."""

    def add_gradient(self, weights: Sequence[Tensor], mass: float) -> None:
        """Add the gradient of the penalty, as a part of the mean loss of rows of total weight ``mass``."""

    def constrain(self, weights: Sequence[Tensor]) -> None:
        """Move the weights of an update back into what is allowed."""


class L1(Regularizer):
    r""":math:`\lambda\sum|w|` on the sum of the losses of a batch: many weights end near 0."""

    strength: float = parameter(0.001, Number(low=0, search=(1e-5, 1.0), log=True), "Strength of the penalty.")

    def add_gradient(self, weights: Sequence[Tensor], mass: float) -> None:
        for weight in weights:
            if weight.grad is not None:
                weight.grad += l1_gradient(weight.detach(), self.strength / mass)


class ElasticPenalty(Regularizer):
    r""":math:`\lambda\bigl(\rho\sum|w| + \frac{1-\rho}{2}\sum w^2\bigr)` on the sum of the losses of a batch."""

    strength: float = parameter(0.001, Number(low=0, search=(1e-5, 1.0), log=True), "Strength of the penalty.")
    l1_ratio: float = parameter(0.5, Number(low=0, high=1), "Fraction of it that is L1.")

    def add_gradient(self, weights: Sequence[Tensor], mass: float) -> None:
        strength = self.strength / mass
        for weight in weights:
            if weight.grad is not None:
                w = weight.detach()
                weight.grad += l1_gradient(w, strength * self.l1_ratio) + l2_gradient(w, strength * (1 - self.l1_ratio))


class MaxNorm(Regularizer):
    """The weights into every unit have at most this Euclidean norm, after every update (Srebro and Shraibman, 2005)."""

    bound: float = parameter(3.0, Number(above=0, search=(0.5, 5.0), log=True), "Largest norm of a unit's weights.")

    def constrain(self, weights: Sequence[Tensor]) -> None:
        with torch.no_grad():
            for weight in weights:
                max_norm_(weight, self.bound)


#: Names of regularizers; a new one is a class in a file of its own, and a line here.
REGULARIZERS: dict[str, type[Regularizer]] = {"l1": L1, "elastic_net": ElasticPenalty, "max_norm": MaxNorm}
