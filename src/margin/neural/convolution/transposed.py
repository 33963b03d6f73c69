r"""The transposed convolution: every input entry weighs a copy of the filter, and overlapping copies are added.

It is the adjoint of the convolution with the same weights, :math:`\langle Kx, y\rangle = \langle x, K^\top y\rangle`,
not its inverse: :math:`K^\top K \ne I`.
"""

from __future__ import annotations

import numpy as np

from margin.neural.convolution.equations import Numbers, correlate, flip
from margin.neural.convolution.padding import pad, per_axis

__all__ = ["conv_transpose", "deconvolve", "overlap_count", "scaled_copies", "stretch"]


def stretch(x: np.ndarray, stride: Numbers) -> np.ndarray:
    """Zeros between the entries, ``stride`` - 1 of them.

    >>> stretch(np.array([[[1, 2, 3]]]), 2)
    array([[[1, 0, 2, 0, 3]]])
    """
    steps = per_axis(stride, x.ndim - 2, "stride")
    space = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], steps)]
    out = np.zeros((*x.shape[:2], *space), dtype=x.dtype)
    out[(slice(None), slice(None), *(slice(None, None, s) for s in steps))] = x
    return out


def conv_transpose(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    dilation: Numbers = 1,
) -> np.ndarray:
    r"""``x`` (N, C, *space), ``weight`` (C, O, *kernel): (N, O, *larger space).

    The input with zeros between its entries is convolved (flipped kernel) over every position that the kernel touches,
    and ``padding`` entries are cut off each side. A side of n becomes
    :math:`(n - 1)S - 2P + D(K - 1) + 1` plus ``output_padding``.
    """
    d = weight.ndim - 2
    if x.ndim != d + 2 or x.shape[1] != len(weight):
        raise ValueError(
            f"conv_transpose: x must have shape (N, {len(weight)}, *space) for weights of shape {weight.shape}; "
            f"got {x.shape}."
        )
    gaps, cuts = per_axis(dilation, d, "dilation"), per_axis(padding, d, "padding")
    extra = per_axis(output_padding, d, "output_padding")
    reach = [g * (k - 1) for g, k in zip(gaps, weight.shape[2:])]
    wide = pad(stretch(x, stride), [(r, r + e) for r, e in zip(reach, extra)])
    out = correlate(wide, flip(weight.swapaxes(0, 1)), bias, dilation=dilation)
    return out[(slice(None), slice(None), *(slice(c, n - c) for c, n in zip(cuts, out.shape[2:])))]


def scaled_copies(x: np.ndarray, kernel: np.ndarray, stride: Numbers = 1) -> np.ndarray:
    """One array per input entry: the copy of ``kernel`` it weighs, where it lands. Their sum is the layer's output.

    >>> scaled_copies(np.array([1.0, 2.0]), np.array([1.0, 1.0, 1.0]), stride=2)
    array([[1., 1., 1., 0., 0.],
           [0., 0., 2., 2., 2.]])
    """
    steps = per_axis(stride, x.ndim, "stride")
    size = [(n - 1) * s + k for n, s, k in zip(x.shape, steps, kernel.shape)]
    copies = np.zeros((x.size, *size))
    for copy, position in zip(copies, np.ndindex(*x.shape)):
        window = tuple(slice(i * s, i * s + k) for i, s, k in zip(position, steps, kernel.shape))
        copy[window] = x[position] * kernel
    return copies


def overlap_count(kernel: int, stride: int, n: int, n_dim: int = 1) -> np.ndarray:
    """How many of ``n`` copies of the filter reach each output entry; in two dimensions the counts multiply.

    >>> overlap_count(3, 2, 3), overlap_count(4, 2, 3)
    (array([1, 1, 2, 1, 2, 1, 1]), array([1, 1, 2, 2, 2, 2, 1, 1]))
    """
    ones = scaled_copies(np.ones((n,) * n_dim), np.ones((kernel,) * n_dim), stride)
    return ones.sum(axis=0).astype(int)


def deconvolve(y: np.ndarray, kernel: np.ndarray, noise_power: float = 0.0) -> np.ndarray:
    r"""What was convolved circularly with ``kernel`` to give ``y``: division in Fourier space.

    .. math:: \hat x = \hat y\,\frac{\overline{\hat k}}{|\hat k|^2 + \nu}

    with :math:`\nu` = 0 exact wherever no frequency of the kernel is 0, and Wiener's filter for white noise else.
    """
    spectrum = np.fft.fftn(kernel, s=y.shape, axes=tuple(range(y.ndim)))
    power = np.abs(spectrum) ** 2 + noise_power
    if power.min() <= 1e-24 * power.max():
        raise ValueError("deconvolve: the kernel removes a frequency altogether; noise_power must be above 0.")
    return np.fft.ifftn(np.fft.fftn(y) * spectrum.conj() / power).real
