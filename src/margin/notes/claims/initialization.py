"""Claims on starting points: what weights of a given size do to signals and gradients through depth."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.neural.activations import relu
from margin.neural.activations.slopes import sigmoid_slope, tanh_slope
from margin.neural.diagnostics import descend, gradient_norms, layer_moments
from margin.neural.initialize import (
    he_,
    he_variance,
    initialize_,
    normal_,
    propagate_variance,
    signal_through_depth,
    xavier_,
    xavier_variance,
)
from margin.neural.layers import Residual
from margin.neural.losses import mse_loss
from margin.neural.normalization import BatchNorm
from margin.neural.weights import build
from margin.notes.claims import claim


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(seed: int, *shape: int) -> torch.Tensor:
    """Normal inputs, from a stream of their own: the weights of ``generator(seed)`` must not be the same numbers."""
    return torch.from_numpy(np.random.default_rng([seed, 1]).normal(size=shape))


def deep(seed: int, sizes: list[int], activation: type[nn.Module], norm: bool = False) -> Any:
    """Linear layers with an activation between them, batch norm before it if asked."""

    def make() -> nn.Sequential:
        layers: list[nn.Module] = []
        for a, b in pairwise(sizes):
            layers += [nn.Linear(a, b), *([BatchNorm(b)] if norm else []), activation()]
        return nn.Sequential(*layers[:-1])

    return build(make, seed, torch.float64)


def typical(
    seed: int, depth: int, sigma2: float, width: int = 100, scale_of_x: float = 1.0, networks: int = 30, **options: Any
) -> Any:
    """Logarithms of the variances, relative to their start, averaged over networks: one strays by its weights."""
    logs = []
    for k in range(networks):
        g = torch.Generator().manual_seed(1000 * seed + k)
        x = scale_of_x * torch.randn(8, width, generator=g, dtype=torch.float64)
        forward, backward = signal_through_depth(x, depth, sigma2, generator=g, **options)
        logs.append((torch.log10(forward / forward[0]), torch.log10(backward / backward[-1])))
    return [torch.stack(part).mean(dim=0).numpy() for part in zip(*logs)]


@claim("claim-initialisation-sensitivity")
def bad_starting_points(seed: int) -> Verdict:
    X = draw(seed, 50, 3)
    y = X[:, :1] * X[:, 1:2]
    net: Any = initialize_(deep(seed, [3, 6, 1], nn.Tanh), "zeros", generator=generator(seed))
    nn.init.constant_(net[2].weight, 0.3)  # all alike, so that there is a gradient
    descend(net.parameters(), lambda: mse_loss(net(X), y), steps=100, rate=0.1)
    hidden = net[0].weight.detach()
    spread: dict[float, float] = {}
    rows = draw(seed, 40, 64)
    for scale in (10.0, 1e-3, 1.0):
        many = deep(seed, [64] * 21, nn.Identity)
        initialize_(many, "xavier", generator=generator(seed), scale=scale)
        spread[scale] = float(gradient_norms(many, lambda many=many: many(rows).square().mean())[0])  # type: ignore[misc]
    tanh = initialize_(deep(seed, [64] * 21, nn.Tanh), "xavier", generator=generator(seed))
    norms = gradient_norms(tanh, lambda: tanh(rows).sum(dim=1).mean())
    return every(
        moved=above(float(hidden.abs().max()), 1e-4),
        units_stay_alike=near(hidden, hidden[:1].expand(6, 3), tolerance=1e-12),
        large_explodes=above(spread[10.0] / spread[1.0], 1e15),
        small_vanishes=below(spread[1e-3] / spread[1.0], 1e-50),
        xavier_within_a_factor_of_10=below(float(norms.max() / norms.min()), 10.0),
    )


@claim("xavier-initialisation")
def xavier_keeps_the_variance_of_tanh_layers(seed: int) -> Verdict:
    w = xavier_(torch.empty(400, 600, dtype=torch.float64), generator=generator(seed))
    uniform = xavier_(torch.empty(400, 600, dtype=torch.float64), generator=generator(seed), distribution="uniform")
    forward, _ = typical(seed, 20, xavier_variance(100, 100), scale_of_x=0.1, activation=torch.tanh)  # nearly linear
    return every(
        variance=within(float(w.var()) / (2 / 1000), 0.98, 1.02),
        uniform=within(float(uniform.var()) / (2 / 1000), 0.98, 1.02),
        bounds=below(float(uniform.abs().max()), math.sqrt(3 * 2 / 1000) + 1e-12),
        twenty_layers=within(10.0 ** forward[-1], 0.3, 2.0),
    )


@claim("vanishing-exploding-activations")
def activations_vanish_or_explode(seed: int) -> Verdict:
    parts, x = {}, draw(seed, 50, 100)
    for sigma2 in (0.001, 0.01, 0.02, 0.1, 1.0):
        forward, _ = typical(seed, 50, sigma2, networks=8)
        parts[f"sigma2_{sigma2:g}"] = near(forward[-1], 50 * math.log10(50 * sigma2), tolerance=1.5)
    single = {s: signal_through_depth(x.float(), 50, s, generator=generator(seed)).forward[-1] for s in (0.001, 1.0)}
    return every(
        **parts,
        single_precision_is_0=equal(float(single[0.001]), 0.0),
        or_overflows=equal(bool(single[1.0].isfinite()), False),
    )


@claim("vanishing-exploding-gradients")
def gradients_shrink_or_grow_by_the_layer(seed: int) -> Verdict:
    x, width = draw(seed, 100, 100), 100
    slopes = {}
    for sigma2 in (0.01, 0.02, 0.04):
        _, backward = typical(seed, 30, sigma2, networks=10)
        slopes[sigma2] = -float(np.polyfit(np.arange(31), math.log(10) * backward, 1)[0])
    grid = torch.linspace(-5, 5, 1001, dtype=torch.float64)

    def flow(residual: bool, activation: type[nn.Module] = nn.Sigmoid, scale: float = 1.0) -> float:
        """Norm of the gradient at the input of 50 layers over that at their output."""
        block = lambda: nn.Sequential(nn.Linear(32, 32), activation())  # noqa: E731
        parts = lambda: (Residual(block()) if residual else block() for _ in range(50))  # noqa: E731
        net = initialize_(
            build(lambda: nn.Sequential(*parts()), seed), "xavier", generator=generator(seed), scale=scale
        )
        leaf, outer = x[:, :32].float().requires_grad_(), draw(seed, 100, 32).float()
        (gradient,) = torch.autograd.grad(net(leaf), leaf, outer)
        return float(gradient.norm() / outer.norm())

    def losses(clip: float | None, start: int) -> list[float]:
        net = deep(start, [100] * 8 + [1], nn.ReLU)
        initialize_(net, "he", generator=generator(start), scale=3.0)
        return clipped_descent(net, x, x[:, :1], clip)

    # A first step may be so long that all units of a layer die, which ends the growth too: three networks are tried.
    unclipped = [losses(None, seed + 10_000 * k)[-1] for k in range(3)]
    clipped = losses(1.0, seed)
    truth = every(
        **{f"slope_{s:g}": near(slope, math.log(width * s / 2), tolerance=0.15) for s, slope in slopes.items()},
        sigmoid_at_most_a_quarter=near(float(sigmoid_slope(grid).max()), 0.25, tolerance=1e-12),
        tanh_at_most_1=near(float(tanh_slope(grid).max()), 1.0, tolerance=1e-12),
        plain_sigmoids_vanish=below(flow(False), 1e-20),
        residual_within_two_orders=within(flow(True), 1e-2, 1e2),
        divergence_is_caught=equal(all(map(math.isfinite, unclipped)), False),
        clipping_stops_it=below(clipped[-1], clipped[0]),
    )
    # "Because of large weights, not the activation": the same weights explode without one and vanish through sigmoids.
    same_weights = [flow(False, activation, scale=3.0) > 1 for activation in (nn.Identity, nn.Sigmoid)]
    return corrected(truth, printed=equal(same_weights[0], same_weights[1]))


def clipped_descent(net: Any, X: torch.Tensor, y: torch.Tensor, clip: float | None) -> list[float]:
    losses = []
    for _ in range(30):
        loss = mse_loss(net(X), y)
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            break
        net.zero_grad()
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
    return losses


@claim("preactivation-moments")
def the_next_variance_is_half_width_times_both(seed: int) -> Verdict:
    width, sigma2, var_in, g = 100, 0.03, 1.7, generator(seed)
    f = math.sqrt(var_in) * torch.randn(2000, width, generator=g, dtype=torch.float64)
    omega = normal_(torch.empty(2000, width, dtype=torch.float64), sigma2, generator=g)  # one output of 2000 layers
    next_f = torch.relu(f) @ omega.T
    return every(
        mean=near(float(next_f.mean()), 0.0, tolerance=0.05),
        variance=within(float(next_f.var()) / propagate_variance(width, sigma2, var_in), 0.97, 1.03),
        formula=near(propagate_variance(width, sigma2, var_in), 0.5 * 100 * 0.03 * 1.7, tolerance=1e-12),
    )


@claim("claim-relu-halves-second-moment")
def relu_halves_the_second_moment_of_symmetric_laws(seed: int) -> Verdict:
    rng, n = np.random.default_rng(seed), 400_000
    laws = {"normal": rng.normal(size=n), "uniform": rng.uniform(-1, 1, size=n), "laplace": rng.laplace(size=n)}
    halves = {}
    for name, f in laws.items():
        h = relu(torch.from_numpy(f))
        halves[name] = near(float(h.square().mean()) / (f**2).mean(), 0.5, tolerance=0.01)
    variance = float(relu(torch.from_numpy(laws["normal"])).var())
    truth = every(**halves, variance=near(variance, 0.5 - 1 / (2 * math.pi), tolerance=0.005))
    return corrected(truth, printed=near(variance, 0.5, tolerance=0.05))


@claim("he-initialisation")
def he_keeps_the_variance_of_rectified_layers(seed: int) -> Verdict:
    w = {
        mode: he_(torch.empty(300, 500, dtype=torch.float64), generator=generator(seed), mode=mode).var()
        for mode in ("in", "out")
    }
    forward, backward = typical(seed, 50, he_variance(100, 100))
    return every(
        fan_in=within(float(w["in"]) / (2 / 500), 0.98, 1.02),
        fan_out=within(float(w["out"]) / (2 / 300), 0.98, 1.02),
        number=equal(he_variance(100, 100), 0.02),
        forward=within(10.0 ** forward[-1], 0.1, 10.0),
        backward=within(10.0 ** backward[0], 0.1, 10.0),
    )


@claim("he-compromise-nonsquare")
def the_compromise_takes_the_mean_of_the_fans(seed: int) -> Verdict:
    w = he_(torch.empty(300, 100, dtype=torch.float64), generator=generator(seed), mode="mean")
    return every(
        formula=near(he_variance(100, 300, "mean"), 4 / (100 + 300), tolerance=1e-15),
        number=near(he_variance(100, 300, "mean"), 0.01, tolerance=1e-15),
        drawn=within(float(w.var()) / 0.01, 0.97, 1.03),
        equal_fans=equal(len({he_variance(64, 64, mode) for mode in ("in", "out", "mean")}), 1),
    )


@claim("claim-residual-variance-doubles")
def residual_blocks_double_the_variance(seed: int) -> Verdict:
    doubling, _ = typical(seed, 8, he_variance(200, 200), width=200, residual=True)
    scaled, _ = typical(seed, 8, he_variance(200, 200), width=200, residual=True, scale=2**-0.5)
    growth = doubling / math.log10(2)
    return every(
        doubles=near(growth, np.arange(9), tolerance=0.4),
        per_block=near(float(np.polyfit(np.arange(9), growth, 1)[0]), 1.0, tolerance=0.05),
        scaled_stays=within(10.0 ** scaled[-1], 0.7, 1.4),
    )


@claim("claim-normalised-inputs-for-initialisation")
def initialization_assumes_standardized_inputs(seed: int) -> Verdict:
    moments: dict[tuple[float, float, bool], torch.Tensor] = {}
    for mean, deviation in ((0.0, 1.0), (0.0, 10.0), (10.0, 1.0)):
        for norm in (False, True):
            # The logarithm of a variance after L layers of n units deviates by about sqrt(5 L / n), 0.27 here.
            net = initialize_(deep(seed, [400] * 7, nn.ReLU, norm=norm), "he", generator=generator(seed))
            kind = BatchNorm if norm else nn.Linear
            moments[mean, deviation, norm] = layer_moments(net, mean + deviation * draw(seed, 200, 400), kind)[1] ** 2
    normed = [moments[m, s, True] for m, s in ((0.0, 1.0), (0.0, 10.0), (10.0, 1.0))]
    truth = every(
        standardized_stays=within(float(moments[0.0, 1.0, False][-1]), 0.5, 8.0),
        large_inputs_stay_large=above(float(moments[0.0, 10.0, False].min()), 50.0),
        a_mean_counts_too=above(float(moments[10.0, 1.0, False].min()), 20.0),
        batch_norm_gives_1=near(torch.stack(normed), np.ones((3, 6)), tolerance=1e-3),
    )
    # A Cauchy law, which the text names, has no variance: that of a sample does not settle as the sample grows.
    rng = np.random.default_rng(seed)
    cauchy = [float(np.median(rng.standard_cauchy((41, n)).var(axis=1))) for n in (100, 10_000)]
    return corrected(truth, printed=within(cauchy[1] / cauchy[0], 0.5, 2.0))
