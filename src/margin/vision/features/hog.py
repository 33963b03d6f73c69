r"""Histograms of oriented gradients (Dalal and Triggs 2005).

The image is cut into square cells. In each, every pixel votes with the length of its gradient for the orientation of
the gradient (0 to 180 degrees), divided between the two nearest bins. Blocks of neighboring cells are normalized
together, :math:`v \to v/\sqrt{\|v\|^2 + \epsilon^2}`, clipped at 0.2 and normalized again.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

__all__ = ["CLIP", "EPSILON", "cell_histograms", "hog", "image_gradients", "normalized_blocks"]

CLIP = 0.2  # no single orientation may dominate a block
EPSILON = 1e-5


def image_gradients(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half the difference of the two neighbors in rows and columns; 0 along an edge that has only one."""
    rows, columns = np.zeros(images.shape), np.zeros(images.shape)
    rows[..., 1:-1, :] = (images[..., 2:, :] - images[..., :-2, :]) / 2
    columns[..., 1:-1] = (images[..., 2:] - images[..., :-2]) / 2
    return rows, columns


def cell_histograms(images: np.ndarray, cell: tuple[int, int], bins: int) -> np.ndarray:
    """(n, c, h, w) become (n, cells down, cells across, bins); at each pixel the steepest channel counts."""
    rows, columns = image_gradients(np.asarray(images, dtype=np.float64))
    length = np.hypot(rows, columns)
    steepest = length.argmax(axis=1)[:, None]
    length, rows, columns = (np.take_along_axis(a, steepest, axis=1)[:, 0] for a in (length, rows, columns))
    position = (np.arctan2(rows, columns) % np.pi) / np.pi * bins - 0.5  # in bins, whose middles are integers
    left = np.floor(position).astype(int)
    right_part = position - left
    n, h, w = length.shape
    down, across = h // cell[0], w // cell[1]
    if down == 0 or across == 0:
        raise ValueError(f"hog: a cell of {cell[0]} x {cell[1]} pixels must fit into the image; got {h} x {w}.")
    cut = np.s_[:, : down * cell[0], : across * cell[1]]
    histograms = np.zeros((n, down, across, bins))
    image = np.arange(n)[:, None, None]
    row, column = np.arange(down * cell[0])[:, None] // cell[0], np.arange(across * cell[1]) // cell[1]
    for which, part in ((left, 1 - right_part), (left + 1, right_part)):
        np.add.at(histograms, (image, row, column, which[cut] % bins), (length * part)[cut])
    return histograms / (cell[0] * cell[1])


def hog(
    images: np.ndarray, cell: int | tuple[int, int] = 8, bins: int = 9, block: int | tuple[int, int] = 2
) -> np.ndarray:
    """Descriptors of images (n, c, h, w), one row each; cells and blocks are cut to images that are smaller.

    >>> hog(np.zeros((1, 1, 32, 32)), cell=8, bins=9, block=2).shape
    (1, 324)
    """
    h, w = images.shape[2:]
    cell_size = tuple(min(c, n) for c, n in zip(np.broadcast_to(cell, 2).tolist(), (h, w)))
    cells = cell_histograms(images, (cell_size[0], cell_size[1]), bins)
    return normalized_blocks(cells, block).reshape(len(images), -1)


def normalized_blocks(cells: np.ndarray, block: int | tuple[int, int] = 2) -> np.ndarray:
    """Histograms (n, down, across, bins) become blocks (n, down - 1, across - 1, values), each of length 1."""
    sizes = [min(b, n) for b, n in zip(np.broadcast_to(block, 2).tolist(), cells.shape[1:3])]
    blocks = sliding_window_view(cells, sizes, axis=(1, 2))  # (n, down, across, bins, *block)
    v = blocks.reshape(*blocks.shape[:3], -1)
    v = v / np.sqrt((v**2).sum(axis=-1, keepdims=True) + EPSILON**2)
    v = np.minimum(v, CLIP)
    return np.asarray(v / np.sqrt((v**2).sum(axis=-1, keepdims=True) + EPSILON**2))
