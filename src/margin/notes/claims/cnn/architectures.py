"""Claims on the networks: LeNet-5, AlexNet, VGG, ResNet, DenseNet, their shapes, parameters and training."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.neural.convolution import receptive_fields
from margin.neural.estimators import CNNClassifier, NeuralClassifier
from margin.neural.layers import use_generator
from margin.neural.nets import DenseBlock, ResidualBlock, alexnet, densenet, lenet5, resnet, stages, vgg
from margin.neural.nets.image_parts import LayerChain
from margin.neural.nets.vgg import VGG_BLOCKS, vgg_block
from margin.neural.weights import build, count_parameters
from margin.notes.claims import claim
from margin.notes.claims.cnn import normal, stream


def on_meta(factory: Any, *args: Any, **options: Any) -> Any:
    """A network of any size, without its weights."""
    with torch.device("meta"):
        return factory(*args, **options)


def digits(seed: int, n_train: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images and labels to train on and to test on, in a random order."""
    from sklearn.datasets import load_digits

    images, labels = load_digits().images, load_digits().target
    order = stream(seed).permutation(len(images))
    train, test = order[:n_train], order[n_train:]
    return images[train], labels[train], images[test], labels[test]


@claim("lenet5")
def lenet_for_digits(seed: int) -> Verdict:
    network = lenet5()
    X, y, X_test, y_test = digits(seed, 1200)
    options: dict[str, Any] = {"activation": "relu", "learning_rate_init": 0.005, "max_iter": 12, "batch_size": 50}
    model = CNNClassifier("lenet-5", **options, random_state=seed).fit(X, y)
    listed = [stage.shape for stage in stages(lenet5(), (1, 28, 28))]
    return every(
        outputs=equal(tuple(network(torch.zeros(3, 1, 28, 28)).shape), (3, 10)),
        parameters=equal(count_parameters(network), 61_706),
        two_convolutions_three_dense=equal(
            [type(layer).__name__ for layer in network if list(layer.parameters())], ["Conv2d"] * 2 + ["Linear"] * 3
        ),
        activation_and_pooling=equal(
            {type(layer).__name__ for layer in network} - {"Conv2d", "Linear", "Flatten"}, {"Sigmoid", "AvgPool2d"}
        ),
        stages=equal(
            [listed[0], listed[2], listed[3], listed[5]], [(6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5)]
        ),
        trained=above(model.score(X_test, y_test), 0.9),
    )


@claim("example-lenet-snippet")
def lenet_as_a_sequence() -> Verdict:
    printed = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120),
        nn.Sigmoid(),
        nn.Linear(120, 84),
        nn.Sigmoid(),
        nn.Linear(84, 10),
    )
    ours = lenet5()
    ours.load_state_dict(printed.state_dict())
    x = torch.rand(4, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        outputs = printed(x)
        same = near(ours(x), outputs, tolerance=1e-6)
    truth = every(
        same_network=same,
        parameters=equal(count_parameters(printed), 61_706),
        features=equal(stages(lenet5(), (1, 28, 28))[6].shape, (120,)),
        probabilities_need_a_softmax=near(outputs.softmax(dim=1).sum(dim=1), np.ones(4), tolerance=1e-6),
    )
    return corrected(truth, printed=near(outputs.sum(dim=1), np.ones(4), tolerance=1e-3))


@claim("alexnet")
def alexnet_sizes(seed: int) -> Verdict:
    paper, grouped = on_meta(alexnet), on_meta(alexnet, groups=2)
    teaching = on_meta(alexnet, (1, 224, 224), 10, padding=1)
    X, y, X_test, y_test = digits(seed, 1000)
    options: dict[str, Any] = {"width": 0.1, "learning_rate_init": 0.003, "max_iter": 8, "random_state": seed}
    model = CNNClassifier("alexnet", **options).fit(X, y)
    kinds = [type(layer).__name__ for layer in paper]
    samples, classes = 1.2e6, 1000
    truth = every(
        parameters=equal((count_parameters(paper), count_parameters(grouped)), (62_378_344, 60_965_224)),
        teaching=equal(count_parameters(teaching), 46_764_746),
        five_and_three=equal((kinds.count("Conv2d"), kinds.count("Linear")), (5, 3)),
        first_layer=equal(stages(paper, (3, 227, 227))[0].shape, (96, 55, 55)),
        logits=equal(stages(paper, (3, 227, 227))[-1].shape, (1000,)),
        rectifiers_and_max_pooling=equal({"ReLU", "MaxPool2d"} <= set(kinds) and "Sigmoid" not in kinds, True),
        reduced_one_trains=above(model.score(X_test, y_test), 0.6),
    )
    # Pooling as the activation function: without the rectifiers the network would still bend; it is linear in between.
    x = torch.from_numpy(normal(seed, 1, 1, 4, 4))
    pooled = nn.MaxPool2d(2)(x).shape
    return corrected(
        truth,
        beyond_the_interpolation_threshold=above(count_parameters(paper), samples * classes),
        pooling_is_an_activation=equal(tuple(pooled), tuple(x.shape)),
    )


@claim("example-alexnet-snippet")
def alexnet_as_a_sequence() -> Verdict:
    network = on_meta(alexnet, (1, 224, 224), 10, padding=1)
    sides = [
        stage.shape[1] for stage in stages(network, (1, 224, 224)) if len(stage.shape) == 3 and "ReLU" not in stage.kind
    ]
    dense = [layer for layer in network if isinstance(layer, nn.Linear)]
    printed = "nn.Sequential(nn.Conv2d(1, 96, kernel_size=11, stride=4, padding=1) nn.ReLU() nn.Flatten())"
    truth = every(
        features=equal(dense[0].in_features, 6400),
        sides=equal(sides, [54, 26, 26, 12, 12, 12, 12, 5]),
        dropout=equal([layer.p for layer in network if type(layer).__name__ == "Dropout"], [0.5, 0.5]),
        units=equal([layer.out_features for layer in dense], [4096, 4096, 10]),
    )
    return corrected(
        truth,
        missing_commas=equal(compiles(printed), True),
        the_imagenet_network=equal(count_parameters(network), count_parameters(on_meta(alexnet))),
    )


def compiles(text: str) -> bool:
    try:
        compile(text, "the notes", "eval")
    except SyntaxError:
        return False
    return True


@claim("vgg")
def vgg_sizes(seed: int) -> Verdict:
    network = on_meta(vgg, shape=(1, 224, 224), n_outputs=10)
    kinds = [type(layer).__name__ for layer in network]
    vgg_stages = stages(network, (1, 224, 224))
    sides = [stage.shape[1] for stage in vgg_stages if "MaxPool" in stage.kind]
    X, y, X_test, y_test = digits(seed, 1000)
    narrow = build(partial(vgg, ((1, 8), (2, 16)), (1, 8, 8), 10, dropout=0.1, units=64), seed)
    options: dict[str, Any] = {"learning_rate_init": 0.005, "max_iter": 6, "batch_size": 32, "random_state": seed}
    model = NeuralClassifier(narrow, **options).fit(X[:, None] / 16, y)
    return every(
        parameters=equal(count_parameters(network), 128_806_154),
        layers=equal((kinds.count("Conv2d"), kinds.count("Linear")), (8, 3)),
        sides=equal(sides, [112, 56, 28, 14, 7]),
        features=equal(512 * 7 * 7, next(m for m in network if isinstance(m, nn.Linear)).in_features),
        outputs=equal(vgg_stages[-1].shape, (10,)),
        vgg_16=equal(count_parameters(on_meta(vgg, VGG_BLOCKS[16])), 138_357_544),
        narrow_one_trains=above(model.score(X_test[:, None] / 16, y_test), 0.85),
    )


@claim("example-vgg-snippet")
def blocks_of_vgg() -> Verdict:
    chain = LayerChain((1, 224, 224))
    shapes = []
    for n_convolutions, channels in VGG_BLOCKS[11]:
        before = len(chain.layers)
        vgg_block(chain, n_convolutions, channels)
        shapes.append((chain.shape, [type(layer).__name__ for layer in chain.layers[before:]]))
    expected = [
        ((c, 224 >> (k + 1), 224 >> (k + 1)), ["Conv2d", "ReLU"] * n + ["MaxPool2d"])
        for k, (n, c) in enumerate(VGG_BLOCKS[11])
    ]
    kernels = {layer.kernel_size for layer in chain.layers if isinstance(layer, nn.Conv2d)}
    dropouts = [layer.p for layer in on_meta(vgg) if type(layer).__name__ == "Dropout"]
    return every(
        blocks=equal(shapes, expected),
        kernels=equal(kernels, {(3, 3)}),
        channels=equal([shape[0][0] for shape in shapes], [64, 128, 256, 512, 512]),
        dropout=equal(dropouts, [0.5, 0.5]),
    )


@claim("residual-block")
def residual_blocks(seed: int) -> Verdict:
    x = torch.from_numpy(normal(seed, 2, 4, 6, 6))
    block = build(partial(ResidualBlock, 4, 4, preactivation=True), seed, torch.float64).eval()
    change = block.change(x).detach()
    leaf = x.clone().requires_grad_()
    for p in block.change.parameters():
        nn.init.zeros_(p)
    (gradient,) = torch.autograd.grad(block(leaf).sum(), leaf)
    smaller: Any = build(partial(ResidualBlock, 4, 8, 2), seed, torch.float64).eval()
    projected = smaller.shortcut(x)
    order = ["BatchNorm", "ReLU", "Conv2d"] * 2
    plain, residual = (deep_loss(seed, residual) for residual in (False, True))
    return every(
        adds=near(
            build(partial(ResidualBlock, 4, 4, preactivation=True), seed, torch.float64).eval()(x).detach(),
            x + change,
            tolerance=1e-12,
        ),
        identity_when_the_change_is_zero=near(block(x).detach(), x, tolerance=0.0),
        gradient_one=near(gradient, np.ones(x.shape), tolerance=0.0),
        projection=equal(tuple(smaller(x).shape), (2, 8, 3, 3)),
        one_by_one=equal(smaller.shortcut[0].kernel_size, (1, 1)),
        projected=equal(tuple(projected.shape), (2, 8, 3, 3)),
        order=equal([type(layer).__name__ for layer in block.change], order),
        fifty_layers_train=below(residual, 0.5 * plain),
    )


def deep_loss(seed: int, residual: bool) -> float:
    """Training loss of 50 convolutions on some digits, after a few epochs."""
    from margin.neural.diagnostics import descend
    from margin.neural.losses import cross_entropy

    X, y, _, _ = digits(seed, 128)
    images, labels = torch.from_numpy(X[:, None] / 16).float(), torch.from_numpy(y)

    def network() -> nn.Sequential:
        blocks = [ResidualBlock(6, 6, preactivation=True, residual=residual) for _ in range(24)]
        return nn.Sequential(
            nn.Conv2d(1, 6, 3, 2, padding=1), *blocks, nn.Conv2d(6, 6, 3, padding=1), nn.Flatten(), nn.Linear(96, 10)
        )

    net = build(network, seed)
    return descend(
        net.parameters(), lambda: cross_entropy(net(images), labels), steps=15, rate=5e-3, rule=torch.optim.Adam
    )[-1]


@claim("resnet")
def residual_networks(seed: int) -> Verdict:
    X, y, X_test, y_test = digits(seed, 1000)
    options: dict[str, Any] = {"width": 0.5, "learning_rate_init": 0.01, "max_iter": 3, "random_state": seed}
    model = CNNClassifier("resnet-8", **options).fit(X, y)
    network = on_meta(resnet, 18)
    blocks: list[Any] = [layer for layer in network if isinstance(layer, ResidualBlock)]
    strided = [block for block in blocks if not isinstance(block.shortcut, nn.Identity)]
    projections = [(block.change[0].stride, block.shortcut[0].stride) for block in strided]
    counts = [count_parameters(on_meta(resnet, depth)) for depth in (18, 34, 50)]
    return every(
        parameters=equal(counts, [11_689_512, 21_797_672, 25_557_032]),
        strided_blocks_project=equal(projections, [((2, 2), (2, 2))] * 3),
        trained=above(model.score(X_test, y_test), 0.9),
    )


@claim("densenet")
def dense_networks(seed: int) -> Verdict:
    block = build(partial(DenseBlock, 5, growth=3, n_layers=4), seed, torch.float64).eval()
    x = torch.from_numpy(normal(seed, 2, 5, 6, 6)).requires_grad_()
    maps = [x]
    for layer in block:
        maps.append(layer(maps[-1]))
    reached = [
        [
            bool(torch.autograd.grad(late[:, -3:].sum(), early, retain_graph=True)[0].abs().max() > 0)
            for early in maps[:k]
        ]
        for k, late in enumerate(maps)
    ]
    kept = all(torch.equal(after[:, : before.shape[1]], before) for before, after in pairwise(maps))
    X, y, X_test, y_test = digits(seed, 600)
    narrow = densenet(4, (2, 2), (1, 8, 8), 10)
    use_generator(narrow, torch.Generator().manual_seed(0))
    options: dict[str, Any] = {
        "width": 0.17,
        "learning_rate_init": 0.02,
        "max_iter": 2,
        "batch_size": 32,
        "random_state": seed,
    }
    model = CNNClassifier("densenet-40", **options).fit(X, y)
    return every(
        channels=equal(tuple(maps[-1].shape), (2, 5 + 4 * 3, 6, 6)),
        concatenates=equal(kept, True),
        every_layer_receives_all_before=equal(all(map(all, reached)), True),
        parameters=equal(count_parameters(on_meta(densenet)), 7_978_856),
        shape=equal(tuple(narrow.eval()(torch.zeros(3, 1, 8, 8)).shape), (3, 10)),
        trained=above(model.score(X_test, y_test), 0.8),
    )


@claim("claim-deep-narrow-beats-shallow-wide")
def stacks_of_small_kernels() -> Verdict:
    def stack(kernel: int, count: int, channels: int) -> nn.Sequential:
        return nn.Sequential(*(nn.Conv2d(channels, channels, kernel, bias=False) for _ in range(count)))

    fields = [receptive_fields(stack(k, n, 1))[-1].size[0] for k, n in ((3, 2), (5, 1), (3, 3), (7, 1))]
    counts = [[count_parameters(stack(k, n, c)) / c**2 for k, n in ((3, 2), (5, 1), (3, 3), (7, 1))] for c in (1, 8)]
    return every(fields=equal(fields, [5, 5, 7, 7]), counts=equal(counts, [[18.0, 25.0, 27.0, 49.0]] * 2))
