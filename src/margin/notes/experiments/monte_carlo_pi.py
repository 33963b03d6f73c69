r"""Pi from random points

The fraction of uniform points of the unit square that fall into the quarter disc estimates :math:`\pi/4`; its error
shrinks like :math:`\sqrt{\pi(4-\pi)/n}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near, within
from margin.foundations.probability import monte_carlo_pi

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (100, 1000, 10_000, 100_000)
SHOWN = 2000


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    repeats = 40 if fast else 400
    estimates = np.array([[monte_carlo_pi(n, rng).value for _ in range(repeats)] for n in SIZES])
    last = monte_carlo_pi(1_000_000, rng)
    points = rng.random((SHOWN, 2))
    return {
        "points": points,
        "inside": np.sum(points**2, axis=1) <= 1,
        "estimates": estimates,
        "errors": np.sqrt(np.mean((estimates - np.pi) ** 2, axis=1)),
        "value": last.value,
        "standard_error": last.standard_error,
    }


def check(data: dict[str, Any]) -> Verdict:
    predicted = np.sqrt(np.pi * (4 - np.pi) / np.array(SIZES))
    return every(
        value=near(data["value"], np.pi, tolerance=4 * data["standard_error"]),
        smallest=within(data["errors"][0] / predicted[0], 0.6, 1.5),
        largest=within(data["errors"][-1] / predicted[-1], 0.6, 1.5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    inside = data["inside"]
    left.plot(*data["points"][inside].T, ".", color="C0", markersize=3, label="inside")
    left.plot(*data["points"][~inside].T, ".", color="C1", markersize=3, label="outside")
    angle = np.linspace(0, np.pi / 2, 200)
    left.plot(np.cos(angle), np.sin(angle), color="black")
    estimate = 4 * inside.mean()
    left.set(
        aspect="equal", xlim=(0, 1), ylim=(0, 1), xlabel="x", ylabel="y", title=f"4 x share inside = {estimate:.3f}"
    )
    left.legend(loc="lower left", framealpha=1.0, markerscale=3)
    right.loglog(SIZES, data["errors"], "o", label="root mean squared error")
    right.loglog(SIZES, np.sqrt(np.pi * (4 - np.pi) / np.array(SIZES)), "--", label=r"$\sqrt{\pi(4-\pi)/n}$")
    right.set(xlabel="number of points n", ylabel=r"error of $\pi$", title=f"With 10⁶ points: {data['value']:.4f}")
    right.legend()
