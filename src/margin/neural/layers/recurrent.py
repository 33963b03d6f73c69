r"""Recurrent cells, one step at a time, from their equations; weights are laid out as torch's.

.. math::
    \text{RNN:}\quad  & h_t = \tanh(W_{xh}x_t + W_{hh}h_{t-1} + b) \\
    \text{LSTM:}\quad & c_t = f \odot c_{t-1} + i \odot g,\qquad h_t = o \odot \tanh(c_t) \\
    \text{GRU:}\quad  & h_t = (1 - z) \odot n + z \odot h_{t-1},\qquad
                        n = \tanh(W_n x_t + b_n + r \odot (U_n h_{t-1} + c_n))

where i, f, o, r, z are sigmoids and g a tanh of affine maps of :math:`x_t` and :math:`h_{t-1}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["CELLS", "gru_step", "lstm_step", "rnn_step", "unroll"]

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  # W (gates * H, d), U (gates * H, H), b and c (gates * H,)


def rnn_step(x: Tensor, h: Tensor, weights: Weights) -> Tensor:
    """The next state (N, H) from inputs (N, d) and the state (N, H)."""
    W, U, b, c = weights
    return torch.tanh(x @ W.T + b + h @ U.T + c)


def lstm_step(x: Tensor, state: tuple[Tensor, Tensor], weights: Weights) -> tuple[Tensor, Tensor]:
    """The next state and memory; the gates are input, forget, new content, output."""
    (h, memory), (W, U, b, c) = state, weights
    i, f, g, o = (x @ W.T + b + h @ U.T + c).chunk(4, dim=-1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def gru_step(x: Tensor, h: Tensor, weights: Weights) -> Tensor:
    """The next state; the gates are reset, update, new content, and the reset acts after the product with U."""
    W, U, b, c = weights
    of_x, of_h = (x @ W.T + b).chunk(3, dim=-1), (h @ U.T + c).chunk(3, dim=-1)
    r, z = (torch.sigmoid(of_x[k] + of_h[k]) for k in range(2))
    n = torch.tanh(of_x[2] + r * of_h[2])
    return (1 - z) * n + z * h


CELLS: dict[str, Callable[..., Any]] = {"rnn": rnn_step, "lstm": lstm_step, "gru": gru_step}


def unroll(cell: str, x: Tensor, weights: Weights, *, truncation: int | None = None) -> Tensor:
    """States (N, T, H) of a cell over sequences (N, T, d), from a state of zeros.

    Back-propagation through time differentiates the whole loop. With ``truncation`` the state is cut from its past
    every so many steps: values stay, gradients go back no further.

    >>> weights = torch.ones(2, 1), torch.eye(2), torch.zeros(2), torch.zeros(2)
    >>> unroll("rnn", torch.zeros(1, 3, 1), weights).shape
    torch.Size([1, 3, 2])
    """
    if cell not in CELLS:
        raise ValueError(f"unroll: cell must be one of {', '.join(CELLS)}; got {cell!r}.")
    zero = x.new_zeros(len(x), weights[1].shape[1])
    state: Any = (zero, zero) if cell == "lstm" else zero
    states = []
    for t in range(x.shape[1]):
        if truncation is not None and t and t % truncation == 0:
            state = tuple(part.detach() for part in state) if cell == "lstm" else state.detach()
        state = CELLS[cell](x[:, t], state, weights)
        states.append(state[0] if cell == "lstm" else state)
    return torch.stack(states, dim=1)
