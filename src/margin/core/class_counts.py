"""The classes of a stream: a pass over its rows before a classifier learns from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.core.class_weights import row_weights
from margin.core.classes import check_classes
from margin.core.streaming import RowBlock, Stream
from margin.core.summaries import plain_labels, union_of

__all__ = ["ClassCounts", "count_classes"]


class ClassCounts(NamedTuple):
    """The labels of some rows and how many rows each has."""

    labels: np.ndarray
    counts: np.ndarray

    def merge(self, other: ClassCounts) -> ClassCounts:
        labels, mine, theirs = union_of(self.labels, other.labels)
        counts = np.zeros(len(labels), dtype=np.int64)
        counts[mine] += self.counts
        counts[theirs] += other.counts
        return ClassCounts(labels, counts)

    def weights(self, owner: str, class_weight: Any) -> np.ndarray:
        """What a row of every class counts, (k,): a class of n rows is weighed as one row of weight n.

        >>> ClassCounts(np.array(["a", "b"]), np.array([1, 3])).weights("Model", "balanced").tolist()
        [2.0, 0.6666666666666666]
        """
        total = self.counts.astype(np.float64)
        return row_weights(owner, class_weight, self.labels, np.arange(len(self.labels)), total) / total


def count_classes(owner: str, stream: Stream) -> ClassCounts:
    """The classes of a stream, of which there must be two: one pass."""
    found = stream.reduce(_of_block, ClassCounts.merge)
    if len(found.labels) < 2:
        raise ValueError(f"{owner}: y must hold at least two classes; got {found.labels.tolist()}.")
    return found


def _of_block(block: RowBlock) -> ClassCounts:
    if block.y is None:
        raise ValueError("a classifier needs a stream with a target, stream(..., target=NAME).")
    y = plain_labels(block.y)
    check_classes(y)
    return ClassCounts(*np.unique(y, return_counts=True))
