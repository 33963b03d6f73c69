"""Claims on layers: dense, residual, pixel by pixel, adaptive pooling, and how many numbers they hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.neural.diagnostics import descend
from margin.neural.layers import (
    Dense,
    PixelMLP,
    Residual,
    adaptive_avg_pool2d,
    conv_parameters,
    count_values,
    dense,
    dense_backward,
    linear_parameters,
    use_generator,
)
from margin.neural.losses import cross_entropy
from margin.neural.nets.image_parts import LayerChain
from margin.neural.nets.resnet import ResidualBlock
from margin.neural.weights import build
from margin.notes.claims import claim


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


@claim("dense-layer")
def a_dense_layer_connects_all_pairs(seed: int) -> Verdict:
    a, W, b = draw(seed, 5, 12), draw(seed + 1, 4, 12).requires_grad_(), draw(seed + 2, 4).requires_grad_()
    delta, leaf = draw(seed + 3, 5, 4), a.clone().requires_grad_()
    by_torch = torch.autograd.grad(dense(leaf, W, b), (leaf, W, b), delta)
    layer = build(partial(Dense, 12, 4, "tanh"), seed, torch.float64)
    image = draw(seed, 5, 3, 2, 2)
    products = torch.tanh(image.reshape(5, 12) @ layer.linear.weight.T + layer.linear.bias)
    convolutional = nn.Conv2d(3, 4, 1).double()
    larger = draw(seed, 1, 3, 5, 5)
    ours = dense_backward(delta, a, W.detach())
    flatten, linear = build(lambda: LayerChain((3, 2, 2)).dense(4).network(), seed, torch.float64)
    return every(
        as_run=near(
            linear(flatten(image)).detach(),
            dense(image.reshape(5, 12), linear.weight, linear.bias).detach(),
            tolerance=1e-13,
        ),
        backward=equal([bool(torch.allclose(u, v, atol=1e-12)) for u, v in zip(ours, by_torch)], [True] * 3),
        differences=equal(torch.autograd.gradcheck(dense, (leaf, W, b)), True),
        flattened=near(layer(image).detach(), products.detach(), tolerance=1e-13),
        one_size_of_image=equal((accepts(layer, larger), accepts(convolutional, larger)), (False, True)),
        parameters=equal(count_values(layer).trainable, 4 * (12 + 1)),
    )


def accepts(layer: nn.Module, x: torch.Tensor) -> bool:
    try:
        layer(x)
    except RuntimeError:
        return False
    return True


@claim("layer-parameter-counts")
def parameters_of_each_kind_of_layer() -> Verdict:
    norm, elu = count_values(nn.BatchNorm2d(7)), count_values(nn.ELU(alpha=0.5))
    truth = every(
        convolution=equal((count_values(nn.Conv2d(3, 8, 5)).trainable, conv_parameters(3, 8, (5, 5))), (608, 608)),
        linear=equal((count_values(nn.Linear(10, 4)).trainable, linear_parameters(10, 4)), (44, 44)),
        batch_norm=equal(tuple(norm), (14, 14)),
        pooling_and_dropout=equal(count_values(nn.Sequential(nn.MaxPool2d(2), nn.Dropout())).trainable, 0),
        elu_and_prelu=equal((elu.trainable, count_values(nn.PReLU()).trainable), (0, 1)),
    )
    return corrected(
        truth,
        all_of_batch_norm_is_trained=equal(norm.trainable, 4 * 7),
        elu_learns_its_alpha=equal(elu.trainable, 1),
        kernel_size_is_one_side=equal(conv_parameters(3, 8, (5, 5)), (5 * 3 + 1) * 8),
    )


@claim("skip-connections")
def a_skip_connection_adds_the_input(seed: int) -> Verdict:
    x = draw(seed, 6, 5)
    f1, f2, f3 = (build(lambda: nn.Sequential(nn.Linear(5, 5), nn.Tanh()), seed + k, torch.float64) for k in range(3))
    stacked = nn.Sequential(*map(Residual, (f1, f2, f3)))(x).detach()
    expanded = (x + f1(x) + f2(x + f1(x)) + f3(x + f1(x) + f2(x + f1(x)))).detach()
    printed = (x + f1(x) + f2(x + f1(x)) + f3(x + f2(x + f1(x)))).detach()
    zero = build(partial(nn.Linear, 5, 5), seed, torch.float64)
    nn.init.zeros_(zero.weight), nn.init.zeros_(zero.bias)
    jacobian = torch.autograd.functional.jacobian(Residual(f1), x[0]) - torch.autograd.functional.jacobian(f1, x[0])
    final = {residual: deep_digits(seed, residual) for residual in (False, True)}
    block, pixels = build(partial(ResidualBlock, 2, 2), seed, torch.float64), draw(seed, 3, 2, 5, 4)
    truth = every(
        identity=equal(Residual(zero)(x).tolist(), x.tolist()),
        as_run=near(block(pixels).detach(), Residual(block.change)(pixels).relu().detach(), tolerance=1e-13),
        gradient_has_the_identity=near(jacobian, torch.eye(5), tolerance=1e-13),
        expansion=near(stacked, expanded, tolerance=1e-12),
        fifty_layers_train_only_with_it=above(final[True], final[False] + 0.3),
    )
    return corrected(truth, printed=near(stacked, printed, tolerance=1e-3))


def deep_digits(seed: int, residual: bool) -> float:
    """Training accuracy of 50 hidden layers on some digits after a few steps."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rows, labels = torch.tensor(X[:200] / 16, dtype=torch.float32), torch.tensor(y[:200])

    def block() -> nn.Module:
        plain = nn.Sequential(nn.Linear(24, 24), nn.Tanh())
        return Residual(plain) if residual else plain

    net: Any = build(lambda: nn.Sequential(nn.Linear(64, 24), *(block() for _ in range(50)), nn.Linear(24, 10)), seed)
    descend(net.parameters(), lambda: cross_entropy(net(rows), labels), steps=25, rate=5e-3, rule=torch.optim.Adam)
    return float((net(rows).argmax(dim=1) == labels).double().mean())


def runs(call: Callable[[], Any]) -> bool:
    """Whether torch carries it out: a container that is called raises NotImplementedError."""
    try:
        call()
    except NotImplementedError:
        return False
    return True


@claim("pixelwise-mlp-with-1x1-convolutions")
def one_by_one_convolutions_are_a_perceptron_per_pixel(seed: int) -> Verdict:
    parts = {}
    for n_dim in (1, 2, 3):
        net: Any = build(partial(PixelMLP, 3, 2, 8, n_layers=3, n_dim=n_dim), seed, torch.float64)
        x = draw(seed, 4, 3, *[5] * n_dim)
        h = x.movedim(1, -1)
        for k, layer in enumerate(net.convolutions):
            h = h @ layer.weight.flatten(1).T + layer.bias
            h = torch.nn.functional.gelu(h) if k < 2 else h
        parts[f"dimension_{n_dim}"] = near(net(x).detach(), h.movedim(-1, 1).detach(), tolerance=1e-12)
    dropping: Any = PixelMLP(3, 2, 8, dropout=0.5)
    use_generator(dropping, generator(seed))
    image = draw(seed, 4, 3, 6, 6).float()
    nn.init.constant_(net.convolutions[-1].bias, -1.0)
    output = net(draw(seed, 4, 3, 5, 5, 5)).detach()
    truth = every(
        **parts,
        dropout=above(float((dropping(image) - dropping(image)).detach().abs().max()), 0.0),
        one_layer=equal(PixelMLP(3, 2, 8, n_layers=1)(image).shape, (4, 2, 6, 6)),
        last_layer_is_linear=equal(bool(output.min() < -0.17), True),
    )
    # Three lines of the printed code: if i < n_layers; self.dropout(x) of a ModuleList; if i == 0, asked first.
    printed = torch.nn.functional.gelu(output)
    single = [(3, 8) if i == 0 else (8, 2) for i in range(1)]
    return corrected(
        truth,
        last_layer_has_no_activation=near(printed, output, tolerance=1e-3),
        dropout_can_be_called=equal(runs(lambda: nn.ModuleList([nn.Dropout(0.5)])(image)), True),
        one_layer_has_the_output_channels=equal(single[-1][1], 2),
    )


@claim("adaptive-avg-pool2d")
def adaptive_pooling_reaches_any_size(seed: int) -> Verdict:
    x = draw(seed, 2, 3, 7, 10)
    pairs = {size: (adaptive_avg_pool2d(x, size), nn.AdaptiveAvgPool2d(size)(x)) for size in ((3, 4), (7, 10), (5, 3))}
    return every(
        **{f"{h}x{w}": near(ours, theirs, tolerance=1e-13) for (h, w), (ours, theirs) in pairs.items()},
        mean=near(adaptive_avg_pool2d(x, (1, 1))[..., 0, 0], x.mean(dim=(2, 3)), tolerance=1e-14),
        shape=equal(tuple(pairs[3, 4][0].shape), (2, 3, 3, 4)),
    )
