"""Posteriors by chains and by bounds."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import numpy as np
from scipy.special import logsumexp

from margin.core.verdict import Verdict, above, below, corrected, every, near, within
from margin.graphical.mcmc import metropolis
from margin.graphical.mean_field import mixture_coordinate_ascent, normal_mean_field
from margin.graphical.normal_families import FAMILIES
from margin.graphical.variational import fit_variational
from margin.mixture import GaussianMixture
from margin.mixture.bound import elbo, evidence, posterior
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS
from margin.notes.experiments import variational_against_mcmc

COVARIANCE = np.array([[2.0, 1.2], [1.2, 1.0]])
PRECISION = np.linalg.inv(COVARIANCE)
MEAN = np.array([1.0, -2.0])
FRESH = 20_000  # draws by which a bound is measured


def _log_normal(z: np.ndarray) -> Any:
    centered = z - MEAN
    return -0.5 * ((centered @ PRECISION) * centered).sum(axis=-1) - 0.5 * np.log(
        (2 * np.pi) ** 2 * np.linalg.det(COVARIANCE)
    )


def _slope(z: np.ndarray) -> np.ndarray:
    return -(z - MEAN) @ PRECISION


def _bumps(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-density and gradient of two normal bumps on the diagonal."""
    centers = np.array([[-0.7, -0.7], [0.7, 0.7]])
    gaps = centers[:, None] - z
    logs = -0.5 * (gaps**2).sum(axis=2) / 0.4 - np.log(2 * np.pi * 0.4) - np.log(2)
    total = logsumexp(logs, axis=0)
    return total, np.einsum("kn,knd->nd", np.exp(logs - total), gaps) / 0.4


@claim("mcmc")
def metropolis_finds_a_conjugate_posterior(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.normal(1.5, 1.0, size=20)
    variance = 1 / (1 + len(x))
    mean = variance * x.sum()  # prior N(0, 1), unit noise
    chain = metropolis(lambda z: -0.5 * float(z[0] ** 2) - 0.5 * float(((x - z[0]) ** 2).sum()), [0.0], 12_000, seed)
    draws = chain.draws[:, 0]
    error = float(chain.standard_errors()[0])
    squares = (draws - mean) ** 2
    return every(
        mean=near(draws.mean(), mean, tolerance=4 * error),
        variance=near(squares.mean(), variance, tolerance=4 * error * 2 * np.sqrt(variance)),
        acceptance=within(chain.acceptance, 0.25, 0.65),
        effective_size=within((draws.std() / error) ** 2, 500, 12_000),
    )


@claim("variational-inference")
def bounds_are_maximized(seed: int) -> Verdict:
    full = fit_variational(_log_normal, _slope, 2, "full", random_state=seed)
    factorized = fit_variational(_log_normal, _slope, 2, "mean-field", random_state=seed)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=12) + np.where(np.arange(12) < 6, -2.0, 2.0)
    bounds = [step.elbo for step in islice(mixture_coordinate_ascent(x, 2, 3.0, seed), 40)]
    return every(
        exact_mean=near(full.q.mean, MEAN, tolerance=1e-3),
        exact_covariance=near(full.q.covariance, COVARIANCE, tolerance=5e-3),
        tight=near(full.elbo, 0.0, tolerance=1e-4),
        factorized_is_too_narrow=near(np.diag(factorized.q.covariance), normal_mean_field(PRECISION), tolerance=5e-3),
        by_much=below(float(np.max(normal_mean_field(PRECISION) / np.diag(COVARIANCE))), 0.5),
        coordinate_ascent_climbs=above(float(np.diff(bounds).min()), -1e-9),
        below_the_evidence=above(_evidence_of_two_means(x, 3.0) - bounds[-1], 1e-3),
    )


def _evidence_of_two_means(x: np.ndarray, deviation: float) -> float:
    """By a grid over both means."""
    grid = np.linspace(-12, 12, 401)
    logs = -0.5 * (x[:, None] - grid) ** 2 - 0.5 * np.log(2 * np.pi)
    prior = -0.5 * (grid / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)
    likelihood = np.logaddexp(logs[:, :, None], logs[:, None, :]).sum(axis=0) - len(x) * np.log(2)
    return float(logsumexp(likelihood + prior[:, None] + prior) + 2 * np.log(grid[1] - grid[0]))


@claim("variational-family")
def larger_families_have_larger_bounds(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    terms = {family: _terms_of_the_bound(family, rng) for family in FAMILIES}
    bounds = {family: float(values.mean()) for family, values in terms.items()}
    # A fit can only fool the draws it was made with: bounds are means over fresh ones, five standard errors apart.
    leads = {
        f"{small}_below_{large}".replace("-", "_"): above(
            bounds[large] - bounds[small],
            ERRORS * float(np.hypot(terms[small].std(), terms[large].std())) / np.sqrt(FRESH),
        )
        for small, large in pairwise(FAMILIES)
    }
    return every(**leads, nearly_exact=near(bounds["mixture"], 0.0, tolerance=0.02))


def _terms_of_the_bound(family: str, rng: np.random.Generator) -> np.ndarray:
    """log p - log q at fresh draws of the best q of five starts; the mean is the bound, 0 for the law itself."""
    fits = [
        fit_variational(lambda z: _bumps(z)[0], lambda z: _bumps(z)[1], 2, family, n_draws=1024, random_state=rng)
        for _ in range(5 if family == "mixture" else 1)
    ]
    q = max(fits, key=lambda fit: fit.elbo).q
    component = rng.choice(len(q.weights), size=FRESH, p=q.weights)
    z = q.means[component] + np.einsum("nij,nj->ni", q.roots[component], rng.standard_normal((FRESH, 2)))
    return _bumps(z)[0] - q.log_prob(z)


@claim("claim-vi-faster-than-mcmc")
def fewer_evaluations_but_a_bias_that_stays(seed: int) -> Verdict:
    data = variational_against_mcmc.run(seed, True)
    (case,) = data["cases"]
    ratio = np.array(case["variance_ratio"])
    return corrected(
        every(experiment=variational_against_mcmc.check(data), too_narrow=below(float(ratio.min()), 0.9)),
        exact_in_the_limit=near(ratio, np.ones_like(ratio), tolerance=0.05),
    )


@claim("expectation-maximisation-link")
def the_bound_touches_after_every_e_step(seed: int) -> Verdict:
    from margin.mixture.em import log_joint

    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(c, 1.0, size=(80, 2)) for c in (-2.0, 0.0, 2.0)])
    model = GaussianMixture(3, reg_covar=0.0, tol=0.0, max_iter=25, random_state=seed)
    tables = [log_joint(X, model._mixture()) for _ in islice(model.iterate(X), 20)]
    touch = [abs(elbo(table, posterior(table)) - evidence(table)) for table in tables]
    after_m = [elbo(b, posterior(a)) - elbo(a, posterior(a)) for a, b in pairwise(tables)]
    return every(
        touches_after_e=below(max(touch), 1e-9 * abs(evidence(tables[0]))),
        m_never_lowers_the_bound=above(min(after_m), -1e-8),
        likelihood_never_falls=above(float(np.diff([evidence(t) for t in tables]).min()), -1e-8),
    )
