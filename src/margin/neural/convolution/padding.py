r"""What stands beyond the edges of an image: zeros, the other end, or the image mirrored. The weights stay the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["PADDING_MODES", "pad", "padding_widths", "per_axis"]

PADDING_MODES = {"zeros": "constant", "circular": "wrap", "reflect": "reflect", "replicate": "edge"}


def per_axis(value: int | Sequence[int], n_axes: int, name: str) -> tuple[int, ...]:
    """One number for every spatial axis; a single one counts for all.

    >>> per_axis(3, 2, "stride"), per_axis((1, 2), 2, "stride")
    ((3, 3), (1, 2))
    """
    values = (int(value),) * n_axes if np.ndim(value) == 0 else tuple(int(v) for v in value)  # type: ignore[arg-type, union-attr]
    if len(values) != n_axes:
        raise ValueError(f"convolution: {name} must be one number or {n_axes} of them; got {value!r}.")
    return values


def padding_widths(
    padding: int | str | Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """Entries added before and after every axis.

    "valid" adds none. "same" adds as many in all as the dilated kernel is wider than one entry, so that stride 1 keeps
    the size; of an odd number the last stands behind.

    >>> padding_widths("same", (3, 4), (1, 1), (1, 1))
    [(1, 1), (1, 2)]
    """
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding == "same":
        if set(stride) != {1}:
            raise ValueError(f"convolution: padding 'same' needs stride 1; got {tuple(stride)}.")
        totals = [d * (k - 1) for k, d in zip(kernel, dilation)]
        return [(total // 2, total - total // 2) for total in totals]
    if isinstance(padding, str):
        raise ValueError(f"convolution: padding must be 'valid', 'same' or numbers; got {padding!r}.")
    widths = per_axis(padding, len(kernel), "padding")
    if min(widths) < 0:
        raise ValueError(f"convolution: padding must be at least 0; got {padding!r}.")
    return [(width, width) for width in widths]


def pad(x: np.ndarray, widths: int | Sequence[tuple[int, int]], mode: str = "zeros") -> np.ndarray:
    """The last axes of ``x`` made longer by ``widths`` entries before and after, one pair per axis.

    >>> pad(np.array([1, 2, 3]), [(1, 1)], "circular"), pad(np.array([1, 2, 3]), [(1, 1)], "reflect")
    (array([3, 1, 2, 3, 1]), array([2, 1, 2, 3, 2]))
    """
    if mode not in PADDING_MODES:
        raise ValueError(f"pad: mode must be one of {', '.join(PADDING_MODES)}; got {mode!r}.")
    pairs = [(widths, widths)] * x.ndim if isinstance(widths, int) else list(widths)
    return np.pad(x, [(0, 0)] * (x.ndim - len(pairs)) + pairs, mode=PADDING_MODES[mode])  # type: ignore[call-overload]
