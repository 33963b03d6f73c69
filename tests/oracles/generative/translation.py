"""Translations between domains: networks layer by layer with SciPy, losses row by row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.signal import convolve2d, correlate2d
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.generative.gan.cycle import CycleGAN
from margin.generative.gan.networks import (
    ConvDiscriminator,
    ConvGenerator,
    DiscriminatorPanel,
    MLPDiscriminator,
    MLPGenerator,
)
from margin.generative.gan.translation import PairTranslation, cycle_terms, pair_terms
from margin.generative.gan.translators import BothJudges, BothWays, ConvTranslator
from margin.neural.weights import build

PATH = "margin.generative.gan"
SLOPE = 0.2  # of the rectifiers for negative inputs


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(0.2, 0.8, size=shape)


def run(module: Any, *inputs: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(module(*map(torch.from_numpy, inputs)))


def leaky(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, SLOPE * x)


def convolved(layer: Any, image: np.ndarray, stride: int = 1) -> np.ndarray:
    """One image (channels, h, w) through a convolution with padding 1, channel by channel."""
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    sums = [sum(correlate2d(p, k, mode="valid") for p, k in zip(padded, kernels)) for kernels in weight]
    return np.stack(sums)[:, ::stride, ::stride] + bias[:, None, None]


def grown(layer: Any, image: np.ndarray) -> np.ndarray:
    """A transposed convolution of stride 2 and padding 1: zeros between the pixels, then a full convolution."""
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()  # (in, out, 4, 4)
    c, h, w = image.shape
    spread = np.zeros((c, 2 * h - 1, 2 * w - 1))
    spread[:, ::2, ::2] = image
    sums = [sum(convolve2d(spread[i], weight[i, o], mode="full") for i in range(c)) for o in range(weight.shape[1])]
    return np.stack(sums)[:, 1:-1, 1:-1] + bias[:, None, None]


def standardized(image: np.ndarray, layer: Any) -> np.ndarray:
    scaled = (image - image.mean()) / np.sqrt(image.var() + 1e-5)
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    return np.maximum(scaled * weight[:, None, None] + bias[:, None, None], 0.0)


@oracle(*(f"{PATH}.networks.{name}" for name in ("ConvGenerator", "ConvDiscriminator", "DiscriminatorPanel")))
def images_layer_by_layer(seed: int) -> Verdict:
    """Odd sides, two classes; norms have weights that are not 1."""
    generator = build(lambda: ConvGenerator(3, (4, 2), (2, 7, 5), n_classes=2), seed, torch.float64)
    judges = [
        build(lambda: ConvDiscriminator((2, 7, 5), (3, 2), n_classes=2), seed + k, torch.float64) for k in range(2)
    ]
    with torch.no_grad():
        for norm in (generator.norm_1, generator.norm_2):
            norm.weight.copy_(torch.linspace(0.5, 1.5, len(norm.weight)))
            norm.bias.copy_(torch.linspace(-0.2, 0.3, len(norm.bias)))
    z, label, x = drawn(seed, 2, 3), np.array([1, 0]), drawn(seed, 2, 2, 7, 5)
    made, logits = [], np.empty((2, 2))
    for n in range(2):
        code = np.concatenate([z[n], generator.classes.weight.detach().numpy()[label[n]]])
        first = generator.first.weight.detach().numpy() @ code + generator.first.bias.detach().numpy()
        h = standardized(first.reshape(4, 2, 2), generator.norm_1)
        h = standardized(grown(generator.grow_1, h), generator.norm_2)
        made.append(np.tanh(grown(generator.grow_2, h))[:, :7, :5])
        for k, judge in enumerate(judges):
            channel = judge.classes.weight.detach().numpy()[label[n]].reshape(1, 7, 5)
            h = leaky(convolved(judge.shrink_1, np.concatenate([x[n], channel]), stride=2))
            h = leaky(convolved(judge.shrink_2, h, stride=2)).ravel()
            logits[n, k] = judge.last.weight.detach().numpy()[0] @ h + float(judge.last.bias)
    return every(
        made=near(run(generator, z, label), np.stack(made), tolerance=1e-8),
        judge=near(run(judges[0], x, label), logits[:, 0], tolerance=1e-8),
        panel=near(run(DiscriminatorPanel(judges), x, label), logits, tolerance=1e-8),
    )


@oracle(f"{PATH}.translators.ConvTranslator")
def a_painter_layer_by_layer(seed: int) -> Verdict:
    net, x = build(lambda: ConvTranslator(2, (4, 3), 1), seed, torch.float64), drawn(seed, 2, 2, 5, 4)
    expected = []
    for image in x:
        h = leaky(convolved(net.layers[0], image))
        expected.append(np.tanh(convolved(net.layers[2], leaky(convolved(net.layers[1], h)))))
    return near(run(net, x), np.stack(expected), tolerance=1e-8)


def surprise(logit: np.ndarray) -> np.ndarray:
    """-log sigmoid, the price of not being taken for real."""
    return np.logaddexp(0.0, -logit)


@oracle(*(f"{PATH}.translation.{name}" for name in ("cycle_terms", "pair_terms")))
def what_maps_pay_row_by_row(seed: int) -> Verdict:
    """Domains of three and two columns; weights that are not 1."""
    a, b = drawn(seed, 5, 3), drawn(seed, 5, 2)
    maps = build(lambda: BothWays(3, 2, [4]), seed, torch.float64)
    judges = build(lambda: BothJudges(3, 2, [4]), seed + 1, torch.float64)
    batch = torch.from_numpy(a), torch.from_numpy(b)
    terms = cycle_terms({"generator": maps, "discriminator": judges}, batch, torch.Generator(), cycle_weight=1.7)
    to_a, to_b = run(maps.back, b), run(maps.forth, a)
    fooled = surprise(run(judges.of_a, to_a)) + surprise(run(judges.of_b, to_b))
    back = np.abs(run(maps.back, to_b) - a).sum(axis=1) / 3 + np.abs(run(maps.forth, to_a) - b).sum(axis=1) / 2
    painter = build(lambda: MLPGenerator(5, [4], 2), seed, torch.float64)
    judge = build(lambda: MLPDiscriminator(5, [4]), seed + 2, torch.float64)
    pair = partial(
        pair_terms, {"generator": painter, "discriminator": judge}, batch, n_latents=2, l1_weight=2.5, sees=True
    )
    z = torch.randn((5, 2), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).numpy()
    made = run(painter, np.hstack([a, z]))
    distance = np.abs(made - b).sum(axis=1) / 2
    price = surprise(run(judge, np.hstack([a, made]))) + 2.5 * distance
    found = pair(torch.Generator().manual_seed(seed))
    return every(
        cycle=near(float(terms["loss"]), np.mean(fooled + 1.7 * back), tolerance=1e-9),
        way_back=near(float(terms["cycle"]), back.mean(), tolerance=1e-9),
        pairs=near(float(found["loss"]), price.mean(), tolerance=1e-9),
        distance=near(float(found["distance"]), distance.mean(), tolerance=1e-9),
    )


@oracle(f"{PATH}.cycle.CycleGAN", f"{PATH}.translation.PairTranslation")
def translations_in_the_units_of_the_data(seed: int) -> Verdict:
    """A fitted map is its network between the scalings of the two domains, whose columns differ in place and width."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(3.0, 2.0, size=(40, 2)), rng.normal(-1.0, 0.5, size=(60, 3)) * [1.0, 4.0, 0.3]
    cycle = CycleGAN((4,), max_iter=1, batch_size=32, random_state=seed).fit(A, B)
    forth, back = (cycle.module_.get_submodule(f"generator.{way}") for way in ("forth", "back"))
    scale = lambda X: (X - X.mean(axis=0)) / X.std(axis=0)  # noqa: E731
    pairs = PairTranslation((4,), max_iter=1, batch_size=32, seed=seed).fit(A, B[:40])
    z = np.random.default_rng(7).standard_normal((40, 4))
    return every(
        forth=near(cycle.transform(A), run(forth, scale(A)) * B.std(axis=0) + B.mean(axis=0), tolerance=1e-8),
        back=near(cycle.inverse_transform(B), run(back, scale(B)) * A.std(axis=0) + A.mean(axis=0), tolerance=1e-8),
        pairs=near(pairs.transform(A, seed=7), run(pairs.maps, np.hstack([A, z]).astype(np.float32)), tolerance=1e-4),
    )
