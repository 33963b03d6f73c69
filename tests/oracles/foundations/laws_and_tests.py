"""Laws on integers, their supports, decisions of tests and fields on a grid, against SciPy and sums."""

from __future__ import annotations

import numpy as np
from scipy import stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.probability import Binomial, NegativeBinomial, Poisson, Support
from margin.foundations.statistics import (
    HypothesisTest,
    RBFCovariance,
    blood_pressure,
    field_from_kernel,
    field_from_spectrum,
)

PATH = "margin.foundations"


@oracle(f"{PATH}.probability.Discrete.pmf", f"{PATH}.probability.Support")
def probabilities_of_integers(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    rate, p, k = rng.uniform(1.5, 4.0), rng.uniform(0.2, 0.4), np.arange(-1, 9)
    asked = [-2.0, 0.0, 1.5, 3.0, 7.0, 8.0, np.inf, np.nan]
    return every(
        poisson=near(Poisson(rate).pmf(k), stats.poisson(rate).pmf(k), tolerance=1e-12),
        binomial=near(Binomial(7, p).pmf(k), stats.binom(7, p).pmf(k), tolerance=1e-12),
        negative=near(NegativeBinomial(3, p).pmf(k), stats.nbinom(3, p).pmf(k), tolerance=1e-12),
        support=equal(Binomial(7, p).support.contains(asked).tolist(), [x in range(8) for x in asked]),
        half_line=equal(Support(1.5, np.inf).contains(asked).tolist(), [1.5 <= x < np.inf for x in asked]),
        points=equal(Support(-2, 3, points=(-2.0, 3.0)).contains(asked).tolist(), [x in (-2.0, 3.0) for x in asked]),
    )


@oracle(f"{PATH}.statistics.HypothesisTest", f"{PATH}.statistics.blood_pressure")
def decisions_at_levels(seed: int) -> Verdict:
    """A decision is a comparison of p with the level; the printed readings fall by their own differences."""
    rng = np.random.default_rng(seed)
    levels, p = (0.01, 0.05, 0.2), float(rng.uniform(0.011, 0.049))
    test = HypothesisTest("both means are equal", 2.1, 8, p, "two-sided")
    trial = blood_pressure()
    falls = [b - a for b, a in zip(trial.values["A before"], trial.values["A after"])]
    peer = stats.ttest_rel(trial.values["A before"], trial.values["A after"]).statistic
    by_hand = np.mean(falls) / (np.sqrt(sum((x - np.mean(falls)) ** 2 for x in falls) / 8) / 3)
    return every(
        decisions=equal([test.reject(level) for level in levels], [False, True, True]),
        at_the_level=equal(HypothesisTest("equal", 2.1, 8, 0.05).reject(0.05), False),
        words=equal(["reject that both" in test.sentence(level) for level in levels], [False, True, True]),
        readings=near(peer, by_hand, tolerance=1e-9),
        sums=equal([sum(trial.values[name]) for name in sorted(trial.values)], [1252, 1365, 1336, 1351]),
        quoted=equal([(s.mean, s.n) for s in trial.summaries.values()],
                     [(153.6, 20), (143.25, 20), (150.45, 20), (149.55, 20)]),
    )  # fmt: skip


@oracle(f"{PATH}.statistics.field_from_kernel", f"{PATH}.statistics.field_from_spectrum")
def covariances_on_a_grid(seed: int) -> Verdict:
    """Averages over many fields against the kernel of every pair of points, and over frequencies by a loop."""
    rng = np.random.default_rng(seed)
    kernel, n = RBFCovariance(1.3), 6_000
    fields = field_from_kernel((3, 4), kernel, rng, n, spacing=0.7).reshape(n, -1)
    places = np.array([(i, j) for i in range(3) for j in range(4)]) * 0.7
    squared = ((places[:, None] - places) ** 2).sum(axis=2)
    waves = field_from_spectrum((6, 5), lambda f: f**-1.5, rng, n)
    power = np.array([[0.0 if (i, j) == (0, 0) else np.hypot(_cycles(i, 6), _cycles(j, 5)) ** -1.5
                       for j in range(5)] for i in range(6)])  # fmt: skip
    found = np.mean(np.abs(np.fft.fft2(waves)) ** 2, axis=0) / 30
    return every(
        covariance=near(fields.T @ fields / n, np.exp(-squared / (2 * 1.3**2)), tolerance=0.1),
        power=near(found, 30 * power / power.sum(), tolerance=0.06 * found.max()),
        variance=near(float(waves.var()), 1.0, tolerance=0.05),
    )


def _cycles(k: int, n: int) -> float:
    return min(k, n - k) / n
