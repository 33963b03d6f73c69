r"""How the batch size enters batch normalization

The mean of a batch of B values misses that of the data by :math:`\sigma/\sqrt B`: noise in training that regularizes a
little and, with very small batches, drowns the signal. Group normalization, which looks at one row at a time, is the
control. Left the noise of the statistics, right the accuracy on new rows after equally many rows seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEATURES = 10


@dataclass(frozen=True)
class RunSize:
    """How much is trained: batch sizes, training rows, epochs, the rate at 64 rows a batch, and runs to average."""

    sizes: tuple[int, ...]
    rows: int
    epochs: int
    rate: float
    runs: int


FAST = RunSize((2, 16, 64), 384, 2, 0.2, 1)
FULL = RunSize((2, 4, 8, 16, 32, 64, 128, 256), 512, 20, 0.05, 5)


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    scale = FAST if fast else FULL
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1536, FEATURES))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0).astype(float)
    rows, labels = torch.from_numpy(X).float(), torch.from_numpy(y).float()
    noise = [_noise_of_means(rng, size) for size in scale.sizes]
    scores: dict[str, list[list[float]]] = {"batch norm": [], "group norm": []}
    for name, by_size in scores.items():
        for size in scale.sizes:
            runs = [_accuracies(name, size, rows, labels, 10 * seed + k, scale) for k in range(scale.runs)]
            by_size.append([float(v) for v in np.mean(runs, axis=0)])
    arrays = {n: np.array(s) for n, s in scores.items()}
    return {"sizes": np.array(scale.sizes), "noise": np.array(noise), "scores": arrays, "company": _company(rows)}


def _noise_of_means(rng: np.random.Generator, size: int) -> float:
    """Standard deviation of the mean that batch normalization subtracts, over 2000 channels of normal values."""
    import torch

    from margin.neural.normalization import BatchNorm

    layer: Any = BatchNorm(2000, momentum=1.0).double()  # the running mean is that of the last batch
    layer(torch.from_numpy(rng.normal(size=(size, 2000))))
    return float(layer.running_mean.std())


def _company(rows: Any) -> dict[str, float]:
    """How much the other row of a batch of two changes what a layer in training makes of a row."""
    from margin.neural.normalization import BatchNorm, GroupNorm

    layers = {"batch norm": BatchNorm(FEATURES), "group norm": GroupNorm(2, FEATURES)}
    return {
        name: float((layer(rows[[0, 1]])[0] - layer(rows[[0, 2]])[0]).abs().max().detach())
        for name, layer in layers.items()
    }


def _accuracies(name: str, size: int, rows: Any, labels: Any, seed: int, scale: RunSize) -> tuple[float, float]:
    """On the training rows, the first ones, and on the others."""
    import torch
    from torch import nn

    from margin.neural.losses import bce_with_logits
    from margin.neural.normalization import BatchNorm, GroupNorm
    from margin.neural.weights import build

    def make() -> nn.Sequential:
        layers: list[nn.Module] = []
        for a, b in ((FEATURES, 32), (32, 32)):
            layers += [nn.Linear(a, b), BatchNorm(b) if name == "batch norm" else GroupNorm(4, b), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(32, 1))

    net: Any = build(make, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=scale.rate * min(1.0, (size / 64) ** 0.5), momentum=0.9)
    order = torch.Generator().manual_seed(seed)
    for _ in range(scale.epochs):
        for batch in torch.randperm(scale.rows, generator=order).split(size):
            loss = bce_with_logits(net(rows[batch])[:, 0], labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval()
    with torch.no_grad():
        right = ((net(rows)[:, 0] > 0) == (labels > 0.5)).double()
    return float(right[: scale.rows].mean()), float(right[scale.rows :].mean())


def check(data: dict[str, Any]) -> Verdict:
    test = {name: scores[:, 1] for name, scores in data["scores"].items()}
    slope = np.polyfit(np.log(data["sizes"]), np.log(data["noise"]), 1)[0]
    return every(
        noise_falls_like_the_root=near(slope, -0.5, tolerance=0.03),
        noise=near(data["noise"] * np.sqrt(data["sizes"]), np.ones(len(data["sizes"])), tolerance=0.1),
        a_row_feels_its_batch=above(data["company"]["batch norm"], 0.01),
        not_with_groups=near(data["company"]["group norm"], 0.0, tolerance=1e-5),
        tiny_batches_are_worse=above(test["batch norm"][1:].max(), test["batch norm"][0] + 0.05),
        group_norm_does_not_mind=above(test["group norm"][0], test["batch norm"][0] + 0.03),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    left, right = figure.subplots(1, 2)
    left.loglog(data["sizes"], data["noise"], "o-", label="measured")
    left.loglog(data["sizes"], data["sizes"] ** -0.5, "--", color="gray", label=r"$1/\sqrt{B}$")
    left.set(title="Error of a batch's mean", xlabel="batch size B")
    for (name, scores), color in zip(data["scores"].items(), ("C0", "C1")):
        right.semilogx(data["sizes"], scores[:, 1], "o-", color=color, label=f"{name}, new rows")
        right.semilogx(data["sizes"], scores[:, 0], ":", color=color, label=f"{name}, training rows")
    right.axvspan(50, 100, color="honeydew", label="recommended in the notes")
    right.set(title="Accuracy after equally many rows", xlabel="batch size B")
    for axis in (left, right):
        axis.set_xticks(data["sizes"], [str(size) for size in data["sizes"]])
        axis.set_xticks([], minor=True)
        axis.legend()
