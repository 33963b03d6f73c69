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
    codes = figure.add_subplot(1, 2, 1, projection="3d")
    points = codes.scatter(*data["codes"].T, c=data["labels"], cmap="tab10", vmin=-0.5, vmax=9.5, s=9)
    codes.set_title("Three coordinates, no labels used")
    figure.colorbar(points, ax=codes, ticks=range(10), label="digit", shrink=0.6)
    pairs = figure.add_subplot(1, 2, 2)
    rows = [np.hstack(list(data[name].reshape(-1, SIDE, SIDE))) for name in ("originals", "restored")]
    pairs.imshow(np.vstack(rows), cmap="gray_r", vmin=0, vmax=1)
    pairs.set(title="Held-out digits, and restored", xticks=[], yticks=[])
