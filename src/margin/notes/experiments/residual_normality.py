r"""When errors are normal, and when they are not

A residual that adds up many independent contributions of finite variance and comparable size is nearly normal.
That is a condition, not a law of nature: the sum of 50 Cauchy contributions is as wild as one of them, and one
dominant contribution keeps its own shape however many small ones join it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, every
from margin.foundations.statistics import (
    correlation,
    jarque_bera,
    least_squares,
    normal_quantile_points,
    residuals,
    with_intercept,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = 50


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 800 if fast else 4000
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=n)
    small = rng.uniform(-1, 1, size=(n, PARTS))
    errors = {
        "50 uniform parts": small.sum(axis=1),
        "50 Cauchy parts": rng.standard_cauchy(size=(n, PARTS)).sum(axis=1),
        "49 small parts, one dominant": small[:, 1:].sum(axis=1) + 60 * small[:, 0],
    }
    cases = {}
    for name, error in errors.items():
        design, y = with_intercept(x), 1 + 2 * x + error
        e = residuals(least_squares(design, y).predict, design, y)
        theory, observed = normal_quantile_points(e)
        cases[name] = {"theory": theory, "observed": observed, "p": jarque_bera(e).p_value}
    return {"cases": cases}


def check(data: dict[str, Any]) -> Verdict:
    uniform, cauchy, dominant = (data["cases"][name] for name in data["cases"])
    straight = correlation(uniform["theory"], uniform["observed"])
    truth = every(
        comparable_finite_variance_passes=above(uniform["p"], 0.01),
        straight_quantiles=above(straight, 0.995),
        cauchy_fails=below(cauchy["p"], 1e-6),
        dominant_part_fails=below(dominant["p"], 1e-3),
    )
    # "A sum of many small independent errors is normal", without conditions.
    return corrected(truth, printed=above(cauchy["p"], 0.01))


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(1, len(data["cases"]), squeeze=False)[0]
    for axes, (name, case) in zip(panels, data["cases"].items()):
        axes.plot(case["theory"], case["observed"], ".", markersize=4)
        axes.axline((0, 0), slope=1, color="0.4", linewidth=1, label="normal")
        axes.set(xlabel="normal quantile", title=f"{name}\np = {case['p']:.2g}")
        axes.legend(loc="upper left")
    panels[0].set_ylabel("standardized residual")
