r"""Zero-shot learning: classes without any example, known by a description.

.. math:: \hat a(x) = W^T x + b, \qquad \hat c(x) = \arg\min_c \|\hat a(x) - a_c\|^2

A ridge regression from features to attributes is learned on seen classes; unseen ones compete by their own attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.array_types import MatrixLike
from margin.core.classes import check_classes
from margin.core.domains import Number, Optional
from margin.core.domains.base import Domain
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf
from margin.core.number_range import finite_values, validate_squarable
from margin.core.parameters import attribute, parameter

__all__ = ["ZeroShot"]


@dataclass(frozen=True)
class ClassAttributes(Domain):
    """A dict from classes, two or more, to vectors of finite numbers of one length."""

    description = "None or a dict from 2 classes or more to vectors of one length"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, dict) or len(value) < 2:
            return False
        try:
            vectors = [np.asarray(vector, dtype=np.float64) for vector in value.values()]
        except (TypeError, ValueError):
            return False
        same = {vector.shape for vector in vectors} == {vectors[0].shape}
        return same and vectors[0].ndim == 1 and all(np.isfinite(vector).all() for vector in vectors)

    def type_text(self) -> str:
        return "dict"

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def wrong(self) -> list[Any]:
        return ["a string", {"a": [1.0]}, {"a": [1.0], "b": [1.0, 2.0]}]


class ZeroShot(ClassifierMixin, Estimator):
    """Classes by their attribute vectors, given for every class whether or not any row of it is ever seen.

    Examples
    --------
    >>> model = ZeroShot({"a": [0, 0], "b": [0, 1], "c": [1, 0], "d": [1, 1]})
    >>> X = np.array([[0.0, 0], [0, 1], [1, 0]] * 5)
    >>> model.fit(X, ["a", "b", "c"] * 5).predict([[1.0, 1.0]]).tolist()
    ['d']
    """

    attributes: dict[Any, Any] | None = parameter(
        None,
        Optional(ClassAttributes()),
        "Attribute vector of every class, seen or not; None: seen classes only, each with an attribute of its own.",
    )
    _: KW_ONLY
    alpha: float = parameter(
        1e-2, Number(above=0, search=(1e-4, 1e2), log=True), "Strength of the L2 penalty of the regression."
    )

    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "All classes that have attributes, sorted.")
    attributes_: np.ndarray = attribute(
        ArrayOf("n_classes", "n_attributes"), "Attributes of the classes, (classes, attributes)."
    )
    coef_: np.ndarray = attribute(
        ArrayOf("n_features", "n_attributes"), "Weights of the columns for each attribute, (p, attributes)."
    )
    intercept_: np.ndarray = attribute(ArrayOf("n_attributes"), "The constant of each attribute.")

    def fit(self, X: Any, y: Any) -> ZeroShot:
        """Learn the attributes from the rows of the seen classes."""
        self._check_parameters()
        X, y = validate_squarable(self, X, y, dtype=np.float64, order="C")
        check_classes(y)
        seen = np.unique(y)
        if len(seen) < 2:
            raise ValueError(f"ZeroShot: y must have at least 2 classes; got {len(seen)} class.")
        if self.attributes is None:
            self.classes_, self.attributes_ = seen, np.eye(len(seen))
        else:
            self._describe(self.attributes, seen)
        A = self.attributes_[np.searchsorted(self.classes_, y)]
        center, offset = X.mean(axis=0), A.mean(axis=0)
        Z = X - center
        self.coef_ = np.linalg.solve(Z.T @ Z + self.alpha * np.eye(X.shape[1]), Z.T @ (A - offset))
        self.intercept_ = offset - center @ self.coef_
        return self

    def predict_attributes(self, X: MatrixLike) -> np.ndarray:
        """The attributes of every row, (n, attributes)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return finite_values("ZeroShot", "X", X, lambda: X @ self.coef_ + self.intercept_)

    def predict(self, X: MatrixLike, classes: Any = None) -> np.ndarray:
        """The class of nearest attributes among ``classes`` (by default all, seen or not)."""
        attributes = self.predict_attributes(X)
        chosen = np.arange(len(self.classes_)) if classes is None else self._positions(np.asarray(classes))
        gaps = attributes[:, None] - self.attributes_[chosen]
        distances = finite_values("ZeroShot", "X", X, lambda: (gaps**2).sum(axis=2))
        return self.classes_[chosen[distances.argmin(axis=1)]]

    def _describe(self, attributes: Mapping[Any, Any], seen: np.ndarray) -> None:
        unknown = [name for name in seen.tolist() if name not in attributes]
        if unknown:
            raise ValueError(f"ZeroShot: every class of y must have attributes; got none for {unknown[0]!r}.")
        names = np.array(list(attributes))
        order = np.argsort(names, kind="stable")
        self.classes_ = names[order]
        self.attributes_ = np.array([np.asarray(attributes[name], dtype=np.float64) for name in attributes])[order]

    def _positions(self, classes: np.ndarray) -> np.ndarray:
        missing = [name for name in classes.tolist() if name not in set(self.classes_.tolist())]
        if missing or classes.size == 0:
            raise ValueError(f"ZeroShot: classes must have attributes; got {missing[0] if missing else 'none'!r}.")
        return np.searchsorted(self.classes_, classes)
