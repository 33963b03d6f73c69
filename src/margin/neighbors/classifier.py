r"""Classification by a vote of the nearest neighbors.

.. math:: \hat y(q) = \arg\max_c \sum_{i \in N_k(q)} w_i\,1[y_i = c]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from margin.neighbors.base import NeighborsEstimator
from margin.neighbors.voting import class_shares, neighbor_weights

__all__ = ["KNeighborsClassifier"]


class KNeighborsClassifier(ClassifierMixin, NeighborsEstimator):
    """The class with most votes among the ``n_neighbors`` nearest training rows; the smaller label if two have as many.

    ``weights`` are "uniform" or "distance" (the reciprocal distance; rows at distance 0 decide alone). ``metric`` is
    "minkowski" with exponent ``p``, "euclidean", "manhattan", "chebyshev", "cosine" or "mahalanobis" with
    ``covariance`` (d, d), by default that of the training rows. ``algorithm`` "brute" compares all pairs, "kd_tree"
    builds a tree, "auto" takes the tree for up to six columns; neighbors are exact and the same for all, and of
    equally near rows the first in the table is nearer.

    Learned: ``classes_``, ``points_`` (the training rows, mapped if the metric needs it), ``whitener_``
    (of "mahalanobis"), ``n_samples_fit_``. Cost of a query by "brute": one product with all rows.

    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.4]]).tolist(), model.predict_proba([[1.4]]).round(2)
    (['a'], array([[0.67, 0.33]]))
    """

    def fit(self, X: Any, y: Any) -> KNeighborsClassifier:
        """Keep the rows and their classes."""
        self._check_parameters()
        # A copy: rows that the caller changes later must not change the model.
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C", copy=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        self._keep(X)
        self.classes_, self.codes_ = classes, codes
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of every class in the votes, (n, classes)."""
        distances, neighbors = self.kneighbors(X)
        return class_shares(self.codes_[neighbors], neighbor_weights(distances, self.weights), len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]
