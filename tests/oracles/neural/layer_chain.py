"""Layers as image networks chain them, position by position in NumPy; a normal likelihood against SciPy's."""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import Tensor, nn

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.convolution.sizes import count_positions
from margin.neural.losses.target_losses import NormalLikelihood
from margin.neural.nets.image_parts import LayerChain
from margin.neural.weights import build

CHAIN = f"{PATH}.nets.image_parts.LayerChain"
SHAPE = (2, 9, 6)


def windows(image: np.ndarray, size: tuple[int, int], step: int, fill: float, border: int) -> np.ndarray:
    """Every window of an image (channels, h, w) with a border, (rows, columns, channels, height, width)."""
    padded = np.pad(image, ((0, 0), (border, border), (border, border)), constant_values=fill)
    rows = range(0, padded.shape[1] - size[0] + 1, step)
    columns = range(0, padded.shape[2] - size[1] + 1, step)
    return np.array([[padded[:, i : i + size[0], j : j + size[1]] for j in columns] for i in rows])


def chained(seed: int, chain: LayerChain) -> nn.Sequential:
    """The network of a chain; its biases and scales are drawn too, where it begins with zeros and ones."""
    network: nn.Sequential = build(chain.network, seed, torch.float64)
    with torch.no_grad():
        for k, part in enumerate(network.parameters()):
            if part.ndim == 1:
                part.copy_(normal(seed + k, *part.shape))
    return network


@oracle(
    f"{CHAIN}.conv", f"{CHAIN}.pool", f"{CHAIN}.dense", f"{CHAIN}.norm", f"{PATH}.convolution.sizes.count_positions"
)
def chains_by_hand(seed: int) -> Verdict:
    """A convolution in steps of two and groups, maxima and means of overlapping windows, batch norm, a dense layer."""
    x = normal(seed, 3, *SHAPE)
    return every(
        **_convolved(seed, x),
        **_pooled(x),
        **_normed(seed, x),
        dense=_dense(seed, x),
        positions=equal(
            [count_positions(n, 3, 1, 2, 2) for n in (5, 8, 9)], [len(range(0, n - 2, 2)) for n in (5, 8, 9)]
        ),
    )


def _convolved(seed: int, x: Tensor) -> dict[str, Verdict]:
    chain = LayerChain(SHAPE).conv(4, 3, stride=2, padding=1, groups=2)
    network = chained(seed, chain)
    weight, bias = (part.detach().numpy() for part in network.parameters())
    expected = []
    for image in x.numpy():
        seen = windows(image, (3, 3), 2, 0.0, 1)
        groups = [seen[:, :, k // 2 : k // 2 + 1] for k in range(4)]  # one channel of the image for two kernels
        expected.append([(group * weight[k]).sum(axis=(2, 3, 4)) + bias[k] for k, group in enumerate(groups)])
    shape = equal(list(chain.shape), list(np.shape(expected)[1:]))
    return {"convolved": same(network(x), torch.tensor(np.array(expected)), 1e-12), "shape": shape}


def _pooled(x: Tensor) -> dict[str, Verdict]:
    seen = np.array([windows(image, (3, 3), 2, -np.inf, 0) for image in x.numpy()])
    parts = {}
    for kind, reduce in (("max", np.max), ("avg", np.mean)):
        chain = LayerChain(SHAPE).pool(kind, 3, 2)
        expected = torch.tensor(np.moveaxis(reduce(seen, axis=(4, 5)), 3, 1).copy())
        parts[f"{kind}_pooled"] = same(nn.Sequential(*chain.layers)(x), expected, 1e-13)
        parts[f"{kind}_shape"] = equal(list(chain.shape), list(expected.shape[1:]))
    return parts


def _normed(seed: int, x: Tensor) -> dict[str, Verdict]:
    network = chained(seed, LayerChain(SHAPE).norm())
    scale, shift = (part.detach().numpy()[:, None, None] for part in network.parameters())
    images = x.numpy()
    mean, variance = images.mean(axis=(0, 2, 3), keepdims=True), images.var(axis=(0, 2, 3), keepdims=True)
    expected = scale * (images - mean) / np.sqrt(variance + 1e-5) + shift
    return {"normed": same(network.train()(x), torch.tensor(expected), 1e-12)}


def _dense(seed: int, x: Tensor) -> Verdict:
    network = chained(seed, LayerChain(SHAPE).dense(5))
    weight, bias = (part.detach().numpy() for part in network.parameters())
    flat = x.numpy().reshape(3, -1)
    return same(network(x), torch.tensor((flat[:, None, :] * weight).sum(axis=2) + bias), 1e-12)


@oracle(f"{PATH}.losses.target_losses.NormalLikelihood")
def likelihood_by_scipy(seed: int) -> Verdict:
    """Two targets: locations and logarithms of widths alternate among the outputs."""
    outputs, target = normal(seed, 6, 4), normal(seed + 1, 6, 2)
    location, log_width = outputs[:, 0::2].numpy(), outputs[:, 1::2].numpy()
    expected = -stats.norm(location, np.exp(log_width)).logpdf(target.numpy()).sum(axis=1)
    loss = NormalLikelihood()
    return every(
        values=same(loss(outputs, target), torch.tensor(expected), 1e-12),
        prediction=near(loss.prediction(outputs).numpy(), location, tolerance=1e-15),
    )
