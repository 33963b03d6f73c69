"""The functions themselves: values, derivatives, ranges and smoothness."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.neural import activations as act
from margin.neural.activations import slopes
from margin.neural.activations.table import GELU_MINIMUM, SILU_MINIMUM, SMOOTH
from margin.notes.claims import claim
from margin.notes.claims.forms import one_activation, one_form


def double(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def points(seed: int, n: int = 200) -> torch.Tensor:
    return torch.from_numpy(4 * np.random.default_rng(seed).normal(size=n))


def autograd(function: Any, x: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(x).sum(), x)
    return gradient


def minimum(function: Any) -> tuple[float, float]:
    """Where the function is smallest on [-5, 0], and its value there."""
    optimum = minimize_scalar(
        lambda x: float(function(double(x))), bounds=(-5, 0), method="bounded", options={"xatol": 1e-10}
    )
    return float(optimum.x), float(optimum.fun)


@claim("indicator-heaviside")
def a_steep_sigmoid_imitates_a_step() -> Verdict:
    w, x = 0.1, torch.linspace(-3, 3, 60_001, dtype=torch.float64)
    outside = x[(x - 1).abs() >= w - 1e-12]
    steepness = (50.0, 100.0, 200.0)
    gaps = [float((act.steep_sigmoid(outside, a, 1.0) - act.binary_step(outside - 1.0)).abs().max()) for a in steepness]
    # Notes: slope 10^n with n the number of points and shift 1e-9, here at the jump itself for n = 3.
    at_jump = [float(act.steep_sigmoid(double(1.0), 10.0**n, 1.0 - 1e-9)) for n in (3, 11)]
    truth = every(
        exponential=near(gaps, [1 / (1 + math.exp(a * w)) for a in steepness], tolerance=1e-12),
        bounded=equal(all(gap <= math.exp(-a * w) for gap, a in zip(gaps, steepness)), True),
        one_at_the_jump_when_slope_is_large=near(at_jump[1], 1.0, tolerance=1e-6),
    )
    return corrected(truth, printed=near(at_jump[0], 1.0, tolerance=0.4))


@claim("sigmoid")
def sigmoid_squeezes_the_line_into_the_unit_interval(seed: int) -> Verdict:
    x = points(seed)
    s, extreme = act.sigmoid(x), act.sigmoid(double(-1000.0, 1000.0))
    truth = every(
        as_run=one_activation(act.Sigmoid(), x),
        middle=equal(float(act.sigmoid(double(0.0))), 0.5),
        mirrored=near(act.sigmoid(-x), 1 - s, tolerance=1e-15),
        inside=equal(bool(((s > 0) & (s < 1)).all()), True),
        no_overflow=equal(extreme.tolist(), [0.0, 1.0]),
        slope=near(autograd(act.sigmoid, x), s * (1 - s), tolerance=1e-12),
        steepest=near(float(slopes.sigmoid_slope(torch.linspace(-5, 5, 1001).double()).max()), 0.25, tolerance=1e-12),
        tanh=near(2 * act.sigmoid(2 * x) - 1, torch.tanh(x), tolerance=1e-14),
        value=near(float(act.sigmoid(double(2.0))), 0.8808, tolerance=5e-5),
        not_every_positive_number_is_near_1=below(float(act.sigmoid(double(0.5))), 0.63),
    )
    return corrected(
        truth,
        # 1 / (1 + e^x) falls, and the notes' own tanh = 2 sigma(2x) - 1 fails for it.
        sign_of_the_exponent=near(2 / (1 + torch.exp(2 * x)) - 1, torch.tanh(x), tolerance=1e-6),
        ends_are_values=equal(float(act.sigmoid(double(-700.0))), 0.0),
        every_positive_number_comes_near_1=near(float(act.sigmoid(double(0.5))), 1.0, tolerance=0.1),
    )


@claim("sigmoid-derivative")
def sigmoid_slope_is_s_times_1_minus_s(seed: int) -> Verdict:
    x = points(seed)
    s = act.sigmoid(x)
    gap = act.derivative_gap(act.sigmoid, slopes.sigmoid_slope, x)
    return every(
        autograd=near(autograd(act.sigmoid, x), s * (1 - s), tolerance=1e-12),
        written_out=near(slopes.sigmoid_slope(x), s * (1 - s), tolerance=1e-15),
        differences=below(float(gap.max()), 1e-9),
    )


@claim("tanh")
def tanh_is_a_sigmoid_stretched_to_minus_1_and_1(seed: int) -> Verdict:
    x = points(seed)
    t, grid = act.tanh(x), torch.linspace(-5, 5, 1001, dtype=torch.float64)
    return every(
        as_run=one_activation(act.Tanh(), x),
        sigmoid=near(t, 2 * act.sigmoid(2 * x) - 1, tolerance=1e-12),
        formula=near(t, (torch.exp(2 * x) - 1) / (torch.exp(2 * x) + 1), tolerance=1e-14),
        odd=near(act.tanh(-x), -t, tolerance=1e-15),
        inside=below(float(act.tanh(double(-18.0, 18.0)).abs().max()), 1.0),
        slope=near(autograd(act.tanh, x), 1 - t.square(), tolerance=1e-12),
        steepest=near(float(slopes.tanh_slope(grid).max()), 1.0, tolerance=1e-12),
        smooth=equal(act.smoothness(act.tanh), 3),
    )


@claim("relu")
def relu_is_the_positive_part(seed: int) -> Verdict:
    x = points(seed)
    c = 3.7
    return every(
        as_run=one_activation(act.ReLU(), x),
        values=equal(act.relu(double(-1.0, 0.0, 2.0)).tolist(), [0.0, 0.0, 2.0]),
        slopes=equal(autograd(act.relu, double(-1.0, 0.0, 2.0)).tolist(), [0.0, 0.0, 1.0]),
        indicator=equal(autograd(act.relu, x).tolist(), (x > 0).double().tolist()),
        homogeneous=near(act.relu(c * x), c * act.relu(x), tolerance=1e-14),
        differences=below(float(act.derivative_gap(act.relu, slopes.relu_slope, x[x.abs() > 1e-3]).max()), 1e-8),
        range=equal(act.measured_range(act.relu), (0.0, 30.0)),
        continuity=equal(act.smoothness(act.relu), 0),
    )


@claim("leaky-relu")
def leaky_relu_keeps_a_small_slope(seed: int) -> Verdict:
    x = points(seed)
    steep = act.leaky_relu(x, slope=1.5)
    return every(
        as_run=one_activation(act.LeakyReLU(0.2), x),
        value=near(float(act.leaky_relu(double(-2.0))), -0.02, tolerance=1e-15),
        slopes=near(autograd(act.leaky_relu, double(-2.0, 2.0)), [0.01, 1.0], tolerance=1e-15),
        gan=near(autograd(lambda v: act.leaky_relu(v, 0.2), double(-2.0, 2.0)), [0.2, 1.0], tolerance=1e-15),
        maximum=near(act.leaky_relu(x), torch.maximum(x, 0.01 * x), tolerance=1e-15),
        slope_0_is_relu=equal(act.leaky_relu(x, 0.0).tolist(), act.relu(x).tolist()),
        maximum_fails_above_1=above(float((steep - torch.maximum(x, 1.5 * x)).abs().max()), 0.1),
        layer=equal(act.activation_layer("leaky_relu", negative_slope=0.2).negative_slope, 0.2),
    )


@claim("softplus")
def softplus_is_a_smooth_relu(seed: int) -> Verdict:
    x = points(seed)
    gap = act.softplus(x) - act.relu(x)
    return every(
        as_run=one_activation(act.Softplus(), x),
        at_0=near(float(act.softplus(double(0.0))), 0.693147, tolerance=5e-7),
        extremes=equal(act.softplus(double(-1000.0, 1000.0)).tolist(), [0.0, 1000.0]),
        slope=near(autograd(act.softplus, x), act.sigmoid(x), tolerance=1e-12),
        above_relu=above(float(gap.min()), 0.0),
        gap_is_largest_at_0=below(float(gap.max()), math.log(2)),
        alias=equal(act.smooth_relu is act.softplus, True),
        smooth=equal(act.smoothness(act.softplus), 3),
    )


@claim("elu")
def elu_is_once_differentiable_only_for_alpha_1() -> Verdict:
    orders = {alpha: act.smoothness(partial(act.elu, alpha=alpha)) for alpha in (0.5, 1.0, 2.0)}
    h = 1e-7
    left, right = (float(act.elu(double(t), 2.0)) / t for t in (-h, h))
    low = act.elu(double(-30.0, -20.0), 2.0)
    return every(
        as_run=one_activation(act.ELU(0.7), torch.linspace(-4.1, 4, 60, dtype=torch.float64)),
        orders=equal(orders, {0.5: 0, 1.0: 1, 2.0: 0}),
        one_sided=near([left, right], [2.0, 1.0], tolerance=1e-6),
        infimum=near(float(low[0]), -2.0, tolerance=1e-12),
        not_attained=above(float(low[0]), -2.0),
    )


@claim("gelu")
def gelu_is_x_times_the_normal_distribution(seed: int) -> Verdict:
    x, (at, lowest) = points(seed), minimum(act.gelu)
    truth = every(
        as_run=one_activation(act.GELU(), x),
        formula=near(act.gelu(x), x.numpy() * norm.cdf(x.numpy()), tolerance=1e-13),
        torch=near(act.gelu(x), nn.functional.gelu(x), tolerance=1e-14),
        slope=near(autograd(nn.functional.gelu, x), slopes.gelu_slope(x), tolerance=1e-12),
        minimum=near([at, lowest], [-0.75179, -0.16997], tolerance=5e-6),
        stated=near(lowest, GELU_MINIMUM, tolerance=1e-12),
        attained=near(float(act.gelu(double(at))), lowest, tolerance=0.0),
    )
    # The open interval from -0.17 would have values as close to -0.17 as one likes.
    return corrected(truth, printed=below(float(act.gelu(x).min().clamp(max=lowest)), -0.17 + 1e-5))


@claim("silu")
def silu_is_x_times_the_sigmoid(seed: int) -> Verdict:
    x, (at, lowest) = points(seed), minimum(act.silu)
    truth = every(
        as_run=one_activation(act.SiLU(), x),
        torch=near(act.silu(x), nn.functional.silu(x), tolerance=1e-14),
        slope=near(autograd(nn.functional.silu, x), slopes.silu_slope(x), tolerance=1e-12),
        minimum=near([at, lowest], [-1.27846, -0.27846], tolerance=1e-5),
        stated=near(lowest, SILU_MINIMUM, tolerance=1e-12),
        attained=near(float(act.silu(double(at))), lowest, tolerance=0.0),
    )
    return corrected(truth, printed=below(lowest, -0.28 + 1e-3))


@claim("softmax")
def softmax_maps_to_the_simplex(seed: int) -> Verdict:
    z = points(seed, 5)
    s = act.softmax(z)
    jacobian = torch.autograd.functional.jacobian(act.softmax, z)
    pair = act.softmax(torch.stack([torch.zeros_like(z), z]), dim=0)
    truth = every(
        as_run=one_form(act.softmax, act.fused_softmax, z),
        sum=near(float(s.sum()), 1.0, tolerance=1e-14),
        positive=above(float(s.min()), 0.0),
        shifted=near(act.softmax(z + 123.0), s, tolerance=1e-12),
        stable=equal(act.softmax(double(1000.0, 1000.0)).tolist(), [0.5, 0.5]),
        two_classes=near(pair[1], act.sigmoid(z), tolerance=1e-14),
        jacobian=near(act.softmax_jacobian(s), jacobian, tolerance=1e-14),
        one_class_is_exactly_1=equal(float(act.softmax(z[:1])), 1.0),
    )
    # With the sum's index printed as i and the exponent's as j, every term is the same exponential: K e^{x_j}.
    printed = torch.exp(z) / (len(z) * torch.exp(z))
    return corrected(
        truth,
        index_of_the_sum=near(printed, s, tolerance=1e-3),
        always_inside_the_open_interval=below(float(act.softmax(z[:1])), 1.0),
    )


@claim("maxout")
def maxout_holds_relu_and_absolute_value(seed: int) -> Verdict:
    x, layer = points(seed)[:, None], act.Maxout(1, 2, pieces=2).double()
    with torch.no_grad():
        layer.linear.weight.copy_(double(1.0, 0.0, 1.0, -1.0)[:, None])  # x and 0; x and -x
        layer.linear.bias.zero_()
    y = layer(x)
    (gradient,) = torch.autograd.grad(y[0].sum(), layer.linear.weight)
    winner = int(not x[0] > 0)  # of x and 0, and of x and -x, the second wins for negative x
    return every(
        as_run=one_activation(act.MaxoutUnits(2), x.view(-1, 4)),
        relu=equal(y[:, 0].tolist(), act.relu(x[:, 0]).tolist()),
        absolute=equal(y[:, 1].tolist(), x[:, 0].abs().tolist()),
        only_the_winner=equal(gradient[:, 0].nonzero()[:, 0].tolist(), [winner, 2 + winner]),
        continuity=equal(act.smoothness(lambda v: layer(v[:, None])[:, 1].detach()), 0),
    )


@claim("activation-catalogue")
def the_table_agrees_with_measurements() -> Verdict:
    parts, x = {}, torch.linspace(-3.05, 3.05, 60, dtype=torch.float64)  # 0 is not among them
    for line in act.TABLE:
        low, high = act.measured_range(line.function)
        ends = [30.0 if math.isinf(end) else abs(end) for end in (line.low, line.high)]
        scale = 0.01 if line.name == "leaky_relu" else 1.0
        values = line.function(torch.linspace(-8, 8, 4001, dtype=torch.float64))
        parts[line.name] = every(
            low=near(low, -ends[0] * scale if line.low < 0 else ends[0], tolerance=1e-6),
            high=near(high, ends[1], tolerance=1e-6),
            continuity=equal(act.smoothness(line.function), 3 if line.continuity == SMOOTH else line.continuity),
            derivative=below(float(act.derivative_gap(line.function, line.slope, x).max()), 1e-8),
            monotone=equal(bool((values.diff() >= 0).all()), line.monotone),
        )
    named = {row["name"] for row in act.activation_table()}
    notes = {"binary_step", "sigmoid", "tanh", "relu", "softplus", "elu", "gelu", "silu", "leaky_relu"}
    return every(**parts, nine_of_the_notes=equal(len(notes & named), 9))


@claim("practice-choice-of-activation")
def the_output_activation_sets_the_range(seed: int) -> Verdict:
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    net = build(lambda: nn.Sequential(MLP([3, 16, 2]), act.activation_layer("tanh")), seed, torch.float64)
    y = net(torch.from_numpy(np.random.default_rng(seed).normal(size=(500, 3)))).detach()
    x = np.array([1.0, 10.0, 100.0, 300.0])
    distance = 2 / (1 + np.exp(2 * x))  # 1 - tanh(x) without its rounding
    options = {row["name"]: row["options"] for row in act.activation_table()}
    truth = every(
        inside=below(float(y.abs().max()), 1.0),
        extra_hyperparameter=equal((options["leaky_relu"], options["tanh"]), ({"negative_slope": 0.01}, {})),
        never_at_the_end=above(float(distance.min()), 0.0),
    )
    return corrected(truth, printed=equal(float(distance.min()), 0.0))
