"""Recurrent networks for series of any length, as a classifier and a regressor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_y, validate_data
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import MOST_LAYERS, Choice, Flag, Integer, Number, Optional
from margin.core.invariants import ArrayOf, TrueOrFalse
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.neural.estimators.class_scores import log_probabilities
from margin.neural.estimators.mlp import FLOATS, weighted_rows
from margin.neural.estimators.own_validation import JudgedEstimator, OwnRows, known_classes, own_targets
from margin.neural.estimators.parameters import LossOfClasses, RegularizedWeights, StandardizedTargets
from margin.neural.nets.sequence import LAYERS, SequenceNetwork
from margin.neural.scaling import Scaling
from margin.neural.sequences import is_table, lengths_of, pad
from margin.neural.stored import CLASSES, SERIES, recurrent_layers_are_stored
from margin.neural.training import TensorRows
from margin.neural.training.objectives import Supervised, accuracy, explained_variance

__all__ = ["SequenceClassifier", "SequenceRegressor"]


class SequenceEstimator(RegularizedWeights, JudgedEstimator):
    """What both share: series in any form, scaling per channel, the network."""

    takes_series = True  # X may have three axes: series, steps, channels

    cell: str = parameter("lstm", Choice(*LAYERS), "Recurrent cell.")
    _: KW_ONLY
    hidden_size: int = parameter(64, Integer(low=1, search=(16, 256), log=True), "Units of the state.")
    n_layers: int = parameter(
        1, Integer(low=1, high=MOST_LAYERS, search=(1, 3)), "Recurrent layers on top of each other."
    )
    dropout: float = parameter(
        0.0,
        Number(low=0, below=1, search=(0, 0.5)),
        "Probability that a unit is left out, between layers and at the end.",
    )
    truncation: int | None = parameter(
        None,
        Optional(Integer(low=1)),
        "Steps after which learning cuts the state from its past; None: gradients go back to the first step.",
    )
    standardize: bool = parameter(
        True, Flag(), "Whether channels (and the targets of a regression) are brought to mean 0 and deviation 1."
    )
    batch_size: int | str = default(32, "Series per update; 'auto' is up to 200.")
    max_iter: int = default(50, "Most epochs.")
    learning_rate_init: float = parameter(
        0.003, Number(above=0, search=(3e-4, 3e-2), log=True), "Initial learning rate of the schedule."
    )
    clip_norm: float | None = default(
        1.0, "Bound on the Euclidean norm of the whole gradient, which can explode over time."
    )

    center_: np.ndarray = attribute(ArrayOf("n_channels"), "What is subtracted from every channel.")
    scale_: np.ndarray = attribute(ArrayOf("n_channels"), "What every channel is divided by.")
    table_: bool = attribute(TrueOrFalse(), "Whether fit saw a table, whose rows are series of one number per column.")
    network_: dict[str, Any] = attribute(SERIES)
    _stored_rules = (recurrent_layers_are_stored,)

    def hidden_states(self, X: MatrixLike) -> list[np.ndarray]:
        """The states of the last layer after every step of every series, (steps, units) each."""
        module: Any = self._ready_module()
        series = self._scale_rows(self._series(X, reset=False))
        with torch.inference_mode():
            states = module.states(self._to_device(series).nan_to_num()).numpy(force=True)
        return [part[:length] for part, length in zip(states, lengths_of(series))]

    def _network(self) -> nn.Module:
        return SequenceNetwork(**self.network_)

    def _series(self, X: Any, *, reset: bool) -> np.ndarray:
        """Series as (n, T, d), checked against what fit saw."""
        owner = type(self).__name__
        if is_table(X) and (reset or self.table_):
            X = validate_data(self, X, dtype=FLOATS, order="C", reset=reset)
            if reset:
                self.table_ = True
            return X[:, :, None]
        series = np.asarray(X, dtype=float)[:, :, None] if is_table(X) else pad(owner, X)
        if reset:
            self.table_, self.n_features_in_ = False, series.shape[2]
            self.__dict__.pop("feature_names_in_", None)
        expected = 1 if self.table_ else self.n_features_in_
        if series.shape[2] != expected:
            raise ValueError(f"{owner}: X must have {expected} channels, as in fit; got {series.shape[2]}.")
        return series

    def _scale_rows(self, series: np.ndarray) -> np.ndarray:
        return Scaling(self.center_, self.scale_).apply(series)

    def _begin(self, series: np.ndarray, weight: np.ndarray, n_outputs: int) -> None:
        channels = series.shape[2]
        network = {
            "n_inputs": channels,
            "n_outputs": n_outputs,
            "cell": self.cell,
            "hidden_size": int(self.hidden_size),
            "n_layers": int(self.n_layers),
            "dropout": float(self.dropout),
            "truncation": None if self.truncation is None else int(self.truncation),
        }
        if self._goes_on():
            if {**network, "truncation": None} != {**self.network_, "truncation": None}:
                raise ValueError(f"{type(self).__name__}: warm_start must go on with the same network and outputs.")
        else:
            mask = ~np.isnan(series[:, :, 0])
            steps = np.repeat(weight, mask.sum(axis=1))
            self.center_, self.scale_ = Scaling.of(series[mask], steps) if self.standardize else Scaling.none(channels)
        self.network_ = network

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what the steps cost is counted in the first update

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        module = self._ready_module()
        x = self._to_device(self._series(X, reset=False))
        center, scale = (torch.as_tensor(a).to(x) for a in (self.center_, self.scale_))
        return lambda series: self._in_units(module((series - center) / scale)), x

    def _outputs(self, X: Any) -> np.ndarray:
        module = self._ready_module()
        return self._evaluate(module, self._scale_rows(self._series(X, reset=False)))


class SequenceClassifier(ClassifierMixin, LossOfClasses, SequenceEstimator):
    """Recurrent network for the class of a series, read off the state after its last step.

    ``X`` is a list of arrays (steps, channels) or (steps,), a 3-D array (series, steps, channels) padded with NaN at
    the ends, or a table whose rows are series of one number per column.

    >>> rng = np.random.default_rng(0)
    >>> series = [rng.normal(loc=label, size=rng.integers(4, 9)) for label in (0, 2) * 30]
    >>> model = SequenceClassifier("gru", hidden_size=8, max_iter=20, random_state=0).fit(series, ["low", "high"] * 30)
    >>> model.score(series, ["low", "high"] * 30) > 0.9, model.predict([[2.1, 1.9, 2.0]]).tolist()
    (True, ['high'])
    """

    classes_: np.ndarray = attribute(CLASSES, "The classes.")

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        series = self._series(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classes(y)
        check_consistent_length(series, y)
        series, y, weight = weighted_rows(self, series, y, sample_weight)
        classes, codes = encode_classes(y)
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(f"SequenceClassifier: warm_start must go on with classes {self.classes_}; got {classes}.")
        seed = self._seed(state)
        series, codes, weight = self._class_weighted(series, codes, classes, weight)
        train, valid = self._split(len(series), seed, codes, given=given)
        self._begin(series[train], weight[train], len(classes))
        self.classes_ = classes
        rows = TensorRows.of(self._scale_rows(series), codes, weight=weight)
        objective = Supervised(self._class_loss())
        held = None if given is None else self._own_rows(given)
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, score=accuracy, held=held)

    def _own_rows(self, given: OwnRows) -> TensorRows:
        """Series that judge every epoch."""
        series, codes = self._series(given.X, reset=False), known_classes(self, given.y, self.classes_)
        check_consistent_length(series, codes)
        series, codes, weight = weighted_rows(self, series, codes, given.weight)
        series, codes, weight = self._class_weighted(series, codes, self.classes_, weight)
        return TensorRows.of(self._scale_rows(series), codes, weight=weight)

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Log-probability of every class."""
        return log_probabilities(self._outputs(X))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class."""
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]


class SequenceRegressor(RegressorMixin, StandardizedTargets, SequenceEstimator):
    """Recurrent network for one or several numbers that belong to a series.

    ``X`` has the forms that ``SequenceClassifier`` takes.

    >>> rng = np.random.default_rng(0)
    >>> series = [rng.normal(loc=rng.normal(), size=(rng.integers(4, 9), 1)) for _ in range(80)]
    >>> mean = [float(s.mean()) for s in series]
    >>> model = SequenceRegressor("gru", hidden_size=16, max_iter=30, random_state=0).fit(series, mean)
    >>> model.score(series, mean) > 0.8
    True
    """

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        series = self._series(X, reset=True)
        y = _check_y(numeric_target(self, y), multi_output=True, y_numeric=True, estimator=self)
        check_consistent_length(series, y)
        series, y, weight = weighted_rows(self, series, y, sample_weight)
        Y = y.reshape(len(y), -1).astype(series.dtype)
        seed = self._seed(state)
        train, valid = self._split(len(series), seed, given=given)
        going_on = self._goes_on()
        loss = self._target_loss(Y)
        self._begin(series[train], weight[train], loss.outputs_per_target * Y.shape[1])
        self.single_target_ = y.ndim == 1
        if not going_on:
            standardize = self.standardize and not loss.of_counts
            targets = Scaling.of(Y[train], weight[train]) if standardize else Scaling.none(Y.shape[1])
            self.target_center_, self.target_scale_ = targets
        rows = self._scaled_rows(series, Y, weight)
        held = None if given is None else self._own_rows(given)
        score = partial(explained_variance, prediction=loss.prediction)
        yield from self._train(Supervised(loss), rows, train, valid, seed=seed, state=state, score=score, held=held)

    def _scaled_rows(self, series: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> TensorRows:
        targets = Scaling(self.target_center_, self.target_scale_).apply(Y)
        return TensorRows.of(self._scale_rows(series), targets, weight=weight)

    def _own_rows(self, given: OwnRows) -> TensorRows:
        """Series that judge every epoch."""
        series = self._series(given.X, reset=False)
        y = _check_y(numeric_target(self, given.y), multi_output=True, y_numeric=True, estimator=self)
        check_consistent_length(series, y)
        series, y, weight = weighted_rows(self, series, y, given.weight)
        Y = own_targets(self, y, len(self.target_center_)).astype(series.dtype)
        return self._scaled_rows(series, Y, weight)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The targets, one column each if there were several in the fit."""
        outputs = self._apply_link(self._outputs(X), len(self.target_center_))
        Y = Scaling(self.target_center_, self.target_scale_).undo(outputs)
        return Y[:, 0] if self.single_target_ else Y

    def _in_units(self, outputs: Tensor) -> Tensor:
        return super()._in_units(self._apply_link(outputs, len(self.target_center_)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
