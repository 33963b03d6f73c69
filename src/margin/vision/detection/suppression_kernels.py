"""Greedy suppression of boxes."""

from __future__ import annotations

import cython

from margin.core.kernel_source import Bytes, ConstIntegers, ConstMatrix, Integers, kernel

__all__ = ["suppress"]


@kernel
def suppress(
    boxes: ConstMatrix,
    labels: ConstIntegers,
    order: ConstIntegers,
    threshold: cython.double,
    chosen: Integers,
    kept: Bytes,
) -> cython.void:
    """Mark in ``kept`` the boxes that no better box of their class overlaps by more than ``threshold``.

    A box is compared with the kept ones only: those are few, and the loop ends at the first that suppresses it.
    ``chosen`` is scratch of the length of ``order``.
    """
    count: cython.Py_ssize_t = 0
    alone: cython.bint
    for position in range(order.shape[0]):
        i = order[position]
        area = (boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1])
        alone = True
        for k in range(count):
            j = chosen[k]
            if labels[i] != labels[j]:
                continue
            width = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
            if width <= 0:
                continue
            height = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
            if height <= 0:
                continue
            shared = width * height
            other = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
            if shared > threshold * (area + other - shared):
                alone = False
                break
        if alone:
            chosen[count] = i
            count += 1
            kept[i] = 1
