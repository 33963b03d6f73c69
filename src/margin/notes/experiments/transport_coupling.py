r"""A transport plan and its two marginals.

The optimal plan between two histograms on a line, as a heat map with the histograms on its sides; the signed
difference that has to be filled; and the cost, which three ways agree on: the linear program
:math:`\min \langle T, M \rangle`, sorting, and the area :math:`\int |U - V|` between the distribution functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near
from margin.foundations.transport import (
    cost_matrix,
    is_coupling,
    plan_cost,
    product_coupling,
    solve,
    wasserstein_1d,
    wasserstein_1d_cdf,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS, BINS_FAST = 80, 40


def run(seed: int, fast: bool) -> dict[str, Any]:
    x = np.linspace(0.0, 1.0, BINS_FAST if fast else BINS)
    mu = _bump(x, 0.25, 0.08) + 0.6 * _bump(x, 0.5, 0.05)
    nu = _bump(x, 0.75, 0.06) + 0.4 * _bump(x, 0.4, 0.1)
    mu, nu = mu / mu.sum(), nu / nu.sum()
    M = cost_matrix(x, x, 1)
    convex = solve(mu, nu, cost_matrix(x, x, 2), "linprog").plan
    costs = {
        "linear program": solve(mu, nu, M, "linprog").cost,
        "sorting": wasserstein_1d(x, x, 1, mu, nu),
        "area between CDFs": wasserstein_1d_cdf(x, x, 1, mu, nu),
        "product plan": plan_cost(product_coupling(mu, nu), M),
    }
    return {"x": x, "mu": mu, "nu": nu, "plan": convex, "costs": costs}


def check(data: dict[str, Any]) -> Verdict:
    costs = data["costs"]
    return every(
        coupling=equal(is_coupling(data["plan"], data["mu"], data["nu"]), True),
        sorting=near(costs["sorting"], costs["linear program"], tolerance=1e-10),
        area=near(costs["area between CDFs"], costs["linear program"], tolerance=1e-10),
        product_costs_more=above(costs["product plan"], costs["linear program"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels: Any = figure.subfigures(1, 2, width_ratios=(1.1, 1))
    left, right = panels
    x, mu, nu = data["x"], data["mu"], data["nu"]
    grid = left.add_gridspec(2, 2, width_ratios=(4, 1), height_ratios=(1, 4), wspace=0.05, hspace=0.05)
    heat = left.add_subplot(grid[1, 0])
    heat.imshow(np.sqrt(data["plan"]).T, origin="lower", extent=(0, 1, 0, 1), cmap="magma_r", aspect="auto")
    heat.set(xlabel="from x", ylabel="to y")
    top, side = left.add_subplot(grid[0, 0], sharex=heat), left.add_subplot(grid[1, 1], sharey=heat)
    top.fill_between(x, mu, color="C0")
    side.fill_betweenx(x, nu, color="C1")
    top.set_title("plan T with marginals μ and ν")
    for axis in (top, side):
        axis.axis("off")
    both, signed = right.subplots(2, 1, sharex=True)
    both.plot(x, mu, color="C0", label="μ")
    both.plot(x, nu, color="C1", label="ν")
    _arrows(both, data)
    both.set(ylabel="mass", title=f"least cost {data['costs']['linear program']:.4f}")
    both.legend(frameon=False)
    signed.fill_between(x, mu - nu, where=mu >= nu, color="C0", label="surplus of μ", interpolate=True)
    signed.fill_between(x, mu - nu, where=mu <= nu, color="C1", label="hole to fill", interpolate=True)
    signed.set(xlabel="position", ylabel="μ − ν", title="what has to be moved")
    signed.legend(frameon=False)


def _arrows(axis: Any, data: dict[str, Any]) -> None:
    """An arrow from the 10th, 30th, ... percentile of one histogram to the same one of the other."""
    x = data["x"]
    height = max(data["mu"].max(), data["nu"].max())
    for k, level in enumerate((0.1, 0.3, 0.5, 0.7, 0.9)):
        start, end = (np.interp(level, np.cumsum(data[name]), x) for name in ("mu", "nu"))
        y = height * (0.15 + 0.12 * k)
        axis.annotate("", (end, y), (start, y), arrowprops={"arrowstyle": "->", "color": "#555555"})


def _bump(x: np.ndarray, center: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((x - center) / width) ** 2)
