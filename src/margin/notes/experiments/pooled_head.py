r"""Global average pooling before the last layer, against a dense layer over all positions

The pooled head has :math:`CK + K` parameters in place of :math:`CHWK + K` and gives the same scores for circularly
shifted maps, so it loses little on digits that are moved by two pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BODY = ["conv 16 3", "conv 32 3"]
HEADS = {"dense": ["flatten"], "pooled": ["global-avg-pool"]}
SIDE, CLASSES = 12, 10
SHIFTS = (0, 1, 2)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    from margin.neural.estimators import CNNClassifier

    images = np.pad(load_digits().images, ((0, 0), (2, 2), (2, 2)))  # room to move in
    labels = load_digits().target
    order = np.random.default_rng(seed).permutation(len(images))
    n = 400 if fast else 1200
    train, test = order[:n], order[1200:]
    data: dict[str, Any] = {"shifts": list(SHIFTS), "accuracy": {}, "head": {}}
    for name, head in HEADS.items():
        model = CNNClassifier(
            [*BODY, *head], max_iter=6 if fast else 30, batch_size=20, learning_rate_init=0.01, random_state=seed
        ).fit(images[train], labels[train])
        data["head"][name] = sum(array.size for array in list(model.weights_.values())[-2:])
        data["accuracy"][name] = [
            float(np.mean([model.score(np.roll(images[test], move, axis=(1, 2)), labels[test])
                           for move in ((s, s), (-s, -s), (s, -s))]))
            for s in SHIFTS
        ]  # fmt: skip
    return data


def check(data: dict[str, Any]) -> Verdict:
    dense, pooled = data["accuracy"]["dense"], data["accuracy"]["pooled"]
    return every(
        parameters=equal(
            (data["head"]["dense"], data["head"]["pooled"]),
            (32 * SIDE**2 * CLASSES + CLASSES, 32 * CLASSES + CLASSES),
        ),
        dense_learns=above(dense[0], 0.8),
        dense_loses_more=above(dense[0] - dense[2], pooled[0] - pooled[2] + 0.1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    for name, accuracy in data["accuracy"].items():
        ax.plot(data["shifts"], accuracy, "o-", label=f"{name} head, {data['head'][name]:,} parameters")
    ax.set(
        title="Digits moved by some pixels",
        xlabel="moved by (pixels)",
        ylim=(0, 1.02),
        ylabel="test accuracy",
        xticks=data["shifts"],
    )
    ax.legend()
