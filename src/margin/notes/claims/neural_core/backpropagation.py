"""How the gradient of a network is found: forward pass, backward pass and what each of its products is."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.notes.claims import claim

SIZES = (3, 4, 4, 2)  # the two hidden layers are alike, so that a transposed matrix or a wrong layer still fits


def problem(seed: int) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray, np.ndarray]:
    """Weights, biases, inputs and targets of a small network."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(b, a)) for a, b in pairwise(SIZES)]
    return weights, [rng.normal(size=b) for b in SIZES[1:]], rng.normal(size=(6, 3)), rng.normal(size=(6, 2))


def backpropagate(seed: int, activation: str) -> tuple[Any, Any]:
    """Forward pass and gradients of half the squared error."""
    from margin.neural.backprop import backward_pass, forward_pass

    weights, biases, X, Y = problem(seed)
    forward = forward_pass(weights, biases, X, activation)
    return forward, backward_pass(weights, forward, forward.f[-1] - Y, activation)


def loss(seed: int, weights: list[np.ndarray], biases: list[np.ndarray], activation: str) -> float:
    from margin.neural.backprop import forward_pass

    _, _, X, Y = problem(seed)
    return float(0.5 * np.sum((forward_pass(weights, biases, X, activation).f[-1] - Y) ** 2))


def differences(seed: int, activation: str, which: str, k: int) -> np.ndarray:
    """Central differences of the loss in the weights or biases of layer ``k``."""
    weights, biases, _, _ = problem(seed)
    array = {"weights": weights, "biases": biases}[which][k]
    gradient, step = np.empty_like(array), 1e-6
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        up = loss(seed, weights, biases, activation)
        array[index] = kept - step
        gradient[index] = (up - loss(seed, weights, biases, activation)) / (2 * step)
        array[index] = kept
    return gradient


def torch_gradients(seed: int, activation: str) -> list[np.ndarray]:
    import torch

    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build, load_weights

    weights, biases, X, Y = problem(seed)
    net: Any = build(lambda: MLP(SIZES, activation), seed=seed, dtype=torch.float64)
    named = {f"linears.{k}.weight": w for k, w in enumerate(weights)}
    load_weights(net, named | {f"linears.{k}.bias": b for k, b in enumerate(biases)})
    (0.5 * (net(torch.from_numpy(X)) - torch.from_numpy(Y)).square().sum()).backward()
    return [layer.weight.grad.numpy() for layer in net.linears]


@claim("backprop-forward-pass")
def the_forward_pass_keeps_all_f_and_h(seed: int) -> Verdict:
    (f, h), _ = backpropagate(seed, "tanh")
    weights, biases, X, _ = problem(seed)
    return every(
        pre_activations=equal(len(f), 3),
        activations=equal(len(h) - 1, 2),  # besides h_0 = x
        f_is_affine_in_h=every(
            **{f"layer_{k}": near(f[k], biases[k] + h[k] @ weights[k].T, tolerance=1e-12) for k in range(3)}
        ),
        starts_at_the_input=equal(h[0], X),
        h_is_a_of_f=near(np.concatenate(h[1:], axis=1), np.tanh(np.concatenate(f[:-1], axis=1)), tolerance=1e-15),
    )


@claim("backpropagation")
def backpropagation_is_the_gradient(seed: int) -> Verdict:
    parts: dict[str, Verdict] = {}
    for activation in ("relu", "tanh", "sigmoid", "softplus", "identity"):
        _, gradients = backpropagate(seed, activation)
        by_torch = torch_gradients(seed, activation)
        for k in range(3):
            parts[f"{activation}_{k}"] = every(
                differences=near(gradients.weights[k], differences(seed, activation, "weights", k), tolerance=2e-6),
                torch=near(gradients.weights[k], by_torch[k], tolerance=1e-10),
                biases=near(gradients.biases[k], differences(seed, activation, "biases", k), tolerance=2e-6),
            )
    weights, _, _, Y = problem(seed)
    forward, gradients = backpropagate(seed, "tanh")
    jacobian = np.stack([weights[1] @ axis for axis in np.eye(SIZES[1])], axis=1)  # of f_1 as h_1 moves along each axis
    last, own_layer = gradients.pre_activations[1], forward.f[1]
    wrong_layer = (1 - np.tanh(own_layer) ** 2) * (last @ weights[1])  # the slope at f_k where f_{k-1} belongs
    return corrected(
        every(**parts, start=near(gradients.pre_activations[2], forward.f[-1] - Y, tolerance=1e-12)),
        transposed_jacobian=near(weights[1].T, jacobian, tolerance=1e-6),
        layer_of_the_slope=near(wrong_layer, gradients.pre_activations[0], tolerance=1e-3),
    )


@claim("claim-bias-gradient")
def bias_gradient_is_the_pre_activation_gradient(seed: int) -> Verdict:
    _, gradients = backpropagate(seed, "softplus")
    parts: dict[str, Verdict] = {}
    for k in range(3):
        summed = gradients.pre_activations[k].sum(axis=0)  # one row per example
        parts[f"layer_{k}"] = every(
            equal=near(gradients.biases[k], summed, tolerance=0.0),
            differences=near(gradients.biases[k], differences(seed, "softplus", "biases", k), tolerance=1e-6),
        )
    return every(**parts)


@claim("claim-weight-gradient-outer-product")
def weight_gradients_are_outer_products(seed: int) -> Verdict:
    from margin.neural.backprop import backward_pass, forward_pass

    weights, biases, X, Y = problem(seed)
    batch_gradients = backpropagate(seed, "tanh")[1]
    total = [np.zeros_like(w) for w in weights]
    ranks, gap = [], 0.0
    for x, y in zip(X, Y):
        forward = forward_pass(weights, biases, x[None], "tanh")
        gradients = backward_pass(weights, forward, forward.f[-1] - y, "tanh")
        for k, gradient in enumerate(gradients.weights):
            outer = np.outer(gradients.pre_activations[k], forward.h[k])
            gap = max(gap, float(np.abs(gradient - outer).max()))
            ranks.append(int(np.linalg.matrix_rank(gradient)))
            total[k] += gradient
    sums = {f"sum_{k}": near(total[k], batch_gradients.weights[k], tolerance=1e-12) for k in range(3)}
    return every(rank=equal(max(ranks), 1), outer=near(gap, 0.0, tolerance=1e-12), **sums)


@claim("relu-jacobian")
def relu_jacobian_is_a_diagonal_of_indicators() -> Verdict:
    import torch

    from margin.neural.backprop import relu_jacobian

    b = np.array([1.5, -0.5, 0.25])
    v = np.array([2.0, -3.0, 4.0])
    J = relu_jacobian(b)
    by_torch = torch.autograd.functional.jacobian(torch.relu, torch.from_numpy(b)).numpy()
    return every(torch=equal(J, by_torch), pointwise=equal(J.T @ v, v * (b > 0)))
