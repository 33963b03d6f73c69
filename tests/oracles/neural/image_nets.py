"""Image networks put together again from their own weights by torch's functions and by loops, at odd sizes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.convolution.layers import ResizeConv2d
from margin.neural.convolution.pooling import downsample
from margin.neural.convolution.sizes import conv_arithmetic
from margin.neural.convolution.symmetry import invariance_error
from margin.neural.estimators import CNNClassifier
from margin.neural.nets.lenet import lenet5
from margin.neural.nets.pixels import UNet
from margin.neural.nets.resnet import ResidualBlock, resnet
from margin.neural.nets.summary import multiply_adds, stages
from margin.neural.nets.vgg import vgg
from margin.neural.weights import build


def leaves(net: nn.Module, *kinds: type[nn.Module]) -> list[Any]:
    return [layer for layer in net.modules() if isinstance(layer, kinds)]


def convolved(layer: Any, x: Tensor, stride: int, padding: int) -> Tensor:
    return functional.conv2d(x, layer.weight, layer.bias, stride, padding)


def normed(x: Tensor) -> Tensor:
    """Every channel standardized over the batch, as a norm in training begins."""
    mean, variance = x.mean(dim=(0, 2, 3), keepdim=True), x.var(dim=(0, 2, 3), correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-5)


@oracle(f"{PATH}.nets.lenet.lenet5")
def lenet_by_its_sizes(seed: int) -> Verdict:
    """The numbers of the paper: 6 and 16 maps, 120 and 84 units, sigmoids, means over 2 x 2."""
    net, x = build(lenet5, seed, torch.float64), normal(seed, 2, 1, 28, 28)
    first, second = leaves(net, nn.Conv2d)
    dense = leaves(net, nn.Linear)
    h = functional.avg_pool2d(torch.sigmoid(convolved(first, x, 1, 2)), 2)
    h = functional.avg_pool2d(torch.sigmoid(convolved(second, h, 1, 0)), 2).flatten(1)
    for layer in dense[:-1]:
        h = torch.sigmoid(h @ layer.weight.T + layer.bias)
    sizes = [list(layer.weight.shape) for layer in (first, second, *dense)]
    return every(
        sizes=equal(sizes, [[6, 1, 5, 5], [16, 6, 5, 5], [120, 400], [84, 120], [10, 84]]),
        scores=same(net(x), h @ dense[-1].weight.T + dense[-1].bias),
    )


@oracle(*(f"{PATH}.nets.vgg.{name}" for name in ("vgg", "vgg_block")))
def vgg_by_its_blocks(seed: int) -> Verdict:
    """One and two convolutions of 3 x 3 that keep the size, maxima over 2 x 2, three dense layers."""
    make = lambda: vgg(((1, 3), (2, 5)), (2, 9, 6), 4, units=7, dropout=0.0)  # noqa: E731
    net, x = build(make, seed, torch.float64).eval(), normal(seed, 2, 2, 9, 6)
    one, two, three = leaves(net, nn.Conv2d)
    h = functional.max_pool2d(functional.relu(convolved(one, x, 1, 1)), 2)
    h = functional.relu(convolved(three, functional.relu(convolved(two, h, 1, 1)), 1, 1))
    h = functional.max_pool2d(h, 2).flatten(1)
    dense = leaves(net, nn.Linear)
    for layer in dense[:-1]:
        h = functional.relu(h @ layer.weight.T + layer.bias)
    return every(
        channels=equal([list(c.weight.shape) for c in (one, two, three)], [[3, 2, 3, 3], [5, 3, 3, 3], [5, 5, 3, 3]]),
        units=equal([layer.out_features for layer in dense], [7, 7, 4]),
        scores=same(net(x), h @ dense[-1].weight.T + dense[-1].bias),
    )


@oracle(f"{PATH}.nets.resnet.ResidualBlock")
def blocks_and_their_shortcuts(seed: int) -> Verdict:
    """Two convolutions and a shortcut that changes channels and size; bottleneck; activation first; no shortcut."""
    x, relu = normal(seed, 2, 4, 7, 5), functional.relu
    block = build(lambda: ResidualBlock(4, 6, stride=2), seed, torch.float64)
    a, b = leaves(block.change, nn.Conv2d)
    (side,) = leaves(block.shortcut, nn.Conv2d)
    change = normed(convolved(b, relu(normed(convolved(a, x, 2, 1))), 1, 1))
    narrow = build(lambda: ResidualBlock(4, 4, bottleneck=True), seed, torch.float64)
    c, d, e = leaves(narrow.change, nn.Conv2d)
    inside = relu(normed(convolved(d, relu(normed(convolved(c, x, 1, 0))), 1, 1)))
    through = normed(convolved(e, inside, 1, 0))
    early = build(lambda: ResidualBlock(4, 4, preactivation=True), seed, torch.float64)
    f, g = leaves(early.change, nn.Conv2d)
    plain = build(lambda: ResidualBlock(4, 4, residual=False), seed, torch.float64)
    i, j = leaves(plain.change, nn.Conv2d)
    return every(
        shortcut=same(block(x), relu(change + normed(convolved(side, x, 2, 0)))),
        bottleneck=same(narrow(x), relu(through + x)),
        inner=equal(list(d.weight.shape), [1, 1, 3, 3]),
        preactivation=same(early(x), convolved(g, relu(normed(convolved(f, relu(normed(x)), 1, 1))), 1, 1) + x),
        plain=same(plain(x), relu(normed(convolved(j, relu(normed(convolved(i, x, 1, 1))), 1, 1)))),
    )


@oracle(f"{PATH}.nets.resnet.resnet")
def parameters_of_residual_networks(seed: int) -> Verdict:
    """Counted from the table of the paper: 7 x 7 at the start, four stages, shortcuts where a stage begins."""

    def counted(blocks: tuple[int, ...], outputs: int) -> int:
        total, before = 64 * 3 * 49 + 2 * 64, 64
        for stage, n_blocks in enumerate(blocks):
            inner = 64 * 2**stage
            after = 4 * inner
            for _ in range(n_blocks):
                for a, b, size in ((before, inner, 1), (inner, inner, 9), (inner, after, 1)):
                    total += a * b * size + 2 * b  # with scale and shift of the norm
                total += 0 if before == after else before * after + 2 * after
                before = after
        return total + before * outputs + outputs

    with torch.device("meta"):
        deep = resnet(50, n_outputs=7, norm="batch")
    small = build(lambda: resnet(18, (2, 9, 7), 3, width=0.0625), seed, torch.float64)
    x = normal(seed, 2, 2, 9, 7)
    maps, blocks = x, leaves(small, ResidualBlock)
    first, head = leaves(small, nn.Conv2d)[0], leaves(small, nn.Linear)[-1]
    maps = functional.relu(normed(convolved(first, maps, 1, 1)))
    for block in blocks:
        maps = block(maps)
    return every(
        deep=equal(sum(p.numel() for p in deep.parameters()), counted((3, 4, 6, 3), 7)),
        scores=same(small(x), maps.mean(dim=(2, 3)) @ head.weight.T + head.bias),
        halved=equal(tuple(maps.shape[2:]), (2, 1)),
    )


@oracle(*(f"{PATH}.nets.summary.{name}" for name in ("stages", "multiply_adds")))
def work_counted_by_loops(seed: int) -> Verdict:
    """Products of a convolution with stride, of one in groups and of a dense layer, position by position."""
    net = nn.Sequential(nn.Conv2d(4, 6, (3, 2), stride=2, padding=1), nn.ReLU(), nn.Conv2d(6, 4, 2, groups=2),
                        nn.Flatten(), nn.Linear(4 * 4 * 3, 5))  # fmt: skip
    h, w = 9 + seed % 2, 7
    rows, columns = ((n + 2 - k) // 2 + 1 for n, k in ((h, 3), (w, 2)))
    net[4] = nn.Linear(4 * (rows - 1) * (columns - 1), 5)
    first = sum(4 * 3 * 2 for _ in product(range(6), range(rows), range(columns)))
    second = sum(3 * 2 * 2 for _ in product(range(4), range(rows - 1), range(columns - 1)))
    found = stages(net, (4, h, w))
    return every(
        products=equal(multiply_adds(net, (4, h, w)), first + second + 5 * net[4].in_features),
        shapes=equal([s.shape for s in found], [(6, rows, columns)] * 2 + [(4, rows - 1, columns - 1), (5,)]),
        parameters=equal([s.parameters for s in found], [6 * 4 * 6 + 6, 0, 4 * 3 * 4 + 4, 5 * net[4].in_features + 5]),
    )


@oracle(
    *(f"{PATH}.convolution.{name}" for name in ("sizes.conv_arithmetic", "symmetry.invariance_error")),
)
def sizes_and_changes(seed: int) -> Verdict:
    """A layer really made, its outputs and weights counted; the change of a function under a roll, entry by entry."""
    size, kernel, stride, padding, filters, channels = 11 + seed % 3, 3, 2, 1, 5, 2
    layer = nn.Conv2d(channels, filters, kernel, stride, padding)
    made = layer(torch.zeros(1, channels, size, size))
    found = conv_arithmetic(size, kernel, stride, padding, filters, channels)
    weights = sum(p.numel() for p in layer.parameters())
    x = normal(seed, 3, 5).numpy()
    rolled = np.array([[row[-1], *row[:-1]] for row in x])
    changes = [abs(a**2 * k - b**2 * k) for p, q in zip(rolled, x) for k, (a, b) in enumerate(zip(p, q))]
    return every(
        side=equal(found.side, made.shape[2]),
        neurons=equal(found.neurons, made.numel()),
        shared=equal((found.shared_parameters, found.shared_weights), (weights, layer.weight.numel())),
        unshared=equal(found.unshared_parameters, made.numel() * (layer.weight[0].numel() + 1)),
        each=equal(found.parameters_per_neuron, layer.weight[0].numel() + 1),
        change=near(
            invariance_error(lambda z: z**2 * np.arange(5), lambda z: np.roll(z, 1, axis=1), x),
            max(changes),
            tolerance=1e-12,
        ),
    )


@oracle(
    "margin.neural.convolution.pooling.subsample",
    f"{PATH}.convolution.pooling.downsample",
    f"{PATH}.convolution.layers.ResizeConv2d",
)
def smaller_and_larger(seed: int) -> Verdict:
    x, layer = normal(seed, 2, 3, 6, 4), build(lambda: ResizeConv2d(3, 2, 3, scale=2), seed, torch.float64)
    blocks = x.numpy().reshape(2, 3, 3, 2, 2, 2)
    repeated = x.numpy().repeat(2, axis=2).repeat(2, axis=3)
    expected = convolved(layer.convolution, torch.from_numpy(repeated), 1, 1)
    between = build(lambda: ResizeConv2d(3, 2, 3, scale=2, mode="bilinear"), seed, torch.float64)
    weights = [np.zeros((2 * n, n)) for n in (6, 4)]  # the middles of new pixels lie a quarter from those of old ones
    for rows in weights:
        for i, row in enumerate(rows):
            place = np.clip((i + 0.5) / 2 - 0.5, 0, rows.shape[1] - 1)
            low = min(int(place), rows.shape[1] - 2)
            row[low : low + 2] = [1 - (place - low), place - low]
    smooth = np.einsum("ai,bj,ncij->ncab", *weights, x.numpy())
    return every(
        between=same(between(x), convolved(between.convolution, torch.from_numpy(smooth), 1, 1)),
        maxima=near(downsample(x.numpy(), "max", 2), blocks.max(axis=(3, 5)), tolerance=0.0),
        means=near(downsample(x.numpy(), "mean", 2), blocks.mean(axis=(3, 5)), tolerance=1e-12),
        every_second=near(downsample(x.numpy(), "stride", 2), blocks[:, :, :, 0, :, 0], tolerance=0.0),
        larger=same(layer(x), expected),
    )


@oracle(f"{PATH}.nets.pixels.UNet")
def down_and_up_by_hand(seed: int) -> Verdict:
    """Odd sides; what comes up stands behind what was kept on the way down."""
    net, x = build(lambda: UNet(2, 3, depth=1, channels=2), seed, torch.float64).eval(), normal(seed, 1, 2, 7, 5)
    kept = net.down[0](x)
    padded = functional.pad(kept, (0, 1, 0, 1), value=-torch.inf)
    low = net.down[1](functional.max_pool2d(padded, 2))
    raised = functional.conv_transpose2d(low, net.up[0].enlarge.weight, net.up[0].enlarge.bias, stride=2)
    joined = net.up[0].convolve(torch.cat([kept, raised[:, :, :7, :5]], dim=1))
    return same(net(x), functional.conv2d(joined, net.head.weight, net.head.bias))


@oracle(f"{PATH}.estimators.CNNClassifier")
def a_classifier_of_images_by_hand(seed: int) -> Verdict:
    """Channels standardized by the training images; convolution, maxima, dense layer, softmax; classes in order."""
    rng = np.random.default_rng(seed)
    X = rng.normal([5.0, -2.0], [3.0, 0.5], size=(12, 6, 4, 2))
    y = np.array(["wren", "crow", "kite"])[np.arange(12) % 3]
    model = CNNClassifier(["conv 3 3", "pool 2"], max_iter=2, batch_size=4, random_state=seed).fit(X, y)
    module = model._ready_module().double()
    scaled = (X - X.mean(axis=(0, 1, 2))) / X.std(axis=(0, 1, 2))
    (first,), (last,) = leaves(module, nn.Conv2d), leaves(module, nn.Linear)
    h = functional.relu(convolved(first, torch.from_numpy(scaled.transpose(0, 3, 1, 2).copy()), 1, 1))
    scores = functional.max_pool2d(h, 2).flatten(1) @ last.weight.T + last.bias
    odds = np.exp(scores.detach().numpy())
    expected = odds / odds.sum(axis=1, keepdims=True)
    return every(
        classes=equal(model.classes_.tolist(), ["crow", "kite", "wren"]),
        probabilities=near(model.predict_proba(X), expected, tolerance=1e-4),
    )
