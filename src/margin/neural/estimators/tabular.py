r"""What the networks for tables share: robust columns, a few perceptrons at once, each with rows it never sees.

.. math:: L(\theta) = \frac1M\sum_m \frac{\sum_i w_i t_{im}\,\ell(y_i, f_m(x_i))}{\sum_i w_i t_{im}},
          \qquad \hat y(x) = \frac1M\sum_m f_m(x)

:math:`t_{im}` says whether network m trains on row i. Every network holds out rows of its own, so together they are
judged on most of the table, and the epoch that suits those rows best is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.category_encoding import (
    CATEGORICAL,
    FROM_DTYPE,
    categorical_flags,
    encode_numbers,
    encode_strings,
    find_categories,
    find_string_categories,
)
from margin.core.domains import MOST_LAYERS, Choice, Either, Integer, Number
from margin.core.invariants import Anything, ArrayOf, Count, DictOf, ListOf, OneOf, sometimes
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.row_files import is_mapped
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.mlp import FLOATS
from margin.neural.estimators.own_validation import JudgedEstimator
from margin.neural.estimators.parameters import ACTIVATION, LAYER_SIZES, RegularizedWeights, layer_sizes, learning_rates
from margin.neural.estimators.streamed_rows import LearnsFromStreams
from margin.neural.generators import Seeds
from margin.neural.nets.tabular import TabularNet
from margin.neural.parts import describe
from margin.neural.robust_scaling import BOUND, RobustScaling
from margin.neural.stored import SIDE_BY_SIDE, side_by_side_layers_are_stored
from margin.neural.table_inputs import TableInputs
from margin.neural.training import LazyRows, TensorRows, validation_split
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.neural.training.objectives import weights_of
from margin.neural.training.rows import Rows
from margin.optimize.rate_schedules import RateSchedule
from margin.optimize.rules import Rule

__all__ = ["TabularNetEstimator"]

# What rows may be: NaN is a missing value.
TABLE: dict[str, Any] = {"dtype": FLOATS, "order": "C", "ensure_all_finite": "allow-nan"}

# The loss of every row by every network, (rows, networks), from outputs (networks, rows, columns) and targets.
RowLoss = Callable[[Tensor, Tensor, bool], Tensor]


class TabularNetEstimator(RegularizedWeights, LearnsFromStreams, JudgedEstimator):
    """Parameters, scaling and training of both networks; a subclass says what its outputs and its loss are."""

    n_networks: int = parameter(
        4, Integer(low=1, high=MOST_LAYERS, search=(1, 16)), "Networks whose predictions are averaged."
    )
    _: KW_ONLY
    hidden_layer_sizes: Sequence[int] | int = parameter((64, 64), LAYER_SIZES, "Units of each hidden layer.")
    activation: str | Activation = parameter(
        "silu", ACTIVATION, "Activation function of the hidden units, by name or an object like ELU(alpha=0.5)."
    )
    categorical_features: Any = parameter(
        FROM_DTYPE,
        CATEGORICAL,
        "Columns that hold categories: numbers, names or one flag per column; 'from_dtype' takes those of a data frame "
        "that hold strings or are of dtype category. Each category is an input of its own.",
    )
    solver: str | Rule = default("adam", "Optimizer.")
    alpha: float = parameter(
        0.0, Number(low=0, search=(1e-5, 1.0), log=True), "Strength of the L2 penalty on the weights."
    )
    batch_size: int | str = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=1, search=(16, 512), log=True)),
        "Rows per update; 'auto' is a tenth of the rows, at least 16 and at most 256.",
    )
    learning_rate: str | RateSchedule = parameter(
        "linear",
        learning_rates("constant", "cosine", "linear", "step", "exponential", "one_cycle"),
        "How the learning rate falls over max_iter.",
    )
    learning_rate_init: float = parameter(
        0.04,
        Number(above=0, search=(5e-3, 0.2), log=True),
        "Full learning rate, of weights whose size is 1 in every layer.",
    )
    beta_2: float = default(0.95)
    warmup: float = default(0.1)
    max_iter: int = default(40, "Epochs.")
    early_stopping: bool = default(
        True, "Whether every network holds out rows of its own, and the epoch that is best for them is kept."
    )
    validation_fraction: float = default(0.2, "Fraction of the rows that each network holds out.")
    n_iter_no_change: int | float = default(
        20, "Epochs without a gain of tol for held-out rows after which training ends."
    )

    center_: np.ndarray = attribute(ArrayOf("n_features"), "The median of every column.")
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by.")
    missing_: np.ndarray = attribute(
        sometimes(ArrayOf("n_features", kind="b")), "Columns of numbers with an input that says what is missing."
    )
    categories_: dict[int, Any] = attribute(
        sometimes(DictOf(Count(), OneOf(ArrayOf(None, kind="float64"), ListOf(Anything())))),
        "Categories of the columns that hold some, by column: strings, or ascending numbers.",
    )
    network_: dict[str, Any] = attribute(SIDE_BY_SIDE)
    _stored_rules = (side_by_side_layers_are_stored,)

    def _rows_per_update(self, n_rows: int) -> int:
        return min(max(n_rows // 10, 16), 256) if self.batch_size == "auto" else int(self.batch_size)

    def _network(self) -> nn.Module:
        return TabularNet(**self.network_)

    def _new_table(self, X: Any, y: Any, **rules: Any) -> tuple[np.ndarray, np.ndarray, dict[int, Any]]:
        """Rows to learn from as numbers, categories as codes; the targets as ``rules`` check them; the categories."""
        owner, given = type(self).__name__, self.categorical_features
        if self._goes_on():
            known = getattr(self, "categories_", {})
            X, y = validate_data(self, encode_strings(X, known), y, **TABLE, **rules)
            return encode_numbers(X, known).astype(X.dtype, copy=False), y, known
        X, categorical, strings = find_string_categories(owner, X, given)
        X, y = validate_data(self, X, y, **TABLE, **rules)
        names = getattr(self, "feature_names_in_", None)
        if categorical is None:
            categorical = categorical_flags(owner, given, X.shape[1], names)
        known = find_categories(owner, X, categorical, strings, names)
        return encode_numbers(X, known).astype(X.dtype, copy=False), y, known

    def _table(self, X: Any) -> np.ndarray:
        """Further rows as numbers, categories as codes."""
        check_is_fitted(self)
        known = getattr(self, "categories_", {})
        X = validate_data(self, encode_strings(X, known), **TABLE, reset=False)
        return encode_numbers(X, known).astype(X.dtype, copy=False)

    def _inputs(self) -> TableInputs:
        """What the networks read of a row; models stored before tables could have gaps have none."""
        missing = getattr(self, "missing_", np.zeros(len(self.center_), dtype=bool))
        return TableInputs(RobustScaling(self.center_, self.scale_), missing, getattr(self, "categories_", {}))

    def _learn(
        self,
        X: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
        loss: RowLoss,
        score: Callable[[Tensor, Tensor, Tensor], float],
        *,
        categories: Mapping[int, Any],
        n_outputs: int,
        zero_output: bool,
        seed: int,
        labels: np.ndarray | None,
        state: Mapping[str, Any] | None,
        own: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    ) -> Iterator[Record]:
        """Train on checked rows; ``score`` judges outputs (pairs of row and network, columns).

        ``own`` are rows, targets and weights that a user gave to validate.
        """
        inputs = self._inputs() if self._goes_on() else TableInputs.of(X, categories, weight)
        sizes = [inputs.n_inputs, *layer_sizes(self.hidden_layer_sizes), n_outputs]
        network = {
            "n_networks": int(self.n_networks),
            "sizes": sizes,
            "activation": describe(f"{type(self).__name__}: activation", self.activation, ACTIVATIONS),
            "zero_output": zero_output,
        }
        if self._goes_on() and network != self.network_:
            raise ValueError(
                f"{type(self).__name__}: warm_start must go on with {self.network_['n_networks']} networks of "
                f"layers {self.network_['sizes']}; got {network['n_networks']} of {sizes}."
            )
        if not self._goes_on():
            (self.center_, self.scale_), self.missing_ = inputs.scaling, inputs.missing
            self.categories_ = dict(inputs.categories)
        self.network_ = network
        trains = self._draw_rows(len(X), seed, labels, given=own).astype(X.dtype)
        rows = self._rows(X, trains, target, weight)
        numbers = np.flatnonzero((trains == 0).any(axis=1))
        held = rows.take(torch.from_numpy(numbers)) if len(numbers) else None
        if own is not None:
            outside = np.zeros((len(own[0]), self.n_networks), dtype=X.dtype)
            held = self._rows(own[0], outside, own[1], own[2])
        everything = np.arange(len(X))
        yield from self._train(
            _objective(loss), rows, everything, numbers, seed=seed, state=state, score=_score_of_held_out(score),
            held=held,
        )  # fmt: skip
        if held is not None:
            self._calibrate(*held_out_outputs(self._ready_module(), self._compute().rows(held)))

    def _rows(self, X: np.ndarray, trains: np.ndarray, target: np.ndarray, weight: np.ndarray) -> Rows:
        read = self._inputs().apply
        if is_mapped(X):
            return LazyRows.of(X, read, trains, target, weight=weight)
        return TensorRows.of(read(X), trains, target, weight=weight)

    def _calibrate(self, outputs: Tensor, targets: Tensor, weights: Tensor) -> None:
        """What is set after training by the outputs (pairs, columns) for rows that a network has held out."""

    def _draw_rows(self, n_rows: int, seed: int, labels: np.ndarray | None, *, given: Any) -> np.ndarray:
        """Which row trains which network, (rows, networks)."""
        trains = np.ones((n_rows, self.n_networks), dtype=bool)
        if self.early_stopping and given is None:
            first = Seeds.of(seed).split
            for m in range(self.n_networks):
                trains[validation_split(n_rows, self.validation_fraction, first + m, labels)[1], m] = False
        return trains

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        module = self._ready_module()
        if not self._inputs().plain:
            raise TypeError(
                f"{type(self).__name__}: columns with categories or missing values in fit have no gradients to ask."
            )
        x = torch.from_numpy(np.array(validate_data(self, X, dtype=FLOATS, order="C", reset=False)))
        x = x.to(next(module.parameters()))
        center, scale = (torch.as_tensor(a).to(x) for a in (self.center_, self.scale_))

        def outputs(rows: Tensor) -> Tensor:
            z = (rows - center) / scale
            return self._in_units(module(z / (1 + (z / BOUND).square()).sqrt()).mean(dim=0))

        return outputs, x

    def _average_networks(self, X: np.ndarray, average: Callable[[Tensor], Tensor]) -> np.ndarray:
        """``average`` of the outputs (networks, rows, columns) over the networks."""
        module = self._ready_module()
        return self._evaluate(lambda x: average(module(x)), self._inputs().apply(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _objective(loss: RowLoss) -> Any:
    """The mean loss of a row over the networks that train on it; in evaluation, over those that do not."""

    def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
        x, trains, target = batch
        losses = loss(module(x), target, module.training)
        counted = trains if module.training else 1 - trains
        return {"loss": (losses * counted).sum(dim=1) / counted.sum(dim=1).clamp(min=1)}

    return objective


def held_out_outputs(module: nn.Module, rows: Rows) -> tuple[Tensor, ...]:
    """Outputs, targets and weights of all pairs of a row and a network that holds it out."""
    parts = []
    with torch.inference_mode():
        for part in rows.chunks(EVALUATION_ROWS):
            x, trains, target = part.tensors
            outside = (trains == 0).T  # (networks, rows)
            row = torch.arange(len(x), device=x.device).expand_as(outside)[outside]
            parts.append((module(x)[outside], target[row], weights_of(part)[row]))
    return tuple(torch.cat(column) for column in zip(*parts))


def _score_of_held_out(score: Callable[[Tensor, Tensor, Tensor], float]) -> Callable[[nn.Module, Rows], float]:
    """A score over all pairs of a row and a network that holds it out."""
    return lambda module, rows: score(*held_out_outputs(module, rows))
