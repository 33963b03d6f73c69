r"""A continuous flow: rows move along a velocity field, and an ODE solver carries their log-density with them.

.. math:: \frac{dx}{dt} = v(x, t), \qquad \frac{d\log p(x(t))}{dt} = -\mathrm{tr}\,\frac{\partial v}{\partial x}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from margin.generative.flows.layers import FlowLayer
from margin.neural.nets.mlp import MLP

__all__ = ["ContinuousFlow", "runge_kutta"]

State = tuple[Tensor, Tensor]


def runge_kutta(
    derivative: Callable[[State, float], State], state: State, begin: float, end: float, n_steps: int
) -> State:
    """The classical fourth-order Runge-Kutta method in ``n_steps`` equal steps; the error falls as their fourth power.

    Equal steps, and not adaptive ones, keep the result for a row independent of the rows beside it.
    """
    h = (end - begin) / n_steps
    for k in range(n_steps):
        t = begin + k * h
        k_1 = derivative(state, t)
        k_2 = derivative(_move(state, k_1, h / 2), t + h / 2)
        k_3 = derivative(_move(state, k_2, h / 2), t + h / 2)
        k_4 = derivative(_move(state, k_3, h), t + h)
        slope = tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k_1, k_2, k_3, k_4))
        state = _move(state, slope, h)  # type: ignore[arg-type]
    return state


def _move(state: State, slope: State, h: float) -> State:
    return state[0] + h * slope[0], state[1] + h * slope[1]


class ContinuousFlow(FlowLayer):
    """Data at time 0 flow to noise at time 1; the same equation backwards in time is the inverse.

    The velocity is a smooth perceptron of the row and the time, and its trace is exact: one derivative per column.
    """

    def __init__(self, n_features: int, hidden: Sequence[int], n_steps: int = 8):
        super().__init__()
        self.n_steps = n_steps
        self.velocity = MLP([n_features + 1, *hidden, n_features], "tanh")
        nn.init.zeros_(self.velocity.linears[-1].weight)
        nn.init.zeros_(self.velocity.linears[-1].bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return runge_kutta(self._with_trace, (x, torch.zeros_like(x[:, 0])), 0.0, 1.0, self.n_steps)

    def inverse(self, z: Tensor) -> Tensor:
        still = torch.zeros_like(z[:, 0])
        return runge_kutta(lambda state, t: (self.velocity_at(state[0], t), still), (z, still), 1.0, 0.0, self.n_steps)[
            0
        ]

    def velocity_at(self, x: Tensor, t: float) -> Tensor:
        return self.velocity(torch.cat([x, torch.full_like(x[:, :1], t)], dim=1))

    def _with_trace(self, state: State, t: float) -> State:
        """Velocity and trace of its Jacobian: the units' slopes are known, so forward derivatives need no graph."""
        first, *rest = self.velocity.linears
        rows = torch.cat([state[0], torch.full_like(state[0][:, :1], t)], dim=1)
        h = first(rows)  # (rows, units)
        tangent = first.weight[:, :-1].T.expand(len(rows), -1, -1)  # (rows, columns, units): d h / d x_j
        for linear in rest:
            h = torch.tanh(h)
            tangent = tangent * (1 - h.square())[:, None, :] @ linear.weight.T
            h = linear(h)
        return h, tangent.diagonal(dim1=1, dim2=2).sum(dim=-1)
