"""Other parts of a block that act on each token by itself: a gated network, or one of several experts."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.activations.fused import fused_softmax
from margin.neural.activations.layers import SquaredReLU

__all__ = ["MixtureOfExperts", "Routes", "SquaredReLU", "SwiGLU", "load_balancing_loss", "route"]


class SwiGLU(nn.Module):
    r""":math:`W_2\,(\mathrm{silu}(W_g x) \odot W_1 x)`: one projection decides how much of the other passes.

    Shazeer, 2020.
    """

    def __init__(self, d_model: int, hidden: int, bias: bool = False):
        super().__init__()
        self.gate, self.up = nn.Linear(d_model, hidden, bias=bias), nn.Linear(d_model, hidden, bias=bias)
        self.down = nn.Linear(hidden, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return out


class Routes(NamedTuple):
    """Which experts each token goes to and how much each counts, (tokens, top_k), and all probabilities."""

    experts: Tensor
    weights: Tensor
    probabilities: Tensor


def route(logits: Tensor, top_k: int) -> Routes:
    """The ``top_k`` most probable experts of every token, with weights of sum 1.

    >>> routes = route(torch.tensor([[2.0, 1.0, 0.0]]), top_k=2)
    >>> routes.experts, routes.weights.sum().item()
    (tensor([[0, 1]]), 1.0)
    """
    best, experts = logits.topk(top_k, dim=-1)
    return Routes(experts, fused_softmax(best), fused_softmax(logits))


def load_balancing_loss(routes: Routes) -> Tensor:
    r""":math:`N\sum_i f_i P_i`: :math:`f_i` the fraction of choices, :math:`P_i` the mean probability of expert i.

    1 when both are even, N when one expert gets everything (Fedus, Zoph and Shazeer, 2022). Only the probabilities
    have a gradient.

    >>> load_balancing_loss(route(torch.eye(4) * 100.0, top_k=1)), load_balancing_loss(route(torch.eye(4)[:1] * 100, 1))
    (tensor(1.), tensor(4.))
    """
    n = routes.probabilities.shape[-1]
    chosen = torch.bincount(routes.experts.flatten(), minlength=n).to(routes.probabilities)
    return n * (chosen / chosen.sum()) @ routes.probabilities.mean(dim=0)


class MixtureOfExperts(nn.Module):
    """Several gated networks, of which each token is sent to ``top_k``: more weights at the same cost per token.

    ``routes`` are those of the last pass, from which :func:`load_balancing_loss` is taken.
    """

    def __init__(self, d_model: int, hidden: int, n_experts: int, top_k: int):
        super().__init__()
        if not 1 <= top_k <= n_experts:
            raise ValueError(f"MixtureOfExperts: top_k must be from 1 to n_experts {n_experts}; got {top_k}.")
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(SwiGLU(d_model, hidden) for _ in range(n_experts))
        self.top_k = top_k
        self.routes: Routes | None = None

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(0, -2)
        self.routes = routes = route(self.router(tokens), self.top_k)
        out = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            rows, choice = (routes.experts == number).nonzero(as_tuple=True)
            out = out.index_add(0, rows, expert(tokens[rows]) * routes.weights[rows, choice, None])
        return out.view_as(x)
