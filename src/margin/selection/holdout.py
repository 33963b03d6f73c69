"""Rows to learn from and rows to judge by: splitting arrays, a guarded test set, and why a test set wears out."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.arguments import integer, real
from margin.core.notices import warn_user
from margin.core.randomness import RandomLike, as_generator
from margin.data.splits import random_split, stratified_split
from margin.metrics import metric
from margin.selection.trial import rows_of

__all__ = ["HeldOut", "best_of_many", "train_test_split"]


def train_test_split(
    *arrays: Any,
    test_size: float = 0.25,
    shuffle: bool = True,
    stratify: Any = None,
    random_state: RandomLike = None,
) -> list[Any]:
    """Training and test part of every array, in turn: ``X_train, X_test, y_train, y_test``.

    ``shuffle=False`` is the chronological split: the last rows are for testing. If a class of the last array (labels)
    then misses from either part, a warning says so. ``stratify`` keeps the proportions of these labels in both parts.

    Parameters
    ----------
    *arrays : array-like of equal length
        What is split.
    test_size : float or int
        Fraction of the rows for testing, or their number.
    shuffle : bool
        Whether rows are drawn at random.
    stratify : array-like of shape (n,), optional
        Labels whose proportions both parts keep.
    random_state : int, RandomState, Generator or None
        Source of randomness.

    Examples
    --------
    >>> train_test_split([1, 2, 3, 4], test_size=0.5, shuffle=False)
    [array([1, 2]), array([3, 4])]
    """
    if not arrays:
        raise ValueError("train_test_split: at least one array is needed.")
    tables = [array if hasattr(array, "iloc") else np.asarray(array) for array in arrays]
    lengths = sorted({len(table) for table in tables})
    if len(lengths) > 1:
        raise ValueError(f"train_test_split: arrays must have equal length; got {lengths}.")
    if not shuffle and stratify is not None:
        raise ValueError("train_test_split: stratify needs shuffle=True.")
    rng = as_generator(random_state)
    if stratify is not None:
        train, test = stratified_split(stratify, test_size, rng)
    elif shuffle:
        train, test = random_split(lengths[0], test_size, rng)
    else:
        n_test = len(random_split(lengths[0], test_size, 0)[1])
        train, test = np.split(np.arange(lengths[0]), [lengths[0] - n_test])
        _warn_of_missing_classes(np.asarray(tables[-1]), train, test)
    return [rows_of(table, rows) for table in tables for rows in (train, test)]


def _warn_of_missing_classes(labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> None:
    few = labels.ndim == 1 and labels.dtype.kind in "biuSUO" and len(np.unique(labels.astype(str))) <= len(labels) / 10
    if few and set(labels[train].tolist()) != set(labels[test].tolist()):
        warn_user("train_test_split: without shuffling, a class is in one part only; shuffle or stratify.")


class HeldOut:
    """Test rows that return a score and count how often it was looked at.

    Every further look makes the best score more optimistic; :func:`best_of_many` says by how much.

    >>> from margin.linear import LinearRegression
    >>> X = np.arange(6.0)[:, None]
    >>> test = HeldOut(X, X[:, 0], "mse")
    >>> test.score(LinearRegression().fit(X, X[:, 0])) < 1e-20, test.uses
    (True, 1)
    """

    def __init__(self, X: Any, y: Any, metric_name: str) -> None:
        self._X, self._y, self._metric = X, np.asarray(y), metric(metric_name)
        self.scores: list[float] = []

    @property
    def uses(self) -> int:
        return len(self.scores)

    def score(self, model: Any) -> float:
        """The metric of a fitted model; from the second time on a warning says that the rows are no longer unseen."""
        value = self._metric.measure(model, self._X, self._y)
        if self.scores:
            warn_user(f"HeldOut: these test rows are used for the {self.uses + 1}. time; the best score is optimistic.")
        self.scores.append(value)
        return value


def best_of_many(
    true_error: float, n_models: int, n_test: int, *, repeats: int = 200, random_state: RandomLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Test errors of the best of ``n_models`` that are all equally good: as reported, and on new test rows.

    Each model errs on ``n_test`` rows with probability ``true_error``, independently; the one with the fewest errors is
    reported. Both arrays hold one value per repetition.

    Parameters
    ----------
    true_error : float in (0, 1)
        Error rate of every model.
    n_models : int
        Number of models.
    n_test : int
        Test rows.
    repeats : int
        Repetitions.
    random_state : int, RandomState, Generator or None
        Source of randomness.

    Examples
    --------
    >>> reported, again = best_of_many(0.3, 100, 200, random_state=0)
    >>> bool(reported.mean() < 0.25), bool(abs(again.mean() - 0.3) < 0.02)
    (True, True)
    """
    where = "best_of_many"
    if not 0 <= real(where, "true_error", true_error) <= 1:
        raise ValueError(f"{where}: true_error must lie in [0, 1]; got {true_error!r}.")
    n_models, n_test, repeats = (
        integer(where, name, value, low=1)
        for name, value in (("n_models", n_models), ("n_test", n_test), ("repeats", repeats))
    )
    rng = as_generator(random_state)
    errors = rng.binomial(n_test, true_error, size=(repeats, n_models)) / n_test
    return errors.min(axis=1), rng.binomial(n_test, true_error, size=repeats) / n_test
