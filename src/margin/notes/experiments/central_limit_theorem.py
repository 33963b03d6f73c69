r"""Means of many variables are nearly normal, whatever they are means of

.. math:: \sqrt m\,\frac{\bar X_m-\mu}{\sigma} \to \mathcal N(0,1) \quad\text{if } \sigma^2 < \infty

Draw m values, take the mean, repeat k times: the k means spread by :math:`\sigma/\sqrt m` and lose the shape of the
population. The Kolmogorov distance to the normal falls with m; means of Cauchy variables never get closer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every, within
from margin.foundations.probability import (
    Cauchy,
    Exponential,
    Normal,
    Uniform,
    kolmogorov_distance,
    means_of_samples,
    standardized_means,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (1, 2, 4, 16, 64)
SHOWN = (1, 4, 64)
NORMAL_IQR = 2 * 0.6744897501960817


def run(seed: int, fast: bool) -> dict[str, Any]:
    k = 10_000 if fast else 100_000
    rng = np.random.default_rng(seed)
    means = {
        name: {m: standardized_means(law, m, k, rng) for m in SIZES}
        for name, law in (("uniform", Uniform(0, 1)), ("exponential", Exponential(1)))
    }
    # Without a variance to divide by, Cauchy means are brought to the quartiles of a standard normal.
    cauchy = {m: means_of_samples(Cauchy(), m, k, rng) for m in SIZES}
    means["cauchy"] = {m: x / np.subtract(*np.quantile(x, [0.75, 0.25])) * NORMAL_IQR for m, x in cauchy.items()}
    distances = {name: [kolmogorov_distance(x, Normal().cdf) for x in rows.values()] for name, rows in means.items()}
    raw = means_of_samples(Exponential(1), 64, k, rng)
    return {"k": k, "means": means, "distances": distances, "raw_deviation": float(raw.std())}


def check(data: dict[str, Any]) -> Verdict:
    exponential, cauchy = np.array(data["distances"]["exponential"]), np.array(data["distances"]["cauchy"])
    return every(
        falls=equal(bool(np.all(np.diff(exponential) < 0)), True),
        uniform_close=below(data["distances"]["uniform"][-1], 0.02),
        exponential_close=below(float(exponential[-1]), 0.04),
        deviation=within(data["raw_deviation"] * 8, 0.97, 1.03),  # sigma / sqrt(64)
        cauchy_stays=within(float(cauchy[-1] / cauchy[0]), 0.8, 1.25),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(2, 3)
    x = np.linspace(-4, 4, 401)
    names = {"uniform": "C0", "exponential": "C1"}
    for axes, m in zip(panels[0], SHOWN):
        for name, color in names.items():
            axes.hist(data["means"][name][m], bins=60, range=(-4, 4), density=True, alpha=0.5, color=color, label=name)
        axes.plot(x, Normal().pdf(x), color="black", linewidth=1.5, label="normal")
        axes.set(title=f"means of m = {m}", xlabel="standardized mean", ylim=(0, 0.75))
    panels[0, 0].set_ylabel("density")
    panels[0, 0].legend(fontsize="small")
    axes = panels[1, 0]
    for name, values in data["distances"].items():
        axes.loglog(SIZES, values, "o-", label=name)
    axes.set(xlabel="m", ylabel="Kolmogorov distance", title="Distance to the normal")
    axes.legend(fontsize="small")
    for axes, m in zip(panels[1, 1:], (1, 64)):
        axes.hist(data["means"]["cauchy"][m], bins=60, range=(-6, 6), density=True, color="C2", alpha=0.6)
        axes.plot(x, Normal().pdf(x), color="black", linewidth=1.5)
        axes.set(title=f"Cauchy, m = {m}: no change", xlabel="mean, quartiles matched", xlim=(-6, 6))
