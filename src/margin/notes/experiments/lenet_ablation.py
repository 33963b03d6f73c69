"""LeNet with sigmoids or rectifiers, with means or maxima

The same network on digits, equal epochs. With rectifiers and max pooling it reaches a given accuracy in fewer epochs
than as it was published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOAL = 0.85
CASES = [(activation, pooling) for activation in ("sigmoid", "relu") for pooling in ("avg", "max")]


def run(seed: int, fast: bool) -> dict[str, Any]:
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from margin.neural.estimators import CNNClassifier

    epochs, n = (5, 800) if fast else (20, 1297)
    images = zoom(load_digits().images, (1, 2, 2), order=1)
    labels = load_digits().target
    order = np.random.default_rng(seed).permutation(len(images))
    train, test = order[:n], order[1297:]
    data: dict[str, Any] = {"epochs": epochs, "curves": {}}
    for activation, pooling in CASES:
        model = CNNClassifier(
            "lenet-5", activation=activation, pooling=pooling, max_iter=epochs, batch_size=32, record_steps=None,
            learning_rate="constant", learning_rate_init=0.003, n_iter_no_change=epochs, random_state=seed,
        )  # fmt: skip
        records = model.iterate(images[train], labels[train])
        data["curves"][f"{activation}, {pooling}"] = np.array(
            [model.score(images[test], labels[test]) for _ in records]
        )
    return data


def first_epoch(curve: np.ndarray) -> int:
    """The epoch in which the goal is reached, or one more than there are."""
    reached = np.flatnonzero(curve >= GOAL)
    return int(reached[0]) + 1 if len(reached) else len(curve) + 1


def check(data: dict[str, Any]) -> Verdict:
    published, modern = data["curves"]["sigmoid, avg"], data["curves"]["relu, max"]
    return every(
        reaches_the_goal=below(first_epoch(modern), data["epochs"] + 1),
        sooner=below(first_epoch(modern), first_epoch(published)),
        better_in_the_end=above(float(modern[-1]), float(published[-1])),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    for name, curve in data["curves"].items():
        ax.plot(np.arange(1, len(curve) + 1), curve, "o-", label=name)
    ax.axhline(GOAL, color="gray", ls=":")
    ax.set(title="LeNet-5 on digits", xlabel="epoch", ylabel="test accuracy")
    ax.legend()
