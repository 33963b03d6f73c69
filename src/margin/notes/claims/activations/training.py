"""How activations train: flat steps, saturated and dead units, depth, periodic and polygonal ones."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.neural import activations as act
from margin.neural.activations import slopes
from margin.neural.diagnostics import dead_units, descend, gradient_norms, saturated_fraction
from margin.neural.losses import bce_with_logits, mse_loss
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.notes.claims.forms import one_activation

Net = Any


def network(seed: int, *sizes: int, activation: Any) -> Net:
    """Linear layers of the given sizes with an activation between them."""

    def make() -> nn.Sequential:
        layers: list[nn.Module] = []
        for a, b in pairwise(sizes):
            layers += [nn.Linear(a, b), activation()]
        return nn.Sequential(*layers[:-1])

    return build(make, seed, torch.float64)


def disc(seed: int, n: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of a square, half of them inside a disc in its middle."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return torch.from_numpy(X), torch.from_numpy((np.hypot(*X.T) < np.sqrt(2 / np.pi)).astype(float))


def learn(net: Net, X: torch.Tensor, y: torch.Tensor, steps: int = 300, rate: float = 0.02) -> list[float]:
    return descend(
        net.parameters(), lambda: bce_with_logits(net(X)[:, 0], y), steps=steps, rate=rate, rule=torch.optim.Adam
    )


def entropy(net: Net, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return bce_with_logits(net(X)[:, 0], y)


def square(net: Net, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss(net(X)[:, 0], y)


def accuracy(net: Net, X: torch.Tensor, y: torch.Tensor) -> float:
    return float(((net(X)[:, 0] > 0) == (y > 0.5)).double().mean())


@claim("binary-step")
def a_step_passes_no_gradient(seed: int) -> Verdict:
    X, y = disc(seed)
    stepped, smooth = (network(seed, 2, 12, 1, activation=a) for a in (act.BinaryStep, nn.Sigmoid))
    below_the_step = torch.autograd.grad(bce_with_logits(stepped(X)[:, 0], y), stepped[0].weight)[0]
    flat, falling = (
        descend(net[0].parameters(), partial(entropy, net, X, y), steps=30, rate=10.0) for net in (stepped, smooth)
    )
    x = torch.tensor([-2.0, -0.1, 0.1, 3.0], dtype=torch.float64)
    return every(
        as_run=one_activation(act.Heaviside(), x),
        derivative=equal(act.derivative_gap(act.binary_step, slopes.zero, x).tolist(), [0.0] * 4),
        gradient=equal(float(below_the_step.abs().max()), 0.0),
        loss_is_flat=equal(len(set(flat)), 1),
        sigmoid_learns=below(falling[-1], falling[0] - 1e-5),
    )


@claim("claim-sigmoid-saturation")
def saturated_units_have_small_gradients(seed: int) -> Verdict:
    X, y = disc(seed)
    saturated, norms = [], []
    for scale in (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0):
        net = network(seed, 2, 20, 1, activation=nn.Sigmoid)
        with torch.no_grad():
            net[0].weight *= scale
            net[0].bias *= scale
        saturated.append(saturated_fraction(net, X))
        norms.append(float(gradient_norms(net, partial(square, net, X, y))[0]))
    at = slopes.sigmoid_slope(torch.tensor([0.0, 10.0, 700.0], dtype=torch.float64))
    truth = every(
        steepest=equal(float(at[0]), 0.25),
        at_10=below(float(at[1]), 5e-5),
        correlation=below(float(spearmanr(saturated, norms).statistic), -0.7),
    )
    return corrected(truth, printed=equal(float(at[2]), 0.0))


@claim("claim-dying-relu")
def a_unit_with_a_large_negative_bias_is_dead(seed: int) -> Verdict:
    X, y = disc(seed)
    outcomes, gradients = {}, {}
    for name, activation in {"relu": nn.ReLU, "leaky": partial(nn.LeakyReLU, 0.01)}.items():
        net = network(seed, 2, 12, 1, activation=activation)
        with torch.no_grad():
            net[0].bias[3] = -100.0
        (gradient,) = torch.autograd.grad(bce_with_logits(net(X)[:, 0], y), net[0].weight)
        gradients[name] = float(gradient[3].abs().max())
        before = dead_units(net, X)
        learn(net, X, y, steps=60)
        outcomes[name] = (before, (0, 3) in dead_units(net, X), float(net[0].bias[3].detach()))
    return every(
        reported=equal((0, 3) in outcomes["relu"][0], True),
        no_gradient=equal(gradients["relu"], 0.0),
        never_recovers=equal(outcomes["relu"][1:], (True, -100.0)),
        leaky_is_never_dead=equal(outcomes["leaky"][0], []),
        leaky_has_a_gradient=above(gradients["leaky"], 0.0),
        leaky_moves=above(abs(outcomes["leaky"][2] + 100.0), 1e-3),
    )


@claim("claim-relu-helps-vanishing-gradients")
def gradients_shrink_fastest_through_sigmoids(seed: int) -> Verdict:
    from margin.neural.initialize import he_, xavier_

    generator, depth = torch.Generator().manual_seed(seed), 20
    X = torch.randn(64, 100, generator=generator, dtype=torch.float64)

    def norms(activation: Any, draw: Any, scale: float = 1.0) -> torch.Tensor:
        """Gradient norms of all weight matrices, for the mean output as objective."""
        net = network(seed, 100, *[100] * depth, 1, activation=activation)
        for layer in net:
            if isinstance(layer, nn.Linear):
                draw(layer.weight, generator=generator)
                nn.init.zeros_(layer.bias)
                layer.weight.data *= scale
        return gradient_norms(net, lambda: net(X).mean())

    he = norms(nn.ReLU, he_)
    kept = {"sigmoid": norms(nn.Sigmoid, xavier_), "tanh": norms(nn.Tanh, xavier_), "relu": he}
    by = {name: float(n[1] / n[-2]) for name, n in kept.items()}
    more = [norms(nn.ReLU, he_) for _ in range(8)]  # one draw scatters by a factor of three
    by["relu"] = float(np.exp(np.mean([np.log(float(n[1] / n[-2])) for n in (he, *more)])))
    small = float(norms(nn.ReLU, he_, scale=0.5)[0] / he[0])
    truth = every(
        sigmoid_at_most_a_quarter_per_layer=below(by["sigmoid"], 0.5 ** (depth - 2)),
        sigmoid_before_tanh=below(by["sigmoid"], 1e-3 * by["tanh"]),
        relu_stays=within(by["relu"], 0.1, 10),
    )
    # Of "gets rid of vanishing gradients", whatever the weights: halved weights are a counter-example.
    return corrected(truth, printed=above(small, 0.1))


@claim("claim-continuous-differentiability")
def corners_train_and_jumps_do_not(seed: int) -> Verdict:
    x = torch.linspace(-3, 3, 301, dtype=torch.float64)  # 0 is the middle one
    gaps = {line.name: act.derivative_gap(line.function, line.slope, x) for line in act.TABLE}
    wrong = {name: [round(float(v), 9) for v in x[gap > 1e-4]] for name, gap in gaps.items()}
    cornered = {name for name, places in wrong.items() if places}
    X, y = disc(seed)
    learned, start = {}, {}
    for name, activation in {"relu": nn.ReLU, "step": act.BinaryStep}.items():
        net = network(seed, 2, 24, 1, activation=activation)
        start[name] = net[0].weight.tolist()
        hidden = descend(net[0].parameters(), partial(entropy, net, X, y), steps=100, rate=1.0)
        learned[name] = (hidden[0] - hidden[-1], net[0].weight.tolist() == start[name])
    return every(
        smooth_pass_everywhere=equal(cornered, {"relu", "leaky_relu", "binary_step"}),
        only_at_0=equal({place for name in cornered for place in wrong[name]}, {0.0}),
        relu_lowers_the_loss=above(learned["relu"][0], 0.01),
        step_moves_nothing=equal(learned["step"], (0.0, True)),
    )


@claim("claim-activation-monotonic")
def activations_that_are_not_monotone_train_as_well(seed: int) -> Verdict:
    X, y = disc(seed, 200)
    monotone = {line.name: line.monotone for line in act.TABLE}
    scores = {}
    for name, activation in {"sine": act.Sine, "gelu": nn.GELU, "silu": nn.SiLU}.items():
        net = network(seed, 2, 32, 1, activation=activation)
        learn(net, X, y, steps=200, rate=0.1)
        scores[name] = accuracy(net, X, y)
    return every(
        none_is_monotone=equal([monotone[name] for name in scores], [False] * 3),
        **{name: above(score, 0.95) for name, score in scores.items()},
    )


@claim("claim-relu-bends")
def k_rectifiers_bend_at_most_k_times(seed: int) -> Verdict:
    from margin.neural.diagnostics import boundary_segments, joints, linear_regions

    net = network(seed, 1, 12, 1, activation=nn.ReLU)
    w, b, phi = (t.detach().numpy() for t in (net[0].weight[:, 0], net[0].bias, net[2].weight[0]))
    places = joints(w, b, phi)
    edges = np.concatenate([[places[0] - 1], places, [places[-1] + 1]])
    middles, h = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 8
    triples = torch.from_numpy(middles[:, None] + h[:, None] * np.array([-1, 0, 1]))
    bend = net(triples[..., None])[..., 0].detach().diff(n=2, dim=1).abs()
    flat = network(seed, 2, 6, 1, activation=nn.ReLU)
    w2, b2, phi2 = (t.detach().numpy() for t in (flat[0].weight, flat[0].bias, flat[2].weight[0]))
    level = float(np.median(flat(torch.from_numpy(np.random.default_rng(seed).normal(size=(99, 2)))).detach().numpy()))
    cells = linear_regions(w2, b2, phi2, float(flat[2].bias.detach()) - level, (-3, 3, -3, 3))
    steps = np.linspace(0, 1, 9)[:, None]
    on = torch.from_numpy(np.concatenate([start + steps * (end - start) for start, end in boundary_segments(cells)]))
    return every(
        at_most_k=equal(len(places) <= 12, True),
        straight_between=below(float(bend.max()), 1e-12),
        regions=equal(len(cells) <= 1 + 6 + 15, True),  # of 6 lines in a plane
        boundary_is_straight_in_each=near(flat(on)[:, 0].detach() - level, np.zeros(len(on)), tolerance=1e-10),
    )
