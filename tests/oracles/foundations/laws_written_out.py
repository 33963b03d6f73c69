"""Laws, tables and eigenvectors against SciPy, quadrature and matrices whose parts are known."""

from __future__ import annotations

import numpy as np
from scipy import integrate, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.information import poisson_pmf
from margin.foundations.linalg import diagonalize
from margin.foundations.probability import Mixture, Normal, sample_inverse_cdf
from margin.foundations.statistics import blood_pressure_t_test, observation_weights, t_table
from margin.foundations.statistics.covariance_functions import RBFCovariance
from margin.foundations.statistics.p_values import t_quantile

PATH = "margin.foundations"
QUOTED = (143.25, 4.37, 20, 149.55, 3.10, 20)  # after treatment: drug, placebo


@oracle(f"{PATH}.information.poisson_pmf")
def counts_by_scipy(seed: int) -> Verdict:
    k, rate = np.arange(0, 9), float(np.random.default_rng(seed).uniform(0.4, 3.0))
    law = stats.poisson(rate)
    above = np.where(k >= 1, law.pmf(k) / law.sf(0), 0.0)
    return every(
        all_counts=near(poisson_pmf(k, rate), law.pmf(k), tolerance=1e-13),
        from_one_on=near(poisson_pmf(k, rate, truncated=True), above, tolerance=1e-13),
    )


@oracle(f"{PATH}.linalg.diagonalize")
def eigenvalues_that_are_known(seed: int) -> Verdict:
    basis = np.random.default_rng(seed).normal(size=(4, 4)) + 2 * np.eye(4)
    values = np.array([-1.5, 0.3, 1.0, 4.0])
    A = basis @ np.diag(values) @ np.linalg.inv(basis)
    P, D = diagonalize(A)
    return every(
        values=near(np.sort(np.diag(D).real), values, tolerance=1e-8),
        diagonal=near(D - np.diag(np.diag(D)), np.zeros((4, 4)), tolerance=0.0),
        columns=near(A @ P, P @ D, tolerance=1e-8),
        back=near(np.linalg.solve(P, A @ P), D, tolerance=1e-6),
    )


@oracle(f"{PATH}.probability.Mixture.add_noise", f"{PATH}.probability.sample_inverse_cdf")
def noise_and_quantiles(seed: int) -> Verdict:
    """The law of a sum by quadrature; draws by the same uniform numbers."""
    weights, laws, sigma = [0.3, 0.7], [(-2.0, 0.6), (1.0, 1.7)], 0.8
    noised = Mixture(weights, [Normal(*law) for law in laws]).add_noise(sigma)

    def density(x: float) -> float:
        return sum(w * stats.norm(*law).pdf(x) for w, law in zip(weights, laws))

    at = np.random.default_rng(seed).normal(size=3)
    expected = [integrate.quad(lambda e, x=x: density(x - e) * stats.norm(0, sigma).pdf(e), -8, 8)[0] for x in at]
    law = stats.gamma(2.3, scale=0.7)
    drawn = sample_inverse_cdf(law.ppf, 6, np.random.default_rng(seed))
    return every(
        density=near(noised.pdf(at), expected, tolerance=1e-7),
        uniforms=near(law.cdf(drawn), np.random.default_rng(seed).random(6), tolerance=1e-10),
    )


@oracle(*(f"{PATH}.statistics.{name}" for name in ("blood_pressure_t_test", "t_table", "t_quantile")))
def tests_by_scipy(seed: int) -> Verdict:
    """The quoted means, deviations and sizes of drug and placebo, typed in again."""
    dfs, p = [3 + seed % 4, 17.5], [0.9, 0.975]
    lines = t_table(dfs, p).splitlines()
    printed = [[float(number) for number in line.split()] for line in lines[1:]]
    found = {}
    for equal_var in (True, False):
        ours, theirs = blood_pressure_t_test(equal_var), stats.ttest_ind_from_stats(*QUOTED, equal_var=equal_var)
        found[f"statistic_{equal_var}"] = near(ours.statistic, theirs.statistic, tolerance=1e-10)
        found[f"p_value_{equal_var}"] = near(ours.p_value, theirs.pvalue, tolerance=1e-12)
    return every(
        **found,
        table=near(np.array(printed)[:, 1:], stats.t.ppf([p] * 2, np.array(dfs)[:, None]), tolerance=6e-4),
        degrees=near(np.array(printed)[:, 0], dfs, tolerance=1e-12),
        quantile=near([t_quantile(df, 0.31) for df in dfs], stats.t.ppf(0.31, dfs), tolerance=1e-9),
    )


@oracle(f"{PATH}.statistics.observation_weights")
def weights_by_an_inverse(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    at, x = rng.normal(size=(5, 2)), rng.normal(size=(3, 2))

    def k(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / (2 * 0.8**2))

    expected = k(x, at) @ np.linalg.inv(k(at, at) + 0.25 * np.eye(5))
    return every(
        weights=near(observation_weights(RBFCovariance(0.8), x, at, noise=0.25), expected, tolerance=1e-9),
        one_row_per_point=equal(observation_weights(RBFCovariance(0.8), x, at, noise=0.25).shape, (3, 5)),
    )
