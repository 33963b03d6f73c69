"""What both discriminant analyses need to know about the rows, from the rows themselves or from a stream's summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from margin.bayes.factors import centered_factor, class_covariance
from margin.core.classes import encode_classes
from margin.core.invariants import ArrayOf, FieldsOf, ListOf
from margin.core.number_range import require_squares
from margin.core.summaries import union_of
from margin.foundations.linalg.scatter_factor import FACTOR_FIELDS, ScatterFactor, triangle

__all__ = ["CLASS_FACTOR_FIELDS", "ClassFactors", "ClassScatter", "TrainingRows", "mean_row"]


#: What a model file holds of the factors of classes.
CLASS_FACTOR_FIELDS = FieldsOf(
    {
        "labels": ArrayOf("n_classes", kind="labels"),
        "factors": ListOf(FACTOR_FIELDS, size="n_classes"),
    }
)


class ClassScatter(Protocol):
    """Means and covariances of classes; ``labels`` (classes,), ``counts`` their weights, ``n_rows`` those of each."""

    @property
    def labels(self) -> np.ndarray: ...

    @property
    def counts(self) -> np.ndarray: ...

    @property
    def n_rows(self) -> np.ndarray: ...

    def class_means(self) -> np.ndarray:
        """Mean row of each class, (classes, d)."""

    def factor(self, c: int, mean: np.ndarray) -> np.ndarray:
        """R of the rows of class ``c`` about their mean, with R'R their scatter."""

    def within_factor(self, means: np.ndarray) -> np.ndarray:
        """R of all rows, each about the mean of its class."""

    def covariance(self, owner: str, c: int, shrinkage: Any, estimator: Any) -> np.ndarray:
        """The covariance of class ``c``, perhaps shrunk."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows ``X`` (n, d), the class of each in ``codes`` (n,), ``labels`` of the classes and weights (n,) or None."""

    X: np.ndarray
    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.codes, weights=self.weights, minlength=len(self.labels))

    @property
    def n_rows(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.labels))

    def of_class(self, c: int) -> tuple[np.ndarray, np.ndarray | None]:
        """The rows of one class and their weights."""
        mine = self.codes == c
        return self.X[mine], None if self.weights is None else self.weights[mine]

    def class_means(self) -> np.ndarray:
        return np.stack([mean_row(*self.of_class(c)) for c in range(len(self.labels))])

    def factor(self, c: int, mean: np.ndarray) -> np.ndarray:
        rows, weights = self.of_class(c)
        return centered_factor(rows, np.zeros(len(rows), dtype=np.intp), mean[None], weights)

    def within_factor(self, means: np.ndarray) -> np.ndarray:
        return centered_factor(self.X, self.codes, means, self.weights)

    def covariance(self, owner: str, c: int, shrinkage: Any, estimator: Any) -> np.ndarray:
        X, weights = self.of_class(c)
        require_squares(owner, "X", X)
        return class_covariance(owner, X, shrinkage, weights, estimator)


@dataclass(frozen=True)
class ClassFactors:
    """A factor per class: the summary of rows that are gone."""

    labels: np.ndarray
    factors: tuple[ScatterFactor, ...]

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> ClassFactors:
        labels, codes = encode_classes(y)
        return cls(labels, tuple(ScatterFactor.of(X[codes == c]) for c in range(len(labels))))

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> ClassFactors:
        """The factors as :func:`dataclasses.asdict` wrote them down."""
        return cls(fields["labels"], tuple(ScatterFactor(**factor) for factor in fields["factors"]))

    def merge(self, other: ClassFactors) -> ClassFactors:
        labels, mine, theirs = union_of(self.labels, other.labels)
        found: dict[int, ScatterFactor] = dict(zip(mine.tolist(), self.factors))
        for place, factor in zip(theirs.tolist(), other.factors):
            found[place] = found[place].merge(factor) if place in found else factor
        return ClassFactors(labels, tuple(found[place] for place in range(len(labels))))

    @property
    def counts(self) -> np.ndarray:
        return self.n_rows.astype(np.float64)

    @property
    def n_rows(self) -> np.ndarray:
        return np.array([factor.rows for factor in self.factors])

    def class_means(self) -> np.ndarray:
        return np.stack([factor.mean for factor in self.factors])

    def factor(self, c: int, mean: np.ndarray) -> np.ndarray:
        return self.factors[c].R

    def within_factor(self, means: np.ndarray) -> np.ndarray:
        return triangle((factor.R for factor in self.factors), means.shape[1])

    def covariance(self, owner: str, c: int, shrinkage: Any, estimator: Any) -> np.ndarray:
        if shrinkage == "auto" or estimator is not None:
            raise ValueError(f"{owner}: shrinkage='auto' and covariance_estimator need all rows and take no stream.")
        R, rho = self.factors[c].R, shrinkage or 0.0
        S = R.T @ R / self.factors[c].rows
        return (1 - rho) * S + rho * np.trace(S) / len(S) * np.eye(len(S))


def mean_row(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return X.mean(axis=0) if weights is None else weights @ X / weights.sum()
