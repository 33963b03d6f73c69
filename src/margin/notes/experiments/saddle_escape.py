r"""Leaving saddles and shallow wells: a logarithm without noise, hardly any wait with it.

On :math:`x^2 - y^2` descent multiplies the distance from the saddle by :math:`1 + 2\eta` per step, so leaving the
unit ball from distance delta takes :math:`\log(1/\delta)/\log(1 + 2\eta)` steps. With gradient noise the count is
nearly independent of delta.
In a two-well sum of losses the noise of single examples also crosses the barrier that holds full-batch descent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.optimize.landscapes import quadratic
from margin.optimize.rules import Descent
from margin.optimize.schedules import cosine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE, NOISE = 0.1, 1e-3
DELTAS = 10.0 ** -np.arange(2, 17, 2)
TILTS = np.array([-6.0, -3.0, 3.0, 6.0])  # slopes of four examples that cancel in the mean


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    seeds = 50 if fast else 400
    plain = [steps_to_leave(delta, 0.0, rng) for delta in DELTAS]
    noisy = [float(np.mean([steps_to_leave(delta, NOISE, rng) for _ in range(seeds // 5)])) for delta in DELTAS]
    paths = {name: wells(rng, 200, batch, 80) for name, batch in (("one example", 1), ("full batch", 4))}
    return {"plain": np.array(plain), "noisy": np.array(noisy), "paths": paths}


def steps_to_leave(delta: float, noise: float, rng: np.random.Generator) -> int:
    _, grad, _ = quadratic(np.diag([2.0, -2.0]))
    rule, x = Descent(), np.array([0.0, delta])
    for t in range(1, 1000):
        x = x + rule.update(rule.start(x), grad(x) + noise * rng.standard_normal(2), x, RATE)[1]
        if np.linalg.norm(x) >= 1:
            return t
    return 1000


def wells(rng: np.random.Generator, runs: int, batch: int, steps: int) -> np.ndarray:
    """(steps + 1, runs) iterates from the shallow well of (x^2 - 1)^2 + 0.3 x; the rate falls, examples are per run."""
    rule, x, rate = Descent(), np.full(runs, 0.96), cosine(0.12, steps=steps)
    path = [x]
    while len(path) <= steps:
        order = rng.permuted(np.tile(np.arange(4), (runs, 1)), axis=1)  # an epoch, anew for every run
        for rows in np.split(order, 4 // batch, axis=1):
            gradient = 4 * x * (x**2 - 1) + 0.3 + TILTS[rows].mean(axis=1)
            x = x + rule.update(rule.start(x), gradient, x, rate(len(path) - 1))[1]
            path.append(x)
    return np.array(path)


def check(data: dict[str, Any]) -> Verdict:
    slope = np.diff(data["plain"]) / np.diff(np.log(1 / DELTAS))
    left = {name: float(np.mean(path[-1] < 0)) for name, path in data["paths"].items()}
    return every(
        counts=equal(data["plain"][[0, 1, 3, 7]].tolist(), [26, 51, 102, 203]),
        logarithm=near(slope, np.full(len(slope), 1 / np.log(1 + 2 * RATE)), tolerance=0.2),
        noise_forgets_delta=below(float(np.ptp(data["noisy"][2:])), 10.0),
        noise_is_faster=below(data["noisy"][-1] / data["plain"][-1], 0.3),
        descent_stays=equal(left["full batch"], 0.0),
        noise_crosses=above(left["one example"], 0.25),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12.5, 4.8)
    left, right = figure.subplots(1, 2)
    left.semilogx(1 / DELTAS, data["plain"], "o-", label="gradient descent")
    left.semilogx(1 / DELTAS, data["noisy"], "s-", label=f"with noise {NOISE:g}")
    left.semilogx(1 / DELTAS, np.log(1 / DELTAS) / np.log(1 + 2 * RATE), "k:", label=r"$\log(1/\delta)/\log(1+2\eta)$")
    left.set(title=r"steps to leave the saddle of $x^2 - y^2$", xlabel=r"$1/\delta$", ylabel="steps")
    left.legend()
    stochastic = data["paths"]["one example"]
    right.plot(stochastic[:, :60], color="C1", lw=0.6, alpha=0.5)
    right.plot(data["paths"]["full batch"][:, 0], color="black", lw=2, label="full batch")
    right.plot([], [], color="C1", label="one example at a time (60 runs)")
    share = float(np.mean(stochastic[-1] < 0))
    right.axhline(0.08, color="gray", ls=":", lw=1)
    right.set(title=f"two wells: {share:.0%} of noisy runs cross to the deeper one", xlabel="update", ylabel="x")
    right.legend(loc="upper right")
