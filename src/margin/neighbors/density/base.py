"""What every density of a table shares: the mean score, checked numbers of samples, columns read as states."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Integer
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, ListOf, StringOf
from margin.core.parameters import Declared, attribute, parameter
from margin.core.randomness import RandomLike
from margin.neighbors.density.column_labels import as_labels, with_codes
from margin.neighbors.density.columns import ColumnStates, column_states

__all__ = ["ColumnReading", "StateDensity"]


class ColumnReading(Declared):
    """How the columns of a table become states."""

    _: KW_ONLY
    n_bins: int = parameter(8, Integer(low=2, search=(3, 30)), "Intervals of a column of numbers, cut at quantiles.")
    max_categories: int = parameter(
        10, Integer(low=0), "A column with at most so many different values is a category, not cut into intervals."
    )

    values_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None), "n_features"), "The values of every categorical column, ascending; none for numbers."
    )
    cuts_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None), "n_features"), "The cuts between the intervals of every column of numbers."
    )
    scales_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None), "n_features"), "Scales of the lower and upper tail of every column of numbers."
    )
    labels_: list[list[str]] = attribute(
        ListOf(ListOf(StringOf()), "n_features"),
        "The labels of every column of strings, whose values_ are their positions.",
    )


class StateDensity(DensityMixin, ColumnReading, Estimator):
    """A discrete model of states that is a density of rows: a base of histograms, networks and circuits.

    Columns of strings, and categorical columns of a DataFrame, are categories whatever the number of their values; new
    rows have the same strings.
    """

    log_density_kind = "exact"

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """The mean log-density of the rows."""
        return float(self.score_samples(X).mean())

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """The exact log-density of every row, in nats; a category that was never seen has probability 0.

        Missing entries (NaN) are summed out: the row scores what is known of it.
        """
        check_is_fitted(self)
        X = self._read(X)
        columns = self._columns()
        codes = np.stack([column.codes(X[:, j]) for j, column in enumerate(columns)], axis=1)
        inside = sum(column.log_density(X[:, j], codes[:, j]) for j, column in enumerate(columns))
        unseen = np.any(codes >= np.array([column.size for column in columns]), axis=1)
        return np.where(unseen, -np.inf, self._log_prob(np.where(unseen[:, None], 0, codes)) + inside)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> Any:
        """``n_samples`` new rows drawn from the density: an array, or a DataFrame if fit saw one with strings."""
        from margin.core.randomness import as_generator

        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(
                f"{type(self).__name__}.sample: n_samples must be an integer at least 1; got {n_samples!r}."
            )
        rng = as_generator(random_state)
        codes = self._draw_states(int(n_samples), rng)
        return self._name_columns(np.stack([c.draw(codes[:, j], rng) for j, c in enumerate(self._columns())], axis=1))

    def _learn_columns(self, X: Any) -> np.ndarray:
        """Reads ``X`` and returns its states, -1 where an entry is missing."""
        self._check_parameters()
        X = self._read(X, reset=True)
        if np.isnan(X).all(axis=0).any():
            column = int(np.flatnonzero(np.isnan(X).all(axis=0))[0])
            raise ValueError(f"{type(self).__name__}: column {column} has no known entry.")
        columns = [
            column_states(X[:, j], self.n_bins, max(self.max_categories, len(labels)))
            for j, labels in enumerate(self.labels_)
        ]
        self.values_ = [column.values for column in columns]
        self.cuts_ = [column.cuts for column in columns]
        self.scales_ = [column.scales for column in columns]
        return np.stack([column.codes(X[:, j]) for j, column in enumerate(columns)], axis=1)

    def _columns(self) -> list[ColumnStates]:
        return [ColumnStates(*parts) for parts in zip(self.values_, self.cuts_, self.scales_)]

    def _sizes(self) -> list[int]:
        return [column.size for column in self._columns()]

    def _read(self, X: Any, *, reset: bool = False) -> np.ndarray:
        known = None if reset else self.labels_
        X, labels = with_codes(X, known if known is not None and any(known) else None)
        X = validate_data(self, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        if reset:
            self.labels_ = labels or [[] for _ in range(X.shape[1])]
        return X

    def _name_columns(self, rows: np.ndarray) -> Any:
        """New rows as those of the fit were: with their strings, if they had any."""
        return as_labels(rows, self.labels_, getattr(self, "feature_names_in_", None)) if any(self.labels_) else rows

    @abstractmethod
    def _log_prob(self, codes: np.ndarray) -> np.ndarray:
        """Log-probability of rows of states, with -1 summed out."""

    @abstractmethod
    def _draw_states(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """States of ``n_samples`` new rows."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
