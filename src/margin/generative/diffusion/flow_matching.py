r"""Flow matching: learn the velocity of straight lines from noise to data.

.. math:: x_u = (1 - u)\,\epsilon + u\,x, \qquad v^*(y, u) = E[x - \epsilon\,|\,x_u = y], \qquad
          \frac{dx}{du} = v(x, u),\ u \in [0, 1]

The velocity that minimizes the squared error carries the normal distribution at u = 0 to the data at u = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import Tensor

from margin.generative.diffusion.mixture import ExactMixture
from margin.neural.losses.regression import squared_error

__all__ = ["between", "exact_velocity", "flow_matching_loss", "integrate"]

Velocity = Callable[[Tensor, float], Tensor]


def between(x: Tensor, noise: Tensor, u: Tensor | float) -> Tensor:
    """The point of the line from ``noise`` (u = 0) to ``x`` (u = 1)."""
    return (1 - u) * noise + u * x


def flow_matching_loss(predicted: Tensor, x: Tensor, noise: Tensor) -> Tensor:
    r""":math:`\|v - (x - \epsilon)\|^2` of every row."""
    return squared_error(predicted, x - noise).reshape(len(x), -1).sum(dim=1)


def exact_velocity(mixture: ExactMixture, y: Tensor, u: float) -> Tensor:
    r""":math:`v^*(y, u) = (E[x | x_u = y] - y)/(1 - u)` for a mixture of normals, u below 1."""
    return (mixture.denoise(y, u, 1 - u) - y) / (1 - u)


def integrate(velocity: Velocity, x: Tensor, n_steps: int, *, order: int = 2, end: float = 1.0) -> Iterator[Tensor]:
    """Euler's (order 1) or the midpoint method (order 2) from noise ``x`` to ``end``; the states after every step."""
    if order not in (1, 2):
        raise ValueError(f"integrate: order must be 1 or 2; got {order!r}.")
    h = end / n_steps
    for k in range(n_steps):
        u = k * h
        slope = velocity(x, u)
        if order == 2:
            slope = velocity(x + h / 2 * slope, u + h / 2)
        x = x + h * slope
        yield x
