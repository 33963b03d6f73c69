r"""Normalizing flow: an invertible network turns data into standard normal noise, so the density is exact.

.. math:: \log p(x) = \log N(f(x); 0, I) + \log\Bigl|\det\frac{\partial f}{\partial x}\Bigr|

Training maximizes the log-density of the rows; a sample is noise sent through the inverse.
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
from margin.core.domains import MOST_LAYERS, Choice, Either, Flag, Integer
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.number_range import finite_values
from margin.core.parameters import attribute, default, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.generative.flows import LAYERS, FlowNetwork
from margin.generative.stored import FLOW_NETWORK, flow_is_stored
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.parameters import LAYER_SIZES, layer_sizes
from margin.neural.scaling import Scaling
from margin.neural.training import TensorRows
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["NormalizingFlow", "negative_log_density"]


def negative_log_density(
    module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator, *, log_volume: float
) -> dict[str, Tensor]:
    """The loss of each row in nats of the original data; ``log_volume`` is the logarithm of the scaling before."""
    del noise  # the density is exact: nothing is drawn
    log_density = module(batch[0]) - log_volume
    return {"loss": -log_density, "log_density": log_density}


class NormalizingFlow(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeuralEstimator):
    r"""Exact density and samples from a chain of invertible layers.

    ``planar`` layers push space along one direction; ``affine-coupling`` (real NVP) and ``spline-coupling`` (neural
    spline flow) transform every second column given the others; ``autoregressive`` (MAF) transforms every column
    given those before it; ``continuous`` moves rows along a velocity field that an ODE solver integrates.

    ``transform`` gives the noise that belongs to every row, and ``inverse_transform`` the row that belongs to noise.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, _ = make_moons(400, noise=0.1, random_state=0)
    >>> model = NormalizingFlow(n_blocks=2, hidden_layer_sizes=(16,), max_iter=5, random_state=0).fit(X)
    >>> model.sample(3, random_state=0).shape, model.score_samples(X).shape
    ((3, 2), (400,))
    >>> bool(np.allclose(model.inverse_transform(model.transform(X)), X))
    True
    """

    log_density_kind = "exact"

    layers: Sequence[str] | str = parameter(
        "spline-coupling",
        Either(Choice(*LAYERS), SequenceOf(Choice(*LAYERS))),
        "Kind of the invertible layers, or one kind after the other.",
    )
    _: KW_ONLY
    n_blocks: int = parameter(4, Integer(low=1, high=MOST_LAYERS, search=(2, 8)), "How often layers is repeated.")
    hidden_layer_sizes: Sequence[int] | int = parameter(
        (64, 64), LAYER_SIZES, "Units of each hidden layer of the networks that steer the layers; 'planar' has none."
    )
    standardize: bool = parameter(True, Flag(), "Whether columns are brought to mean 0 and deviation 1 first.")
    alpha: float = default(0.0)
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = default(2e-3)
    batch_size: int | str = default(64)
    clip_norm: float | None = default(5.0)
    max_iter: int = default(100, "Most epochs.")

    center_: np.ndarray = attribute(ArrayOf("n_features"), "What is subtracted from every column first.")
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by first.")
    network_: dict[str, Any] = attribute(FLOW_NETWORK)
    _stored_rules = (flow_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X``, yielding records with the mean log-density; ``state`` continues a fit exactly."""
        self._check_parameters()
        kinds = [self.layers] if isinstance(self.layers, str) else list(self.layers)
        if not kinds:
            raise ValueError("NormalizingFlow: layers must name at least one kind of layer; got none.")
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=True)
        seed = self._seed(state)
        train, valid = self._split(len(X), seed)
        if not self._goes_on():
            self.center_, self.scale_ = Scaling.of(X[train]) if self.standardize else Scaling.none(X.shape[1])
        self.network_ = {
            "n_features": X.shape[1],
            "layers": kinds * int(self.n_blocks),
            "hidden": layer_sizes(self.hidden_layer_sizes),
        }
        objective = partial(negative_log_density, log_volume=self._log_volume())
        yield from self._train(objective, TensorRows.of(self._scale_rows(X)), train, valid, seed=seed, state=state)

    def transform(self, X: Any) -> np.ndarray:
        """The noise that every row is the image of."""
        module = self._trained_network()
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        noise = self._evaluate(lambda x: module.to_noise(x)[0], self._scale_rows(X))
        return noise.astype(X.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """The row that every row of noise is sent to."""
        module = self._trained_network()
        Z = check_array(Z, dtype=[np.float64, np.float32], order="C")
        if Z.shape[1] != self.n_features_in_:
            raise ValueError(f"NormalizingFlow: Z must have {self.n_features_in_} columns; got {Z.shape[1]}.")
        rows = Scaling(self.center_, self.scale_).undo(self._evaluate(module.to_data, Z))
        return rows.astype(Z.dtype, copy=False)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> np.ndarray:
        """New rows: standard normal noise, sent through the inverse."""
        self._trained_network()
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"NormalizingFlow: n_samples must be an integer at least 1; got {n_samples!r}.")
        return self.inverse_transform(as_generator(random_state).standard_normal((n_samples, self.n_features_in_)))

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-density of every row, in nats."""
        module = self._trained_network()
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        densities = self._evaluate(module, self._scale_rows(X)).astype(np.float64)
        return finite_values("NormalizingFlow", "X", X, lambda: densities - self._log_volume())

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """The mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    @property
    def _n_features_out(self) -> int:
        return self.n_features_in_

    def _trained_network(self) -> FlowNetwork:
        return cast(FlowNetwork, self._ready_module())

    def _network(self) -> nn.Module:
        return FlowNetwork(**self.network_)

    def _scale_rows(self, X: np.ndarray) -> np.ndarray:
        return Scaling(self.center_, self.scale_).apply(X)

    def _log_volume(self) -> float:
        """The density of x = c + s u is the density of u divided by the product of the scales s."""
        return float(np.log(self.scale_).sum())
