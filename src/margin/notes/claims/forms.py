"""An equation as written beside the form of it that runs: one function, values and gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from margin.core.verdict import Verdict, every, near
from margin.neural.activations import Activation

__all__ = ["one_activation", "one_form"]


def one_form(
    as_written: Callable[..., Tensor],
    as_run: Callable[..., Tensor],
    x: Tensor,
    *others: Tensor,
    tolerance: float = 1e-9,
) -> Verdict:
    """Both functions of ``x`` (and ``others``) have the same values, and the same gradients in ``x``."""
    written, run = (_values_and_gradients(form, x, *others) for form in (as_written, as_run))
    return every(
        values=near(run[0], written[0], tolerance=tolerance), gradients=near(run[1], written[1], tolerance=tolerance)
    )


def one_activation(part: Activation, x: Tensor) -> Verdict:
    """The layer that networks run, the equation and the written derivative agree at ``x``."""
    leaf = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(part.layer()(leaf).sum(), leaf)
    return every(form=one_form(part.function, part.layer(), x), slope=near(part.slope(x), slope, tolerance=1e-9))


def _values_and_gradients(form: Callable[..., Tensor], x: Tensor, *others: Tensor) -> tuple[Tensor, Tensor]:
    leaf = x.clone().requires_grad_()
    y = form(leaf, *others)
    weights = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).view_as(y)  # the gradient of any mixture of outputs
    (gradient,) = torch.autograd.grad((y * weights).sum(), leaf)
    return y.detach(), gradient
