r"""ID3: ask about the attribute with the largest information gain, then go on within each of its values.

.. math:: F^* = \arg\max_F \; H(S) - \sum_v \tfrac{|S_v|}{|S|} H(S_v)

What is weighed for an attribute is the entropy of the *class* once the attribute is known, not the entropy of the
attribute's own values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Integer, Number, Optional
from margin.core.estimator import IterativeEstimator
from margin.core.parameters import parameter
from margin.core.records import Record
from margin.trees.multiway.category_classifier import CategoryTreeClassifier
from margin.trees.multiway.category_columns import sort_categories
from margin.trees.multiway.category_tree import GrowingTree
from margin.trees.multiway.gains import entropy_bits
from margin.trees.restored_trees import check_growing_tree

__all__ = ["ID3"]

# Gains closer than this are equal and the first column wins: they are sums of logarithms with rounding errors.
SAME_GAIN = 1e-12


class ID3(CategoryTreeClassifier, IterativeEstimator):
    """A tree with one branch per category, grown by information gain, level by level.

    Every column is categorical: strings, or numbers of which each distinct one is a category. A path never asks about
    a column twice. A node becomes a leaf when it is pure or when no column is left that differs among its rows.
    A category that has no branch where it is asked for (never seen, or not seen there) gets the answer of the
    node that asks: the majority of the parent. Missing values are refused; :class:`margin.trees.C45` takes them.

    A record is one split: ``node``, ``depth``, ``rows`` (weight), ``entropy``, ``split`` (the column chosen) and
    the ``gain`` of every column that could be chosen. Cost: O(n p) per level.

    Examples
    --------
    >>> from margin.trees import play_tennis
    >>> days, played = play_tennis()
    >>> print(ID3().fit(days, played).text())
    outlook = overcast: yes (4)
    outlook = rain
    |   wind = strong: no (2)
    |   wind = weak: yes (3)
    outlook = sunny
    |   humidity = high: no (3)
    |   humidity = normal: yes (2)
    """

    takes_missing = False

    _: KW_ONLY
    max_depth: int | None = parameter(
        None,
        Optional(Integer(low=1, search=(1, 10))),
        "Most questions above a leaf; None sets no limit.",
    )
    min_samples_split: float = parameter(
        2, Number(low=0, search=(2, 20)), "Weight that a node needs to be split (a row weighs 1)."
    )
    min_gain: float = parameter(0.0, Number(low=0), "Information gain, in bits, that a split needs.")

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> ID3:
        """Grow the whole tree."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Grow, yielding a record per split; nodes not yet split are leaves."""
        self._check_parameters()
        columns, classes, labels, weights = self._training_rows(X, y, sample_weight)
        self.classes_ = classes
        self.categories_ = {j: sort_categories(column) for j, column in enumerate(columns)}
        codes = self._encode_rows(columns).astype(np.int64)
        sizes = np.array([len(known) for known in self.categories_.values()])
        self._loop = growth = _Growth(self, codes, sizes, labels, weights, self._column_names())
        if state is not None:
            growth.restore(state)
        self.tree_ = growth.growing.tree()
        for record in growth.splits():
            self.tree_ = growth.growing.tree()
            yield record
        self.tree_ = growth.growing.grown_tree()


class _Growth:
    """The running fit. ``rows`` is kept in the order of the nodes: node k has ``rows[start[k]:stop[k]]``."""

    def __init__(
        self,
        model: ID3,
        codes: np.ndarray,
        sizes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        names: list[str],
    ):
        self.model, self.codes, self.labels, self.weights, self.names = model, codes, labels, weights, names
        self.n_classes = len(model.classes_)
        self.offsets = np.cumsum(sizes) - sizes  # where a column's categories begin among those of all columns
        self.n_categories = int(sizes.sum())
        self.growing = GrowingTree.root(np.bincount(labels, weights, minlength=self.n_classes))
        self.rows = np.arange(len(labels))
        self.start, self.stop, self.depth = [0], [len(labels)], [0]
        self.node = 0  # the next to look at
        self.iteration = 0

    def splits(self) -> Iterator[Record]:
        while self.node < self.growing.size:
            values = self._split(self.node)
            self.node += 1
            if values is not None:
                self.iteration += 1
                yield Record(self.iteration, values)

    def state(self) -> dict[str, Any]:
        return {
            "tree": self.growing.grown_tree(),
            "rows": self.rows.copy(),
            "start": np.array(self.start),
            "stop": np.array(self.stop),
            "depth": np.array(self.depth),
            "node": self.node,
            "iteration": self.iteration,
        }

    def restore(self, state: dict[str, Any]) -> None:
        check_growing_tree(state, self.codes.shape[1], self.n_classes, len(self.labels))
        self.growing = GrowingTree(state["tree"])
        self.rows = state["rows"].copy()
        self.start, self.stop = state["start"].tolist(), state["stop"].tolist()
        self.depth = state["depth"].tolist()
        self.node, self.iteration = int(state["node"]), int(state["iteration"])

    def _split(self, node: int) -> dict[str, float] | None:
        """Give ``node`` its children; what was found out, or None if it stays a leaf."""
        value = self.growing.arrays["value"][node]
        deepest = self.model.max_depth is not None and self.depth[node] >= self.model.max_depth
        if np.count_nonzero(value) < 2 or deepest or value.sum() < self.model.min_samples_split:
            return None
        rows = self.rows[self.start[node] : self.stop[node]]
        before = float(entropy_bits(value))
        gains, differs = self._gains(rows, before)
        allowed = differs & (gains >= self.model.min_gain)
        allowed[self._features_above(node)] = False
        if not allowed.any():
            return None
        best = int(np.argmax(allowed & (gains >= gains[allowed].max() - SAME_GAIN)))
        self._divide(node, best, float(gains[best]))
        gain_by_name = {f"gain {self.names[j]}": float(gains[j]) for j in np.flatnonzero(allowed)}
        where = {"node": node, "depth": self.depth[node], "rows": float(value.sum()), "entropy": before}
        return where | {"split": best} | gain_by_name

    def _gains(self, rows: np.ndarray, before: float) -> tuple[np.ndarray, np.ndarray]:
        """The gain of every column (p,), and whether it takes more than one value among ``rows``."""
        n_columns = len(self.offsets)
        cell = (self.codes[rows] + self.offsets) * self.n_classes + self.labels[rows, None]
        weights = np.repeat(self.weights[rows], n_columns)
        counts = np.bincount(cell.ravel(), weights, minlength=self.n_categories * self.n_classes)
        counts = counts.reshape(self.n_categories, self.n_classes)
        sizes = counts.sum(axis=1)
        after = np.add.reduceat(sizes * entropy_bits(counts), self.offsets) / self.weights[rows].sum()
        differs = np.add.reduceat(sizes > 0, self.offsets, dtype=np.int64) > 1
        return np.maximum(before - after, 0.0), differs

    def _features_above(self, node: int) -> list[int]:
        """The columns on the path from the root to ``node``."""
        features = []
        above = int(self.growing.arrays["parent"][node])
        while above >= 0:
            features.append(int(self.growing.arrays["feature"][above]))
            above = int(self.growing.arrays["parent"][above])
        return features

    def _divide(self, node: int, feature: int, gain: float) -> None:
        begin, end = self.start[node], self.stop[node]
        rows = self.rows[begin:end]
        rows = rows[np.argsort(self.codes[rows, feature], kind="stable")]
        self.rows[begin:end] = rows
        branches, first, counts = np.unique(self.codes[rows, feature], return_index=True, return_counts=True)
        cell = np.repeat(np.arange(len(branches)), counts) * self.n_classes + self.labels[rows]
        values = np.bincount(cell, self.weights[rows], minlength=len(branches) * self.n_classes)
        self.growing.split(node, feature, np.nan, gain, branches, values.reshape(len(branches), self.n_classes))
        self.start += (begin + first).tolist()
        self.stop += (begin + first + counts).tolist()
        self.depth += [self.depth[node] + 1] * len(branches)
