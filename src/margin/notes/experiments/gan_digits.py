r"""Two generators learn digits, epoch by epoch

Fully connected and convolutional (transposed convolutions against strided ones), on images scaled to :math:`[-1, 1]`.
The same noise in every row of the figure shows how samples form. A generator that only repeats the mean image is as far
from the data, by the Frechet distance of pixels, as their total variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 10  # samples per epoch in the figure
GAMES: dict[str, dict[str, Any]] = {
    "mlp": {"hidden_layer_sizes": (128, 128), "max_iter": 18},
    "dcgan": {"hidden_layer_sizes": (32, 16), "max_iter": 10},
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    from margin.generative import GAN
    from margin.metrics.samples import frechet_distance

    data = load_digits().data[np.random.default_rng(seed).permutation(1797)]
    X = (data[: 600 if fast else 1797] / 16).astype(np.float32)
    Z = np.random.default_rng(seed).standard_normal((SHOWN, 16))
    measured: dict[str, Any] = {"variance": float(X.var(axis=0).sum()), "ink": float(X.mean())}
    for name, options in GAMES.items():
        model = GAN(16, architecture=name, image_shape=(8, 8), batch_size=50, record_steps=None, **options)
        model.set_params(learning_rate_init=5e-3, weight_average=0.9, random_state=seed)
        if not fast:
            model.set_params(max_iter=8 * options["max_iter"], weight_average=0.99)
        grids, curve = [], []
        for record in model.iterate(X):
            grids.append(model.generate(Z))
            curve.append([record["discriminator_loss"], record["generator_loss"]])
        made = model.sample(300, random_state=seed)
        measured |= {
            f"{name}_grids": np.stack(grids),
            f"{name}_curve": np.array(curve),
            f"{name}_distance": frechet_distance(made, X),
            f"{name}_ink": float(made.mean()),
        }
    return measured


def check(data: dict[str, Any]) -> Verdict:
    return every(
        **{f"{name}_ink": near(data[f"{name}_ink"], data["ink"], tolerance=0.08) for name in GAMES},
        **{
            f"{name}_is_nearer_than_the_mean_image": below(data[f"{name}_distance"], 0.75 * data["variance"])
            for name in GAMES
        },
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots(2, len(GAMES), height_ratios=[3, 1])
    for (top, bottom), name in zip(axes.T, GAMES):
        epochs = len(data[f"{name}_grids"])
        shown = np.unique(np.linspace(0, epochs - 1, 10).round().astype(int))
        tiles = data[f"{name}_grids"][shown].reshape(len(shown), SHOWN, 8, 8)
        picture = np.pad(tiles, ((0, 0), (0, 0), (0, 1), (0, 1))).transpose(0, 2, 1, 3)
        top.imshow(picture.reshape(len(shown) * 9, SHOWN * 9), cmap="gray_r")
        top.set(title=f"{name}: distance {data[f'{name}_distance']:.2f}", xticks=[])
        top.set_yticks(9 * np.arange(len(shown)) + 4, [str(k + 1) for k in shown])
        top.set_ylabel("epoch")
        for label, line in zip(("discriminator", "generator"), data[f"{name}_curve"].T):
            bottom.plot(line, label=label)
        bottom.set(xlabel="epoch", ylabel="loss")
        bottom.legend()
