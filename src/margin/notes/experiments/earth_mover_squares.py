r"""Moving squares: the area between distribution functions is :math:`W_1`, and its p-th power is nothing.

Both pairs of histograms have the CDF differences 4, 3, 2, 1, so :math:`W_1 = 10` steps. The formula
:math:`\sum |U - V|^p` gives 30 for :math:`p = 2` in both cases; the true least cost is 30 for squares on one pile
and 16 when the histograms share squares that can be passed on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, corrected, every, near
from margin.foundations.transport import cdf_difference_norm, cost_matrix, monotone_plan, solve, wasserstein_1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POSITIONS = np.arange(5.0)
PAIRS = {
    "one pile, nothing shared": (np.array([4.0, 0, 0, 0, 0]), np.array([0.0, 1, 1, 1, 1])),
    "shared squares": (np.array([5.0, 1, 1, 1, 1]), np.array([1.0, 2, 2, 2, 2])),
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    data = {}
    for name, (nu, mu) in PAIRS.items():
        plan = monotone_plan(POSITIONS, POSITIONS, nu, mu)
        data[name] = {
            "nu": nu,
            "mu": mu,
            "cdf_difference": np.cumsum(nu - mu),
            "w1": wasserstein_1d(POSITIONS, POSITIONS, 1, nu, mu),
            "least_squared_cost": solve(nu, mu, cost_matrix(POSITIONS, POSITIONS, 2)).cost,
            "by_quantiles": wasserstein_1d(POSITIONS, POSITIONS, 2, nu, mu) ** 2,
            "by_cdfs": cdf_difference_norm(POSITIONS, POSITIONS, 2, nu, mu) ** 2,
            "moves": np.column_stack(plan),
        }
    return data


def check(data: dict[str, Any]) -> Verdict:
    pile, shared = data.values()
    return corrected(
        every(
            differences=near(shared["cdf_difference"], [4, 3, 2, 1, 0], tolerance=0.0),
            w1=near([pile["w1"], shared["w1"]], [10.0, 10.0], tolerance=1e-12),
            least=near([pile["least_squared_cost"], shared["least_squared_cost"]], [30.0, 16.0], tolerance=1e-9),
            quantiles=near([pile["by_quantiles"], shared["by_quantiles"]], [30.0, 16.0], tolerance=1e-9),
        ),
        printed=near(shared["by_cdfs"], shared["least_squared_cost"], tolerance=1e-6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    for (before, after), (name, pair) in zip(figure.subplots(2, 2, sharex=True), data.items()):
        _pile(before, pair["nu"], "C0", "ν: " + name)
        _pile(after, pair["mu"], "C1", "μ")
        text = f"$W_1$ = {pair['w1']:g}\n$W_2^2$ = {pair['least_squared_cost']:g}\n$\\sum|U-V|^2$ = {pair['by_cdfs']:g}"
        after.text(0.98, 0.95, text, ha="right", va="top", transform=after.transAxes)
        moves = [move for move in pair["moves"] if move[0] != move[1]]
        for level, (source, target, mass) in enumerate(moves):
            height = pair["nu"][int(source)] + 0.5 + 0.7 * level
            before.annotate(f"{mass:g}", (target, height), (source, height), va="center", color="#555555",
                            arrowprops={"arrowstyle": "->", "color": "#555555"})  # fmt: skip
        before.set_ylabel("squares")
        before.set_ylim(0, 8)
        after.set_ylim(0, 8)
    figure.suptitle("The same CDF differences 4, 3, 2, 1, two different least costs")


def _pile(axis: Any, counts: np.ndarray, color: str, title: str) -> None:
    for place, count in zip(POSITIONS, counts):
        axis.bar([place] * int(count), 1, bottom=np.arange(count), width=0.9, color=color, edgecolor="white")
    axis.set(xlabel="position", title=title, xticks=POSITIONS)
