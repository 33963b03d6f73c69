r"""The bound is a family of curves under the log-likelihood

For :math:`z \sim N(0, 1)` and :math:`x|z \sim N(\phi z, 1)` the log-likelihood of one observation is known for every
:math:`\phi`. Each q gives a curve below it, which touches where q is the posterior; going up in q and in :math:`\phi`
by turns climbs the log-likelihood.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEN = 2.0
STEPS = 12


def posterior(phi: float) -> tuple[float, float]:
    """Mean and variance of z given the observation."""
    variance = 1 / (1 + phi**2)
    return phi * SEEN * variance, variance


def bound(phi: np.ndarray, mean: float, variance: float) -> np.ndarray:
    import torch

    from margin.generative.elbo import kl_to_standard_normal

    q = torch.tensor([[mean], [math.log(variance)]], dtype=torch.float64)
    divergence = float(kl_to_standard_normal(*q))
    expected = -0.5 * ((SEEN - phi * mean) ** 2 + phi**2 * variance + math.log(2 * math.pi))
    return expected - divergence


def run(seed: int, fast: bool) -> dict[str, Any]:
    del seed, fast  # nothing is drawn
    phi = np.linspace(0.05, 4, 400)
    total = 1 + phi**2
    touching = [0.3, 1.0, 2.0, 3.0]
    path, at = [], 0.3
    for _ in range(STEPS):
        mean, variance = posterior(at)
        path.append((at, float(bound(np.array(at), mean, variance))))
        at = SEEN * mean / (mean**2 + variance)  # the best phi under this q
        path.append((at, float(bound(np.array(at), mean, variance))))
    return {
        "phi": phi,
        "log_likelihood": -0.5 * (SEEN**2 / total + np.log(2 * np.pi * total)),
        "touching": touching,
        "curves": np.array([bound(phi, *posterior(t)) for t in touching]),
        "at_touch": [float(bound(np.array(t), *posterior(t))) for t in touching],
        "path": np.array(path),
    }


def check(data: dict[str, Any]) -> Verdict:
    at = np.array(data["touching"])
    exact = -0.5 * (SEEN**2 / (1 + at**2) + np.log(2 * np.pi * (1 + at**2)))
    climbed = data["path"][:, 1]
    return every(
        below_everywhere=below(float((data["curves"] - data["log_likelihood"]).max()), 1e-9),
        touch=near(data["at_touch"], exact, tolerance=1e-9),
        path_climbs=above(float(np.diff(climbed).min()), -1e-12),
        path_gains=above(float(climbed[-1] - climbed[0]), 0.3),
        to_the_maximum=near(float(climbed[-1]), float(data["log_likelihood"].max()), tolerance=0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    ax.plot(data["phi"], data["log_likelihood"], color="black", label="log-likelihood")
    for phi, curve in zip(data["touching"], data["curves"]):
        ax.plot(data["phi"], curve, label=rf"bound, q the posterior at $\phi$ = {phi:g}")
    ax.plot(*data["path"].T, "o-", color="C3", markersize=3, label="by turns in q and in $\\phi$")
    ax.set(xlabel=r"$\phi$", ylabel="nats", ylim=(-6, -1.5), title="Curves of the bound")
    ax.legend(fontsize="small")
