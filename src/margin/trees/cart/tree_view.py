"""A fitted tree under scikit-learn's names, so that its ``plot_tree`` and ``export_text`` read ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.array_types import MatrixLike
from margin.trees.cart import structure, walking
from margin.trees.cart.impurity_importance import impurity_importance
from margin.trees.cart.several_targets import TargetClasses, stacked_fractions

__all__ = ["TreeView"]

UNDEFINED = -2  # what scikit-learn writes as column and threshold of a leaf


def _rows(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


class TreeView(Mapping[str, np.ndarray]):
    """The arrays of :mod:`margin.trees.cart.structure` by their own names and by scikit-learn's.

    ``view["left"]`` and ``view.children_left`` are the same array. A question about categories has no threshold: it is
    NaN under scikit-learn's name. Rows given to ``apply``, ``predict`` and ``decision_path`` have categories as codes.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], n_features: int, classes: TargetClasses | None):
        self._arrays, self._classes = arrays, classes
        values = arrays["value"].shape[1]
        counts = (
            [1] * values if classes is None else [len(c) for c in classes] if isinstance(classes, list) else [values]
        )
        self.n_features, self.n_outputs, self.max_n_classes = n_features, len(counts), max(counts)
        self.n_classes = np.array(counts, dtype=np.intp)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def node_count(self) -> int:
        return len(self._arrays["feature"])

    @property
    def n_leaves(self) -> int:
        return structure.n_leaves(self._arrays)

    @property
    def max_depth(self) -> int:
        return structure.depth(self._arrays)

    @property
    def children_left(self) -> np.ndarray:
        return self["left"]

    @property
    def children_right(self) -> np.ndarray:
        return self["right"]

    @property
    def feature(self) -> np.ndarray:
        return np.where(self["feature"] < 0, UNDEFINED, self["feature"]).astype(np.intp)

    @property
    def threshold(self) -> np.ndarray:
        known = np.where(self["category_row"] >= 0, np.nan, self["threshold"])
        return np.where(self["feature"] < 0, float(UNDEFINED), known)

    @property
    def missing_go_to_left(self) -> np.ndarray:
        return self["missing_left"].astype(np.uint8)

    @property
    def value(self) -> np.ndarray:
        """What the nodes predict, (nodes, targets, classes) or (nodes, targets, 1)."""
        return self["value"][:, :, None] if self._classes is None else stacked_fractions(self["value"], self._classes)

    @property
    def impurity(self) -> np.ndarray:
        return self["impurity"]

    @property
    def n_node_samples(self) -> np.ndarray:
        return self["n_samples"]

    @property
    def weighted_n_node_samples(self) -> np.ndarray:
        return self["weight"]

    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf of every row."""
        return walking.apply(self._arrays, _rows(X)).astype(np.intp)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The value of every row's leaf, (n, classes) or (n, 1)."""
        return walking.predict(self._arrays, _rows(X))

    def decision_path(self, X: MatrixLike) -> sp.csr_matrix:
        """Which nodes every row passes, sparse (n, nodes)."""
        return walking.decision_path(self._arrays, _rows(X))

    def compute_node_depths(self) -> np.ndarray:
        """Depth of every node, the root's being 1."""
        return structure.depths(self._arrays) + 1

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """The weighted decrease of impurity by every column, fractions of their sum if ``normalize``."""
        return impurity_importance(self._arrays, self.n_features, normalize=normalize)
