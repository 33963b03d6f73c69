r"""Regression towards the mean

For standardized X and Y with correlation :math:`\rho`, :math:`E[Y \mid X] = \rho X`. Sons of tall fathers are
taller than average, yet nearer to it than their fathers: with Galton's slope of 2/3 they keep two thirds of the
deviation. Centering alone is not enough: with :math:`Y = 3X + Z` the slope is 3 although :math:`\rho < 1`. A
response of two values regresses as well: of two trials with one unknown chance of success, those who succeed at first
succeed again less often than always, with :math:`E[Y \mid X] - \bar p = \rho (X - \bar p)` exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, corrected, every, near, within
from margin.foundations.statistics import correlated_pairs, correlation, galton_heights, regression_slope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RHOS = (-1.0, -0.9, -0.5, 0.0, 0.3, 2 / 3, 0.95, 1.0)
THRESHOLD = 2.0  # standard deviations
CHANCE = (2.0, 3.0)  # the beta law of the chance of success: mean 2/5, and the trials have correlation 1/6


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 100_000 if fast else 1_000_000
    rng = np.random.default_rng(seed)
    kept, slopes = [], []
    for rho in RHOS:
        x, y = correlated_pairs(n, rho, rng)
        extreme = x > THRESHOLD
        kept.append(y[extreme].mean() / x[extreme].mean())
        slopes.append(regression_slope(x, y))
    father, son = galton_heights(n, rng)
    wide = rng.normal(0, 2, size=n)
    steep = 3 * wide + rng.normal(size=n)
    return {
        "kept": np.array(kept),
        "slopes": np.array(slopes),
        "father": father[:3000],
        "son": son[:3000],
        "galton_slope": regression_slope(father, son),
        "tall_fathers": father[father > father.mean() + THRESHOLD * father.std()].mean() - father.mean(),
        "their_sons": son[father > father.mean() + THRESHOLD * father.std()].mean() - son.mean(),
        "centered_slope": regression_slope(wide, steep),
        "centered_rho": correlation(wide, steep),
        "bent": _conditional_mean(rng.normal(size=n), rng),
        "trials": _kept_in_a_second_trial(n, rng),
    }


def _kept_in_a_second_trial(n: int, rng: np.random.Generator) -> list[float]:
    """Deviation of the second trial's mean as a fraction of that of the first: after a success and after a failure."""
    chance = rng.beta(*CHANCE, size=n)
    first, second = (rng.random(n) < chance for _ in range(2))
    mean = CHANCE[0] / sum(CHANCE)
    return [float((second[first == outcome].mean() - mean) / (outcome - mean)) for outcome in (True, False)]


def _conditional_mean(x: np.ndarray, rng: np.random.Generator) -> float:
    """The mean of Y = X + e where X is near 2, for noise e of mean 0 that depends on X: e = X^2 - 1 + Z."""
    y = x + x**2 - 1 + rng.normal(size=x.size)
    return float(y[np.abs(x - THRESHOLD) < 0.2].mean())


def check(data: dict[str, Any]) -> Verdict:
    truth = every(
        deviation_kept=near(data["kept"], RHOS, tolerance=0.05),
        slope_is_rho=near(data["slopes"], RHOS, tolerance=0.015),
        galton=near(data["galton_slope"], 2 / 3, tolerance=0.01),
        sons_of_tall_fathers_are_tall_but_less=within(data["their_sons"] / data["tall_fathers"], 0.6, 0.73),
        binary=near(data["trials"], [1 / 6, 1 / 6], tolerance=0.03),
        no_regression_at_one=near(data["kept"][-1], 1.0, tolerance=1e-12),
    )
    return corrected(
        truth,
        centering_is_enough=near(data["centered_slope"], data["centered_rho"], tolerance=0.05),
        deviations_shrink_at_minus_one=below(abs(data["kept"][0]), 0.99),
        tall_fathers_have_short_sons=below(data["their_sons"], 0.0),
        binary_responses_do_not_regress=near(data["trials"], [1.0, 1.0], tolerance=0.5),
        noise_of_mean_zero_is_enough=near(data["bent"], THRESHOLD, tolerance=0.5),  # E[Y | X = 2] is 5
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    father, son = data["father"], data["son"]
    mean = father.mean()
    ends = np.array([father.min(), father.max()])
    left.plot(father, son, ".", markersize=2, alpha=0.4)
    left.plot(ends, ends, color="0.5", linestyle="--", label="as tall as the father")
    slope = data["galton_slope"]
    left.plot(ends, son.mean() + slope * (ends - mean), color="C3", label=f"expected son, slope {slope:.3f}")
    left.set(xlabel="father (cm)", ylabel="son (cm)", title="Sons regress towards the mean")
    left.legend(loc="upper left")
    right.plot(RHOS, data["kept"], "o", label=f"kept beyond {THRESHOLD:g} standard deviations")
    right.plot([-1, 1], [-1, 1], color="C3", label=r"$E[Y \mid X] = \rho X$")
    right.set(xlabel=r"correlation $\rho$", ylabel="mean of Y over mean of X", title="What is kept of an extreme")
    right.legend(loc="upper left")
