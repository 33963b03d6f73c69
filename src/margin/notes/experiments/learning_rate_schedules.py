r"""Learning-rate schedules: large steps to explore, small ones to settle.

Stochastic descent with a constant rate :math:`\eta` hovers at a distance of order :math:`\sqrt\eta` from the minimum;
a schedule that falls ends closer. Left the rates, in the middle the loss, right a sweep of constant rates on a
quadratic with largest curvature L, which fails above :math:`2/L`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.optimize import rate_range_test, sgd
from margin.optimize.landscapes import quadratic
from margin.optimize.problems import least_squares
from margin.optimize.schedules import (
    Schedule,
    constant,
    cosine,
    exponential,
    inverse_time,
    one_cycle,
    step_decay,
    warm_up,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N, RATE, CURVATURE = 100, 0.08, 10.0


def schedules(steps: int) -> dict[str, Schedule]:
    return {
        "constant": constant(RATE),
        "step": step_decay(RATE, every=steps // 4, factor=0.3),
        "exponential": exponential(RATE, factor=0.01 ** (1 / steps)),
        "inverse time": inverse_time(RATE, half_life=steps / 12),
        "cosine": cosine(RATE, steps=steps),
        "warm-up + cosine": warm_up(cosine(RATE, steps=steps - steps // 10), steps=steps // 10),
        "one cycle": one_cycle(RATE, steps=steps),
    }


def run(seed: int, fast: bool) -> dict[str, Any]:
    epochs, seeds = (4, 3) if fast else (8, 8)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.standard_normal(N)
    problem, best = least_squares(X, y), np.linalg.lstsq(X, y)[0]
    steps = epochs * N
    losses = {}
    for name, schedule in schedules(steps).items():
        paths = [
            np.array([step.x for step in sgd(problem, np.zeros(3), rng=r, learning_rate=schedule, epochs=epochs)])
            for r in np.random.default_rng(seed).spawn(seeds)
        ]
        fits = np.array(paths) @ X.T - y  # (seeds, steps + 1, n)
        losses[name] = np.mean(fits**2, axis=(0, 2)) - float(np.mean((X @ best - y) ** 2))
    f, grad, _ = quadratic(np.diag([1.0, CURVATURE]))
    sweep = rate_range_test(f, grad, [1.0, 1.0], np.geomspace(1e-3, 1.0, 61), steps=50)
    return {
        "rates": {name: np.array([s(t) for t in range(steps)]) for name, s in schedules(steps).items()},
        "losses": losses,
        "sweep": {"rates": sweep.rates, "losses": sweep.losses, "limit": sweep.limit, "best": sweep.best},
    }


def check(data: dict[str, Any]) -> Verdict:
    end = {name: float(np.mean(loss[-20:])) for name, loss in data["losses"].items()}
    decaying = [loss for name, loss in end.items() if name != "constant"]
    return every(
        every_decay_helps=above(end["constant"] / max(decaying), 1.5),
        cosine_reaches_zero=below(float(data["rates"]["cosine"][-1]), 1e-4),
        limit_is_two_over_curvature=near(data["sweep"]["limit"], 2 / CURVATURE, tolerance=0.03),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5.4)
    left, middle, right = figure.subplots(1, 3)
    for k, (name, rates) in enumerate(data["rates"].items()):
        style = ("-", "--")[k // 5 % 2]
        left.plot(rates, style, label=name)
        middle.semilogy(_smooth(data["losses"][name]), style)
    left.set(title="Rates", xlabel="update", ylabel=r"$\eta_t$")
    middle.set(title="Mean excess loss of stochastic descent", xlabel="update", ylabel=r"$R(\theta_t) - \min R$")
    sweep = data["sweep"]
    right.loglog(sweep["rates"], np.clip(sweep["losses"], 1e-12, 1e3), "o-", ms=3, color="C4")
    right.axvline(2 / CURVATURE, color="C3", ls="--", label="2/L")
    right.set(title="Range test: loss after 50 steps, cut at 1000", xlabel="constant rate", ylabel="loss")
    right.legend()
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)


def _smooth(values: np.ndarray, width: int = 15) -> np.ndarray:
    return np.convolve(np.maximum(values, 1e-12), np.ones(width) / width, mode="valid")
