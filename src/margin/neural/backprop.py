r"""Backpropagation written out, in NumPy: what automatic differentiation does for a layered network.

With :math:`h_0 = x` the forward pass stores :math:`f_k = \beta_k + \Omega_k h_k` and :math:`h_{k+1} = a(f_k)` for
:math:`k = 0..K`; the output is :math:`f_K`. Rows of ``x`` are examples, so every array below has one row per example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["SLOPES", "Forward", "Gradients", "backward_pass", "forward_pass", "relu_jacobian"]

Array = np.ndarray


def _sigmoid(f: Array) -> Array:
    return 0.5 * (1 + np.tanh(0.5 * f))  # no overflow for large negative f


# Name: the activation and its derivative.
SLOPES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "identity": (lambda f: f, lambda f: np.ones_like(f)),
    "relu": (lambda f: np.maximum(f, 0), lambda f: (f > 0).astype(f.dtype)),
    "sigmoid": (_sigmoid, lambda f: _sigmoid(f) * (1 - _sigmoid(f))),
    "softplus": (lambda f: np.logaddexp(0, f), _sigmoid),
    "tanh": (np.tanh, lambda f: 1 - np.tanh(f) ** 2),
}


class Forward(NamedTuple):
    """What the backward pass needs: pre-activations f_0..f_K and activations h_0 = x, h_1..h_K."""

    f: list[Array]
    h: list[Array]


class Gradients(NamedTuple):
    """Derivatives of the loss: of every example for the pre-activations, summed over them for the parameters."""

    pre_activations: list[Array]
    biases: list[Array]
    weights: list[Array]


def forward_pass(weights: Sequence[Array], biases: Sequence[Array], x: Array, activation: str = "relu") -> Forward:
    r"""Compute and keep all :math:`f_k` and :math:`h_k`; ``weights[k]`` has shape (n_{k+1}, n_k).

    >>> f, h = forward_pass([np.eye(2), np.ones((1, 2))], [np.zeros(2), np.zeros(1)], np.array([[1.0, -2.0]]))
    >>> h[1], f[1]
    (array([[1., 0.]]), array([[1.]]))
    """
    a, _ = SLOPES[activation]
    f: list[Array] = []
    h = [np.asarray(x)]
    for k, (omega, beta) in enumerate(zip(weights, biases)):
        if k > 0:
            h.append(a(f[-1]))
        f.append(beta + h[-1] @ omega.T)
    return Forward(f, h)


def backward_pass(
    weights: Sequence[Array], forward: Forward, output_gradient: Array, activation: str = "relu"
) -> Gradients:
    r"""Propagate :math:`\partial\ell/\partial f_K` back to every parameter.

    .. math:: \frac{\partial\ell}{\partial f_{k-1}} = a'(f_{k-1}) \odot \Omega_k^\top \frac{\partial\ell}{\partial f_k},
              \qquad \frac{\partial\ell}{\partial\beta_k} = \frac{\partial\ell}{\partial f_k},
              \qquad \frac{\partial\ell}{\partial\Omega_k} = \frac{\partial\ell}{\partial f_k} h_k^\top

    Each step reuses the gradient of the layer after it, so all derivatives cost about two forward passes.
    """
    _, slope = SLOPES[activation]
    delta = [np.asarray(output_gradient)]
    for k in range(len(weights) - 1, 0, -1):
        delta.append(slope(forward.f[k - 1]) * (delta[-1] @ weights[k]))
    delta.reverse()
    return Gradients(delta, [d.sum(axis=0) for d in delta], [d.T @ h for d, h in zip(delta, forward.h)])


def relu_jacobian(b: Array) -> Array:
    r""":math:`\partial\,\mathrm{relu}(b)/\partial b = \mathrm{diag}(1[b > 0])`.

    >>> relu_jacobian(np.array([2.0, -1.0]))
    array([[1., 0.],
           [0., 0.]])
    """
    return np.diag((np.asarray(b) > 0).astype(float))
