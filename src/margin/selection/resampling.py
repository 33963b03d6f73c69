"""Scores by resampling: k folds, repeated folds, nested folds. :mod:`margin.selection.corrected` allows for their
overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from margin.core.arguments import integer
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.randomness import RandomLike, as_generator
from margin.data.folds import random_folds, stratified_folds
from margin.metrics import metric
from margin.selection.bias_variance import fresh
from margin.selection.corrected import corrected_interval
from margin.selection.trial import rows_of

__all__ = [
    "CrossValidation",
    "NestedCrossValidation",
    "cross_validate",
    "nested_cross_validate",
    "repeated_folds",
]

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class CrossValidation:
    """One score per fold; the folds' models are discarded. ``model`` is fitted to all rows if that was asked for."""

    metric: str
    scores: np.ndarray
    n_train: int
    n_test: int
    model: Any = None

    @property
    def mean(self) -> float:
        """Mean score of the folds."""
        return float(self.scores.mean())

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the folds' scores."""
        return float(self.scores.std(ddof=1))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Low and high end of the corrected interval of the mean."""
        return corrected_interval(list(self.scores), self.n_train, self.n_test, level)[1:]


def repeated_folds(y: Any, k: int = 5, repeats: int = 10, *, stratify: bool = False, seed: int = 0) -> Folds:
    """``repeats`` partitions into ``k`` folds, each drawn anew: a list of k times ``repeats`` (train, test) pairs.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets.
    k : int
        Folds of a partition.
    repeats : int
        Partitions.
    stratify : bool
        Whether folds keep the proportions of the classes.
    seed : int
        Seed.
    """
    rng = as_generator(seed)
    repeats = integer("repeated_folds", "repeats", repeats, low=1)
    deal = (lambda: stratified_folds(y, k, rng)) if stratify else (lambda: random_folds(len(y), k, rng))
    return [pair for _ in range(repeats) for pair in deal()]


def cross_validate(
    model: Any,
    X: MatrixLike,
    y: ArrayLike,
    folds: int | Iterable[tuple[np.ndarray, np.ndarray]] = 5,
    *,
    metric_name: str,
    refit: bool = False,
    random_state: RandomLike = 0,
) -> CrossValidation:
    """Hold out each fold once, fit a new model to the rest, keep its score and discard it.

    ``folds`` is a number of random parts or a list of (train, test) pairs of positions. What is rated is the recipe,
    hyperparameters and all, not one fitted model; with ``refit`` the recipe is then fitted to all rows.

    Parameters
    ----------
    model : estimator or callable
        An estimator, cloned for every fit, or a function that makes a new one.
    X : array-like of shape (n, n_features)
        Rows.
    y : array-like of shape (n,)
        Their targets.
    folds : int or iterable of pairs
        Number of random folds, or (train, test) positions.
    metric_name : str
        Name of a metric of ``margin.metrics.REGISTRY``.
    refit : bool
        Whether a model is also fitted to all rows.
    random_state : int, RandomState, Generator or None
        Draws the folds.

    Examples
    --------
    >>> from margin.linear import LinearRegression
    >>> X = np.arange(10.0)[:, None]
    >>> cross_validate(LinearRegression(), X, 3 * X[:, 0], metric_name="mse").mean < 1e-20
    True
    """
    rng, entry, target = as_generator(random_state), metric(metric_name), np.asarray(y)
    pairs = list(random_folds(len(target), folds, rng) if isinstance(folds, int | np.integer) else folds)
    if not pairs:
        raise ValueError("cross_validate: folds must hold at least one (train, test) pair.")
    scores = []
    for train, test in pairs:
        fitted = fresh(model, rng).fit(rows_of(X, train), target[train])
        scores.append(entry.measure(fitted, rows_of(X, test), target[test]))
    final = fresh(model, rng).fit(X, target) if refit else None
    return CrossValidation(metric_name, np.array(scores), len(pairs[0][0]), len(pairs[0][1]), final)


@dataclass(frozen=True)
class NestedCrossValidation:
    """Scores of the search as a whole, on rows it has not seen, beside the scores it saw when it chose."""

    metric: str
    outer: np.ndarray
    inner: np.ndarray
    chosen: tuple[Mapping[str, Any], ...]

    @property
    def optimism(self) -> float:
        """How much better the chosen setting looked inside than it was outside."""
        sign = 1 if metric(self.metric).greater_is_better else -1
        return float(sign * (self.inner.mean() - self.outer.mean()))


def nested_cross_validate(
    model: Any,
    grid: Mapping[str, Sequence[Any]],
    X: MatrixLike,
    y: ArrayLike,
    *,
    metric_name: str,
    outer: int = 5,
    inner: int = 5,
    random_state: RandomLike = 0,
) -> NestedCrossValidation:
    """Choose the setting of ``grid`` by cross-validation inside each training part, and score it on the part left out.

    The outer test rows have no influence on the choice, so the outer scores estimate the whole procedure honestly.

    Parameters
    ----------
    model : estimator or callable
        An estimator, cloned for every fit, or a function that makes a new one.
    grid : mapping of lists
        Values of every parameter to choose from.
    X : array-like of shape (n, n_features)
        Rows.
    y : array-like of shape (n,)
        Their targets.
    metric_name : str
        Name of a metric of ``margin.metrics.REGISTRY``.
    outer : int
        Folds that score the procedure.
    inner : int
        Folds that choose the setting.
    random_state : int, RandomState, Generator or None
        Draws the folds.
    """
    if not grid or not all(len(values) for values in grid.values()):
        raise ValueError("nested_cross_validate: grid must name at least one parameter, each with values.")
    rng, entry, target = as_generator(random_state), metric(metric_name), np.asarray(y)
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    sign = 1 if entry.greater_is_better else -1
    outside, inside, chosen = [], [], []
    for train, test in random_folds(len(target), outer, rng):
        pairs = list(random_folds(len(train), inner, rng))
        rows, known = rows_of(X, train), target[train]
        means = [
            cross_validate(
                fresh(model, rng).set_params(**setting), rows, known, pairs, metric_name=metric_name, random_state=rng
            ).mean
            for setting in settings
        ]
        best = int(np.argmax(sign * np.array(means)))
        fitted = fresh(model, rng).set_params(**settings[best]).fit(rows, known)
        outside.append(entry.measure(fitted, rows_of(X, test), target[test]))
        inside.append(means[best])
        chosen.append(settings[best])
    return NestedCrossValidation(metric_name, np.array(outside), np.array(inside), tuple(chosen))
