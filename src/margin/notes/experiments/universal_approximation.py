r"""One hidden layer comes closer to a function the more units it has

Rectifiers that join D + 1 points of a sine by straight lines are off by about :math:`(2\pi/D)^2/8`, a quarter for twice
as many units. Trained networks with a smooth activation need only a few.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every, near
from margin.notes import atlas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS = (4, 8, 16, 32)
TRAINED = (2, 12)
END = 2 * np.pi


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural import MLPRegressor
    from margin.neural.theory import interpolation_network

    x = np.linspace(0, END, 2001)
    built = {D: interpolation_network(np.sin, 0, END, D)(x)[:, 0] for D in UNITS}
    target = np.sin(x) + 0.3 * np.sin(3 * x)
    trained = {}
    for units in TRAINED:
        net = MLPRegressor(
            (units,), "tanh", solver="lbfgs", alpha=0.0, max_iter=200 if fast else 1000, random_state=seed
        )
        trained[units] = net.fit(x[::10, None], target[::10]).predict(x[:, None])
    errors = {D: float(np.abs(y - np.sin(x)).max()) for D, y in built.items()}
    missed = {n: float(np.sqrt(np.mean((y - target) ** 2))) for n, y in trained.items()}
    return {"x": x, "built": built, "errors": errors, "target": target, "trained": trained, "missed": missed}


def check(data: dict[str, Any]) -> Verdict:
    printed = atlas.row("figure-approximation-improves-with-units").values["errors"]
    errors = [data["errors"][D] for D in UNITS]
    return every(
        printed_errors=near(errors, printed, tolerance=6e-5),
        strictly_fall=equal(all(a > b for a, b in pairwise(errors)), True),
        trained_falls=below(data["missed"][12], 0.5 * data["missed"][2]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 8)
    axes = figure.subplots(2, 3).ravel()
    for axis, D in zip(axes, UNITS):
        axis.plot(data["x"], np.sin(data["x"]), color="silver", lw=3)
        axis.plot(data["x"], data["built"][D], color="C0")
        axis.fill_between(data["x"], data["built"][D] - np.sin(data["x"]), color="C3", alpha=0.5)
        axis.set_title(f"{D} rectifiers, largest error {data['errors'][D]:.4f}")
    for axis, n in zip(axes[4:], TRAINED):
        axis.plot(data["x"], data["target"], color="silver", lw=3)
        axis.plot(data["x"], data["trained"][n], color="C2")
        axis.set_title(f"{n} tanh units, trained: error {data['missed'][n]:.4f}")
