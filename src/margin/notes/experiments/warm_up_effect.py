r"""Warm-up: small first steps save a run whose start is the steepest place of its landscape.

On :math:`f(\theta) = \tfrac12\sum_j\theta_j^2 + \tfrac14\sum_j\theta_j^4` started far out, full-rate
momentum is thrown away while a linear rise :math:`\eta_t = \eta_0 (t+1)/(k+1)` lets the gradient shrink first.
For Adam the first moments rest on few gradients: raw second moments are too small by :math:`1 - \beta_2^t`, corrected
ones are unbiased but noisy, and under noise the first steps scatter most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.optimize import descend, follow
from margin.optimize.rules import Adam, Momentum
from margin.optimize.schedules import constant, cosine, warm_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS, RISE = 200, 40
RATES = np.geomspace(0.002, 0.2, 13)


def steep_start(theta: np.ndarray) -> float:
    return float(np.sum(theta**2) / 2 + np.sum(theta**4) / 4)


def steep_start_gradient(theta: np.ndarray) -> np.ndarray:
    return theta + theta**3


def run(seed: int, fast: bool) -> dict[str, Any]:
    runs = 2000 if fast else 20_000
    start = np.array([3.0, 2.0])
    shapes = {"full rate": lambda r: constant(r), "cosine": lambda r: cosine(r, steps=STEPS)}
    shapes["warm-up + cosine"] = lambda r: warm_up(cosine(r, steps=STEPS - RISE), steps=RISE)
    ends = {
        name: np.array(
            [
                follow(
                    descend(
                        steep_start,
                        steep_start_gradient,
                        start,
                        Momentum(0.9),
                        learning_rate=shape(rate),
                        max_iter=STEPS,
                        tol=1e-12,
                    )
                ).value
                for rate in RATES
            ]
        )
        for name, shape in shapes.items()
    }
    return {"ends": ends, "start": steep_start(start)} | early_moments(np.random.default_rng(seed), runs)


def early_moments(rng: np.random.Generator, runs: int) -> dict[str, Any]:
    """Adam's moments over many runs with gradients of mean 0.2 and variance 1."""
    rule, x = Adam(), np.zeros(runs)
    state = rule.start(x)
    raw, fixed, scatter = [], [], []
    for _ in range(60):
        state, step = rule.update(state, rng.normal(0.2, 1.0, runs), x, 1.0)
        raw.append(float(state.second.mean()))
        fixed.append(float(state.corrected(rule.beta_1, rule.beta_2)[1].mean()))
        scatter.append(float(step.std()))
    return {"raw": np.array(raw), "fixed": np.array(fixed), "scatter": np.array(scatter), "second": 1.04}


def largest_rate(ends: np.ndarray) -> float:
    """The largest rate below which every run reached 1e-3."""
    fails = np.flatnonzero(~(ends < 1e-3))
    return (
        float(RATES[fails[fails >= int(np.argmin(ends))][0] - 1]) if np.any(fails > int(np.argmin(ends))) else RATES[-1]
    )


def check(data: dict[str, Any]) -> Verdict:
    usable = {name: largest_rate(ends) for name, ends in data["ends"].items()}
    return every(
        larger_rates_become_usable=above(usable["warm-up + cosine"] / usable["cosine"], 1.9),
        corrected_moment=near(data["fixed"], np.full(60, data["second"]), tolerance=0.15),
        raw_moment=below(float(data["raw"][9]), 0.02),
        first_steps_scatter_most=above(data["scatter"][0] / data["scatter"][-1], 2.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5.4)
    left, middle, right = figure.subplots(1, 3)
    for name, ends in data["ends"].items():
        left.loglog(RATES, np.clip(ends, 1e-14, 1e6), "o-", ms=4, label=name)
    left.axhline(data["start"], color="gray", ls=":", label="loss at the start")
    left.set(title="momentum from a steep start", xlabel=r"peak rate $\eta_0$", ylabel=f"loss after {STEPS} steps")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    t = np.arange(1, 61)
    middle.plot(t, data["raw"], label="raw second moment")
    middle.plot(t, data["fixed"], label=r"divided by $1 - \beta_2^t$")
    middle.axhline(data["second"], color="gray", ls=":", label="true value")
    middle.set(title="Adam: bias correction", xlabel="step t", ylabel=r"mean of $v_t$")
    middle.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    right.plot(t, data["scatter"], color="C3")
    right.set(
        title="Adam: scatter of the step over runs", xlabel="step t", ylabel="standard deviation / rate", ylim=(0, None)
    )
