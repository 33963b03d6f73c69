"""Posteriors that are drawn or approximated: against SciPy's laws, quadrature and differences."""

from __future__ import annotations

import numpy as np
from scipy import optimize, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.graphical import mcmc, mean_field, normal_families, variational

PATH = "margin.graphical"


@oracle(f"{PATH}.mcmc.metropolis", f"{PATH}.mcmc.effective_sample_size")
def chains_once_more(seed: int) -> Verdict:
    """The same draws by hand; the size from a regression's known autocorrelation and from sums over lags."""
    rng = np.random.default_rng(seed)
    height = lambda x: float(-0.5 * x @ x - 0.1 * np.sum(x**4))  # noqa: E731
    root, begin = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.3, -0.2])
    chain = mcmc.metropolis(height, begin, 60, seed, step_size=0.7, scale=root, burn_in=40)
    again = np.random.default_rng(seed)
    state, log_step, kept, taken = begin, np.log(0.7), [], 0
    for t in range(100):
        proposal = state + np.exp(log_step) * root @ again.standard_normal(2)
        accepted = again.random() < np.exp(height(proposal) - height(state))
        state = proposal if accepted else state
        if t < 40:
            log_step += (accepted - 0.234) / np.sqrt(t + 1)
        else:
            kept.append(state)
            taken += accepted
    noise, x = rng.normal(size=20_000), np.zeros(20_000)
    for t in range(1, len(x)):
        x[t] = 0.8 * x[t - 1] + noise[t]
    short = x[:60] - x[:60].mean()
    lags = np.array([short[: 60 - k] @ short[k:] for k in range(60)]) / (short @ short)
    pairs = lags[0::2] + lags[1::2]
    first = int(np.flatnonzero(pairs <= 0)[0])
    return every(
        draws=near(chain.draws, kept, tolerance=1e-10),
        acceptance=near(chain.acceptance, taken / 60, tolerance=1e-12),
        step=near(chain.step_size, np.exp(log_step), tolerance=1e-10),
        evaluations=equal(chain.n_evaluations, 101),
        size=near(
            mcmc.effective_sample_size(x[:60]),
            min(60 / (2 * np.minimum.accumulate(pairs[:first]).sum() - 1), 60),
            tolerance=1e-8,
        ),
        of_a_regression=near(mcmc.effective_sample_size(x) / 20_000, 0.2 / 1.8, tolerance=0.05),
    )


@oracle(f"{PATH}.variational.fit_variational", f"{PATH}.normal_families.NormalFamily")
def families_by_scipy(seed: int) -> Verdict:
    """Densities by SciPy, slopes by differences, and the best member where it is known: the normal target itself."""
    rng = np.random.default_rng(seed)
    target = stats.multivariate_normal([1.0, -2.0], [[1.5, 0.6], [0.6, 0.8]])
    precision = np.linalg.inv(target.cov)
    slope = lambda z: -(z - target.mean) @ precision  # noqa: E731
    height = lambda z: target.logpdf(z) + 0.9  # noqa: E731
    noise = variational.balanced_draws(20, 2, rng)
    parts: dict[str, Verdict] = {
        "balanced": near(noise.T @ noise / len(noise), np.eye(2), tolerance=1e-10),
        "opposite": near(noise[:10], -noise[10:], tolerance=1e-12),
    }
    for name in ("point", "mean-field", "full", "mixture"):
        family = normal_families.FAMILIES[name](2, 3 if name == "mixture" else 1)
        packed = family.start(rng)
        packed = packed + 0.3 * rng.normal(size=packed.shape)
        q, z = family.distribution(packed), rng.normal(size=(4, 2))
        densities = [stats.multivariate_normal(m, L @ L.T).pdf(z) for m, L in zip(q.means, q.roots)]
        value, gradient = variational.elbo_gradient(family, packed, noise, height, slope)
        bound = lambda p, f=family: variational.elbo_gradient(f, p, noise, height, slope)[0]  # noqa: E731
        rows = [m + noise @ L.T for m, L in zip(q.means, q.roots)]
        expected = sum(w * np.mean(height(r) - q.log_prob(r)) for w, r in zip(q.weights, rows))
        key = name.replace("-", "_")
        parts |= {
            f"{key}_bound": near(value, expected, tolerance=1e-8 * max(1.0, abs(expected))),
            f"{key}_slope": near(
                gradient, optimize.approx_fprime(packed, bound, 1e-7), tolerance=2e-4 * max(1.0, abs(value))
            ),
        }
        if name != "point":  # whose densities are beyond all numbers anywhere else
            parts[f"{key}_density"] = near(np.exp(q.log_prob(z)), q.weights @ densities, tolerance=1e-9)
    narrow = variational.fit_variational(height, slope, 2, random_state=seed)
    full = variational.fit_variational(height, slope, 2, "full", random_state=seed)
    batch_sizes: list[int] = []

    def counted(z: np.ndarray) -> np.ndarray:
        batch_sizes.append(len(np.atleast_2d(z)))
        return height(z)

    several = variational.fit_variational(
        counted, slope, 2, "mixture", n_draws=8, n_components=3,
        max_iter=2, random_state=seed,
    )  # fmt: skip
    best = 0.5 * np.log(np.linalg.det(np.diag(1 / np.diag(precision))) / np.linalg.det(target.cov))
    return every(
        **parts,
        mean=near(full.q.mean, target.mean, tolerance=1e-3),
        covariance=near(full.q.covariance, target.cov, tolerance=1e-3),
        tight=near(full.elbo, 0.9, tolerance=1e-4),
        narrow=near(np.diag(narrow.q.covariance), 1 / np.diag(precision), tolerance=1e-3),
        asked=equal(several.n_evaluations, sum(batch_sizes)),
        gap=near(narrow.elbo, 0.9 + best, tolerance=1e-3),
        path=near(full.trace[-1], full.elbo, tolerance=1e-6),
    )


@oracle(f"{PATH}.mean_field.mixture_coordinate_ascent")
def ascent_by_expectations(seed: int) -> Verdict:
    """The bound as expectations of log densities by SciPy; both updates are the best given the other."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(-2, 1, size=7), rng.normal(2, 1, size=6)])
    steps = mean_field.mixture_coordinate_ascent(x, 2, 3.0, seed)
    step = [next(steps) for _ in range(3)][-1]
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()

    def bound(means: np.ndarray, variances: np.ndarray, r: np.ndarray) -> float:
        total = -float(np.sum(r * np.log(np.maximum(r, 1e-300)))) + float(np.sum(r)) * np.log(0.5)
        for k in range(2):
            mu = means[k] + np.sqrt(variances[k]) * nodes
            total += float(sum(r[i, k] * (weights @ stats.norm.logpdf(x[i], mu, 1.0)) for i in range(len(x))))
            total += float(weights @ stats.norm.logpdf(mu, 0.0, 3.0)) + float(
                stats.norm(means[k], np.sqrt(variances[k])).entropy()
            )
        return total

    here = bound(step.means, step.variances, step.responsibilities)
    nudges = 1e-3 * np.array([[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, -1]])
    moved = [
        bound(step.means + nudge[:2], step.variances * np.exp(nudge[2:]), step.responsibilities) for nudge in nudges
    ]
    after = next(steps)
    heights = np.stack([[float(weights @ stats.norm.logpdf(xi, step.means[k] + np.sqrt(step.variances[k]) * nodes, 1.0))
                         for xi in x] for k in range(2)], axis=1)  # fmt: skip
    chances = np.exp(heights - heights.max(axis=1, keepdims=True))
    return every(
        bound=near(step.elbo, here, tolerance=1e-8),
        best_given_rows=equal(all(value < here for value in moved), True),
        rows_given_means=near(after.responsibilities, chances / chances.sum(axis=1, keepdims=True), tolerance=1e-9),
    )
