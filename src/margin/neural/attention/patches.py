"""An image as a sequence of tokens: square patches, each laid out as one vector."""

from __future__ import annotations

from torch import Tensor

__all__ = ["patchify", "unpatchify"]


def patchify(images: Tensor, size: int) -> Tensor:
    """(..., C, H, W) to ((H / p) (W / p)) vectors of length p p C, row by row: (..., patches, p p C).

    >>> import torch
    >>> patchify(torch.arange(16).view(1, 4, 4), 2)[0]
    tensor([0, 1, 4, 5])
    """
    height, width = images.shape[-2:]
    if size < 1 or height % size or width % size:
        raise ValueError(f"patchify: size must divide height {height} and width {width}; got {size}.")
    cut = images.unflatten(-1, (width // size, size)).unflatten(-3, (height // size, size))  # (C, h, p, w, p)
    return cut.movedim(-5, -1).movedim(-4, -3).flatten(-3).flatten(-3, -2)  # (h, w, p, p, C)


def unpatchify(patches: Tensor, height: int, width: int, size: int) -> Tensor:
    """The images (..., C, height, width) that :func:`patchify` cut."""
    rows, columns = height // size, width // size
    if patches.shape[-2] != rows * columns or patches.shape[-1] % size**2:
        raise ValueError(
            f"unpatchify: patches must be {rows * columns} vectors of a multiple of {size**2} numbers; "
            f"got {tuple(patches.shape[-2:])}."
        )
    cut = patches.unflatten(-1, (size, size, -1)).unflatten(-4, (rows, columns))  # (h, w, p, p, C)
    return cut.movedim(-3, -4).movedim(-1, -5).flatten(-2).flatten(-3, -2)
