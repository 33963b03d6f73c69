"""Digits of 784 pixels through three numbers and back

The fully connected autoencoder 784-128-64-12-3 with hyperbolic tangents and a logistic output has 219,891 parameters.
Three coordinates keep enough to tell many digits apart, and can be drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARAMETERS = 219_891
SIDE = 28
SHOWN = 8


def large_digits(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits of 8 x 8 pixels, enlarged to 28 x 28 by linear interpolation, in a random order."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.data))[:rows]
    images = zoom(digits.images[order] / 16, (1, SIDE / 8, SIDE / 8), order=1)
    return np.clip(images, 0, 1).reshape(rows, -1).astype(np.float32), digits.target[order]


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.generative import Autoencoder
    from margin.neural.weights import count_parameters

    X, y = large_digits(seed, 600 if fast else 1797)
    train, test = X[:-200], X[-200:]
    model = Autoencoder(3, (128, 64, 12), activation="tanh", out_activation="logistic", standardize=False)
    model.set_params(max_iter=25 if fast else 200, batch_size=32, learning_rate_init=3e-3, random_state=seed).fit(train)
    restored = model.reconstruct(test)
    return {
        "parameters": count_parameters(model._ready_module()),
        "codes": model.encode(test),
        "labels": y[-200:],
        "originals": test[:SHOWN],
        "restored": restored[:SHOWN],
        "range": [float(restored.min()), float(restored.max())],
        "shapes": [list(model.encode(test).shape), list(restored.shape)],
        "error": float(np.square(restored - test).mean()),
        "error_of_the_mean": float(np.square(train.mean(axis=0) - test).mean()),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        parameters=equal(data["parameters"], PARAMETERS),
        shapes=equal(data["shapes"], [[200, 3], [200, SIDE**2]]),
        above_zero=above(data["range"][0], 0.0),
        below_one=below(data["range"][1], 1.0),
        better_than_the_mean_image=below(data["error"], 0.85 * data["error_of_the_mean"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5.8)
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1))
    left, right = halves
    codes = left.add_subplot(projection="3d")
    for digit in range(10):
        codes.scatter(*data["codes"][data["labels"] == digit].T, color=f"C{digit}", s=14, label=str(digit))
    codes.set(title="Held-out digits by their three coordinates; no label was used")
    codes.tick_params(labelsize=7)
    codes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=10, columnspacing=0.8, handletextpad=0.0)
    shown = right.subplots(2, 1)
    for axis, name, title in zip(shown, ("originals", "restored"), ("Held-out digits", "Restored from three numbers")):
        images = data[name].reshape(2, -1, SIDE, SIDE).transpose(0, 2, 1, 3).reshape(2 * SIDE, -1)
        axis.imshow(images, cmap="gray_r", vmin=0, vmax=1)
        axis.set(title=title, xticks=[], yticks=[])
