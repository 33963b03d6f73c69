r"""What 95 percent means

Of the intervals :math:`\bar x \pm c\, s/\sqrt n` built from repeated samples, 95 percent cover the true mean: a
property of the procedure. It is not the probability that the interval in hand covers: among the intervals that
come out short, far fewer do, and one can see that an interval is short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, corrected, every, near
from margin.foundations.statistics import confidence_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEAN, SD, N, LEVEL = 10.0, 2.0, 5, 0.95
SHOWN = 60


def run(seed: int, fast: bool) -> dict[str, Any]:
    repetitions = 8000 if fast else 40_000
    samples = np.random.default_rng(seed).normal(MEAN, SD, size=(repetitions, N))
    ends = {
        method: np.array([confidence_interval(sample, LEVEL, method) for sample in samples])
        for method in ("t", "normal")
    }
    covers = {method: (e[:, 0] <= MEAN) & (e[:, 1] >= MEAN) for method, e in ends.items()}
    width = ends["t"][:, 1] - ends["t"][:, 0]
    tenth = np.argsort(np.argsort(width)) * 10 // repetitions  # 0 for the shortest tenth
    return {
        "coverage": {method: float(c.mean()) for method, c in covers.items()},
        "by_width": np.array([covers["t"][tenth == k].mean() for k in range(10)]),
        "ends": ends["t"][:SHOWN],
        "covers": covers["t"][:SHOWN],
    }


def check(data: dict[str, Any]) -> Verdict:
    truth = every(
        t_intervals=near(data["coverage"]["t"], LEVEL, tolerance=0.008),
        normal_intervals_are_too_narrow=below(data["coverage"]["normal"], 0.90),
        average_over_widths=near(data["by_width"].mean(), data["coverage"]["t"], tolerance=1e-9),
    )
    # "You can be 95 percent certain" of the short interval you see.
    return corrected(truth, printed=near(data["by_width"][0], LEVEL, tolerance=0.05))


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for row, ((low, high), covered) in enumerate(zip(data["ends"], data["covers"])):
        left.plot([low, high], [row, row], color="C0" if covered else "C3", linewidth=1.6)
    left.axvline(MEAN, color="0.2", linewidth=1)
    missed = int((~data["covers"]).sum())
    left.set(xlabel="value", ylabel="sample", title=f"{len(data['covers'])} intervals, {missed} miss the mean (red)")
    right.bar(np.arange(1, 11), data["by_width"], color="C0")
    right.axhline(LEVEL, color="0.2", linestyle="--", label="95 percent over all")
    right.set(xlabel="interval width, shortest to longest tenth", ylabel="fraction that covers", ylim=(0.5, 1.01))
    right.set_title("Short intervals cover less")
    right.legend(loc="lower right")
