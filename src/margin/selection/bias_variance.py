"""Bias, variance and noise of a learner, measured over many training sets and held against its measured risk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.arguments import integer
from margin.core.array_types import MatrixLike
from margin.core.randomness import RandomLike, as_generator, seed_estimator
from margin.data.splits import random_split
from margin.selection.known_truth import ClassificationProblem, RegressionProblem
from margin.selection.loss_parts import LossParts, cross_entropy_parts, squared_parts, zero_one_parts
from margin.selection.trial import rows_of

__all__ = ["BiasVariance", "bias_variance", "expected_risk", "fresh"]

LOSSES = ("squared", "zero_one", "cross_entropy")
SMALLEST_PROBABILITY = 1e-12  # a model that says "never" is charged 28 nats when it happens, not infinity


@dataclass(frozen=True)
class BiasVariance:
    """The parts of the expected loss at every test row, their means, and the risk measured on new targets.

    ``risk`` is the mean loss of all models on targets drawn anew for each of them, ``risk_error`` its standard error.
    On a table the truth behind the targets is unknown: its noise is counted as bias, and ``noise`` is 0.
    """

    loss: str
    parts: LossParts
    risk: float
    risk_error: float

    @property
    def bias(self) -> float:
        """Mean over the test rows (of the squared bias, for squared error)."""
        return float(self.parts.bias.mean())

    @property
    def variance(self) -> float:
        return float(self.parts.variance.mean())

    @property
    def noise(self) -> float:
        """Mean noise of the test rows."""
        return float(self.parts.noise.mean())

    @property
    def total(self) -> float:
        """Bias + variance + noise."""
        return float(self.parts.total.mean())


def bias_variance(
    model: Any,
    data: RegressionProblem | ClassificationProblem | tuple[Any, Any],
    *,
    loss: str | None = None,
    n_rows: int | None = None,
    n_sets: int = 100,
    n_test: int = 500,
    random_state: RandomLike = None,
) -> BiasVariance:
    """Fit ``model`` to ``n_sets`` training sets and take its errors on one set of test rows apart.

    ``data`` is a problem whose truth is known, each training set ``n_rows`` (100) new rows of it; or a table
    ``(X, y)``, of which a third is for testing and each training set a bootstrap sample of ``n_rows`` (as many as there
    are) of the rest. ``model`` is an estimator, cloned for every set, or a function that makes a new one. ``loss`` is
    by default "squared" for a regressor and "zero_one" for a classifier.

    >>> from margin.linear import PolynomialRegression
    >>> from margin.selection.known_truth import on_interval
    >>> sine = RegressionProblem(on_interval(-3, 3), lambda X: np.sin(X[:, 0]), noise=0.1)
    >>> line, cubic = (bias_variance(PolynomialRegression(d), sine, random_state=0) for d in (1, 3))
    >>> line.bias > 10 * cubic.bias, abs(cubic.total - cubic.risk) < 5 * cubic.risk_error
    (True, True)
    """
    rng = as_generator(random_state)
    n_sets = integer("bias_variance", "n_sets", n_sets, low=2)
    n_test = integer("bias_variance", "n_test", n_test, low=1)
    is_problem = isinstance(data, RegressionProblem | ClassificationProblem)
    source: Any = data if is_problem else _Table.of(data, rng)
    chosen = _loss(loss, source, model)
    source = source.as_problem(chosen) if isinstance(source, _Table) else source
    X_test = source.test_rows if isinstance(source, _Rows) else source.inputs(rng, n_test)
    rows = integer("bias_variance", "n_rows", getattr(source, "n_rows", 100) if n_rows is None else n_rows, low=2)
    outputs, losses = [], []
    for fitted in _fits(model, source.sample, rows, n_sets, rng):
        output, measure = _output(fitted, X_test, chosen, source)
        outputs.append(output)
        losses.append(float(measure(source.targets(rng, X_test)).mean()))
    if chosen == "squared":
        parts = squared_parts(np.array(outputs), source.mean(X_test), source.noise_variance(X_test))
    else:
        take_apart = zero_one_parts if chosen == "zero_one" else cross_entropy_parts
        parts = take_apart(np.array(outputs), source.probabilities(X_test))
    return BiasVariance(chosen, parts, float(np.mean(losses)), float(np.std(losses, ddof=1) / np.sqrt(n_sets)))


def expected_risk(
    model: Any,
    problem: RegressionProblem | ClassificationProblem,
    *,
    n_rows: int = 100,
    n_sets: int = 100,
    n_test: int = 500,
    random_state: RandomLike = None,
) -> tuple[float, float]:
    r"""Monte Carlo estimate of :math:`\mathbb E_D[R(\hat f_D)]` with its standard error: training and test rows are new
    in every repetition, the loss is squared error or, for classes, 0-1.

    Parameters
    ----------
    model : estimator or callable
        An estimator, cloned for every fit, or a function that makes a new one.
    problem : RegressionProblem or ClassificationProblem
        Where rows come from.
    n_rows : int
        Rows of a training set.
    n_sets : int
        Training sets.
    n_test : int
        Test rows of each repetition.
    random_state : int, RandomState, Generator or None
        Source of randomness.
    """
    rng = as_generator(random_state)
    is_regression = isinstance(problem, RegressionProblem)
    risks = []
    for fitted in _fits(model, problem.sample, n_rows, n_sets, rng):
        X, y = problem.sample(rng, n_test)
        predictions = np.asarray(fitted.predict(X))
        risks.append(float(np.mean((y - predictions) ** 2 if is_regression else predictions != y)))
    return float(np.mean(risks)), float(np.std(risks, ddof=1) / np.sqrt(len(risks)))


def fresh(model: Any, rng: np.random.Generator) -> Any:
    """A new, unfitted model with seeds of its own: a clone of an estimator, or what a function makes."""
    from sklearn.base import clone

    if hasattr(model, "get_params") and not isinstance(model, type):
        made = clone(model)
    elif callable(model):
        made = model()
    else:
        raise ValueError(f"model must be an estimator or a function that makes one; got {type(model).__name__}.")
    if hasattr(made, "get_params"):
        seed_estimator(made, rng)
    return made


def _fits(
    model: Any,
    sample: Callable[[np.random.Generator, int], tuple[Any, Any]],
    n_rows: int,
    n_sets: int,
    rng: np.random.Generator,
) -> Iterator[Any]:
    for _ in range(n_sets):
        X, y = sample(rng, n_rows)
        yield fresh(model, rng).fit(X, y)


def _loss(loss: str | None, source: Any, model: Any) -> str:
    from sklearn.base import is_classifier

    if loss is None:
        of_classes = isinstance(source, ClassificationProblem) or (isinstance(source, _Table) and is_classifier(model))
        return "zero_one" if of_classes else "squared"
    if loss not in LOSSES:
        raise ValueError(f"bias_variance: loss must be one of {', '.join(LOSSES)}; got {loss!r}.")
    if isinstance(source, RegressionProblem) != (loss == "squared") and not isinstance(source, _Table):
        raise ValueError(f"bias_variance: loss {loss!r} does not fit a {type(source).__name__}.")
    return loss


def _output(fitted: Any, X: Any, loss: str, source: Any) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """What the parts of the loss are made from, and the loss of each row as a function of its target."""
    rows = np.arange(len(X))
    if loss == "squared":
        predictions = np.asarray(fitted.predict(X), dtype=np.float64)
        return predictions, lambda y: (y - predictions) ** 2
    if loss == "zero_one":
        labels = np.asarray(source.codes(fitted.predict(X)) if isinstance(source, _Rows) else fitted.predict(X))
        return labels, lambda y: labels != y
    n_classes = source.probabilities(X).shape[1]
    known = np.asarray(source.codes(fitted.classes_) if isinstance(source, _Rows) else fitted.classes_)
    proba = np.full((len(X), n_classes), SMALLEST_PROBABILITY)
    proba[:, known] = np.maximum(fitted.predict_proba(X), SMALLEST_PROBABILITY)
    proba /= proba.sum(axis=1, keepdims=True)
    return proba, lambda y: -np.log(proba[rows, y])


@dataclass(frozen=True)
class _Table:
    """A table before it is known which loss it is for."""

    X: Any
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @staticmethod
    def of(data: Any, rng: np.random.Generator) -> _Table:
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise ValueError("bias_variance: data must be a problem with a known truth or a pair (X, y).")
        X, y = data[0] if hasattr(data[0], "iloc") else np.asarray(data[0]), np.asarray(data[1])
        if len(X) != len(y) or len(y) < 6:
            raise ValueError(f"bias_variance: X and y must have equal length, at least 6; got {len(X)} and {len(y)}.")
        return _Table(X, y, *random_split(len(y), 1 / 3, rng))

    def as_problem(self, loss: str) -> _Rows:
        names, codes = (None, self.y) if loss == "squared" else np.unique(self.y, return_inverse=True)
        rows, test_rows = rows_of(self.X, self.train), rows_of(self.X, self.test)
        return _Rows(rows, self.y[self.train], test_rows, codes[self.test], names)


@dataclass(frozen=True)
class _Rows:
    """A table in the form of a problem: the training part is what is drawn from, the test targets are the truth."""

    X: Any
    y: np.ndarray
    test_rows: Any
    truth: np.ndarray
    names: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Any, np.ndarray]:
        while True:
            drawn = rng.integers(len(self.y), size=n)
            if self.names is None or len(np.unique(self.y[drawn])) > 1 or len(np.unique(self.y)) == 1:
                return rows_of(self.X, drawn), self.y[drawn]  # a classifier needs two classes to learn from

    def targets(self, rng: np.random.Generator, X: MatrixLike) -> np.ndarray:
        return self.truth

    def mean(self, X: MatrixLike) -> np.ndarray:
        return self.truth

    def noise_variance(self, X: MatrixLike) -> np.ndarray:
        return np.zeros(len(self.truth))

    def probabilities(self, X: MatrixLike) -> np.ndarray:
        assert self.names is not None
        return np.eye(len(self.names))[self.truth]

    def codes(self, labels: Any) -> np.ndarray:
        assert self.names is not None
        return np.searchsorted(self.names, labels)
