"""Rows that a user gives to watch the loss with, in place of rows that the fit holds back itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length

from margin.core.targets import numeric_target

__all__ = ["GivenRows", "ValidationRows", "given_rows"]


class GivenRows(NamedTuple):
    """The rows as they came."""

    X: Any
    y: Any
    weight: Any


class ValidationRows(NamedTuple):
    """Checked rows: X coded as the training rows are, y as the loss reads it."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    labels: np.ndarray  # y as it came

    @classmethod
    def of(cls, model: Any, given: GivenRows) -> ValidationRows:
        """Rows for a ``model`` that knows the columns, categories and classes of its training rows."""
        X = model._coded_rows(given.X)
        classify = hasattr(model, "classes_")
        y = given.y if classify else numeric_target(model, given.y)
        labels = _check_y(y, estimator=model, y_numeric=not classify)
        check_consistent_length(X, labels)
        weight = _check_sample_weight(given.weight, X, dtype=np.float64, ensure_non_negative=True)
        return cls(X, _read(model, labels), weight, labels)

    def after(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Training rows followed by these, and which of all are these."""
        held = np.arange(len(y) + len(self.y)) >= len(y)
        parts = (X, self.X), (y, self.y), (weight, self.weight)
        rows, targets, weights = (np.concatenate(part) for part in parts)
        return rows, targets, weights, held


def given_rows(owner: str, X_val: Any, y_val: Any, sample_weight_val: Any, *, stops: bool) -> GivenRows | None:
    """The rows that ``fit`` was given, if any; both X and y are needed, and a fit that they may end."""
    if X_val is None and y_val is None:
        return None
    for missing, name, other in ((X_val, "X_val", "y_val"), (y_val, "y_val", "X_val")):
        if missing is None:
            raise ValueError(f"{owner}: fit needs {name} beside {other}; got {name}=None.")
    if not stops:
        raise ValueError(f"{owner}: X_val and y_val need early_stopping True or 'auto'; got False.")
    return GivenRows(X_val, y_val, sample_weight_val)


def _read(model: Any, labels: np.ndarray) -> np.ndarray:
    """Numbers, or the positions of classes among those that training rows have."""
    if not hasattr(model, "classes_"):
        return np.asarray(labels, dtype=np.float64)
    unknown = ~np.isin(labels, model.classes_)
    if unknown.any():
        raise ValueError(
            f"{type(model).__name__}: y_val holds {labels[unknown].tolist()[0]!r}, which is not a class of y."
        )
    return np.searchsorted(model.classes_, labels).astype(np.float64)
