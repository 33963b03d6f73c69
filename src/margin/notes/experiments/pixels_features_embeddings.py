"""One set of images, three representations: raw pixels, hand-made features, learned embedding

The same linear model reads all three; what differs is how the images are encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 12


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from sklearn.datasets import load_digits

    from margin.linear import LogisticRegression
    from margin.neural.estimators import CNNClassifier
    from margin.vision.features import HOG

    rng = np.random.default_rng(seed)
    order = rng.permutation(1797)
    small, labels = load_digits().images[order] / 16, load_digits().target[order]
    images = np.zeros((len(small), SIDE, SIDE), dtype=np.float32)
    for image, digit, (r, c) in zip(images, small, rng.integers(0, SIDE - 7, size=(len(small), 2))):
        image[r : r + 8, c : c + 8] = digit  # moved, so that a pixel means little by itself
    train, test = np.arange(800 if fast else 1200), np.arange(1200, 1797)
    net = CNNClassifier(
        ["conv 16 3 norm", "conv 16 3 norm", "pool 2", "conv 32 3 norm", "pool 2", "dense 32"],
        batch_size=20,
        learning_rate_init=0.005,
        warmup=0.2,  # first steps at the full rate switch off most of the 32 last units for some seeds
        max_iter=8 if fast else 25,
        random_state=seed,
    )
    net.fit(images[train], labels[train])
    module: Any = net._ready_module()
    with torch.no_grad():
        embedding = module.body[:-1](module.prepare(torch.from_numpy(images[:, None]))).numpy()
    represented = {
        "raw pixels": images.reshape(len(images), -1),
        "histograms of gradients": HOG(cell=4).fit_transform(images),
        "learned embedding": embedding,
    }
    accuracy = {}
    for name, rows in represented.items():
        rows = (rows - rows[train].mean(axis=0)) / (rows[train].std(axis=0) + 1e-3)
        model = LogisticRegression(C=0.1, max_iter=200).fit(rows[train], labels[train])
        accuracy[name] = float(model.score(rows[test], labels[test]))
    return {
        "accuracy": accuracy,
        "columns": {name: rows.shape[1] for name, rows in represented.items()},
        "images": images[:8],
    }


def check(data: dict[str, Any]) -> Verdict:
    accuracy = data["accuracy"]
    return every(
        learned_over_pixels=above(accuracy["learned embedding"], accuracy["raw pixels"]),
        learned_over_features=above(accuracy["learned embedding"], accuracy["histograms of gradients"]),
        all_above_chance=above(min(accuracy.values()), 0.2),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    top, bottom = figure.subplots(2, 1)
    top.imshow(np.concatenate(list(data["images"]), axis=1), cmap="gray")
    top.set(xticks=[], yticks=[])
    names = [f"{name}\n({data['columns'][name]} columns)" for name in data["accuracy"]]
    bottom.bar(names, list(data["accuracy"].values()))
    bottom.set(ylabel="test accuracy of a linear model")
