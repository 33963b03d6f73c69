"""A picture on its way through a convolutional network

A network that tells patches of two photographs apart (a building, a flower), and what its layers make of one patch: the
maps become smaller and more, until a probability is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 24
LAYERS = ["conv 8 5 stride=2", "conv 16 3", "pool 2", "dense 16"]
CLASSES = ("building", "flower")


def patches(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Color patches (n, side, side, 3) as bytes, and which photograph each is from."""
    from sklearn.datasets import load_sample_images

    photographs = load_sample_images().images
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    rows = rng.integers(0, photographs[0].shape[0] - SIDE, count)
    columns = rng.integers(0, photographs[0].shape[1] - SIDE, count)
    cut = [photographs[k][r : r + SIDE, c : c + SIDE] for k, r, c in zip(labels, rows, columns)]
    return np.stack(cut), np.array(CLASSES)[labels]


def train(seed: int, count: int, epochs: int) -> Any:
    from margin.neural.estimators import CNNClassifier

    X, y = patches(seed, count)
    return CNNClassifier(LAYERS, max_iter=epochs, batch_size=20, random_state=seed).fit(X, y)


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.convolution.maps import feature_maps

    model = train(seed, 300 if fast else 2000, 5 if fast else 15)
    X, y = patches(seed + 1000, 300)
    image = X[y == "flower"][:1]
    module = model._ready_module()
    maps = feature_maps(module, torch.from_numpy(image.transpose(0, 3, 1, 2)))
    convolved = {
        f"{k + 1}. {type(layer).__name__}": maps[f"body.{k}"][0].numpy()
        for k, layer in enumerate(module.body)
        if maps[f"body.{k}"].ndim == 4
    }
    return {
        "image": image[0],
        "maps": convolved,
        "probability": model.predict_proba(image)[0],
        "accuracy": model.score(X, y),
        "by_hand": _gaps_by_hand(module, maps, model.predict_proba(image)[0]),
    }


def _gaps_by_hand(module: Any, maps: dict[str, Any], probability: np.ndarray) -> dict[str, float]:
    """Largest differences of convolutions from SciPy's, of pools from maxima of blocks, of the end from a softmax."""
    from scipy.signal import correlate2d
    from scipy.special import softmax
    from torch import nn

    gaps = {"convolution": 0.0, "pool": 0.0}
    images: Any = None  # what the layer before has made, (channels, height, width)
    for k, layer in enumerate(module.body):
        made = maps[f"body.{k}"][0].double().numpy()
        if isinstance(layer, nn.Conv2d) and images is not None:
            weight, pad = layer.weight.detach().double().numpy(), int(layer.padding[0])
            padded = np.pad(images, ((0, 0), (pad, pad), (pad, pad)))
            sums = [sum(correlate2d(p, w, mode="valid") for p, w in zip(padded, kernels)) for kernels in weight]
            found = np.stack(sums)[:, :: layer.stride[0], :: layer.stride[1]]
            bias = np.zeros(len(found)) if layer.bias is None else layer.bias.detach().double().numpy()
            gaps["convolution"] = max(gaps["convolution"], float(np.abs(found + bias[:, None, None] - made).max()))
        if "Pool" in type(layer).__name__ and images is not None and made.ndim == 3:
            c, h, w = made.shape
            blocks = images[:, : 2 * h, : 2 * w].reshape(c, h, 2, w, 2)
            gaps["pool"] = max(gaps["pool"], float(np.abs(blocks.max(axis=(2, 4)) - made).max()))
        images = made if made.ndim == 3 else None
    scores = list(maps.values())[-1][0].double().numpy()
    return gaps | {"softmax": float(np.abs(softmax(scores) - probability).max())}


def check(data: dict[str, Any]) -> Verdict:
    shapes = [maps.shape for maps in data["maps"].values()]
    return every(
        shapes=equal(shapes, [(8, 12, 12)] * 2 + [(16, 12, 12)] * 2 + [(16, 6, 6)]),
        probability=within(float(data["probability"].sum()), 1 - 1e-6, 1 + 1e-6),
        layers_by_hand=below(max(data["by_hand"].values()), 1e-4),
        tells_the_pictures_apart=above(data["accuracy"], 0.75),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 7.4)
    halves: Any = figure.subfigures(1, 2, width_ratios=(1, 3.6))
    left, right = halves
    image, bars = left.subplots(2, 1, height_ratios=(1, 0.8))
    image.imshow(data["image"])
    image.set(title="What goes in", xticks=[], yticks=[])
    bars.barh(CLASSES, data["probability"], color="C0")
    bars.set(title="What comes out", xlabel="probability", xlim=(0, 1))
    axes = right.subplots(len(data["maps"]), 8)
    for row, (name, maps) in zip(axes, data["maps"].items()):
        row[0].set_title(f"{name}, {len(maps)} maps of {maps.shape[1]} x {maps.shape[2]}")
        for axis, channel in zip(row, maps):
            axis.imshow(channel, cmap="viridis")
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
