r"""A network that is an image: coordinates in, brightness out, at any resolution.

.. math:: u_\theta: [-1, 1]^n \to \mathbb{R}^c

Waves of random directions before the first layer let a small network show fine detail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.domains import Integer, Number
from margin.core.parameters import parameter
from margin.core.records import Record
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.parameters import ACTIVATION, LAYER_SIZES, layer_sizes, learning_rates
from margin.neural.losses.regression import mse_loss
from margin.neural.nets.mlp import MLP
from margin.neural.parts import describe
from margin.neural.training import TensorRows
from margin.neural.training.objectives import squared_error
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["CoordinateNetwork", "WaveNetwork", "grid_points", "psnr", "recover_from_laplacian"]


class WaveNetwork(nn.Module):
    r"""A perceptron of :math:`\sin` and :math:`\cos` of :math:`2\pi B x`, B drawn once from :math:`N(0, \sigma^2)`."""

    def __init__(
        self, n_inputs: int, n_waves: int, frequency: float, hidden: Sequence[int], n_outputs: int, activation: str
    ):
        super().__init__()
        self.directions: Tensor
        self.register_buffer("directions", frequency * torch.randn(n_waves, n_inputs))
        self.mlp = MLP([2 * n_waves, *hidden, n_outputs], activation)

    def forward(self, x: Tensor) -> Tensor:
        phase = 2 * torch.pi * x @ self.directions.T
        return self.mlp(torch.cat([torch.sin(phase), torch.cos(phase)], dim=1))


def grid_points(shape: Sequence[int]) -> np.ndarray:
    """Centers of the cells of a grid over [-1, 1]^n, last axis fastest.

    >>> grid_points((2,)).tolist()
    [[-0.5], [0.5]]
    """
    axes = [(np.arange(size) + 0.5) / size * 2 - 1 for size in shape]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def psnr(image: Any, other: Any) -> float:
    """Peak signal-to-noise ratio in decibels, the peak being the range of ``image``."""
    image, other = np.asarray(image, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(10 * np.log10(np.ptp(image) ** 2 / np.mean((image - other) ** 2)))


class CoordinateNetwork(NeuralEstimator):
    """A network fitted to one image (or signal, or volume) of at most three dimensions.

    >>> y = np.sin(np.linspace(0, 6, 50))
    >>> model = CoordinateNetwork(max_iter=60, random_state=0).fit(y)
    >>> model.render((200,)).shape
    (200,)
    """

    hidden_layer_sizes: Sequence[int] | int = parameter((64, 64), LAYER_SIZES, "Units of each hidden layer.")
    _: KW_ONLY
    activation: str | Activation = parameter("relu", ACTIVATION, "Activation function of the hidden units.")
    n_waves: int = parameter(32, Integer(low=1), "Random waves that the coordinates are turned into.")
    frequency: float = parameter(1.0, Number(above=0), "Deviation of the waves' frequencies, in periods per unit.")
    learning_rate_init: float = parameter(0.01, Number(above=0), "Initial learning rate of the schedule.")
    learning_rate: str | RateSchedule = parameter(
        "cosine", learning_rates("constant", "cosine"), "Schedule of the learning rate."
    )
    alpha: float = parameter(0.0, Number(low=0), "Strength of the L2 penalty on matrices.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn the array ``X``, whose axes are the coordinates."""
        self._check_parameters()
        image = np.asarray(X, dtype=np.float32)
        if not 1 <= image.ndim <= 3 or image.size < 2 or not np.isfinite(image).all():
            raise ValueError(f"CoordinateNetwork: X must be finite with 1 to 3 axes; got shape {image.shape}.")
        self.network_ = {
            "n_inputs": image.ndim,
            "n_waves": int(self.n_waves),
            "frequency": float(self.frequency),
            "hidden": layer_sizes(self.hidden_layer_sizes),
            "n_outputs": 1,
            "activation": describe("CoordinateNetwork: activation", self.activation, ACTIVATIONS),
        }
        self.n_features_in_ = image.ndim
        seed = self._seed(state)
        train, valid = self._split(image.size, seed)
        rows = TensorRows.of(grid_points(image.shape).astype(np.float32), image.reshape(-1, 1))
        yield from self._train(squared_error, rows, train, valid, seed=seed, state=state)

    def predict(self, X: Any) -> np.ndarray:
        """Values at coordinates (n, axes) in [-1, 1]."""
        return self._evaluate(self._ready_module(), np.asarray(X))[:, 0]

    def render(self, shape: Sequence[int]) -> np.ndarray:
        """The image on a grid of any size."""
        self._ready_module()
        if len(shape) != self.network_["n_inputs"]:
            raise ValueError(f"CoordinateNetwork: shape must have {self.network_['n_inputs']} axes; got {len(shape)}.")
        return self.predict(grid_points(shape)).reshape(shape)

    def _network(self) -> nn.Module:
        return WaveNetwork(**self.network_)


def recover_from_laplacian(image: Any, *, max_iter: int = 300, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The Laplacian of an image, and the image that a network recovers from it and the frame alone.

    The network sees differences of its own values over the pixel grid, so that edges need no derivative.
    """
    from margin.neural.training import DrawnPoints, Plan, QuasiNewton, Training, train
    from margin.neural.weights import build

    image = np.asarray(image, dtype=np.float64)
    laplacian = image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:] - 4 * image[1:-1, 1:-1]
    points, goal, known = (torch.from_numpy(array) for array in (grid_points(image.shape), laplacian, image))
    frame = torch.ones(image.shape, dtype=torch.bool)
    frame[1:-1, 1:-1] = False

    def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
        u = module(batch[0]).reshape(image.shape)
        laplacian_of_u = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        return {"loss": mse_loss(laplacian_of_u, goal) + mse_loss(u[frame], known[frame])}

    module = build(lambda: WaveNetwork(2, 64, 1.0, [64], 1, "tanh"), random_state, torch.float64)
    batches = DrawnPoints(lambda _: (points,), random_state, redraw_every=None, steps_per_epoch=max_iter)
    # Smooth errors hardly show in a Laplacian: steps along the gradient leave them, curvature finds them.
    step = QuasiNewton(module, objective, memory=30, tol=1e-10, seed=random_state)
    for _ in train(Training(batches, step, Plan(1, record_steps=None), threads=1)):
        pass
    with torch.inference_mode():
        return laplacian, module(points).reshape(image.shape).numpy(force=True)
