"""Initializers: they fill a weight of shape (n_out, n_in, *kernel) in place, from a generator they are given.

Without one they draw from torch's global generator, which :func:`margin.neural.weights.build` seeds and restores while
a network is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from margin.neural.initialize.moments import he_variance, lecun_variance, xavier_variance

__all__ = ["SCHEMES", "fans", "he_", "initialize_", "lecun_", "normal_", "orthogonal_", "xavier_", "zeros_"]


def fans(weight: Tensor) -> tuple[int, int]:
    """How many inputs one output sums over, and how many outputs one input reaches.

    >>> fans(torch.empty(8, 3, 5, 5))
    (75, 200)
    """
    if weight.ndim < 2:
        raise ValueError(f"fans: weight must have shape (n_out, n_in, ...); got {tuple(weight.shape)}.")
    window = math.prod(weight.shape[2:])
    return weight.shape[1] * window, weight.shape[0] * window


def normal_(
    weight: Tensor, variance: float, *, generator: torch.Generator | None = None, distribution: str = "normal"
) -> Tensor:
    r"""Entries of mean 0 and the given variance, from :math:`N(0, \sigma^2)` or :math:`U(-\sqrt3\sigma, \sqrt3\sigma)`.

    >>> w = normal_(torch.empty(1000, 100), 0.02, generator=torch.Generator().manual_seed(0))
    >>> round(float(w.var()), 3)
    0.02
    """
    sigma = math.sqrt(variance)
    with torch.no_grad():
        if distribution == "normal":
            return weight.normal_(0.0, sigma, generator=generator)
        if distribution == "uniform":
            return weight.uniform_(-math.sqrt(3) * sigma, math.sqrt(3) * sigma, generator=generator)
    raise ValueError(f"normal_: distribution must be 'normal' or 'uniform'; got {distribution!r}.")


def xavier_(
    weight: Tensor, *, generator: torch.Generator | None = None, distribution: str = "normal", gain: float = 1.0
) -> Tensor:
    r"""Glorot's variance :math:`2/(n_{in} + n_{out})` times ``gain`` squared, for tanh and others of slope 1 at 0."""
    return normal_(weight, gain**2 * xavier_variance(*fans(weight)), generator=generator, distribution=distribution)


def he_(
    weight: Tensor,
    *,
    generator: torch.Generator | None = None,
    mode: str = "in",
    distribution: str = "normal",
    slope: float = 0.0,
) -> Tensor:
    r"""He's variance :math:`2/D`, for rectified units; ``mode`` chooses the fan D as in :func:`he_variance`."""
    return normal_(weight, he_variance(*fans(weight), mode, slope), generator=generator, distribution=distribution)


def lecun_(weight: Tensor, *, generator: torch.Generator | None = None, distribution: str = "normal") -> Tensor:
    r"""LeCun's variance :math:`1/n_{in}`, for linear units."""
    return normal_(weight, lecun_variance(fans(weight)[0]), generator=generator, distribution=distribution)


def orthogonal_(weight: Tensor, *, generator: torch.Generator | None = None, gain: float = 1.0) -> Tensor:
    r"""``gain`` times a matrix with orthonormal rows (or columns, if it has fewer), drawn evenly among all of them.

    The Q of a normal matrix, with the signs that make the diagonal of R positive; kernels are read as rows (n_out,
    n_in times window). Saxe et al. (2014): signals keep their length through any number of linear layers.

    >>> w = orthogonal_(torch.empty(3, 5), generator=torch.Generator().manual_seed(0))
    >>> bool(torch.allclose(w @ w.T, torch.eye(3), atol=1e-6))
    True
    """
    if weight.ndim < 2:
        raise ValueError(f"orthogonal_: weight must have shape (n_out, n_in, ...); got {tuple(weight.shape)}.")
    with torch.no_grad():
        flat = torch.empty_like(weight).normal_(0.0, 1.0, generator=generator).flatten(1)
        wide = flat.shape[0] < flat.shape[1]
        q, r = torch.linalg.qr(flat.T if wide else flat)
        q = q * torch.sign(r.diagonal())
        return weight.copy_((gain * (q.T if wide else q)).reshape(weight.shape))


def zeros_(weight: Tensor, *, generator: torch.Generator | None = None) -> Tensor:  # noqa: ARG001  one signature for all
    """All 0: units of a layer then stay alike for ever."""
    with torch.no_grad():
        return weight.zero_()


SCHEMES: dict[str, Callable[..., Tensor]] = {
    "zeros": zeros_,
    "xavier": xavier_,
    "he": he_,
    "lecun": lecun_,
    "orthogonal": orthogonal_,
}


def initialize_(module: nn.Module, scheme: str, *, generator: torch.Generator, scale: float = 1.0) -> nn.Module:
    """Draw every weight matrix of ``module`` by the scheme, times ``scale``, and set its biases to 0.

    Layers of normalization keep their ones and zeros.

    >>> net = initialize_(nn.Linear(3, 2), "he", generator=torch.Generator().manual_seed(0))
    >>> net.bias.tolist()
    [0.0, 0.0]
    """
    if scheme not in SCHEMES:
        raise ValueError(f"initialize_: scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}.")
    for layer in module.modules():
        weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
        if isinstance(weight, nn.Parameter) and weight.ndim >= 2:
            SCHEMES[scheme](weight, generator=generator)
            with torch.no_grad():
                weight.mul_(scale)
                if isinstance(bias, nn.Parameter):
                    bias.zero_()
    return module
