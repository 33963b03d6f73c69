r"""Histogram of weather states: counts, and probabilities in parentheses.

Frequencies :math:`N_v / n` are the simplest generative model: they have a mode, give every event a probability, and can
be sampled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.neighbors.density.histogram import CategoryHistogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATES = ["sun", "clouds", "rain", "snow"]
LAW = np.array([0.4, 0.3, 0.2, 0.1])


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    days = [STATES[i] for i in rng.choice(4, size=300 if fast else 3000, p=LAW)]
    model = CategoryHistogram.fit(days)
    again = CategoryHistogram.fit(model.sample(20_000, seed))
    return {"days": days, "model": model, "again": dict(zip(again.values, again.probabilities))}


def check(data: dict[str, Any]) -> Verdict:
    model = data["model"]
    labels = [f"{n} ({n / len(data['days']):.2f})" for n in model.counts]
    return every(
        total=near(model.probabilities.sum(), 1.0, tolerance=1e-12),
        labels=equal(model.labels(), labels),
        counts=equal(int(model.counts.sum()), len(data["days"])),
        sampled=near([data["again"][v] for v in model.values], model.probabilities, tolerance=0.02),
        law=near([model.prob(lambda s, v=v: s == v) for v in STATES], LAW, tolerance=0.1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    model = data["model"]
    bars = ax.bar([str(v) for v in model.values], model.counts)
    ax.bar_label(bars, model.labels())
    ax.set(ylabel="days", title=f"{len(data['days'])} days; most often: {model.mode}")
