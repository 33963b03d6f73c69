r"""Multi-layer perceptrons for tables: classification by cross-entropy, regression by squared error.

.. math:: L(\theta) = \frac{\sum_i w_i\,\ell(y_i, f_\theta(x_i))}{\sum_i w_i}, \qquad
          \ell = -\log \mathrm{softmax}(f_\theta(x_i))_{y_i} \quad\text{or}\quad
          \ell = \tfrac12\,\overline{(y_i - f_\theta(x_i))^2}

A network computes in the precision of its input: float64 tables give float64 predictions, float32 is about twice as
fast for wide layers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data
from torch import Tensor, nn
from torch.nn import functional

from margin.core.domains import Choice, Flag, Integer, Number
from margin.core.domains import Sequence as SequenceOf
from margin.core.randomness import RandomLike
from margin.core.records import Record
from margin.neural.activations import ACTIVATIONS
from margin.neural.batches import Rows
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.nets.mlp import MLP
from margin.neural.plan import TRAINING
from margin.neural.scaling import Scaling
from margin.neural.trainer import Objective

__all__ = ["MLPClassifier", "MLPRegressor", "cross_entropy", "squared_error"]


def cross_entropy(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    """Negative log-probability of each row's class."""
    X, y = batch
    return {"loss": functional.cross_entropy(module(X), y, reduction="none")}


def squared_error(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    """Half the squared error of each row, averaged over its targets."""
    X, Y = batch
    return {"loss": 0.5 * (module(X) - Y).square().mean(dim=1)}


def accuracy(module: nn.Module, rows: Rows) -> float:
    """Weighted share of rows whose class is the most probable one."""
    X, y = rows.tensors
    return float((module(X).argmax(dim=1) == y).to(rows.weight.dtype) @ rows.weight / rows.weight.sum())


def explained_share(module: nn.Module, rows: Rows) -> float:
    """Weighted coefficient of determination, averaged over the targets."""
    X, Y = rows.tensors
    weight = rows.weight / rows.weight.sum()
    residual = weight @ (Y - module(X)).square()
    spread = weight @ (Y - weight @ Y).square()
    return float((1 - residual / spread).mean())


class _MLPEstimator(NeuralEstimator):
    """What both perceptrons share: the parameters, the network and the way from rows to training."""

    domains = {
        "hidden": SequenceOf(Integer(low=1)),
        "activation": Choice(*ACTIVATIONS),
        "dropout": Number(low=0, below=1, search=(0, 0.5)),
        "standardize": Flag(),
        **TRAINING,
    }

    def __init__(
        self,
        hidden: Sequence[int] = (100,),
        activation: str = "relu",
        dropout: float = 0.0,
        standardize: bool = True,
        optimizer: str = "adam",
        learning_rate: float = 5e-3,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        schedule: str = "cosine",
        warmup: float = 0.0,
        batch_size: int = 64,
        epochs: int = 100,
        clip_norm: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        random_state: RandomLike = None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.standardize = standardize
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.warmup = warmup
        self.batch_size = batch_size
        self.epochs = epochs
        self.clip_norm = clip_norm
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from ``X`` and ``y``; a row of weight w counts like w rows, one of weight 0 not at all."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    @abstractmethod
    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""

    def _network(self) -> nn.Module:
        return MLP(**self.network_)

    def _describe(self, n_outputs: int) -> None:
        sizes = [self.n_features_in_, *(int(width) for width in self.hidden), n_outputs]
        self.network_ = {"sizes": sizes, "activation": self.activation, "dropout": float(self.dropout)}

    def _scale_inputs(self, X: np.ndarray, weight: np.ndarray) -> None:
        scaling = Scaling.of(X, weight) if self.standardize else Scaling.none(X.shape[1])
        self.center_, self.scale_ = scaling

    def _outputs(self, X: Any) -> np.ndarray:
        """What the last layer gives for the rows of ``X``."""
        module = self._ready_module()
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._evaluate(module, Scaling(self.center_, self.scale_).apply(X))


class MLPClassifier(ClassifierMixin, _MLPEstimator):
    """Multi-layer perceptron for classes.

    Inputs are standardized on the training rows (``standardize``) because one learning rate then suits columns of any
    unit. With ``early_stopping`` a stratified ``validation_fraction`` of the rows is held back, and training ends
    after ``n_iter_no_change`` epochs without a gain of ``tol`` in its loss, with the best weights.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> sorted(model.weights_)
    ['linears.0.bias', 'linears.0.weight', 'linears.1.bias', 'linears.1.weight']
    """

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        classes, labels = np.unique(y, return_inverse=True)
        seed = self._seed(state)
        split = self._split(len(X), seed, labels)
        yield from self.iterate_coded(X, labels, classes, cross_entropy, split, weight=weight, seed=seed, state=state)

    def iterate_coded(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        classes: np.ndarray,
        objective: Objective,
        split: tuple[np.ndarray, np.ndarray],
        *,
        seed: int,
        weight: np.ndarray | None = None,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn checked rows by any ``objective`` of (inputs, codes of classes).

        ``split`` has the numbers of the rows that train, of which some may come several times, and validate.
        """
        train, valid = split
        weight = np.ones(len(X)) if weight is None else weight
        self.classes_, self.n_features_in_ = classes, X.shape[1]
        self._scale_inputs(X[train], weight[train])
        self._describe(n_outputs=len(classes))
        U = Scaling(self.center_, self.scale_).apply(X)
        rows = Rows.of(U, labels, weight=weight)
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, score=accuracy)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of every class."""
        logits = self._outputs(X)
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]


class MLPRegressor(RegressorMixin, _MLPEstimator):
    """Multi-layer perceptron for one or several numbers.

    With ``standardize`` the targets are standardized too, so that the loss, ``tol`` and the learning rate do not
    depend on their unit; predictions are in the original one.

    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = MLPRegressor(batch_size=16, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        Y = y.reshape(len(y), -1).astype(X.dtype)
        seed = self._seed(state)
        train, valid = self._split(len(X), seed)
        self._scale_inputs(X[train], weight[train])
        targets = Scaling.of(Y[train], weight[train]) if self.standardize else Scaling.none(Y.shape[1])
        self.target_center_, self.target_scale_ = targets
        self.single_target_ = y.ndim == 1
        self._describe(n_outputs=Y.shape[1])
        U, V = Scaling(self.center_, self.scale_).apply(X), targets.apply(Y)
        rows = Rows.of(U, V, weight=weight)
        yield from self._train(squared_error, rows, train, valid, seed=seed, state=state, score=explained_share)

    def predict(self, X: Any) -> np.ndarray:
        """The targets, one column each if there were several in the fit."""
        outputs = self._outputs(X)
        Y = Scaling(self.target_center_, self.target_scale_).undo(outputs)
        return Y[:, 0] if self.single_target_ else Y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def weighted_rows(owner: Any, X: np.ndarray, y: np.ndarray, sample_weight: Any) -> tuple[np.ndarray, ...]:
    """Rows with their weights, those of weight 0 dropped as if they had never been there."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weight > 0
    if not kept.any():
        raise ValueError(f"{type(owner).__name__}: sample_weight must have an entry above 0; all {len(weight)} are 0.")
    return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])
