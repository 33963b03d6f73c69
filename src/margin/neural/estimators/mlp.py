r"""What the two perceptrons for tables share: parameters, network, scaling, and the way from rows to training.

.. math:: L(\theta) = \frac{\sum_i w_i\,\ell(y_i, f_\theta(x_i)) + \frac{\alpha}{2}\sum_k\|W_k\|^2}{\sum_i w_i}

A network computes in the precision of its input: float64 tables give float64 predictions, float32 is about twice as
fast for wide layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.domains import Flag, Integer, Named, Number, Optional
from margin.core.invariants import ArrayOf
from margin.core.new_rows import validate_new_rows
from margin.core.notices import warn_user
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.row_files import is_mapped
from margin.neural.activations.table import ACTIVATIONS, COMPETING, USUAL, Activation
from margin.neural.estimators.base import FitLoop
from margin.neural.estimators.own_validation import JudgedEstimator
from margin.neural.estimators.parameters import LAYER_SIZES, InitialWeights, RegularizedWeights, layer_sizes, solvers
from margin.neural.estimators.streamed_rows import LearnsFromStreams
from margin.neural.generators import Seeds
from margin.neural.nets.mlp import MLP
from margin.neural.normalization.normalizations import NORMALIZATIONS, ROW_NORMS, Normalization
from margin.neural.parts import choose, describe
from margin.neural.scaling import Scaling
from margin.neural.stored import LAYERS, layers_are_stored
from margin.neural.training import LazyRows, Plan, RowBatches, Rows, Step, TensorRows, Training
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.neural.training.noise import with_input_noise, with_weight_noise
from margin.neural.training.schedules import InverseScaling
from margin.neural.training.steps import Objective
from margin.neural.weights import build, load_weights
from margin.optimize.rate_schedules import Constant
from margin.optimize.rules import Rule

__all__ = ["MLPEstimator", "has_first_order_solver", "weighted_rows"]

FLOATS = [np.float64, np.float32]
ALL_ACTIVATIONS = {**ACTIVATIONS, **COMPETING}


def has_first_order_solver(model: MLPEstimator) -> bool:
    """Whether the model learns batch by batch, which partial_fit needs; where not, it has no such method."""
    if model.solver == "lbfgs":
        raise AttributeError(f"{type(model).__name__}: partial_fit needs a first-order solver; got 'lbfgs'.")
    return True


class MLPEstimator(InitialWeights, RegularizedWeights, LearnsFromStreams, JudgedEstimator):
    """A perceptron with the face of an estimator; a subclass says what its outputs and its loss are."""

    hidden_layer_sizes: Sequence[int] | int = parameter((100,), LAYER_SIZES, "Units of each hidden layer.")
    activation: str | Activation = parameter(
        "relu",
        Named(Activation, ALL_ACTIVATIONS, searched=USUAL),
        "Activation function of the hidden units, by name or an object like ELU(alpha=0.5).",
    )
    _: KW_ONLY
    solver: str | Rule = parameter(
        "adam",
        solvers("adam", "sgd", "lbfgs", "adamw", "muon"),
        "Optimizer: a name, or a rule such as Adam(beta_1=0.8). 'lbfgs' works on all rows at once; 'muon' moves hidden "
        "matrices by their orthogonalized momentum.",
    )
    dropout: float = parameter(
        0.0, Number(low=0, below=1, search=(0, 0.5)), "Probability that a hidden unit is left out of an update."
    )
    norm: str | Normalization | None = parameter(
        None,
        Optional(Named(Normalization, ROW_NORMS)),
        "Normalization before every activation, by name or an object like GroupNormalization(groups=4); None: none.",
    )
    negative_slope: float = parameter(0.01, Number(low=0), "Slope of 'leaky_relu' for negative inputs.")
    input_noise: float = parameter(
        0.0, Number(low=0), "Deviation of normal noise added to the scaled columns, drawn anew for every update."
    )
    weight_noise: float = parameter(
        0.0, Number(low=0), "Deviation of normal noise added to weights and biases, drawn anew for every update."
    )
    standardize: bool = parameter(
        True, Flag(), "Whether columns (and the targets of a regression) are brought to mean 0 and deviation 1."
    )
    max_fun: int = parameter(15000, Integer(low=1), "Most evaluations of the loss by 'lbfgs'.")

    center_: np.ndarray = attribute(ArrayOf("n_features"), "What is subtracted from every column.")
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by.")
    network_: dict[str, Any] = attribute(LAYERS)
    _stored_rules = (layers_are_stored,)

    @property
    def coefs_(self) -> list[np.ndarray]:
        """Weight matrix of every layer, (inputs, outputs)."""
        return [self.weights_[f"linears.{k}.weight"].T for k in range(self.n_layers_ - 1)]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Bias of every layer."""
        return [self.weights_[f"linears.{k}.bias"] for k in range(self.n_layers_ - 1)]

    @property
    def n_layers_(self) -> int:
        """Number of layers, input and output among them."""
        return len(self.network_["sizes"])

    @property
    def n_outputs_(self) -> int:
        """Number of outputs of the network."""
        return int(self.network_["sizes"][-1])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("dropout", "input_noise", "weight_noise"):
            if self.solver == "lbfgs" and getattr(self, name):
                raise ValueError(
                    f"{type(self).__name__}: {name} must be 0 with solver 'lbfgs'; got {getattr(self, name)}."
                )

    def _follow(self, training: Training, loop: FitLoop) -> Iterator[Record]:
        yield from super()._follow(training, loop)
        patience = training.stopping
        open_ended = self.solver == "lbfgs" or patience is not None  # a falling learning rate ends with its schedule
        settled = training.step.converged or (patience is not None and patience.stale_epochs >= patience.patience)
        limit = ""
        if getattr(training.step, "spent", False):
            limit = f"max_fun={self.max_fun} evaluations"
        elif open_ended and not settled and training.epoch >= training.plan.epochs:
            limit = f"max_iter={self.max_iter} epochs"
        if limit:
            warn_user(f"{type(self).__name__}: the loss still falls after {limit}.", ConvergenceWarning)

    def _network(self) -> nn.Module:
        return MLP(**self.network_, initializer=self.initializer)

    def _describe(self, n_outputs: int) -> None:
        network = {
            "sizes": [self.n_features_in_, *layer_sizes(self.hidden_layer_sizes), n_outputs],
            "activation": describe(f"{type(self).__name__}: activation", self.activation, ALL_ACTIVATIONS),
            "dropout": float(self.dropout),
            "negative_slope": float(self.negative_slope),
        }
        if self.norm is not None:
            network["norm"] = describe(f"{type(self).__name__}: norm", self.norm, NORMALIZATIONS)
        if self._goes_on():
            self._check_same_layers(network)
        self.network_ = network

    def _check_same_layers(self, network: dict[str, Any]) -> None:
        """A warm start goes on with the weights of the last fit, so what decides their shapes must be as it was."""
        if network["sizes"] != self.network_["sizes"]:
            raise ValueError(
                f"{type(self).__name__}: warm_start must go on with layers {self.network_['sizes']}; "
                f"got {network['sizes']}."
            )
        before, after = ((part.get("norm"), _pieces(part)) for part in (self.network_, network))
        if before != after:
            raise ValueError(
                f"{type(self).__name__}: warm_start must go on with the norm and units of the last fit; "
                f"got norm {self.norm!r} and activation {self.activation!r}."
            )

    def _scale_inputs(self, X: Any, weight: np.ndarray, rows: np.ndarray | None = None) -> None:
        """Scaling by the numbered ``rows`` (None: all)."""
        if self._goes_on():  # the weights belong to the scaling they were learned with
            return
        self.center_, self.scale_ = Scaling.of(X, weight, rows) if self.standardize else Scaling.none(X.shape[1])

    def _rows(self, X: Any, target: np.ndarray, weight: np.ndarray) -> Rows:
        scaling = Scaling(self.center_, self.scale_)
        if issparse(X) or is_mapped(X):
            return LazyRows.of(X, scaling.apply, target, weight=weight)
        return TensorRows.of(scaling.apply(X), target, weight=weight)

    def _step(self, module: nn.Module, objective: Objective, rows: Rows, seeds: Seeds) -> tuple[Step, RowBatches]:
        noisy = with_weight_noise(with_input_noise(objective, self.input_noise), self.weight_noise)
        return super()._step(module, noisy, rows, seeds)

    def _pass(self, X: Any, target: np.ndarray, objective: Objective, weight: np.ndarray | None = None) -> None:
        """One pass over the rows with the weights and optimizer slots of the last one."""
        if self.early_stopping or not isinstance(self._rate_schedule(), Constant | InverseScaling):
            raise ValueError(
                f"{type(self).__name__}: partial_fit needs learning_rate 'constant' or 'invscaling' and no "
                f"early_stopping; got {self.learning_rate!r}, {self.early_stopping}."
            )
        rows = self._rows(X, target, np.ones(X.shape[0]) if weight is None else weight)
        before = self._earlier_work()
        step, seed = getattr(self, "_partial", (None, self._seed(None)))
        seeds = Seeds.of(seed)
        if step is None:
            compute = self._compute()
            module = build(self._network, seeds.weights, compute.dtype_for(rows.dtype))
            if hasattr(self, "weights_"):
                load_weights(module, self.weights_)
            module = compute.place(module)
            step, _ = self._step(module, objective, rows, seeds)
        if self.learning_rate == "invscaling":
            step.rate_factor = (1 + before["rows"]) ** -self.power_t
        order = seeds.order + before["epochs"]  # every pass has an order of its own
        batches = RowBatches(rows, self._rows_per_update(len(rows)), order, shuffle=self.shuffle)
        threads = self._threads(step.result, batches.batch_size)
        training = Training(batches, step, Plan(1, None), threads=threads, compute=self._compute())
        for _ in self._follow(training, FitLoop(training, seed, len(rows), before)):
            pass
        self._partial = step, seed
        del self._loop

    def _outputs(self, X: Any) -> np.ndarray:
        """What the last layer gives for the rows of ``X``."""
        module = self._ready_module()
        X = validate_new_rows(self, X, dtype=FLOATS, order="C", accept_sparse="csr")
        scaling = Scaling(self.center_, self.scale_)
        if not (issparse(X) or is_mapped(X)):
            return self._evaluate(module, scaling.apply(X))
        pieces = (X[start : start + EVALUATION_ROWS] for start in range(0, X.shape[0], EVALUATION_ROWS))
        dense = (scaling.apply(piece.toarray() if issparse(piece) else piece) for piece in pieces)
        return np.concatenate([self._evaluate(module, part) for part in dense])

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        module = self._ready_module()
        X = validate_new_rows(self, X, dtype=FLOATS, order="C")
        x = torch.from_numpy(np.array(X)).to(next(module.parameters()))
        center, scale = (torch.as_tensor(a).to(x) for a in (self.center_, self.scale_))
        return lambda rows: self._in_units(module((rows - center) / scale)), x

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _pieces(network: dict[str, Any]) -> int:
    """How many inputs a hidden unit has."""
    return choose("activation", network["activation"], ALL_ACTIVATIONS).pieces


def weighted_rows(owner: Any, X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, ...]:
    """Rows with their weights, those of weight 0 dropped as if they had never been there."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weight > 0
    if not kept.any():
        raise ValueError(f"{type(owner).__name__}: sample_weight must have an entry above 0; all {len(weight)} are 0.")
    return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])
