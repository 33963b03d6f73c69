r"""A Gaussian process through a keyhole: few inducing points against all rows

With m inducing points the bound :math:`F=\log N(y;0,Q+\sigma^2I)-\tfrac1{2\sigma^2}\mathrm{tr}(K-Q)` never exceeds the
evidence and closes in on it as m grows, at a cost of :math:`nm^2` in place of :math:`n^3`: on a line a few dozen points
carry all that thousands of rows say, and the posterior band is the exact one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every
from margin.kernels import RBF, GaussianProcessRegressor, SparseGaussianProcessRegressor, WhiteKernel
from margin.kernels.gaussian_process.inducing import SparseObjective, spread_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KERNEL = 1.0 * RBF(0.6) + WhiteKernel(0.1)
COUNTS = (4, 8, 12, 16, 24, 32, 48)
SHOWN = 8


def rows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(0, 10, size=n)
    y = np.sin(2 * x) * np.exp(-0.1 * x) + 0.3 * rng.normal(size=n)
    return x[:, None], y


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X, y = rows(250 if fast else 1000, rng)
    exact = GaussianProcessRegressor(KERNEL, alpha=0.0, normalize_y=True, random_state=seed).fit(X, y)
    grid = np.linspace(-1, 11, 200)[:, None]
    targets = exact.y_train_
    bounds, gaps = [], []
    for m in COUNTS:
        Z = X[spread_rows(X, m, np.random.default_rng(seed))]
        bounds.append(SparseObjective(exact.kernel_, X, targets, Z, fitc=False).at(exact.kernel_.theta).value)
        sparse = _fix(exact, Z).fit(X, y)
        gaps.append(float(np.abs(sparse.predict(grid) - exact.predict(grid)).max()))
    few = _fix(exact, X[spread_rows(X, SHOWN, np.random.default_rng(seed))]).fit(X, y)
    return {
        "X": X[:, 0],
        "y": y,
        "grid": grid[:, 0],
        "evidence": exact.log_marginal_likelihood(),
        "bounds": np.array(bounds),
        "gaps": np.array(gaps),
        "exact": exact.predict(grid, return_std=True, with_noise=False),
        "few": few.predict(grid, return_std=True, with_noise=False),
        "many": sparse.predict(grid, return_std=True, with_noise=False),
        "points": few.inducing_points_[:, 0],
        # Multiplications of one likelihood with gradient: five products with all rows, against factor and inverse.
        "operations": {"sparse": 5.0 * len(X) * np.array(COUNTS) ** 2, "exact": float(len(X)) ** 3},
    }


def _fix(exact: GaussianProcessRegressor, Z: np.ndarray) -> SparseGaussianProcessRegressor:
    """The sparse model with the kernel of the exact one, so that only the keyhole differs."""
    return SparseGaussianProcessRegressor(exact.kernel_, inducing=Z, optimizer=None)


def check(data: dict[str, Any]) -> Verdict:
    mean, std = data["exact"]
    return every(
        bound_below_evidence=equal(bool((data["bounds"] <= data["evidence"] + 1e-6).all()), True),
        bound_closes=below(data["evidence"] - data["bounds"][-1], 0.1),
        few_points_are_not_enough=above(data["evidence"] - data["bounds"][0], 20.0),
        mean_agrees=below(float(np.abs(data["many"][0] - mean).max()), 0.02),
        at_a_fraction_of_the_cost=below(data["operations"]["sparse"][-1] / data["operations"]["exact"], 0.2),
        band_agrees=below(float(np.abs(data["many"][1] - std).max()), 0.02),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(2, 2)
    x = data["grid"]
    titles = (("few", f"{SHOWN} inducing points"), ("many", f"{COUNTS[-1]} inducing points"))
    for axes, (name, title) in zip(panels[0], titles):
        axes.plot(data["X"], data["y"], ".", color="0.75", markersize=2)
        for (mean, std), color, label in ((data["exact"], "k", "all rows"), (data[name], "C1", "sparse")):
            axes.plot(x, mean, color=color, label=label)
            axes.fill_between(x, mean - 2 * std, mean + 2 * std, color=color, alpha=0.2)
        if name == "few":
            axes.plot(data["points"], np.full(SHOWN, -1.8), "C1^", label="inducing points")
        axes.set(xlabel="x", ylabel="y", ylim=(-2, 2), title=title)
        axes.legend(fontsize=7, loc="upper right")
    bound, cost = panels[1]
    bound.plot(COUNTS, data["evidence"] - data["bounds"], "o-", color="C1")
    bound.set(xlabel="inducing points", ylabel="nats", yscale="log", title="evidence minus its bound")
    spent = data["operations"]
    cost.loglog(spent["sparse"], data["gaps"], "o-", color="C1", label="sparse")
    cost.axvline(spent["exact"], color="k", linestyle="--", label="exact")
    cost.set(xlabel="multiplications per likelihood", ylabel="largest difference", title="posterior mean against cost")
    cost.legend(fontsize=7)
