"""What networks can do without activations, with one at the output only, and with hinges."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.neural.activations import gaussian, sigmoid, tanh
from margin.neural.diagnostics import descend, error_surface, smallest_curvature
from margin.neural.layers import collapse_linear
from margin.neural.losses import bce_with_logits
from margin.neural.weights import build
from margin.notes.claims import claim

CORNERS = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
EXCLUSIVE_OR = torch.tensor([0.0, 1.0, 1.0, 0.0], dtype=torch.float64)


def stack(seed: int, activation: type[nn.Module], width: int = 8) -> Any:
    """Three layers from two inputs to one output, with ``activation`` between them."""

    def make() -> nn.Sequential:
        hidden = [nn.Linear(2, width), activation(), nn.Linear(width, width), activation()]
        return nn.Sequential(*hidden, nn.Linear(width, 1))

    return build(make, seed, torch.float64)


def accuracy(net: Any) -> float:
    """On the four corners of exclusive or, after training."""
    descend(
        net.parameters(), lambda: bce_with_logits(net(CORNERS)[:, 0], EXCLUSIVE_OR),
        steps=150, rate=0.05, rule=torch.optim.Adam,
    )  # fmt: skip
    return float(((net(CORNERS)[:, 0] > 0) == (EXCLUSIVE_OR > 0.5)).double().mean())


@claim("claim-no-activation-is-linear")
def layers_without_activations_are_one_affine_map(seed: int) -> Verdict:
    net = stack(seed, nn.Identity)
    X = torch.from_numpy(np.random.default_rng(seed).normal(size=(50, 2)))
    W, b = collapse_linear(net)
    output = net(X)
    (slope,) = torch.autograd.grad(output.abs().sum(), net[0].weight)
    collapsed = near(X @ W.T + b, output.detach(), tolerance=1e-12)
    constant = float(net(torch.zeros(1, 2, dtype=torch.float64)).detach().abs())
    return every(
        affine=corrected(collapsed, printed=near(constant, 0.0, tolerance=1e-9)),
        gradients=corrected(above(float(slope.abs().max()), 1e-3), printed=equal(float(slope.abs().max()), 0.0)),
        exclusive_or_needs_activations=below(accuracy(net), 0.76),
        relu_solves_it=equal(accuracy(stack(seed, nn.ReLU, width=16)), 1.0),
    )


@claim("claim-single-output-activation")
def one_monotone_output_activation_cuts_along_a_hyperplane(seed: int) -> Verdict:
    net = stack(seed, nn.Identity)
    trained = accuracy(net)
    X = torch.from_numpy(3 * np.random.default_rng(seed).normal(size=(400, 2)))
    W, b = collapse_linear(net)
    half_space = (X @ W.T + b)[:, 0] > 0
    z = CORNERS.sum(dim=1) - 1  # one neuron: weights 1, bias -1
    return every(
        a_hyperplane=equal((sigmoid(net(X))[:, 0] > 0.5).tolist(), half_space.tolist()),
        never_exclusive_or=below(trained, 0.76),
        one_gaussian_neuron=equal((gaussian(z) > 0.5).double().tolist(), EXCLUSIVE_OR.tolist()),
        one_cosine_neuron=equal((torch.cos(torch.pi * z) > 0).double().tolist(), EXCLUSIVE_OR.tolist()),
    )


@claim("claim-monotone-activation-convex")
def convexity_needs_a_loss_that_matches(seed: int) -> Verdict:
    grid = torch.linspace(-6, 6, 601, dtype=torch.float64)

    def square(w: torch.Tensor) -> torch.Tensor:  # x = 1, y = 0
        return torch.sigmoid(w).square().sum()

    def entropy(w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.softplus(w, threshold=100).sum()

    rows = torch.from_numpy(np.random.default_rng(seed).normal(size=(20, 2)))
    labels = (rows[:, 0] > 0).double()
    axis = torch.linspace(-4, 4, 17, dtype=torch.float64)
    curvature = {
        "squared": smallest_curvature(square, grid),
        "entropy": smallest_curvature(entropy, grid),
        "entropy_2d": smallest_curvature(lambda w: bce_with_logits(rows @ w, labels), axis, axis),
    }
    values = error_surface(square, grid)
    middle = values[1:-1] - 0.5 * (values[:-2] + values[2:])  # a convex function is below its chords
    truth = every(
        non_convex=near(curvature["squared"], -0.120, tolerance=5e-4),
        above_a_chord=above(float(middle.max()), 0.0),
        matching_loss=above(curvature["entropy"], 0.0),
        matching_loss_in_the_plane=above(curvature["entropy_2d"], 0.0),
    )
    return corrected(truth, printed=above(curvature["squared"], 0.0))


@claim("claim-positive-inputs-force-same-sign-gradients")
def positive_inputs_give_weight_gradients_of_one_sign(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    inputs, w = torch.from_numpy(rng.normal(size=(40, 6))), torch.from_numpy(rng.normal(size=6))
    targets = inputs @ w  # some outputs are too large, some too small

    def gradients(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """dL/dz and dL/dw of every example, for L = (z - y)^2 / 2 and z = w @ a."""
        delta = a @ w - targets
        return delta, delta[:, None] * a

    delta, dw = gradients(sigmoid(inputs))
    agree = torch.sign(dw) == torch.sign(delta)[:, None]
    _, centered = gradients(tanh(inputs))
    mixed = (centered > 0).any(dim=1) & (centered < 0).any(dim=1)
    high, low = int(delta.argmax()), int(delta.argmin())
    # A batch of two examples that pull in opposite directions, scaled so that neither wins in all weights.
    scale = (dw[high] / -dw[low]).median()
    batch = dw[high] + scale * dw[low]
    truth = every(
        one_sign_per_example=equal(bool(agree.all()), True), tanh_mixes=above(float(mixed.double().mean()), 0.8)
    )
    return corrected(truth, printed=equal(len(set(torch.sign(batch[batch.abs() > 1e-12]).tolist())), 1))
