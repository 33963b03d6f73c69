"""Claims on normalization: what each pools, its two modes, and what it does to training."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises, within
from margin.neural import normalization as norm
from margin.neural.initialize import he_variance, signal_through_depth
from margin.neural.layers import count_values
from margin.neural.nets.image_parts import LayerChain
from margin.neural.normalization.functions import BatchStatistics, standardize, standardize_backward
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def moments(x: torch.Tensor, *axes: int) -> tuple[torch.Tensor, torch.Tensor]:
    return x.mean(dim=axes), x.var(dim=axes, correction=0)


def gradient_is_right(function: Any, x: torch.Tensor) -> Verdict:
    return equal(torch.autograd.gradcheck(function, (x.clone().requires_grad_(),)), True)


@claim("batch-norm")
def batch_norm_standardizes_each_channel(seed: int) -> Verdict:
    x, tiny = 3 * draw(seed, 8, 4, 5, 5) + 2, 0.01 * draw(seed, 4000, 1)
    ours, theirs = norm.BatchNorm(4).double(), nn.BatchNorm2d(4).double()
    y = ours(x).detach()
    mean, variance = moments(y, 0, 2, 3)
    small = moments(norm.BatchNorm(1, affine=False).double()(tiny), 0)[1]
    g, axes = draw(seed + 1, *x.shape), (0, 2, 3)
    leaf = x.clone().requires_grad_()
    (by_torch,) = torch.autograd.grad(torch.nn.functional.batch_norm(leaf, None, None, training=True), leaf, g)
    shifted = norm.BatchNorm(4).double()(x + 7.0).detach()
    gamma = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    running = BatchStatistics(torch.zeros(4).double(), torch.ones(4).double())
    scaled = norm.batch_norm(x, running, gamma, gamma, training=True)[0]
    truth = every(
        mean=near(mean, np.zeros(4), tolerance=1e-12),
        variance=near(
            variance, x.var(dim=axes, correction=0) / (x.var(dim=axes, correction=0) + 1e-5), tolerance=1e-12
        ),
        torch=near(y, theirs(x).detach(), tolerance=1e-12),
        running=near(ours.running_var, theirs.running_var, tolerance=1e-12),
        gamma_and_delta=near(
            torch.stack([scaled.mean(dim=axes), scaled.std(dim=axes, correction=0)]), gamma.expand(2, 4), tolerance=1e-4
        ),
        backward=near(standardize_backward(g, x, axes), by_torch, tolerance=1e-12),
        constants_do_not_matter=near(shifted, y, tolerance=1e-12),
        differences=gradient_is_right(partial(standardize, axes=(0,)), draw(seed, 6, 2)),
        small_variance=near(
            float(small), float(tiny.var(correction=0) / (tiny.var(correction=0) + 1e-5)), tolerance=1e-9
        ),
    )
    deviation = x.std(dim=axes, correction=0, keepdim=True)
    other = (x - x.mean(dim=axes, keepdim=True)) / (deviation + 1e-1)  # s + eps instead of sqrt(s^2 + eps), eps = 0.1
    return corrected(
        truth,
        unit_variance=near(float(small), 1.0, tolerance=0.05),
        two_definitions_are_one=near(other, standardize(x, axes, eps=0.1), tolerance=1e-3),
        deviation_called_variance=near(deviation, x.var(dim=axes, correction=0, keepdim=True), tolerance=0.1),
        identity_without_scale_and_shift=near(standardize(x, axes), x, tolerance=0.1),
    )


@claim("batchnorm-running-statistics")
def prediction_uses_running_statistics(seed: int) -> Verdict:
    layer, data = norm.BatchNorm(3).double(), 2 * draw(seed, 4000, 3) + torch.tensor([1.0, 0.0, -1.0])
    x, others = draw(seed + 1, 1, 3), [draw(seed + k, 9, 3) for k in (2, 3)]
    with torch.no_grad():  # what training may have learned
        layer.weight.copy_(torch.tensor([0.5, 2.0, 1.5]))
        layer.bias.copy_(torch.tensor([0.3, -1.0, 2.0]))
    in_training = [layer(torch.cat([x, other]))[0].detach() for other in others]
    for batch in data.split(50):
        layer(batch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        norm.predict(layer, data[:5])
    saved = layer.state_dict()
    layer.eval()
    alone = [norm.predict(layer, torch.cat([x, other]))[0] for other in others]
    loaded = norm.BatchNorm(3).double()
    loaded.load_state_dict(saved)
    mean, variance = (torch.as_tensor(part) for part in (layer.running_mean, layer.running_var))
    standardized = (x[0] - mean) / torch.sqrt(variance + 1e-5)
    truth = every(
        batch_matters_in_training=above(float((in_training[0] - in_training[1]).abs().max()), 0.01),
        formula=near(alone[0], (layer.weight * standardized + layer.bias).detach(), tolerance=1e-12),
        not_in_prediction=equal(alone[0].tolist(), alone[1].tolist()),
        mean_converges=near(layer.running_mean, data.mean(dim=0), tolerance=0.4),
        variance_converges=near(layer.running_var / 4, np.ones(3), tolerance=0.35),
        warned=equal(len(caught), 1),
        saved_with_the_model=equal(torch.equal(loaded.running_var, layer.running_var), True),
    )
    return corrected(truth, without_scale_and_shift=near(alone[0], standardized, tolerance=0.01))


@claim("batchnorm-conv")
def statistics_of_a_channel_are_over_batch_and_space(seed: int) -> Verdict:
    layer, x = norm.BatchNorm(5, momentum=1.0).double(), draw(seed, 4, 5, 3, 2)
    layer(x)
    values = x.movedim(1, 0).reshape(5, -1)
    return every(
        means=near(layer.running_mean, values.mean(dim=1), tolerance=1e-12),
        variances=near(layer.running_var, values.var(dim=1), tolerance=1e-12),
        values_per_channel=equal(values.shape[1], 4 * 3 * 2),
        learned=equal(tuple(count_values(layer)), (10, 10)),
    )


@claim("bn-placement")
def batch_norm_stands_before_the_activation(seed: int) -> Verdict:
    block: Any = build(partial(norm.conv_bn_act, 2, 3, 3, bias=True), seed, torch.float64)
    other: Any = build(partial(norm.conv_bn_act, 2, 3, 3, bias=True, order="conv-act-bn"), seed, torch.float64)
    x, before, after = draw(seed, 6, 2, 5, 5), {}, {}
    for name, net in (("default", block), ("behind", other)):
        before[name] = net(x).detach()
        with torch.no_grad():
            net[0].bias += 3.0
        after[name] = net(x).detach()
    run: Any = build(lambda: LayerChain((2, 5, 5)).conv(3, 3, padding=1).norm().active().network(), seed, torch.float64)
    run[0].load_state_dict(block[0].state_dict())
    return every(
        as_run=near(run(x).detach(), before["default"], tolerance=1e-12),
        order=equal([type(layer).__name__ for layer in block], ["Conv2d", "BatchNorm", "ReLU"]),
        bias_is_redundant=near(after["default"], before["default"], tolerance=1e-12),
        not_in_the_other_order=above(float((after["behind"] - before["behind"]).abs().max()), 0.01),
    )


@claim("claim-batchnorm-regularises")
def batches_are_noise(seed: int) -> Verdict:
    layer, x = norm.BatchNorm(4).double(), draw(seed, 1, 4)

    def spread(size: int) -> float:
        """Standard deviation of the output of one row over random batches."""
        outputs = [layer(torch.cat([x, draw(1000 * seed + k, size - 1, 4)]))[0].detach() for k in range(60)]
        return float(torch.stack(outputs).std(dim=0).mean())

    noise = {size: spread(size) for size in (8, 32, 128)}
    layer.eval()
    return every(
        in_training=above(noise[128], 1e-3),
        none_in_prediction=equal(spread(8), 0.0),
        falls_with_the_root=within(noise[8] / noise[128], 2.0, 8.0),  # sqrt(16) = 4
    )


@claim("claim-batchnorm-residual-variance-linear")
def with_batch_norm_residual_variance_grows_linearly(seed: int) -> Verdict:
    draws, weights = generator(seed), he_variance(300, 300)
    x = draw(seed, 400, 300)
    forward = np.mean(  # a block's branch and its input are correlated by chance, differently in every draw
        [
            signal_through_depth(x, 10, weights, generator=draws, residual=True, batch_norm=True)[0].numpy()
            for _ in range(8)
        ],
        axis=0,
    )
    k = np.arange(11)
    branch = np.diff(forward)  # the variance that a block adds
    ratio = branch / forward[:-1]
    return every(
        linear=near(forward / (k + 1), np.ones(11), tolerance=0.25),
        same_from_each_block=near(float(branch.mean()), 1.0, tolerance=0.15),
        ratio_falls_like_one_over_k=near(float(np.polyfit(np.log(k[1:]), np.log(ratio), 1)[0]), -1.0, tolerance=0.25),
    )


@claim("layer-norm")
def layer_norm_standardizes_each_sample(seed: int) -> Verdict:
    x, tokens = 4 * draw(seed, 3, 2, 4, 5) + 1, draw(seed, 3, 7, 6)
    layer = norm.LayerNorm((2, 4, 5)).double()
    y = layer(x).detach()
    per_token, per_sample = norm.layer_norm(tokens, [6]), norm.layer_norm(tokens, [7, 6])
    mean, variance = moments(y, 1, 2, 3)
    truth = every(
        mean=near(mean, np.zeros(3), tolerance=1e-12),
        variance=near(variance, np.ones(3), tolerance=1e-4),
        torch=near(y, torch.nn.functional.layer_norm(x, (2, 4, 5)), tolerance=1e-12),
        batch_does_not_matter=near(layer(x[:1]).detach(), y[:1], tolerance=1e-12),
        no_modes=near(layer.eval()(x).detach(), y, tolerance=0.0),
        tokens=near(per_token.mean(dim=-1), np.zeros((3, 7)), tolerance=1e-12),
        differences=gradient_is_right(partial(norm.layer_norm, normalized_shape=[4]), draw(seed, 3, 4)),
    )
    gain, bias = torch.full((2, 4, 5), 3.0).double(), torch.full((2, 4, 5), -1.0).double()
    gained = moments(norm.layer_norm(x, (2, 4, 5), gain, bias), 1, 2, 3)[1]
    return corrected(
        truth,
        # Two axis sets share the name: over all of a sample, the single tokens are not standardized.
        tokens_with_the_axes_of_images=near(per_sample.mean(dim=-1), np.zeros((3, 7)), tolerance=1e-3),
        no_gain_and_bias=near(gained, np.ones(3), tolerance=0.1),
    )


@claim("rms-norm")
def rms_norm_scales_without_centering(seed: int) -> Verdict:
    x, layer = 5 * draw(seed, 10, 8), norm.RMSNorm(8).double()
    centered = x - x.mean(dim=-1, keepdim=True)
    y = norm.rms_norm(x)
    return every(
        mean_square=near(y.square().mean(dim=-1), np.ones(10), tolerance=1e-4),
        torch=near(norm.rms_norm(x, eps=1e-6), torch.nn.functional.rms_norm(x, (8,), eps=1e-6), tolerance=1e-12),
        scale_free=near(norm.rms_norm(37 * x, eps=0.0), norm.rms_norm(x, eps=0.0), tolerance=1e-12),
        layer_norm_on_centered=near(norm.rms_norm(centered), norm.layer_norm(centered, [8]), tolerance=1e-12),
        not_centered=above(float(y.mean(dim=-1).abs().max()), 0.05),
        no_shift=equal((count_values(layer).trainable, layer.bias), (8, None)),
        differences=gradient_is_right(norm.rms_norm, draw(seed, 3, 4)),
    )


@claim("instance-norm")
def instance_norm_standardizes_each_plane(seed: int) -> Verdict:
    x = 2 * draw(seed, 3, 4, 6, 5) - 1
    y = norm.instance_norm(x)
    mean, variance = moments(y, 2, 3)
    return every(
        mean=near(mean, np.zeros((3, 4)), tolerance=1e-12),
        variance=near(variance, np.ones((3, 4)), tolerance=1e-4),
        torch=near(y, torch.nn.functional.instance_norm(x), tolerance=1e-12),
        layer=near(norm.InstanceNorm(4)(x), y, tolerance=1e-12),
        group_of_one=near(y, norm.group_norm(x, 4), tolerance=1e-12),
    )


@claim("group-norm")
def group_norm_standardizes_groups_of_channels(seed: int) -> Verdict:
    x = draw(seed, 3, 6, 4, 4)
    y = norm.group_norm(x, 3)
    mean, variance = moments(y.view(3, 3, -1), 2)
    example = torch.arange(24.0, dtype=torch.float64).view(1, 6, 2, 2)
    sample = standardize(example, (1, 2, 3)).view(3, 8).mean(dim=1)  # the printed formula: statistics of the sample
    truth = every(
        mean=near(mean, np.zeros((3, 3)), tolerance=1e-12),
        variance=near(variance, np.ones((3, 3)), tolerance=1e-4),
        torch=near(y, torch.nn.functional.group_norm(x, 3), tolerance=1e-12),
        batch_does_not_matter=near(norm.group_norm(x[:1], 3), y[:1], tolerance=1e-12),
        divides=raises(ValueError, lambda: norm.GroupNorm(4, 6), match="must divide the 6 channels"),
        example=near(sample, [-1.156, 0.0, 1.156], tolerance=5e-4),
    )
    return corrected(truth, printed=near(sample, np.zeros(3), tolerance=1e-3))


@claim("claim-group-norm-limits")
def group_norm_lies_between_layer_and_instance_norm(seed: int) -> Verdict:
    x = draw(seed, 3, 6, 4, 5)
    return every(
        one_group=near(norm.group_norm(x, 1), norm.layer_norm(x, (6, 4, 5)), tolerance=1e-12),
        a_group_per_channel=near(norm.group_norm(x, 6), norm.instance_norm(x), tolerance=1e-12),
        else_neither=above(float((norm.group_norm(x, 2) - norm.group_norm(x, 1)).abs().max()), 1e-2),
    )


@claim("internal-covariate-shift")
def the_shift_is_across_training_steps(seed: int) -> Verdict:
    from margin.notes.experiments.batch_norm_drift import drift, run

    data = run(seed, fast=True)
    moved = {name: float(drift(means).max()) for name, means in data["means"].items()}
    truth = every(
        plain_drifts=above(moved["plain"], 0.1),
        normalized_does_not=below(moved["batch norm"], 1e-9),
        trains_with_it=below(data["losses"]["batch norm"][-1], 0.5 * data["losses"]["batch norm"][0]),
    )
    # Were the shift one among the training samples, it would be there without any change of the weights.
    return corrected(truth, printed=above(float(drift(data["frozen"]).max()), 1e-3))


@claim("claim-bn-batch-size")
def batch_normalization_is_a_decay_of_its_scale(seed: int) -> Verdict:
    r"""The scale that fits best with batches of B is that with the data's own statistics under a penalty.

    For a normal input x and a target :math:`ax + e` the loss of :math:`\gamma z + \beta`, with z normalized by its
    batch, is :math:`\gamma^2 - 2\gamma a c_B` plus what does not depend on gamma: :math:`E[z^2] = 1` and
    :math:`E[zx] = c_B`, the mean deviation of B values. That is :math:`c_B` times
    :math:`(\gamma - a)^2 + (1/c_B - 1)\gamma^2`: the loss without batches and a penalty of about 3 / (4B).
    """
    slope, n = 1.3, 30_000
    fitted, expected, spread = [], [], []
    for B in (3, 6, 24):
        x = draw(seed + B, B, n)  # every channel is a batch of its own
        z = norm.BatchNorm(n, eps=1e-12, affine=False).double()(x)
        target = slope * x + 0.5 * draw(seed + 1000 + B, B, n)
        products = (z * target).mean(dim=0) / (z * z).mean()
        fitted.append(float(products.mean()))
        spread.append(float(products.std()) / n**0.5)
        shrunk = (2 / B) ** 0.5 * math.exp(math.lgamma(B / 2) - math.lgamma((B - 1) / 2))
        expected.append(slope / (1 + (1 / shrunk - 1)))  # the minimum of (gamma - a)^2 + penalty gamma^2
    penalty = slope / np.array(fitted) - 1
    return every(
        shrinks_like_a_penalty=near((np.array(fitted) - expected) / spread, np.zeros(3), tolerance=ERRORS),
        about_three_quarters_over_the_batch=near(24 * penalty[2], 0.75, tolerance=0.15),
        falls_with_the_batch=equal(bool((np.diff(penalty) < 0).all()), True),
    )
