r"""A sparse autoencoder: vectors as sums of few directions out of more than there are dimensions.

.. math:: h = \mathrm{relu}(W(x - c) + b), \qquad \hat x = c + \sum_k h_k d_k, \qquad
          \min\ \sum_i \|x_i - \hat x_i\|^2 + \lambda \|h_i\|_1, \quad \|d_k\| = 1

Inside networks one unit answers to many things; the directions of such a code often answer to one each (Bricken et
al., 2023). The directions have length 1, else the penalty would be evaded by small codes and long directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, cast

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import Tensor, nn
from torch.nn import functional

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Number
from margin.core.invariants import ArrayOf, Real
from margin.core.number_range import power_of_two
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.generative.sparsity import l1_activity
from margin.generative.stored import SPARSE_NETWORK, sparse_autoencoder_is_stored
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.losses.regression import squared_error
from margin.neural.training import TensorRows
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["SparseAutoencoder", "SparseAutoencoderNetwork", "sparse_reconstruction_loss"]


class SparseAutoencoderNetwork(nn.Module):
    """One rectified layer to the code, and unit directions back; it starts reading what it writes."""

    def __init__(self, n_features: int, n_directions: int):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(n_directions, n_features))
        self.encoder = nn.Linear(n_features, n_directions)
        with torch.no_grad():
            self.encoder.weight.copy_(self.directions())
            self.encoder.bias.zero_()

    def directions(self) -> Tensor:
        """Vectors of length 1, (directions, columns)."""
        return functional.normalize(self.vectors, dim=1)

    def encode(self, x: Tensor) -> Tensor:
        return functional.relu(self.encoder(x))

    def decode(self, code: Tensor) -> Tensor:
        return code @ self.directions()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Code and reconstruction."""
        code = self.encode(x)
        return code, self.decode(code)


def sparse_reconstruction_loss(
    module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator, *, weight: float
) -> dict[str, Tensor]:
    """Squared error of each row plus ``weight`` times the sum of its code."""
    (x,) = batch
    code, restored = module(x)
    error, penalty = squared_error(restored, x).sum(dim=-1), l1_activity(code)
    return {"loss": error + weight * penalty, "reconstruction_error": error, "penalty": penalty}


class SparseAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeuralEstimator):
    r"""Few of many directions for every row, learned from rows such as the activations of a network.

    Rows are centered and divided by one number, so that ``l1`` means the same for activations of any size.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> planted = np.eye(6) * [3, 3, 3, 2, 2, 2]
    >>> X = (rng.random((600, 6)) < 0.15) * rng.random((600, 6)) @ planted
    >>> model = SparseAutoencoder(2.0, l1=0.1, max_iter=40, random_state=0).fit(X)
    >>> model.directions_.shape, bool((model.transform(X) >= 0).all())
    ((12, 6), True)
    """

    expansion: float = parameter(
        4.0, Number(above=0, search=(1.0, 16.0), log=True), "Directions for every column; rounded up to an integer."
    )
    _: KW_ONLY
    l1: float = parameter(1.0, Number(low=0, search=(0.1, 4.0), log=True), "Weight of the L1 norm of a code.")
    alpha: float = default(0.0)
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = parameter(
        0.01, Number(above=0, search=(1e-3, 3e-2), log=True), "Initial learning rate of the schedule."
    )
    batch_size: int | str = default(64)
    max_iter: int = default(100, "Most epochs.")

    center_: np.ndarray = attribute(ArrayOf("n_features"), "Mean of every column, which is subtracted first.")
    scale_: float = attribute(
        Real(0.0, finite=True), "Root mean square of all centered entries, by which they are divided."
    )
    network_: dict[str, Any] = attribute(SPARSE_NETWORK)
    _stored_rules = (sparse_autoencoder_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X``, yielding records with the loss; ``state`` continues a fit exactly."""
        self._check_parameters()
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        seed = self._seed(state)
        train, valid = self._split(len(X), seed)
        if not self._goes_on():
            unit = power_of_two(np.abs(X).max(initial=0.0))  # squares of huge or tiny entries are taken in it
            self.center_ = unit * (X[train] / unit).mean(axis=0, dtype=np.float64)
            self.scale_ = float(unit * np.sqrt(np.mean(((X[train] - self.center_) / unit) ** 2))) or 1.0
        directions = int(np.ceil(self.expansion * X.shape[1]))
        self.network_ = {"n_features": X.shape[1], "n_directions": directions}
        weight = float(self.l1)

        def objective(module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
            return sparse_reconstruction_loss(module, batch, noise, weight=weight)

        yield from self._train(objective, TensorRows.of(self._scale_rows(X)), train, valid, seed=seed, state=state)

    @property
    def directions_(self) -> np.ndarray:
        """The learned directions as rows of length 1, (directions, columns)."""
        check_is_fitted(self)
        vectors = self.weights_["vectors"]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def transform(self, X: Any) -> np.ndarray:
        """How much of every direction every row has, in the units of ``X``; most are 0."""
        module = self._trained_network()
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return (self._evaluate(module.encode, self._scale_rows(X)) * self.scale_).astype(X.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """The row that every code stands for."""
        module = self._trained_network()
        Z = check_array(Z, dtype=[np.float64, np.float32], order="C")
        wanted = self.network_["n_directions"]
        if Z.shape[1] != wanted:
            raise ValueError(f"SparseAutoencoder: Z must have {wanted} columns, one per direction; got {Z.shape[1]}.")
        return (self._evaluate(module.decode, Z) + self.center_).astype(Z.dtype, copy=False)

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """Fraction of the variance of ``X`` about the learned center that the reconstruction explains."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        error = np.square(X - self.inverse_transform(self.transform(X)), dtype=np.float64).sum()
        return 1 - float(error / max(np.square(X - self.center_, dtype=np.float64).sum(), np.finfo(float).tiny))

    @property
    def _n_features_out(self) -> int:
        return int(self.network_["n_directions"])

    def _scale_rows(self, X: np.ndarray) -> np.ndarray:
        return ((X - self.center_) / self.scale_).astype(X.dtype, copy=False)

    def _trained_network(self) -> SparseAutoencoderNetwork:
        return cast(SparseAutoencoderNetwork, self._ready_module())

    def _network(self) -> nn.Module:
        return SparseAutoencoderNetwork(**self.network_)
