r"""Bagging: many fits to bootstrap samples, and their average.

:math:`\hat f(x) = \tfrac1B\sum_b f_b(x)`, each :math:`f_b` fitted to :math:`n` rows drawn with replacement. A full tree
follows the noise; the average of many does not. A stump is wrong in the same way on every sample, so averaging stumps
helps little: bagging lowers variance, not bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.trees import BaggingRegressor, DecisionTreeRegressor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS = {"full trees": None, "stumps": 1}


def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(0, 2 * np.pi, n)
    return x[:, None], np.sin(x) + 0.3 * rng.standard_normal(n)


def run(seed: int, fast: bool) -> dict[str, Any]:
    members, sets = (15, 20) if fast else (40, 20)
    rng = np.random.default_rng(seed)
    grid = np.linspace(0.05, 2 * np.pi - 0.05, 240)[:, None]
    truth = np.sin(grid[:, 0])
    X, y = sample(rng, 80)
    data: dict[str, Any] = {"X": X[:, 0], "y": y, "grid": grid[:, 0], "truth": truth, "kinds": {}}
    more = [sample(rng, 80) for _ in range(sets)]
    for name, depth in DEPTHS.items():
        model = BaggingRegressor(DecisionTreeRegressor(max_depth=depth), members, random_state=seed)
        fits = np.array([member.predict(grid) for member in model.fit(X, y).estimators_])
        single, bagged = [], []
        for i, (X_i, y_i) in enumerate(more):
            single.append(DecisionTreeRegressor(max_depth=depth).fit(X_i, y_i).predict(grid))
            bagged.append(model.set_params(random_state=seed + i).fit(X_i, y_i).predict(grid))
        data["kinds"][name] = {
            "fits": fits,
            "average": fits.mean(axis=0),
            "single_error": float(np.mean((np.array(single) - truth) ** 2)),
            "bagged_error": float(np.mean((np.array(bagged) - truth) ** 2)),
        }
    return data


def check(data: dict[str, Any]) -> Verdict:
    full, stumps = (data["kinds"][name] for name in DEPTHS)
    return every(
        full_trees_gain=below(full["bagged_error"], 0.7 * full["single_error"]),
        stumps_gain_less=above(
            (full["single_error"] - full["bagged_error"]) / (stumps["single_error"] - stumps["bagged_error"]), 1.2
        ),
        bagged_full_trees_win=below(full["bagged_error"], stumps["bagged_error"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12.5, 5)
    for axis, (name, kind) in zip(figure.subplots(1, 2, sharey=True), data["kinds"].items()):
        axis.plot(data["grid"], kind["fits"].T, color="C0", alpha=0.15, lw=0.8)
        axis.plot([], [], color="C0", alpha=0.5, lw=0.8, label=f"{len(kind['fits'])} fits to bootstrap samples")
        axis.plot(data["grid"], kind["average"], color="C3", lw=2.2, label="their average")
        axis.plot(data["grid"], data["truth"], "k--", lw=1.2, label="truth")
        axis.plot(data["X"], data["y"], ".", color="0.45", ms=5, label="data")
        title = f"{name}: mean squared error {kind['single_error']:.3f} alone, {kind['bagged_error']:.3f} bagged"
        axis.set(title=title, xlabel="x", ylabel="y")
    axis.legend(loc="upper right")
