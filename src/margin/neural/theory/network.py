r"""A fully connected network as a list of arrays: what constructions give and what exact counts take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from margin.neural.backprop import SLOPES

__all__ = ["DenseNetwork", "Neuron"]

Array = np.ndarray


@dataclass(frozen=True)
class Neuron:
    r"""One unit, :math:`a(x) = \sigma(w \cdot x + b)`: a function of a weighted sum of its inputs.

    >>> Neuron(np.array([1.0, -2.0]), 0.5, "relu")(np.array([[3.0, 1.0], [0.0, 1.0]]))
    array([1.5, 0. ])
    """

    w: Array
    b: float
    activation: str = "sigmoid"

    def __call__(self, x: Array) -> Array:
        return SLOPES[self.activation][0](x @ self.w + self.b)

    def gradients(self, x: Array) -> tuple[Array, Array]:
        """Derivatives of the output for one input ``x`` (d,) in the weights and, a last entry, the bias; and in x."""
        slope = SLOPES[self.activation][1](np.atleast_1d(x @ self.w + self.b))[0]
        return slope * np.append(x, 1.0), slope * self.w


@dataclass(frozen=True)
class DenseNetwork:
    r""":math:`h_k = a(W_k h_{k-1} + b_k)`, the last layer without activation; ``weights[k]`` is (out, in).

    >>> net = DenseNetwork([np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])], [np.zeros(2), np.zeros(1)])
    >>> net(np.array([-3.0, 2.0])).ravel(), net.n_parameters
    (array([3., 2.]), 7)
    """

    weights: Sequence[Array]
    biases: Sequence[Array]
    activation: str = "relu"

    @classmethod
    def random(cls, sizes: Sequence[int], rng: np.random.Generator, activation: str = "relu") -> DenseNetwork:
        """Normal weights of He's size and normal biases: no two joints fall together."""
        weights = [rng.normal(size=(b, a)) * np.sqrt(2 / a) for a, b in pairwise(sizes)]
        return cls(weights, [rng.normal(size=b) for b in sizes[1:]], activation)

    @classmethod
    def of(cls, module: Any) -> DenseNetwork:
        """The weights of a :class:`~margin.neural.nets.mlp.MLP` with rectifiers."""
        layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in module.linears]
        return cls([np.array(w, dtype=float) for w, _ in layers], [np.array(b, dtype=float) for _, b in layers])

    def __call__(self, x: Any) -> Array:
        """Outputs (n, out) for rows (n, in); a vector is n rows of one input."""
        h = np.asarray(x, dtype=float)
        h = h[:, None] if h.ndim == 1 else h
        for W, b in zip(self.weights[:-1], self.biases[:-1]):
            h = self.function(h @ W.T + b)
        return h @ self.weights[-1].T + self.biases[-1]

    @property
    def function(self) -> Callable[[Array], Array]:
        """The activation as a function."""
        return SLOPES[self.activation][0]

    @property
    def sizes(self) -> list[int]:
        """Units of every layer, input and output included."""
        return [self.weights[0].shape[1], *(len(b) for b in self.biases)]

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return sum(self.sizes[1:-1])

    @property
    def n_parameters(self) -> int:
        """Number of weights and biases."""
        return sum(w.size for w in self.weights) + sum(b.size for b in self.biases)
