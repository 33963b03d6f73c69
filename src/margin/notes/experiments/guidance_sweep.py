r"""The same noise at several guidance scales

.. math:: \hat\epsilon = \epsilon(x_t, \varnothing) + s\,\bigl(\epsilon(x_t, c) - \epsilon(x_t, \varnothing)\bigr)

Scale 0 ignores the class, 1 obeys it, and more exaggerates it: samples agree with the class more often and vary less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALES = (0.0, 1.0, 3.0, 7.0, 13.0)
CENTERS = np.array([[0.0, 2.0], [-1.7, -1.0], [1.7, -1.0]])
WANTED = 1


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.generative import DiffusionModel

    rng = np.random.default_rng([seed, 7])
    y = rng.integers(3, size=600)
    X = CENTERS[y] + rng.normal(size=(600, 2))
    model = DiffusionModel(
        (64, 64),
        conditional=True,
        condition_dropout=0.2,
        n_steps=100,
        max_iter=40 if fast else 400,
        batch_size=64,
        learning_rate_init=0.01,
        weight_average=0.98,
        random_state=seed,
    ).fit(X, y)
    samples = np.stack([model.sample(300, random_state=seed, y=WANTED, guidance_scale=scale) for scale in SCALES])
    nearest = ((samples[:, :, None] - CENTERS) ** 2).sum(axis=3).argmin(axis=2)
    return {
        "X": X,
        "y": y,
        "samples": samples,
        "agreement": (nearest == WANTED).mean(axis=1),
        "spread": samples.std(axis=1).mean(axis=1),
    }


def check(data: dict[str, Any]) -> Verdict:
    agreement, spread = data["agreement"], data["spread"]
    return every(
        the_class_is_obeyed=above(float(agreement[1] - agreement[0]), 0.2),
        more_at_three=above(float(agreement[2]), float(agreement[1])),
        almost_always_at_the_end=above(float(agreement[-1]), 0.9),
        less_varied_at_three=below(float(spread[2]), float(spread[1])),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 8)
    axes = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
    for ax, scale, made, agreement in zip(axes, SCALES, data["samples"], data["agreement"]):
        for label in range(3):
            color = "C1" if label == WANTED else "0.75"
            ax.scatter(*data["X"][data["y"] == label].T, s=7, alpha=0.5, color=color, linewidths=0)
        ax.scatter(*made.T, s=7, color="C0", linewidths=0)
        ax.set(title=f"s = {scale:g}: {agreement:.0%} agree", xlim=(-6, 6), ylim=(-6, 6), aspect="equal")
        ax.set(xticks=[], yticks=[])
    for ax in axes[len(SCALES) :]:
        ax.set_axis_off()
    for row, (words, color) in enumerate(
        (("samples", "C0"), ("rows of the class asked for", "C1"), ("rows of the other classes", "0.6"))
    ):
        axes[-1].text(0.08, 0.7 - 0.16 * row, words, color=color, fontsize=13, transform=axes[-1].transAxes)
