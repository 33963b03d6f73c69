r"""Running means settle at the expectation, if there is one

.. math:: \bar X_n = \frac1n\sum_{i\le n} X_i \to E[X] \quad\text{if } E|X| < \infty

Averages of die rolls settle at 3.5 and of exponential waiting times at 1. A Cauchy variable has no expectation: its
running mean is thrown off again and again, and at every n has the same Cauchy law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near, within
from margin.foundations.probability import Cauchy, DiscreteUniform, Exponential, running_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIE, WAITING, CAUCHY = DiscreteUniform(1, 6), Exponential(1), Cauchy(0, 1)
PATHS, FIRST = 800, 100  # so many that a spread is known to a tenth, also of a Cauchy variable


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 2_500 if fast else 20_000
    rng = np.random.default_rng(seed)
    means = {
        name: running_mean(law.sample(PATHS * n, rng).reshape(PATHS, n))
        for name, law in (("die", DIE), ("waiting", WAITING), ("cauchy", CAUCHY))
    }
    places = np.unique(np.geomspace(1, n, 400).astype(int)) - 1
    spread = {
        name: [float(np.subtract(*np.quantile(path[:, i], [0.75, 0.25]))) for i in (FIRST - 1, n - 1)]
        for name, path in means.items()
    }
    return {"n": n, "places": places + 1, "spread": spread, **{name: path[:5, places] for name, path in means.items()}}


def check(data: dict[str, Any]) -> Verdict:
    shrink = np.sqrt(FIRST / data["n"])
    ratio = {name: after / before for name, (before, after) in data["spread"].items()}
    return every(
        die=near(float(data["die"][0, -1]), 3.5, tolerance=5 * DIE.variance**0.5 / np.sqrt(data["n"])),
        die_spread=within(ratio["die"] / shrink, 0.6, 1.6),
        waiting_spread=within(ratio["waiting"] / shrink, 0.6, 1.6),
        cauchy_spread_does_not_shrink=within(ratio["cauchy"], 0.6, 1.6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(1, 3)
    titles = {"die": "Die rolls", "waiting": "Exponential", "cauchy": "Cauchy: no expectation"}
    expected = {"die": DIE.mean, "waiting": WAITING.mean, "cauchy": None}
    for axes, (name, title) in zip(panels, titles.items()):
        axes.plot(data["places"], data[name].T, linewidth=1, alpha=0.8)
        if expected[name] is not None:
            axes.axhline(expected[name], color="black", linestyle="--", label=f"expectation {expected[name]:g}")
            axes.legend()
        axes.set(xscale="log", xlabel="number of trials", title=title)
    panels[0].set_ylabel("running mean")
    panels[2].set_yscale("symlog", linthresh=1)
