r"""Autoencoder: a network that must reproduce its input through a code that keeps it from copying.

.. math:: \min_{f, g}\ \sum_i \|x_i - g(f(\tilde x_i))\|^2 + \Omega(f(\tilde x_i))

The code is short (undercomplete), sparse (:math:`\Omega`, or only the largest coordinates survive), or made from a
corrupted input :math:`\tilde x` (denoising). It is a reconstruction, not a distribution: nothing can be drawn from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, validate_data
from torch import Tensor, nn

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Flag, Integer, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.notices import warn_user
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.data.image_arrays import flat_pictures, row_layout
from margin.generative.autoencoder_network import AutoencoderNetwork
from margin.generative.sparsity import l1_activity, mean_activity_kl
from margin.generative.stored import AUTOENCODER_NETWORK, autoencoder_is_stored
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.parameters import ACTIVATION, LAYER_SIZES, OPTIMIZERS, layer_sizes, solvers
from margin.neural.losses.regression import squared_error
from margin.neural.parts import describe
from margin.neural.scaling import Scaling
from margin.neural.training import TensorRows
from margin.optimize.rate_schedules import RateSchedule
from margin.optimize.rules import Rule

__all__ = ["Autoencoder", "corrupt", "reconstruction_loss"]

IN_UNIT_INTERVAL = ("logistic", "sigmoid")


def corrupt(x: Tensor, kind: str, level: float, noise: torch.Generator) -> Tensor:
    """Gaussian noise of deviation ``level`` added, or each entry set to 0 with probability ``level`` ("mask")."""
    if level == 0:
        return x
    if kind == "gaussian":
        return x + level * torch.randn(x.shape, generator=noise, dtype=x.dtype, device=x.device)
    return x * (torch.rand(x.shape, generator=noise, dtype=x.dtype, device=x.device) >= level)


def reconstruction_loss(
    module: nn.Module,
    batch: tuple[Tensor, ...],
    noise: torch.Generator,
    *,
    corruption: tuple[str, float] = ("gaussian", 0.0),
    sparsity: str | None = None,
    weight: float = 0.0,
    target: float = 0.05,
) -> dict[str, Tensor]:
    """Squared error of each row, plus the weighted penalty of its code; the batch holds inputs and what to restore."""
    seen, clean = batch
    code, restored = module(corrupt(seen, *corruption, noise))
    error = squared_error(restored, clean).sum(dim=-1)
    if sparsity is None:
        return {"loss": error}
    penalty = l1_activity(code) if sparsity == "l1" else mean_activity_kl(code, target).expand(len(error))
    return {"loss": error + weight * penalty, "reconstruction_error": error, "penalty": penalty}


class Autoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeuralEstimator):
    r"""Codes that an encoder makes and a decoder turns back into the rows they came from.

    Without hidden layers, and with the identity as activation of the code, the code spans the subspace of principal
    component analysis. The squared error is that of standardized columns, unless the output is 'logistic' or
    ``standardize`` is off.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:500] / 16
    >>> model = Autoencoder(3, (32,), out_activation="logistic", max_iter=5, random_state=0).fit(X)
    >>> model.transform(X).shape, model.reconstruct(X).shape
    ((500, 3), (500, 64))
    """

    n_components: int = parameter(8, Integer(low=1), "Number of coordinates of the code.")
    hidden_layer_sizes: Sequence[int] | int = parameter(
        (128,),
        LAYER_SIZES,
        "Units (channels with image_shape) of each hidden layer of the encoder; the decoder has them in reverse.",
    )
    _: KW_ONLY
    activation: str | Activation = parameter("relu", ACTIVATION, "Activation function of the hidden units.")
    code_activation: str | Activation = parameter("identity", ACTIVATION, "Function of the units of the code.")
    out_activation: str = parameter(
        "identity", Choice("identity", "logistic"), "Function of the output; 'logistic' takes entries in [0, 1]."
    )
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1))),
        "(height, width), (height, width, channels) or (channels, height, width) of the images whose pixels the "
        "columns are (None: that of X, where it is pictures): the layers are convolutions of "
        "stride 2. None: fully connected layers.",
    )
    noise: float = parameter(
        0.0, Number(low=0), "How much of what the encoder sees is corrupted in training; the target stays clean."
    )
    noise_kind: str = parameter(
        "gaussian",
        Choice("gaussian", "mask"),
        "Corruption: noise of deviation noise is added, or entries are set to 0 with probability noise.",
    )
    sparsity: str | None = parameter(
        None,
        Optional(Choice("l1", "kl")),
        "Penalty of the code: the sum of its absolute values, or the divergence of the mean activity of every unit in "
        "a batch from sparsity_target, for a 'logistic' code.",
    )
    sparsity_weight: float = parameter(1.0, Number(low=0, search=(1e-3, 10.0), log=True), "Weight of the penalty.")
    sparsity_target: float = parameter(
        0.05, Number(above=0, below=1), "Mean activity of a unit at which the penalty 'kl' is 0."
    )
    n_active: int | None = parameter(
        None,
        Optional(Integer(low=1)),
        "Coordinates of the code that stay, those of largest absolute value; None: all do.",
    )
    standardize: bool = parameter(
        True, Flag(), "Whether columns are brought to mean 0 and deviation 1 for the encoder and a linear output."
    )
    solver: str | Rule = parameter(
        "adam",
        solvers(*OPTIMIZERS, "lbfgs"),
        "Optimizer. 'lbfgs' takes all rows at once and line searches; for small networks and rows without noise.",
    )
    alpha: float = default(0.0)
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = default(2e-3)
    batch_size: int | str = default(64)
    max_iter: int = default(100)

    center_: np.ndarray = attribute(
        ArrayOf("n_features"), "What is subtracted from every column before the encoder sees it."
    )
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by before the encoder sees it.")
    network_: dict[str, Any] = attribute(AUTOENCODER_NETWORK)
    _stored_rules = (autoencoder_is_stored,)
    _seen_shape: tuple[int, ...] | None = attribute(None, "The shape of the pictures of the running fit.")

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X``, yielding records with the loss; ``state`` continues a fit exactly."""
        self._check_parameters()
        X = self._validate(X, reset=True)
        seed = self._seed(state)
        train, valid = self._split(len(X), seed)
        if not self._goes_on():
            self.center_, self.scale_ = self._scaling(X[train])
        self._describe(X.shape[1])
        seen = Scaling(self.center_, self.scale_).apply(X)
        rows = TensorRows.of(seen, seen if self.out_activation == "identity" else X)
        objective = partial(
            reconstruction_loss,
            corruption=(self.noise_kind, self.noise),
            sparsity=self.sparsity,
            weight=self.sparsity_weight,
            target=self.sparsity_target,
        )
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def encode(self, X: MatrixLike) -> np.ndarray:
        """The code of every row."""
        module = self._trained_network()
        X = self._validate(X)
        codes = self._evaluate(module.encode, Scaling(self.center_, self.scale_).apply(X))
        return codes.astype(X.dtype, copy=False)

    transform = encode

    def decode(self, Z: Any) -> np.ndarray:
        """The row that every code stands for."""
        module = self._trained_network()
        Z = check_array(Z, dtype=[np.float64, np.float32], order="C")
        if Z.shape[1] != self.network_["n_components"]:
            wanted = self.network_["n_components"]
            raise ValueError(f"Autoencoder: Z must have {wanted} columns, one per coordinate; got {Z.shape[1]}.")
        rows = self._evaluate(module.decode, Z)
        undone = rows if self.network_["out_activation"] == "logistic" else self._undo(rows)
        return undone.astype(Z.dtype, copy=False)

    inverse_transform = decode

    def reconstruct(self, X: MatrixLike) -> np.ndarray:
        """Every row encoded and decoded."""
        return self.decode(self.encode(X))

    def reconstruction_errors(self, X: MatrixLike) -> np.ndarray:
        """Squared distance of every row from its reconstruction, in the units of the data."""
        X = self._validate(X)
        return np.square(X.astype(np.float64) - self.reconstruct(X)).sum(axis=1)

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """Minus the mean of ``reconstruction_errors``: larger is better."""
        return -float(self.reconstruction_errors(self._validate(X)).mean())

    @property
    def _n_features_out(self) -> int:
        return self.network_["n_components"]

    def _trained_network(self) -> AutoencoderNetwork:
        return cast(AutoencoderNetwork, self._ready_module())

    def _network(self) -> nn.Module:
        return AutoencoderNetwork(**self.network_)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None if self.network_["image_shape"] is not None else super()._threads(module, batch_size)

    def _scaling(self, X: np.ndarray) -> Scaling:
        if not self.standardize:
            return Scaling.none(X.shape[1])
        return Scaling.of_values(X, one_unit=self._image_shape() is not None)

    def _undo(self, rows: np.ndarray) -> np.ndarray:
        return Scaling(self.center_, self.scale_).undo(rows)

    def _describe(self, n_features: int) -> None:
        if (shape := self._image_shape()) is not None:
            row_layout("Autoencoder", shape, n_features)
        limited = self.sparsity is not None or self.n_active is not None or self.noise > 0
        if self.n_components >= n_features and not limited:
            warn_user(
                f"Autoencoder: a code of {self.n_components} coordinates can copy rows of {n_features} columns; take "
                "fewer, or noise, sparsity or n_active."
            )
        self.network_ = {
            "n_features": n_features,
            "n_components": int(self.n_components),
            "hidden": layer_sizes(self.hidden_layer_sizes),
            "activation": describe("Autoencoder: activation", self.activation, ACTIVATIONS),
            "code_activation": describe("Autoencoder: code_activation", self.code_activation, ACTIVATIONS),
            "out_activation": self.out_activation,
            "image_shape": self._image_shape(),
            "n_active": None if self.n_active is None else int(self.n_active),
        }

    def _image_shape(self) -> list[int] | None:
        """The shape of the images of this fit; None for rows that are none."""
        shape = self._seen_shape if self.image_shape is None else self.image_shape
        return None if shape is None else [int(size) for size in shape]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        code_activation = describe("Autoencoder: code_activation", self.code_activation, ACTIVATIONS)
        if self.sparsity == "kl" and code_activation not in IN_UNIT_INTERVAL:
            raise ValueError(
                "Autoencoder: code_activation must be 'logistic' with sparsity 'kl', a divergence between means in "
                f"(0, 1); got {self.code_activation!r}."
            )
        if self.n_active is not None and self.n_active > self.n_components:
            raise ValueError(
                f"Autoencoder: n_active must be at most n_components={self.n_components}; got {self.n_active}."
            )
        if self.noise_kind == "mask" and self.noise >= 1:
            raise ValueError(f"Autoencoder: noise must be below 1 with noise_kind 'mask'; got {self.noise}.")
        if self.solver == "lbfgs" and self.noise:
            raise ValueError(f"Autoencoder: noise must be 0 with solver 'lbfgs'; got {self.noise}.")

    def _validate(self, X: Any, *, reset: bool = False) -> np.ndarray:
        """What is restored in training must be in the range of the output; what is encoded later may be noisy."""
        fitted = None if reset else getattr(self, "network_", {}).get("image_shape")
        X, seen = flat_pictures("Autoencoder", X, fitted or self.image_shape)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=reset)
        if reset:
            self._seen_shape = seen
        if reset and self.out_activation == "logistic" and (X.min() < 0 or X.max() > 1):
            raise ValueError(
                f"Autoencoder: X must have entries from 0 to 1 for a logistic output; got {X.min():g} to {X.max():g}."
            )
        return X
