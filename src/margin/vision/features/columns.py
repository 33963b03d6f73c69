"""How many columns the features of an image have, known before any is computed."""

from __future__ import annotations

__all__ = ["MOST_COLUMNS", "hog_columns"]

MOST_COLUMNS = 10**7  # beyond, the names of the columns alone take a gigabyte


def hog_columns(height: int, width: int, cell: int, bins: int, block: int) -> int:
    """Columns of :func:`margin.vision.features.hog.hog`: every block of cells that fits has ``bins`` numbers per cell.

    >>> hog_columns(32, 32, cell=8, bins=9, block=2)
    324
    """
    down, across = height // min(cell, height), width // min(cell, width)
    tall, wide = min(block, down), min(block, across)
    return (down - tall + 1) * (across - wide + 1) * tall * wide * bins
