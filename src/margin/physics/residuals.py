"""What a residual asks of a solution: which derivatives, whether they can be carried forward, and whether rows mix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from margin.physics.derivatives import NotCarried
from margin.physics.taylor import SMOOTH, Key, Layout, close_keys

__all__ = ["Known", "Residual", "carried_layout", "equations", "mixes_rows"]

Residual = Callable[..., Any]

PROBES = 3  # points at which a residual is tried


class Known(NamedTuple):
    """Values (n, k) that a solution has at points (n, d), or that ``operator(u, x)`` makes of it: a slope, a flux."""

    points: Tensor
    values: Tensor
    operator: Residual | None = None

    def misfit(self, u: Callable[[Tensor], Tensor]) -> Tensor:
        """What ``u`` has there beyond the values, (n, k)."""
        if self.operator is None:
            return u(self.points) - self.values
        with torch.enable_grad():
            x = self.points.detach().requires_grad_()
            return torch.stack(self.missed(u(x), x, self.values), dim=1)

    def missed(self, u: Tensor, x: Tensor, values: Tensor) -> list[Tensor]:
        """The same at some of the points by the operator, one column per value, from the values of u at ``x``."""
        assert self.operator is not None
        parts = equations(self.operator(u, x), len(x), "the operator of a condition")
        if len(parts) != values.shape[1]:
            raise ValueError(
                f"PINN: the operator of a condition must give one part for each of its {values.shape[1]} values; "
                f"got {len(parts)}."
            )
        return [part.reshape(-1) - values[:, k] for k, part in enumerate(parts)]


def equations(residual: Any, n: int, who: str = "residual") -> list[Tensor]:
    """The parts of a residual, each with one number per point."""
    parts = list(residual) if isinstance(residual, list | tuple) else [residual]
    for part in parts:
        if not isinstance(part, Tensor) or part.shape not in ((n,), (n, 1)):
            shape = tuple(part.shape) if isinstance(part, Tensor) else type(part).__name__
            raise ValueError(f"PINN: {who} must give one number per point, ({n},); got {shape}.")
    if not parts:
        raise ValueError(f"PINN: {who} must give one number per point; got an empty list.")
    return parts


def carried_layout(
    module: Any, residual: Residual, points: Tensor, coefficients: Mapping[str, Tensor]
) -> Layout | None:
    """The derivatives that ``residual`` asks for; None where it must be given to automatic differentiation.

    That is the case for derivatives above the second, for activations whose derivatives are not known here, and
    for residuals that differentiate in a way of their own, which is noticed by comparing both ways at some points.
    """
    if module.activation not in list(SMOOTH):
        return None
    x = points[:PROBES].detach().requires_grad_()
    with torch.enable_grad():
        try:
            expected = equations(residual(module(x), x, **coefficients), len(x))
        except ValueError:  # the loss itself says so, and of all points
            return None
        keys: set[Key] = set()
        while True:
            layout = close_keys(keys)
            try:
                carried = equations(residual(module.carry(x, layout), x, **coefficients), len(x))
                break
            except NotCarried as more:
                if any(len(key) > 2 for key in more.keys):
                    return None
                keys |= set(more.keys)
            except (RuntimeError, ValueError, TypeError, AttributeError):  # it differentiates in a way of its own
                return None
    tolerance = 1e-8 if x.dtype == torch.float64 else 1e-3
    size = max(float(part.detach().abs().max()) for part in expected) + 1e-300
    if not math.isfinite(size):
        raise ValueError("PINN: residual must be finite where the search starts; got NaN or infinity.")
    same = all(torch.allclose(a, b, rtol=0, atol=tolerance * size) for a, b in zip(carried, expected))
    return layout if same and len(carried) == len(expected) else None


def mixes_rows(module: Any, residual: Residual, points: Tensor, layout: Layout) -> tuple[bool, int]:
    """Whether the residual at one point depends on the solution at another, as the mean of a batch does; and the
    number of its equations."""
    x = points[:PROBES].detach()
    with torch.enable_grad():
        u = module.carry(x, layout)
        parts = equations(residual(u, x, **dict(module.coefficients.items())), len(x))
        slopes = [
            torch.autograd.grad(
                part.reshape(-1)[0], u._base, retain_graph=True, allow_unused=True, materialize_grads=True
            )
            for part in parts
        ]
    return any(bool(slope[:, 1:].any()) for (slope,) in slopes), len(parts)
