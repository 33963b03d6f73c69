r"""The convolution layer as an equation, over signals and images alike.

.. math:: F_{o,i,j} = b_o + \sum_c\sum_{x,y} K_{o,c,x,y}\, I_{c,\,iS + xD - P,\,jS + yD - P}

with indices from 0, stride S, dilation D and padding P. This is cross-correlation: the kernel is not flipped. A
:func:`convolve` flips it in every spatial direction, never the channels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from margin.neural.convolution.padding import pad, padding_widths, per_axis

__all__ = ["conv1d", "conv2d", "convolve", "correlate", "flip", "patches", "unfold"]

Numbers = int | Sequence[int]


def patches(x: np.ndarray, kernel: Sequence[int], stride: Numbers = 1, dilation: Numbers = 1) -> np.ndarray:
    """What a kernel sees at each of its positions: (N, C, *space) becomes (N, C, *positions, *kernel), without copying.

    >>> patches(np.arange(5.0).reshape(1, 1, 5), (3,), stride=2)[0, 0]
    array([[0., 1., 2.],
           [2., 3., 4.]])
    """
    d = len(kernel)
    steps, gaps = per_axis(stride, d, "stride"), per_axis(dilation, d, "dilation")
    if min((*kernel, *steps, *gaps)) < 1:
        raise ValueError(f"convolution: kernel, stride and dilation must be at least 1; got {kernel}, {steps}, {gaps}.")
    widths = tuple(g * (k - 1) + 1 for k, g in zip(kernel, gaps))
    space = x.shape[2:]
    if x.ndim != d + 2 or any(size < width for size, width in zip(space, widths)):
        raise ValueError(
            f"convolution: x must have shape (N, C, *space) with at least {widths} entries in space, "
            f"which the kernel covers; got {x.shape}."
        )
    view = sliding_window_view(x, widths, axis=tuple(range(2, 2 + d)))
    every = (slice(None), slice(None))
    return view[(*every, *(slice(None, None, s) for s in steps), *(slice(None, None, g) for g in gaps))]


def correlate(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride: Numbers = 1,
    padding: int | str | Sequence[int] = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
) -> np.ndarray:
    """``x`` (N, C, *space), ``weight`` (O, C / groups, *kernel), ``bias`` (O,): feature maps (N, O, *positions).

    With ``groups`` the channels are cut into as many equal parts, each seen by its own part of the filters.
    """
    d = weight.ndim - 2
    n_out, n_in, kernel = weight.shape[0], weight.shape[1], weight.shape[2:]
    if x.ndim != d + 2 or x.shape[1] != n_in * groups or n_out % groups:
        raise ValueError(
            f"convolution: x must have shape (N, {n_in * groups}, *space) for weights of shape {weight.shape} and "
            f"{groups} groups, which must divide the {n_out} filters; got {x.shape}."
        )
    steps, gaps = per_axis(stride, d, "stride"), per_axis(dilation, d, "dilation")
    x = pad(x, padding_widths(padding, kernel, steps, gaps), padding_mode)
    seen = patches(x, kernel, steps, gaps)
    axes = [1, *range(2 + d, 2 + 2 * d)], [1, *range(2, 2 + d)]  # channel and kernel entries are summed over
    maps = [
        np.tensordot(part, filters, axes)  # (N, *positions, O / groups)
        for part, filters in zip(np.split(seen, groups, axis=1), np.split(weight, groups))
    ]
    out = np.moveaxis(np.concatenate(maps, axis=-1), -1, 1)
    return out if bias is None else out + bias.reshape(-1, *[1] * d)


def conv1d(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, **options: object) -> np.ndarray:
    r""":math:`z_i = \omega_1 x_{i-1} + \omega_2 x_i + \omega_3 x_{i+1}` for a kernel of three, over (N, C, L).

    >>> conv1d(np.arange(6.0).reshape(1, 1, 6), np.ones((1, 1, 3)))
    array([[[ 3.,  6.,  9., 12.]]])
    """
    return _check(x, weight, 1, bias, options)


def conv2d(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, **options: object) -> np.ndarray:
    """:func:`correlate` of images (N, C, H, W) with filters (O, C, K, K)."""
    return _check(x, weight, 2, bias, options)


def _check(x: np.ndarray, weight: np.ndarray, d: int, bias: np.ndarray | None, options: dict) -> np.ndarray:
    if weight.ndim != d + 2:
        raise ValueError(f"conv{d}d: weight must have {d + 2} axes; got shape {weight.shape}.")
    return correlate(x, weight, bias, **options)


def flip(weight: np.ndarray) -> np.ndarray:
    """The kernels reversed in every spatial direction; filters and channels stay where they are.

    >>> flip(np.array([[[1, 2, 3]]]))
    array([[[3, 2, 1]]])
    """
    return np.flip(weight, axis=tuple(range(2, weight.ndim)))


def convolve(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, **options: object) -> np.ndarray:
    r"""The mathematical convolution :math:`\sum_k \omega_k x_{i-k}`: :func:`correlate` with the flipped kernel."""
    return correlate(x, flip(weight), bias, **options)  # type: ignore[arg-type]


def unfold(x: np.ndarray, kernel: Numbers, **options: Numbers) -> np.ndarray:
    """Every patch as a column: (N, C, H, W) becomes (N, C K K, L), so that a layer is one matrix product.

    >>> unfold(np.zeros((1, 4, 6, 6)), 3).shape
    (1, 36, 16)
    """
    seen = patches(x, per_axis(kernel, x.ndim - 2, "kernel"), **options)
    d = x.ndim - 2
    columns = np.moveaxis(seen, range(2, 2 + d), range(-d, 0))  # (N, C, *kernel, *positions)
    n = int(np.prod(seen.shape[2 : 2 + d]))
    return columns.reshape(len(x), -1, n)
