r"""Invertible maps and the logarithm of their volume change, as functions of tensors; rows are on the first axis.

.. math:: \log p_X(x) = \log p_Z(f(x)) + \log\Bigl|\det\frac{\partial f}{\partial x}\Bigr|
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from margin.neural.activations.fused import fused_softmax, fused_softplus

__all__ = [
    "Spline",
    "affine",
    "affine_inverse",
    "change_of_variables",
    "planar",
    "planar_inverse",
    "planar_step",
    "spline_from",
    "standard_normal_log_density",
]

LEAST = 1e-3  # smallest slope of a planar map and of a spline, and its smallest width and height of an equal bin


def standard_normal_log_density(z: Tensor) -> Tensor:
    r""":math:`-\tfrac12\|z\|^2 - \tfrac d2 \log 2\pi` of every row."""
    return -0.5 * z.square().sum(dim=-1) - 0.5 * z.shape[-1] * math.log(2 * math.pi)


def change_of_variables(map_: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    r""":math:`\log p_X(x)` of :math:`x = f^{-1}(z)`, :math:`z \sim N(0, I)`, with the Jacobian by differentiation.

    It works for every invertible ``map_`` of one row and costs :math:`O(d^3)`; flows use maps whose determinant is a
    product.

    >>> round(float(change_of_variables(lambda x: 2 * x, torch.zeros(1, 2))), 4)  # log(4 / (2 pi))
    -0.4516
    """
    jacobians = torch.func.vmap(torch.func.jacrev(map_))(x)
    return standard_normal_log_density(torch.func.vmap(map_)(x)) + torch.linalg.slogdet(jacobians)[1]


def affine(x: Tensor, log_scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`z = x \odot e^{s} + t` and :math:`\log|\det| = \sum_j s_j`."""
    return x * torch.exp(log_scale) + shift, log_scale.sum(dim=-1)


def affine_inverse(z: Tensor, log_scale: Tensor, shift: Tensor) -> Tensor:
    r""":math:`x = (z - t) \odot e^{-s}`."""
    return (z - shift) * torch.exp(-log_scale)


def planar_step(u: Tensor, w: Tensor) -> Tensor:
    r"""``u`` moved along ``w`` until :math:`w^\top u > -1`, which makes the planar map invertible.

    .. math:: \hat u = u + \bigl(\log(1 + e^{w^\top u}) - 1 + \varepsilon - w^\top u\bigr)\,\frac{w}{\|w\|^2}

    Without :math:`\varepsilon` the smallest slope, :math:`1 + w^\top\hat u`, is rounded to 0 or below for very
    negative :math:`w^\top u`, and its logarithm is lost.
    """
    inner = w @ u
    return u + (fused_softplus(inner) - 1 + LEAST - inner) * w / w.square().sum().clamp_min(1e-12)


def planar(x: Tensor, u: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`z = x + u\tanh(w^\top x + b)`, and :math:`\log|1 + (1 - \tanh^2)\,w^\top u|`."""
    bend = torch.tanh(x @ w + b)
    return x + bend[:, None] * u, torch.log1p((1 - bend.square()) * (w @ u))


def planar_inverse(z: Tensor, u: Tensor, w: Tensor, b: Tensor, iterations: int = 200) -> Tensor:
    r"""Solve :math:`a + w^\top u \tanh(a + b) = w^\top z` for :math:`a = w^\top x`; then all of x is known.

    The left side grows with a, so bisection between :math:`w^\top z \pm |w^\top u|` always finds the one root; it
    ends when no number lies between the ends any more.
    """
    target, inner = z @ w, w @ u
    low, high = target - inner.abs(), target + inner.abs()
    for _ in range(iterations):
        middle = 0.5 * (low + high)
        if bool(((middle == low) | (middle == high)).all()):
            break
        too_low = middle + inner * torch.tanh(middle + b) < target
        low, high = torch.where(too_low, middle, low), torch.where(too_low, high, middle)
    return z - torch.tanh(0.5 * (low + high) + b)[:, None] * u


class Spline(NamedTuple):
    r"""Monotone rational-quadratic splines on :math:`[-B, B]`, the identity outside; shapes (..., bins + 1).

    Between two knots, with :math:`\xi = (x - x_k)/(x_{k+1} - x_k)`, slope of the bin :math:`s` and slopes
    :math:`\delta` at the knots,

    .. math:: y = y_k + \frac{(y_{k+1} - y_k)\,(s\xi^2 + \delta_k\xi(1 - \xi))}
                             {s + (\delta_{k+1} + \delta_k - 2s)\,\xi(1 - \xi)}

    which is inverted by solving a quadratic equation.
    """

    x: Tensor
    y: Tensor
    slope: Tensor

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The value and the logarithm of the slope at every entry of ``x``."""
        inside, x_0, x_1, y_0, y_1, d_0, d_1 = self._bin(x, self.x)
        s = (y_1 - y_0) / (x_1 - x_0)
        t = ((x - x_0) / (x_1 - x_0)).clamp(0.0, 1.0)
        product = t * (1 - t)
        bottom = s + (d_1 + d_0 - 2 * s) * product
        y = y_0 + (y_1 - y_0) * (s * t.square() + d_0 * product) / bottom
        top = s.square() * (d_1 * t.square() + 2 * s * product + d_0 * (1 - t).square())
        return torch.where(inside, y, x), torch.where(inside, torch.log(top) - 2 * torch.log(bottom), 0.0)

    def inverse(self, y: Tensor) -> Tensor:
        inside, x_0, x_1, y_0, y_1, d_0, d_1 = self._bin(y, self.y)
        s, rise = (y_1 - y_0) / (x_1 - x_0), y - y_0
        bend = d_1 + d_0 - 2 * s
        a = (y_1 - y_0) * (s - d_0) + rise * bend
        b = (y_1 - y_0) * d_0 - rise * bend
        c = -s * rise
        root = torch.sqrt((b.square() - 4 * a * c).clamp_min(0.0))
        t = 2 * c / (-b - root)  # the form without cancellation
        return torch.where(inside, x_0 + t * (x_1 - x_0), y)

    def _bin(self, value: Tensor, knots: Tensor) -> tuple[Tensor, ...]:
        """Whether ``value`` lies between the outer knots, and both ends of its bin in x, y and slope."""
        inside = (value > knots[..., 0]) & (value < knots[..., -1])
        index = (torch.searchsorted(knots.contiguous(), value[..., None].contiguous()) - 1).clamp(
            0, knots.shape[-1] - 2
        )
        ends = [array.gather(-1, index + step)[..., 0] for array in (self.x, self.y, self.slope) for step in (0, 1)]
        return inside, *ends


def spline_from(parameters: Tensor, bound: float) -> Spline:
    r"""The spline of unconstrained ``parameters`` (..., 3 K - 1): widths, heights and inner slopes; 0 is the identity.

    Widths and heights are softmax fractions of :math:`2B`, slopes a softplus; the slopes at the outer knots are 1, so
    that the map is smooth where the identity begins.
    """
    bins = (parameters.shape[-1] + 1) // 3
    widths, heights, slopes = parameters.split([bins, bins, bins - 1], dim=-1)
    x, y = (_knots(part, bound) for part in (widths, heights))
    inner = LEAST + (1 - LEAST) * fused_softplus(slopes) / math.log(2)
    return Spline(x, y, functional.pad(inner, (1, 1), value=1.0))


def _knots(logits: Tensor, bound: float) -> Tensor:
    bins = logits.shape[-1]
    fractions = LEAST / bins + (1 - LEAST) * fused_softmax(logits, dim=-1)
    ends = bound * (2 * torch.cumsum(fractions, dim=-1)[..., :-1] - 1)
    outer = torch.full_like(logits[..., :1], bound)
    return torch.cat([-outer, ends, outer], dim=-1)
