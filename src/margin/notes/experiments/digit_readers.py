r"""Three readers of handwritten digits

1797 digits of 8 x 8 pixels, a quarter of them held out. A perceptron with one hidden layer, a small convolutional
network and a support vector machine each read more than 95 of 100: what was hard around 2005 takes a second. The
convolutional network (two layers of 3 x 3 kernels, each followed by a maximum over 2 x 2 pixels) sees where pixels
lie: of digits moved by a pixel, which it never learned from, it still reads many. Shuffle the pixels of all images by
one permutation, and it reads far fewer of the moved ones; the machine, whose kernel :math:`\exp(-\gamma\|x-z\|^2)`
knows distances only, does not notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near
from margin.data import load, stratified_split
from margin.kernels import SVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANNELS = (16, 32)
ENOUGH = 0.95


def convolutional_network(seed: int) -> Any:
    """From rows of 64 pixels to 10 scores; weights drawn from ``seed``."""
    import torch
    from torch import nn

    first, second = CHANNELS
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Unflatten(1, (1, 8, 8)),
            nn.Conv2d(1, first, 3, padding=1),  # (B, 16, 8, 8)
            nn.ReLU(),
            nn.MaxPool2d(2),  # (B, 16, 4, 4)
            nn.Conv2d(first, second, 3, padding=1),  # (B, 32, 4, 4)
            nn.ReLU(),
            nn.MaxPool2d(2),  # (B, 32, 2, 2)
            nn.Flatten(),
            nn.Linear(4 * second, 10),
        )


def read_by_convolution(X: np.ndarray, y: np.ndarray, new: np.ndarray, seed: int, epochs: int) -> np.ndarray:
    """Labels of new rows by a network trained on X and y."""
    import torch

    from margin.neural import Minimize, Plan, RowBatches, TensorRows, Training, train
    from margin.neural.training.objectives import cross_entropy
    from margin.optimize.schedules import cosine

    net = convolutional_network(seed)
    batches = RowBatches(TensorRows.of(X.astype(np.float32), y), 64, seed)
    rate = cosine(1.5e-2, steps=epochs * batches.steps_per_epoch)
    for _ in train(Training(batches, Minimize(net, cross_entropy, schedule=rate), Plan(epochs), threads=1)):
        pass
    with torch.no_grad():
        return net(torch.from_numpy(new.astype(np.float32))).argmax(dim=1).numpy()


def move(rows: np.ndarray) -> np.ndarray:
    """The same digits one pixel farther to the right."""
    images = np.zeros((len(rows), 8, 8))
    images[:, :, 1:] = rows.reshape(-1, 8, 8)[:, :, :-1]
    return images.reshape(len(rows), 64)


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Labels read by each model on held-out digits, moved ones too, also after one permutation of all pixels."""
    from margin.neural.estimators import MLPClassifier

    rng = np.random.default_rng(seed)
    digits = load("digits")
    X, y = np.asarray(digits.X, dtype=np.float64) / 16, np.asarray(digits.y).astype(np.int64)
    train, test = stratified_split(y, 0.25, rng)
    in_place, shuffled = np.arange(X.shape[1]), rng.permutation(X.shape[1])
    new = np.concatenate([X[test], move(X[test])])
    epochs = 8 if fast else 40

    def machine(order: np.ndarray) -> np.ndarray:
        return SVC(C=10, gamma=0.2).fit(X[train][:, order], y[train]).predict(X[test][:, order])

    def convolution(order: np.ndarray) -> np.ndarray:  # (2, n): the digits as they are, and moved
        return read_by_convolution(X[train][:, order], y[train], new[:, order], seed, epochs).reshape(2, -1)

    perceptron = MLPClassifier((128,), max_iter=4 * epochs, learning_rate_init=5e-3, random_state=seed)
    perceptron.fit(X[train], y[train])
    network, network_shuffled = convolution(in_place), convolution(shuffled)
    read = {
        "perceptron": perceptron.predict(X[test]),
        "convolutional network": network[0],
        "support vector machine": machine(in_place),
        "network, pixels shuffled": network_shuffled[0],
        "machine, pixels shuffled": machine(shuffled),
        "network, moved": network[1],
        "network, moved and shuffled": network_shuffled[1],
    }
    return {
        "images": X[test].reshape(-1, 8, 8),
        "labels": y[test],
        "read": read,
        "shape": [*X.shape, len(np.unique(y))],
    }


def accuracies(data: dict[str, Any]) -> dict[str, float]:
    return {name: float(np.mean(predicted == data["labels"])) for name, predicted in data["read"].items()}


def check(data: dict[str, Any]) -> Verdict:
    share = accuracies(data)
    machine, network = share["support vector machine"], share["convolutional network"]
    # A reader of 95 of 100 reads a share of these digits that deviates by chance: one standard error is granted.
    enough = ENOUGH - float(np.sqrt(ENOUGH * (1 - ENOUGH) / len(data["labels"])))
    return every(
        shape=equal(data["shape"], [1797, 64, 10]),
        perceptron=above(share["perceptron"], enough),
        convolutional_network=above(network, enough),
        support_vector_machine=above(machine, enough),
        machine_knows_no_places=near(share["machine, pixels shuffled"], machine, tolerance=0.003),
        network_does=above(share["network, moved"] - share["network, moved and shuffled"], 0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    parts: Any = figure.subfigures(1, 2, width_ratios=(3, 2))
    left, right = parts
    axes, share = left.subplots(), accuracies(data)
    wrong = [100 * (1 - value) for value in share.values()]
    axes.barh(list(share), wrong, color=["C0"] * 3 + ["0.7"] * 4)
    limit = 100 * (1 - ENOUGH)
    for row, value in enumerate(wrong):
        axes.text(max(value, limit) + 1, row, f"{value:.1f} %", va="center", fontsize=9)
    axes.axvline(limit, color="0.3", lw=1, ls="--")
    axes.text(limit + 1, -0.75, "1 in 20", va="center", fontsize=9, color="0.3")
    axes.set(xlabel="held-out digits read wrongly, percent", title="Handwritten digits, 8 x 8 pixels")
    axes.set(ylim=(len(wrong) - 0.4, -1.1), xlim=(0, 1.15 * max(wrong)))
    predicted = data["read"]["convolutional network"]
    order = np.argsort(predicted == data["labels"], kind="stable")[:12]
    for panel, index in zip(right.subplots(4, 3).ravel(), order):
        panel.imshow(data["images"][index], cmap="gray_r")
        panel.set_axis_off()
        mistaken = predicted[index] != data["labels"][index]
        text = f"{data['labels'][index]} read {predicted[index]}"
        panel.set_title(text, fontsize=9, color="C3" if mistaken else "0.3", loc="center", pad=3)
    right.suptitle("the network's mistakes first", fontsize=11)
