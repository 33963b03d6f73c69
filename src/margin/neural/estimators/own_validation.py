"""``fit`` and ``iterate`` of networks whose rows have weights, and whose epochs rows of the user's may judge."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import column_or_1d

from margin.core.arguments import shown
from margin.core.array_types import ArrayLike
from margin.core.records import Record
from margin.neural.estimators.base import NeuralEstimator

__all__ = ["JudgedEstimator", "OwnRows", "known_classes", "own_rows", "own_targets"]


class OwnRows(NamedTuple):
    """The rows as they came."""

    X: Any
    y: Any
    weight: Any


class JudgedEstimator(NeuralEstimator):
    """A network that learns from weighted rows; a subclass says how in :meth:`_learn_rows`.

    A row is one of whatever ``X`` has: a row of a table, an image, a text, a series, a graph.
    """

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, validation_data: Any = None
    ) -> Self:
        """Learn from ``X`` and ``y``; a row of weight w counts like w rows, one of weight 0 not at all.

        A row is a row of a table, an image, a text, a series or a graph. ``validation_data``, (X, y) or
        (X, y, sample_weight), judges every epoch in place of held-out rows; with ``early_stopping`` it ends the
        training too.
        """
        return self._consume(self.iterate(X, y, sample_weight, validation_data), X, y)

    def iterate(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation_data: Any = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn as ``fit`` does, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        yield from self._learn_rows(X, y, sample_weight, own_rows(self, validation_data), state)

    @abstractmethod
    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        """Learn with checked parameters; the rows ``given``, as they came, judge every epoch."""


def own_rows(owner: Any, validation_data: Any) -> OwnRows | None:
    """``validation_data`` of a fit: (X, y) or (X, y, sample_weight); None without."""
    if validation_data is None:
        return None
    if not isinstance(validation_data, tuple | list) or len(validation_data) not in (2, 3):
        raise ValueError(
            f"{type(owner).__name__}: validation_data must be (X, y) or (X, y, sample_weight); "
            f"got {shown(validation_data)}."
        )
    X, y, *weight = validation_data
    if y is None:
        raise ValueError(f"{type(owner).__name__}: validation_data must have a y; it is None.")
    return OwnRows(X, y, weight[0] if weight else None)


def own_targets(owner: Any, y: np.ndarray, n_targets: int) -> np.ndarray:
    """Targets (n, k), as many for a row as the rows to learn from have."""
    Y = np.reshape(y, (len(y), -1))
    if Y.shape[1] != n_targets:
        raise ValueError(
            f"{type(owner).__name__}: validation_data must have {n_targets} targets per row like y; got {Y.shape[1]}."
        )
    return Y


def known_classes(owner: Any, y: Any, classes: np.ndarray) -> np.ndarray:
    """The positions of the labels ``y`` in ``classes``, those of the rows to learn from."""
    y = column_or_1d(y, warn=True)
    strange = y[~np.isin(y, classes)]
    if len(strange):
        raise ValueError(
            f"{type(owner).__name__}: validation_data must have classes of y, {classes}; got {strange[0]!r}."
        )
    return np.searchsorted(classes, y)
