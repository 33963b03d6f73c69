r"""Boosting lowers the bias, round by round.

A stump alone is far too simple for a curve. Over many training sets of the same law, the mean prediction of boosted
stumps moves to the truth while single fits spread a little more:

.. math:: \mathbb E\big[(\hat f(x) - f(x))^2\big] =
          \underbrace{(\mathbb E \hat f(x) - f(x))^2}_{\text{bias}^2} + \operatorname{Var}\hat f(x) .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.notes.motion import film
from margin.trees import GradientBoostingRegressor

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure

ROWS, NOISE, ROUNDS = 120, 0.3, 80
SHOWN = (1, 5, 20, 80)


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * x) + 0.5 * np.cos(5 * np.pi * x)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    grid = np.linspace(0.02, 0.98, 100)
    stages = []
    for _ in range(20 if fast else 100):
        x = rng.uniform(size=ROWS)
        model = GradientBoostingRegressor(
            n_estimators=ROUNDS, learning_rate=0.3, max_leaf_nodes=2, min_samples_leaf=3, random_state=0
        ).fit(x[:, None], truth(x) + NOISE * rng.normal(size=ROWS))
        stages.append(list(model.staged_predict(grid[:, None])))
    predictions = np.array(stages)  # (sets, rounds, grid)
    mean, target = predictions.mean(axis=0), truth(grid)
    return {
        "grid": grid,
        "target": target,
        "mean": mean,
        "bias": ((mean - target) ** 2).mean(axis=1),
        "variance": predictions.var(axis=0).mean(axis=1),
        "error": ((predictions - target) ** 2).mean(axis=(0, 2)),
    }


def check(data: dict[str, Any]) -> Verdict:
    bias, variance, error = data["bias"], data["variance"], data["error"]
    return every(
        parts_add_up=near(bias + variance, error, tolerance=1e-12),
        bias_left=below(float(bias[-1] / bias[0]), 0.05),
        bias_falls_every_ten_rounds=below(float(np.diff(bias[::10]).max()), 0.0),
        variance_grows=above(float(variance[-1] / variance[0]), 1.0),
        error_left=below(float(error[-1] / error[0]), 0.3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    left.plot(data["grid"], data["target"], color="black", label="truth")
    for shade, count in zip(np.linspace(0.35, 1.0, len(SHOWN)), SHOWN, strict=True):
        left.plot(data["grid"], data["mean"][count - 1], color="C0", alpha=shade, label=f"mean fit, {count} rounds")
    left.set(xlabel="x", ylabel="prediction", title="The mean over training sets nears the truth")
    left.legend(fontsize=8)
    rounds = np.arange(1, len(data["bias"]) + 1)
    for name, color, label in (
        ("bias", "C0", "squared bias"),
        ("variance", "C1", "variance"),
        ("error", "black", "squared error, their sum"),
    ):
        right.loglog(rounds, data[name], color=color, label=label)
    right.set(xlabel="rounds", ylabel="mean over x", title="Bias falls, variance rises more slowly")
    right.legend()


def animate(data: dict[str, Any]) -> Animation:
    """The mean fit after each round."""
    rounds = [*range(1, 13), *range(14, 31, 2), *range(35, len(data["mean"]) + 1, 5)]

    def frame(figure: Figure, count: int) -> None:
        axis = figure.subplots()
        axis.plot(data["grid"], data["target"], color="black", label="truth")
        axis.plot(data["grid"], data["mean"][count - 1], color="C0", linewidth=2.5, label="mean fit of boosted stumps")
        axis.set(xlabel="x", ylabel="prediction", ylim=(-1.4, 1.6), title=f"after {count} round{'s' * (count > 1)}")
        axis.legend(loc="upper right")

    return film(frame, rounds, size=(6, 4), interval=250)
