r"""Shattered gradients: how fast the slope of a network changes along a line of inputs.

In deep plain networks the derivative at two close inputs has nearly nothing in common, so a step of finite length goes
astray however exact the derivative is. The autocorrelation of :math:`g(x) = dy/dx` measures it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["autocorrelation", "gradient_curve", "roughness", "sign_changes"]


def gradient_curve(model: nn.Module, x: Tensor) -> np.ndarray:
    """The derivative dy/dx of a network of one input and one output at every entry of ``x``.

    >>> layer = nn.Linear(1, 1)
    >>> bool(np.allclose(gradient_curve(layer, torch.linspace(0, 1, 3)), layer.weight.item()))
    True
    """
    inputs = x.detach().reshape(-1, 1).requires_grad_()
    (gradient,) = torch.autograd.grad(model(inputs).sum(), inputs)
    return gradient[:, 0].numpy()


def sign_changes(gradient: np.ndarray) -> int:
    """How often neighbors point in opposite directions.

    >>> sign_changes(np.array([1.0, 2.0, -1.0, 3.0]))
    2
    """
    return int(np.count_nonzero(gradient[1:] * gradient[:-1] < 0))


def roughness(gradient: np.ndarray) -> float:
    """Mean squared change between neighbors, relative to the variance: 0 for a smooth curve, 2 for white noise."""
    return float(np.mean(np.diff(gradient) ** 2) / np.var(gradient))


def autocorrelation(gradient: np.ndarray, max_lag: int) -> np.ndarray:
    """Correlation of the curve with itself, shifted by 0, 1, ..., ``max_lag`` steps.

    >>> autocorrelation(np.array([1.0, -1.0, 1.0, -1.0]), 1)
    array([ 1.  , -0.75])
    """
    centered = gradient - gradient.mean()
    n = len(centered)
    products = [centered[: n - lag] @ centered[lag:] for lag in range(max_lag + 1)]
    return np.array(products) / (centered @ centered)
