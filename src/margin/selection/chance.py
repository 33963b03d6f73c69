"""What any model must beat: the best guess without a look at a single column, for the metric that decides.

The most frequent class is the best guess for accuracy, but for the mean of the classes' F1 a draw by their frequencies
is better, and for the absolute error the median is better than the mean. So the guess is chosen on the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from margin.core.array_types import ArrayLike, MatrixLike
from margin.metrics import Metric
from margin.selection.outputs import PROBABILITIES, Output, scores_of

__all__ = ["BestGuessClassifier", "BestGuessRegressor", "chance_score", "guess_text", "make_guess"]

#: For these the most frequent class or the mean is the best guess whatever the rows are.
PLAIN = ("accuracy", "rmse", "mse", "r2", "explained_variance")
#: More constants than the most frequent classes need not be tried; a draw is better only if each of so many is.
MOST_CONSTANTS, DRAWS = 20, 5
QUANTILES = np.linspace(0.05, 0.95, 19)


def make_guess(task: str, metric: Metric, seed: int = 0) -> Any:
    """The unfitted guess of a comparison by ``metric``."""
    return BestGuessClassifier(metric, seed) if task == "classification" else BestGuessRegressor(metric)


def guess_text(metric: Metric) -> str:
    """What is special about the guess for this metric, by which guesses for different metrics are told apart."""
    return "" if metric.needs != "predict" or metric.name in PLAIN else f"the best guess for {metric.name}"


def chance_score(metric: Metric, y: np.ndarray, train: np.ndarray, test: np.ndarray, classes: Sequence[Any]) -> float:
    """The score on the rows ``test`` of the guess that is best on the rows ``train``; NaN if it is not defined."""
    guess = make_guess("classification" if len(classes) else "regression", metric)
    guess.fit(np.zeros((len(train), 1)), y[train])
    return _score(metric, guess.output(len(test), classes), y[test], classes)


def _score(metric: Metric, output: Output, y: np.ndarray, classes: Sequence[Any] | np.ndarray) -> float:
    return scores_of(output, y, list(classes), [metric])[0].get(metric.name, float("nan"))


def _gain(metric: Metric, guess: np.ndarray, y: np.ndarray, classes: Sequence[Any] | np.ndarray = ()) -> float:
    """How good a guess is, greater being better, whatever the metric; a guess that is not defined is the worst."""
    value = _score(metric, Output(guess), y, classes)
    return -np.inf if value != value else value if metric.greater_is_better else -value


class BestGuessClassifier(ClassifierMixin, BaseEstimator):
    """A class for all rows, or draws by the classes' frequencies, whichever is better; probabilities are frequencies.

    >>> from margin.metrics import metric
    >>> y = np.array(["a", "b"] * 50)
    >>> np.unique(BestGuessClassifier(metric("f1_macro")).fit(y[:, None], y).predict(y[:, None])).tolist()
    ['a', 'b']
    >>> np.unique(BestGuessClassifier(metric("accuracy")).fit(y[:, None], y).predict(y[:, None])).tolist()
    ['a']
    """

    def __init__(self, metric: Metric, random_state: int = 0):
        self.metric, self.random_state = metric, random_state

    def fit(self, X: MatrixLike, y: ArrayLike) -> BestGuessClassifier:
        y = np.asarray(y)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.frequencies_ = counts / len(y)
        constants = np.argsort(-counts, kind="stable")[:MOST_CONSTANTS]
        self.constant_: Any = self.classes_[constants[0]]
        if self.metric.needs != "predict" or len(self.classes_) < 2:
            return self
        gains = [_gain(self.metric, np.full(len(y), self.classes_[c]), y, self.classes_) for c in constants]
        self.constant_ = self.classes_[constants[int(np.argmax(gains))]]
        draws = [self._draw(len(y), np.random.default_rng([self.random_state, 1 + i])) for i in range(DRAWS)]
        if min(_gain(self.metric, draw, y, self.classes_) for draw in draws) > max(gains):
            self.constant_ = None
        return self

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.classes_[rng.choice(len(self.classes_), size=n, p=self.frequencies_)]

    def predict(self, X: Any) -> np.ndarray:
        n = np.shape(X)[0]
        if self.constant_ is None:
            return self._draw(n, np.random.default_rng([self.random_state, 0]))
        return np.full(n, self.constant_, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(self.frequencies_, (np.shape(X)[0], 1))

    def output(self, n: int, classes: Sequence[Any]) -> Output:
        """What it says about ``n`` rows, with a column for every one of ``classes``."""
        rows = np.zeros((n, 1))
        scores = np.zeros((n, len(classes)))
        scores[:, np.isin(np.asarray(classes, dtype=self.classes_.dtype), self.classes_)] = self.predict_proba(rows)
        return Output(self.predict(rows), scores, PROBABILITIES)


class BestGuessRegressor(RegressorMixin, BaseEstimator):
    """One number for all rows: the mean, or another that the metric likes better.

    >>> from margin.metrics import metric
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 90.0])
    >>> [float(BestGuessRegressor(metric(name)).fit(y[:, None], y).constant_) for name in ("rmse", "mae")]
    [20.0, 3.0]
    """

    def __init__(self, metric: Metric):
        self.metric = metric

    def fit(self, X: MatrixLike, y: ArrayLike) -> BestGuessRegressor:
        y = np.asarray(y, dtype=np.float64)
        constants = list(_constants(y))
        gains = [_gain(self.metric, np.full(len(y), value), y) for value in constants]
        self.constant_ = constants[int(np.argmax(gains))]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(np.shape(X)[0], self.constant_)

    def output(self, n: int, classes: Sequence[Any] = ()) -> Output:
        """What it says about ``n`` rows."""
        return Output(self.predict(np.zeros((n, 1))))


def _constants(y: np.ndarray) -> Iterator[float]:
    """Numbers that some metric likes best; the mean first, which stays where none is better."""
    middles: list[Callable[[np.ndarray], float]] = [np.mean, lambda values: (values.min() + values.max()) / 2]
    if y.min() > -1:
        middles.append(lambda values: np.expm1(np.mean(np.log1p(values))))
    yield from (float(middle(y)) for middle in middles)
    yield from (float(value) for value in np.quantile(y, QUANTILES))
