"""What dropout, rectifiers and augmentation do for a small AlexNet

Digits stand at random positions, and the network sees few of them: with all three, and without each. Sigmoids hardly
train in this depth; without augmentation by shifts the gap between training and test accuracy is wider; what dropout
does is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES: dict[str, dict[str, Any]] = {
    "all three": {},
    "without dropout": {"dropout": 0.0},
    "sigmoid": {"activation": "sigmoid"},
    "without augmentation": {"augment": None},
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from margin.neural.estimators import CNNClassifier

    rng = np.random.default_rng(seed)
    images, labels = np.pad(load_digits().images, ((0, 0), (1, 1), (1, 1))), load_digits().target
    moves = rng.integers(-1, 2, (len(images), 2))
    images = np.stack([np.roll(image, move, axis=(0, 1)) for image, move in zip(images, moves)])
    if not fast:
        images = zoom(images, (1, 2, 2), order=1)
    order = rng.permutation(len(images))
    train, test = order[: 200 if fast else 400], order[1000:]
    data: dict[str, Any] = {"train": {}, "test": {}}
    for name, change in CASES.items():
        options: dict[str, Any] = {"dropout": 0.5, "augment": ["shift 1"], "width": 0.12 if fast else 0.2, **change}
        model = CNNClassifier(
            "alexnet",
            max_iter=30 if fast else 80,
            batch_size=20 if fast else 40,  # so that few digits make enough updates
            learning_rate_init=0.002 if fast else 0.004,
            random_state=seed,
            **options,
        ).fit(images[train], labels[train])
        data["train"][name] = model.score(images[train], labels[train])
        data["test"][name] = model.score(images[test], labels[test])
    return data


def gap(data: dict[str, Any], name: str) -> float:
    return float(data["train"][name] - data["test"][name])


def check(data: dict[str, Any]) -> Verdict:
    test = data["test"]
    return every(
        all_three_learn=above(test["all three"], 0.2),
        rectifiers=above(test["all three"], test["sigmoid"] + 0.1),
        augmentation_narrows_the_gap=above(gap(data, "without augmentation"), gap(data, "all three")),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    names, x = list(CASES), np.arange(len(CASES))
    ax.bar(x - 0.2, [data["train"][name] for name in names], width=0.38, label="training")
    ax.bar(x + 0.2, [data["test"][name] for name in names], width=0.38, label="test")
    for k, name in enumerate(names):
        ax.text(k, 1.02, f"gap {gap(data, name):.2f}", ha="center")
    ax.set(title="a small AlexNet on few digits", xticks=x, xticklabels=names, ylabel="accuracy", ylim=(0, 1.1))
    ax.legend()
