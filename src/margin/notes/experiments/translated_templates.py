"""Templates at random positions: a dense network, a local one and a convolutional one

Ten wavy templates are shifted, scaled and made noisy. A dense network must learn each template at every position, a
local layer without shared weights at most of them; a convolution learns it once. All fit the training signals.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASSES, LENGTH, WIDTH = 10, 40, 12
KINDS = ("dense", "local", "convolution")


def signals(seed: int, count: int, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Signals (n, length) with one template each, at a random position and of random height, and their classes."""
    templates = np.random.default_rng(7).normal(size=(CLASSES, WIDTH))
    smooth = np.stack([np.convolve(t, [0.25, 0.5, 0.25], mode="same") for t in templates])
    smooth /= np.abs(smooth).max(axis=1, keepdims=True)
    rng = np.random.default_rng([seed, count])
    labels = np.arange(count) % CLASSES
    X = noise * rng.normal(size=(count, LENGTH))
    starts, heights = rng.integers(0, LENGTH - WIDTH + 1, count), rng.uniform(0.8, 1.2, count)
    for row, label, start, height in zip(X, labels, starts, heights):
        row[start : start + WIDTH] += height * smooth[label]
    return X, labels


def network(kind: str) -> Any:
    from torch import nn

    from margin.neural.convolution.layers import GlobalMaxPool, LocallyConnected2d

    if kind == "dense":
        return nn.Sequential(nn.Flatten(), nn.Linear(LENGTH, 36), nn.ReLU(), nn.Linear(36, CLASSES))
    shared = kind == "convolution"
    first = nn.Conv2d(1, 24, (1, WIDTH)) if shared else LocallyConnected2d(1, 24, (1, WIDTH), (1, LENGTH))
    # Both end in the largest answer of each filter and a small classifier.
    return nn.Sequential(first, nn.ReLU(), GlobalMaxPool(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, CLASSES))


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.convolution.layers import LocallyConnected2d
    from margin.neural.diagnostics import descend
    from margin.neural.losses import cross_entropy
    from margin.neural.weights import build, count_parameters

    X, y = signals(seed, 200)
    X_test, y_test = signals(seed + 500, 400)
    rows, labels = torch.from_numpy(X).float()[:, None, None], torch.from_numpy(y)
    test = torch.from_numpy(X_test).float()[:, None, None]
    data: dict[str, Any] = {"example": X[:CLASSES], "loss": {}, "train": {}, "test": {}, "parameters": {}}
    for kind in KINDS:
        net = build(partial(network, kind), seed)
        objective = lambda net=net: cross_entropy(net(rows), labels)  # noqa: E731
        losses = descend(net.parameters(), objective, steps=100 if fast else 500, rate=0.02, rule=torch.optim.Adam)
        with torch.no_grad():
            data["train"][kind] = float((net(rows).argmax(dim=1) == labels).double().mean())
            data["test"][kind] = float((net(test).argmax(dim=1).numpy() == y_test).mean())
        data["loss"][kind], data["parameters"][kind] = np.array(losses), count_parameters(net)
    # With the same weights at every position the local layer is the convolution.
    local = LocallyConnected2d(1, 3, 4, (6, 7))
    tied: Any = build(partial(torch.nn.Conv2d, 1, 3, 4), seed)
    with torch.no_grad():
        local.weight.copy_(tied.weight.flatten(1).expand_as(local.weight))
        local.bias.copy_(tied.bias.expand_as(local.bias))
        image = torch.from_numpy(np.random.default_rng(seed).normal(size=(2, 1, 6, 7))).float()
        # To six digits: what is left beyond them depends on the machine.
        data["tied"] = round(float((local(image) - tied(image)).abs().max()), 6)
    return data


def check(data: dict[str, Any]) -> Verdict:
    test, count = data["test"], data["parameters"]
    return every(
        all_fit_the_training_signals=above(min(data["train"].values()), 0.97),
        convolution_beats_dense=above(test["convolution"], test["dense"] + 0.15),
        convolution_beats_local=above(test["convolution"], test["local"] + 0.02),
        similar_parameters=equal(0.3 < count["convolution"] / count["dense"] < 3, True),
        sharing_saves_parameters=above(count["local"], 5 * count["convolution"]),
        tied_weights_agree=below(data["tied"], 1e-5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.5)
    left, right = figure.subplots(1, 2)
    for k, signal in enumerate(data["example"]):
        left.plot(signal + 2.2 * k, color="C7")
    left.set(title="one signal of each class", xlabel="position", yticks=[])
    for kind, losses in data["loss"].items():
        text = f"{kind}, {data['parameters'][kind]:,} parameters: test {data['test'][kind]:.2f}"
        right.semilogy(losses, label=text)
    right.set(title="training", xlabel="step", ylabel="cross-entropy")
    right.legend()
