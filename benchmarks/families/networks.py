"""Estimators on pictures beside the plain loop of the same network in torch: Adam, shuffled batches, nothing else.

Digits of scikit-learn (8 x 8) for classes, drawn scenes for pixels. Nothing here was used to choose a default. The same
layers, epochs and batches on both sides; the quality is that of rows that neither has seen, for a loop that is faster
and learns less has won nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from benchmarks.measuring.harness import Case, Peer
from margin.core.threads import available
from margin.data.scenes import shape_scenes
from margin.neural import CNNClassifier
from margin.neural.nets.pixels import UNet
from margin.vision.segmentation import Segmenter

__all__ = ["cases"]

LAYERS = ("conv 16 3", "pool 2", "conv 32 3", "pool 2")
BATCH, RATE = 32, 3e-3


class Pictures(NamedTuple):
    """Pictures and targets to learn from and to be judged by."""

    X: np.ndarray
    y: np.ndarray
    new_X: np.ndarray
    new_y: np.ndarray


def cases(quick: bool) -> list[Case]:
    """``quick`` takes two epochs."""
    epochs = 2 if quick else 10
    return [
        Case(
            "CNN of two layers", f"1200 digits, batch {BATCH}, {epochs} epochs", digits, partial(cnn, epochs),
            (Peer("plain loop", "torch", partial(plain_cnn, epochs)),), accuracy, "accuracy", memory=False,
        ),
        Case(
            "U-Net", f"96 scenes of 32 x 32, batch 8, {epochs} epochs", scenes, partial(segmenter, epochs),
            (Peer("plain loop", "torch", partial(plain_unet, epochs)),), accuracy, "pixels right", memory=False,
        ),
    ]  # fmt: skip


def digits() -> Pictures:
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32).reshape(-1, 8, 8)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:1200], order[1200:]
    return Pictures(X[train], y[train], X[test], y[test])


def scenes() -> Pictures:
    made = shape_scenes(np.random.default_rng(0), n_samples=160, side=32, sizes=(8, 14))
    images = np.asarray(made.images, dtype=np.float32)
    return Pictures(images[:96], made.masks[:96], images[96:], made.masks[96:])


def accuracy(pictures: Pictures, predicted: np.ndarray) -> float:
    return float((predicted == pictures.new_y).mean())


def cnn(epochs: int, pictures: Pictures) -> np.ndarray:
    model = CNNClassifier(LAYERS, max_iter=epochs, batch_size=BATCH, learning_rate_init=RATE, random_state=0)
    return model.fit(pictures.X, pictures.y).predict(pictures.new_X)


def segmenter(epochs: int, pictures: Pictures) -> np.ndarray:
    model = Segmenter(max_iter=epochs, batch_size=8, random_state=0).fit(pictures.X, pictures.y)
    return np.asarray(model.predict(pictures.new_X))


def plain_cnn(epochs: int, pictures: Pictures) -> np.ndarray:
    torch.set_num_threads(available())
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    return plain(module, epochs, BATCH, RATE, pictures)


def plain_unet(epochs: int, pictures: Pictures) -> np.ndarray:
    torch.set_num_threads(available())
    torch.manual_seed(0)
    channels = pictures.X.shape[3] if pictures.X.ndim == 4 else 1
    return plain(UNet(channels, int(pictures.y.max()) + 1), epochs, 8, 5e-3, pictures)


def plain(module: nn.Module, epochs: int, batch: int, rate: float, pictures: Pictures) -> np.ndarray:
    """What a tutorial does, with the rows standardized once."""
    X, new_X = (_channels_first(part) for part in (pictures.X, pictures.new_X))
    center, scale = X.mean(), X.std()
    X, new_X, y = (X - center) / scale, (new_X - center) / scale, torch.from_numpy(np.asarray(pictures.y)).long()
    optimizer = torch.optim.Adam(module.parameters(), lr=rate)
    for _ in range(epochs):
        module.train()
        for rows in torch.randperm(len(X)).split(batch):
            optimizer.zero_grad()
            functional.cross_entropy(module(X[rows]), y[rows]).backward()
            optimizer.step()
    module.eval()
    with torch.inference_mode():
        out: Any = torch.cat([module(part) for part in new_X.split(64)]).argmax(dim=1).numpy()
    return np.asarray(out)


def _channels_first(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(images[:, None] if images.ndim == 3 else np.moveaxis(images, 3, 1).copy())
