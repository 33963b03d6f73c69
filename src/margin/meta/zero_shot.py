r"""Zero-shot learning: classes without any example, known by a description.

.. math:: \hat a(x) = W^T x + b, \qquad \hat c(x) = \arg\min_c \|\hat a(x) - a_c\|^2

A ridge regression from features to attributes is learned on seen classes; unseen ones compete by their own attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_X_y

__all__ = ["ZeroShot"]


class ZeroShot:
    """Classes by their attribute vectors, given for every class whether or not any row of it is ever seen.

    >>> model = ZeroShot({"a": [0, 0], "b": [0, 1], "c": [1, 0], "d": [1, 1]})
    >>> X = np.array([[0.0, 0], [0, 1], [1, 0]] * 5)
    >>> model.fit(X, ["a", "b", "c"] * 5).predict([[1.0, 1.0]]).tolist()
    ['d']
    """

    def __init__(self, attributes: Mapping[Any, Any], penalty: float = 1e-2):
        self.attributes = {name: np.asarray(vector, dtype=np.float64) for name, vector in attributes.items()}
        if len({vector.shape for vector in self.attributes.values()}) != 1 or len(self.attributes) < 2:
            raise ValueError("ZeroShot: attributes must give at least 2 classes vectors of one length.")
        self.penalty = penalty

    def fit(self, X: Any, y: Any) -> ZeroShot:
        """Learn the attributes from the rows of the seen classes."""
        X, y = check_X_y(X, y, dtype=np.float64)
        unknown = sorted(set(y.tolist()) - self.attributes.keys(), key=str)
        if unknown:
            raise ValueError(f"ZeroShot: every class of y must have attributes; got none for {unknown[0]!r}.")
        A = np.stack([self.attributes[c] for c in y.tolist()])
        self.center_, self.offset_ = X.mean(axis=0), A.mean(axis=0)
        Z = X - self.center_
        self.coef_ = np.linalg.solve(Z.T @ Z + self.penalty * np.eye(X.shape[1]), Z.T @ (A - self.offset_))
        return self

    def predict_attributes(self, X: Any) -> np.ndarray:
        """The attributes of every row, (n, attributes)."""
        return (check_array(X, dtype=np.float64) - self.center_) @ self.coef_ + self.offset_

    def predict(self, X: Any, classes: Any = None) -> np.ndarray:
        """The class of nearest attributes among ``classes`` (by default all, seen or not)."""
        names = list(self.attributes if classes is None else classes)
        missing = [name for name in names if name not in self.attributes]
        if missing:
            raise ValueError(f"ZeroShot: classes must have attributes; got {missing[0]!r}.")
        goals = np.stack([self.attributes[name] for name in names])
        distances = ((self.predict_attributes(X)[:, None] - goals) ** 2).sum(axis=2)
        return np.array(names)[distances.argmin(axis=1)]
