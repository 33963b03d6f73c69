"""Initializers as objects: ``initializer="he_normal"`` or ``initializer=HeInitializer(mode="mean")``.

=========================================  ==================================================================
``"he_normal"``, ``"he_uniform"``          :class:`HeInitializer`, for rectified units
``"xavier_normal"``, ``"xavier_uniform"``  :class:`XavierInitializer`, for tanh and linear units
``"lecun_normal"``, ``"lecun_uniform"``    :class:`LeCunInitializer`
``"orthogonal"``                           :class:`OrthogonalInitializer`
``"normal"``                               :class:`NormalInitializer`, one deviation for all layers
``"zeros"``                                :class:`ZerosInitializer`, from which nothing is learned
=========================================  ==================================================================
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from margin.core.domains import Choice, Number
from margin.core.parameters import parameter
from margin.core.parts import Part
from margin.neural.initialize.schemes import he_, lecun_, normal_, orthogonal_, xavier_, zeros_
from margin.neural.parts import choose

__all__ = [
    "INITIALIZERS",
    "HeInitializer",
    "Initializer",
    "LeCunInitializer",
    "NormalInitializer",
    "OrthogonalInitializer",
    "XavierInitializer",
    "ZerosInitializer",
    "draw_weights_",
]

DISTRIBUTION = Choice("normal", "uniform")
SHAPE = "Shape of the distribution of the weights."


class Initializer(Part):
    """Fills weights (n_out, n_in, ...) in place, drawing from torch's global generator."""

    @abstractmethod
    def __call__(self, weight: Tensor) -> Tensor:
        """``weight``, filled."""


class HeInitializer(Initializer):
    """Variance 2 / fan, which keeps the size of rectified units through the layers."""

    mode: str = parameter("in", Choice("in", "out", "mean"), "Which fan: that of inputs, of outputs, or their mean.")
    distribution: str = parameter("normal", DISTRIBUTION, SHAPE)

    def __call__(self, weight: Tensor) -> Tensor:
        return he_(weight, mode=self.mode, distribution=self.distribution)


class XavierInitializer(Initializer):
    """Variance 2 / (inputs + outputs), a compromise between forward and backward for units of slope 1 at 0."""

    gain: float = parameter(1.0, Number(above=0), "Factor on the deviation.")
    distribution: str = parameter("normal", DISTRIBUTION, SHAPE)

    def __call__(self, weight: Tensor) -> Tensor:
        return xavier_(weight, gain=self.gain, distribution=self.distribution)


class LeCunInitializer(Initializer):
    """Variance 1 / inputs, which keeps the size of linear units through the layers."""

    distribution: str = parameter("normal", DISTRIBUTION, SHAPE)

    def __call__(self, weight: Tensor) -> Tensor:
        return lecun_(weight, distribution=self.distribution)


class OrthogonalInitializer(Initializer):
    """Orthonormal rows or columns, times a gain."""

    gain: float = parameter(1.0, Number(above=0), "Factor on the orthogonal matrix.")

    def __call__(self, weight: Tensor) -> Tensor:
        return orthogonal_(weight, gain=self.gain)


class NormalInitializer(Initializer):
    """Normal weights of one deviation, whatever the layer."""

    deviation: float = parameter(0.02, Number(above=0), "Standard deviation of the weights.")

    def __call__(self, weight: Tensor) -> Tensor:
        return normal_(weight, self.deviation**2)


class ZerosInitializer(Initializer):
    """All weights 0: the units of a layer stay alike, which is why weights are drawn."""

    def __call__(self, weight: Tensor) -> Tensor:
        return zeros_(weight)


#: Names of initializers; a new one is a class in a file of its own, and a line here.
INITIALIZERS: dict[str, Callable[..., Initializer]] = {
    "he_normal": HeInitializer,
    "he_uniform": partial(HeInitializer, distribution="uniform"),
    "xavier_normal": XavierInitializer,
    "xavier_uniform": partial(XavierInitializer, distribution="uniform"),
    "lecun_normal": LeCunInitializer,
    "lecun_uniform": partial(LeCunInitializer, distribution="uniform"),
    "orthogonal": OrthogonalInitializer,
    "normal": NormalInitializer,
    "zeros": ZerosInitializer,
}


def draw_weights_(network: nn.Module, initializer: Any, hidden: Initializer, last: Initializer) -> None:
    """Fill the matrices and kernels of ``network``: all by ``initializer``, or, where that is None, the last layer by
    ``last`` and those before it by ``hidden``. Biases are left as they are.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear | nn.Conv2d)]
    one = None if initializer is None else choose("initializer", initializer, INITIALIZERS)
    for layer in layers:
        fill = one or (last if layer is layers[-1] else hidden)
        fill(layer.weight)
