"""Muon: momentum of a matrix, orthogonalized."""

from __future__ import annotations

import math
from typing import ClassVar

from margin.core.domains import Flag, Instance, Number, Optional
from margin.core.parameters import parameter
from margin.optimize.rules.base import DECAY, FRACTION, Array, Rule, zeros_like
from margin.optimize.rules.momentum import Velocity

__all__ = ["Muon", "orthogonalize"]

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of x, x^3 and x^5: the steepest at 0 that stay near 1 (Jordan et al., 2024)
ITERATIONS = 5
SMALLEST = 1e-7  # norm below which a matrix counts as 0
UPDATE_SIZE = 0.2  # root mean square of an update of AdamW (Liu et al., 2025)


def orthogonalize(matrix: Array, iterations: int = ITERATIONS) -> Array:
    r"""A matrix with the same singular vectors and singular values of about 1 (0.7 to 1.2).

    By ``iterations`` of Newton and Schulz, :math:`X \leftarrow (aI + bA + cA^2)X` with :math:`A = XX^\top`.
    """
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / max(math.sqrt(float((x * x).sum())), SMALLEST)
    for _ in range(iterations):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Muon(Rule):
    r"""A matrix moves by its momentum with all singular values brought to about 1; with decoupled weight decay.

    .. math:: M \leftarrow \beta M + (1 - \beta) G, \qquad
              \Delta W = -\eta \big(0.2\sqrt{\max(n, m)}\;\mathrm{orthogonalize}(M) + \lambda W\big)

    With ``nesterov`` it is :math:`\beta M + (1 - \beta) G` that is orthogonalized. In a network it moves the matrices
    between hidden layers, and ``rest`` moves the others. Jordan et al., 2024; the factor gives an update the root mean
    square of one of AdamW (Liu et al., 2025).
    """

    usual_rate: ClassVar[float] = 1e-3
    decouples: ClassVar[bool] = True

    momentum: float = parameter(0.95, FRACTION, "Fraction of the momentum that is kept.")
    nesterov: bool = parameter(True, Flag(), "Whether the momentum is Nesterov's.")
    weight_decay: float | None = parameter(
        None,
        Optional(Number(low=0)),
        "Decay of the weights per step, times the rate; None: a network's alpha, or 0.01.",
    )
    rest: Rule | None = parameter(
        None,
        Optional(Instance(Rule, "an update rule of margin.optimize")),
        "Rule for whatever in a network is no hidden matrix; None: AdamW.",
    )

    def _start(self, x: Array) -> Velocity:
        if x.ndim != 2:
            raise ValueError(f"Muon: what it moves must be a matrix; got {x.ndim} axes.")
        return Velocity(zeros_like(x))

    def update(self, state: Velocity, gradient: Array, x: Array, rate: float) -> tuple[Velocity, Array]:
        beta, mean = self.momentum, self.momentum * state.velocity + (1 - self.momentum) * gradient
        direction = orthogonalize(beta * mean + (1 - beta) * gradient if self.nesterov else mean)
        decay = DECAY if self.weight_decay is None else self.weight_decay
        return Velocity(mean), -rate * (UPDATE_SIZE * math.sqrt(max(x.shape)) * direction + decay * x)
