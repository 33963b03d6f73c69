r"""Noise, generator, discriminator: a game on one axis

The generator's density :math:`p_G` moves towards the data while the discriminator follows
:math:`D^* = p/(p + p_G)`; at the end it can only guess, and V is near :math:`-2\log 2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID = np.linspace(-4, 6, 121)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.generative import GAN

    rng = np.random.default_rng(seed)
    X = np.where(rng.random((800, 1)) < 0.5, rng.normal(-0.5, 0.5, (800, 1)), rng.normal(2.0, 0.6, (800, 1)))
    model = GAN(4, (32, 32), max_iter=25 if fast else 200, random_state=seed, record_steps=None)
    curve = []
    for record in model.iterate(X):
        values = ("discriminator_value", "discriminator_real", "discriminator_fake", "generator_loss")
        curve.append([record.iteration, *(record[name] for name in values)])
    made = model.sample(2000, random_state=seed)
    return {
        "X": X[:, 0],
        "made": made[:, 0],
        "curve": np.array(curve),
        "discriminator": model.discriminate(GRID[:, None]),
        "layers": [[name, list(array.shape)] for name, array in model.weights_.items()],
    }


def check(data: dict[str, Any]) -> Verdict:
    value, real, fake = data["curve"][-1, 1:4]
    quantiles = np.linspace(0.05, 0.95, 19)
    gap = np.abs(np.quantile(data["made"], quantiles) - np.quantile(data["X"], quantiles)).mean()
    return every(
        value_near_the_draw=near(float(value), -2 * np.log(2), tolerance=0.15),
        guesses_on_real=near(float(real), 0.5, tolerance=0.1),
        guesses_on_made=near(float(fake), 0.5, tolerance=0.1),
        quantiles_match=below(float(gap), 0.4),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, middle, right = figure.subplots(1, 3)
    bins = np.linspace(GRID[0], GRID[-1], 50)
    left.hist(data["X"], bins, density=True, alpha=0.5, label="data")
    left.hist(data["made"], bins, density=True, alpha=0.5, label="generated")
    left.plot(GRID, data["discriminator"], color="black", label="D(x)")
    left.set(title="data, generator and discriminator", xlabel="x")
    left.legend()
    steps, value, real, fake, loss = data["curve"].T
    for name, line in (("V", value), ("D(real)", real), ("D(fake)", fake), ("generator loss", loss)):
        middle.plot(steps, line, label=name)
    middle.axhline(-2 * np.log(2), color="gray", linestyle=":")
    middle.set(title="the game", xlabel="step")
    middle.legend()
    right.axis("off")
    lines = [f"{name}: {' x '.join(map(str, shape)) or 'number'}" for name, shape in data["layers"]]
    right.text(0, 1, "\n".join(lines), va="top", fontsize=7, family="monospace")
    right.set(title="noise -> generator -> discriminator")
