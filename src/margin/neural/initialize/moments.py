r"""Variances of weights, and of the pre-activations they lead to."""

from __future__ import annotations

__all__ = ["he_variance", "lecun_variance", "propagate_variance", "xavier_variance"]


def xavier_variance(fan_in: int, fan_out: int) -> float:
    r""":math:`\frac{2}{n_{in} + n_{out}}`, between what keeps the forward and the backward variance of linear units.

    >>> xavier_variance(100, 300)
    0.005
    """
    return 2 / (fan_in + fan_out)


def lecun_variance(fan_in: int) -> float:
    r""":math:`1/n_{in}` keeps the forward variance of linear units.

    >>> lecun_variance(50)
    0.02
    """
    return 1 / fan_in


def he_variance(fan_in: int, fan_out: int, mode: str = "in", slope: float = 0.0) -> float:
    r""":math:`2/D_h` keeps the forward variance of rectified units ("in"), :math:`2/D_{h'}` the backward one ("out");
    "mean" is the compromise :math:`4/(D_h + D_{h'})`. With ``slope`` a for negative inputs it is divided by
    :math:`1 + a^2`.

    >>> [he_variance(100, 300, mode) for mode in ("in", "out", "mean")]
    [0.02, 0.006666666666666667, 0.01]
    """
    size = {"in": fan_in, "out": fan_out, "mean": (fan_in + fan_out) / 2}
    if mode not in size:
        raise ValueError(f"he_variance: mode must be 'in', 'out' or 'mean'; got {mode!r}.")
    return 2 / (1 + slope**2) / size[mode]


def propagate_variance(width: int, sigma2: float, variance: float) -> float:
    r"""Variance of pre-activations behind a rectifier, :math:`\sigma_{f'}^2 = \frac12 D_h\sigma_\Omega^2\sigma_f^2`.

    For zero-mean independent weights of variance ``sigma2``, zero biases and symmetric pre-activations.

    >>> propagate_variance(100, 0.02, 3.0)
    3.0
    """
    return 0.5 * width * sigma2 * variance
