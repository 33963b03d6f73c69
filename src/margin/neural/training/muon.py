r"""Muon for many matrices at once: :class:`margin.optimize.rules.Muon` with all of one shape orthogonalized together.

torch's Muon multiplies in bfloat16, which some processors do slowly or not at all; here it is the precision of the
matrices. Wide ones are orthogonalized in their small Gram matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from margin.optimize.rules.muon import COEFFICIENTS, ITERATIONS, SMALLEST, UPDATE_SIZE

__all__ = ["BatchedMuon", "orthogonalize_all"]


def orthogonalize_all(matrices: Tensor, iterations: int = ITERATIONS) -> Tensor:
    r"""Matrices (k, n, m), each by :func:`margin.optimize.rules.muon.orthogonalize`.

    >>> x = orthogonalize_all(torch.tensor([[[3.0, 0.0, 0.0], [0.0, 0.5, 0.0]]]))
    >>> [round(value, 2) for value in torch.linalg.svdvals(x)[0].tolist()]
    [1.04, 0.71]
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp_min(SMALLEST)
    x = _in_the_gram_matrix(x, iterations) if x.shape[-1] >= 2 * x.shape[-2] else _step_by_step(x, iterations)
    return x.mT if tall else x


def _polynomial(gram: Tensor) -> Tensor:
    """:math:`aI + bA + cA^2`."""
    a, b, c = COEFFICIENTS
    out = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
    out.diagonal(dim1=-2, dim2=-1).add_(a)
    return out


def _step_by_step(x: Tensor, iterations: int) -> Tensor:
    for _ in range(iterations):
        x = _polynomial(x @ x.mT) @ x
    return x


def _in_the_gram_matrix(x: Tensor, iterations: int) -> Tensor:
    """The same for wide x: polynomials of A commute, so A and their product are followed, and x is met at the end."""
    gram = x @ x.mT
    product = factor = _polynomial(gram)
    for _ in range(iterations - 1):
        gram = factor @ gram @ factor
        factor = _polynomial(gram)
        product = factor @ product
    return product @ x


class BatchedMuon(Optimizer):
    """Momentum, orthogonalized; ``params`` are matrices only."""

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
    ):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov})
        if any(p.ndim != 2 for group in self.param_groups for p in group["params"]):
            raise ValueError("BatchedMuon: params must be matrices.")

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move every matrix that has a gradient; ``closure`` is not used."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in shapes.items():
                update = orthogonalize_all(torch.stack([self._direction(p, group) for p in parameters]))
                size = UPDATE_SIZE * math.sqrt(max(shape)) * group["lr"]
                for parameter, part in zip(parameters, update):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"]).sub_(part, alpha=size)

    def _direction(self, parameter: Tensor, group: dict[str, Any]) -> Tensor:
        assert parameter.grad is not None
        memory = self.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))
        memory.lerp_(parameter.grad, 1 - group["momentum"])
        out: Tensor = parameter.grad.lerp(memory, group["momentum"]) if group["nesterov"] else memory
        return out
