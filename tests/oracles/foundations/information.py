"""Entropies, transport, processes and moments against SciPy, NumPy and formulas written out."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from scipy import integrate, optimize, stats
from scipy.spatial.distance import jensenshannon
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import information as ours
from margin.foundations.statistics import GaussianProcess
from margin.foundations.statistics.covariance_functions import RBFCovariance

PATH = "margin.foundations.information"


@oracle(
    *(f"{PATH}.{name}" for name in ("entropy", "entropy_of_weights", "cross_entropy", "kl_divergence", "js_divergence"))
)
def entropies(seed: int) -> Verdict:
    p, q = np.random.default_rng(seed).dirichlet(np.full(4, 1.7), size=(2, 3))  # three distributions each, (3, 4)
    crossed = stats.entropy(p, base=3, axis=1) + stats.entropy(p, q, base=3, axis=1)
    return every(
        entropy=near(ours.entropy(p, base=3), stats.entropy(p, base=3, axis=1), tolerance=1e-12),
        weights=near(ours.entropy_of_weights(6.5 * p, base=3), stats.entropy(p, base=3, axis=1), tolerance=1e-12),
        natural=near(ours.entropy(p), stats.entropy(p, axis=1), tolerance=1e-12),
        cross_entropy=near(ours.cross_entropy(p, q, base=3), crossed, tolerance=1e-12),
        divergence=near(ours.kl_divergence(p, q, base=3), stats.entropy(p, q, base=3, axis=1), tolerance=1e-12),
        both_ways=near(ours.js_divergence(p, q, base=3), jensenshannon(p, q, base=3, axis=1) ** 2, tolerance=1e-10),
    )


@oracle("margin.foundations.statistics.GaussianProcess")
def conditioned_process(seed: int) -> Verdict:
    """The posterior by the inverse of a matrix, and draws whose covariance is the posterior's."""
    rng = np.random.default_rng(seed)
    x, y, at = rng.uniform(-2, 2, size=5), rng.normal(size=5), np.array([-1.3, 0.2, 2.6])
    kernel = RBFCovariance(0.8)

    def k(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(kernel(a[:, None], b[:, None]))

    def mean(points: np.ndarray) -> np.ndarray:
        return 0.5 + 2.0 * np.asarray(points).reshape(len(points), -1)[:, 0]

    inverse = np.linalg.inv(k(x, x) + 0.3 * np.eye(5))
    centers = mean(at) + k(at, x) @ inverse @ (y - mean(x))
    covariance = k(at, at) - k(at, x) @ inverse @ k(x, at)
    process = GaussianProcess(kernel, mean).condition(x, y, noise=0.3)
    means, deviations = process.predict(at)
    draws = process.sample(at, 4000, rng)
    return every(
        mean=near(means, centers, tolerance=1e-8),
        deviation=near(deviations, np.sqrt(np.diag(covariance)), tolerance=1e-8),
        joint=near(process.joint(at)[1], covariance, tolerance=1e-8),
        drawn_mean=near(draws.mean(axis=0), centers, tolerance=6 * float(deviations.max()) / np.sqrt(4000)),
        drawn_spread=near(np.cov(draws.T), covariance, tolerance=8 * float(deviations.max()) ** 2 / np.sqrt(4000)),
    )


@oracle(
    *(f"{PATH}.{name}" for name in ("kl_normal", "kl_gaussians", "gaussians.kl_gaussians", "fit_normal")),
)
def divergences_of_normals(seed: int) -> Verdict:
    """By torch's closed forms, and the nearest normal of a mixture by moments and by SciPy's search."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(2, 3, 3))
    (S0, S1), (m0, m1) = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(3), rng.normal(size=(2, 3))
    inverse = np.linalg.inv(S1)
    ratio = np.log(np.linalg.det(S1) / np.linalg.det(S0))
    several = 0.5 * (ratio - 3 + np.trace(inverse @ S0) + (m1 - m0) @ inverse @ (m1 - m0))
    single = integrate.quad(
        lambda x: stats.norm(0.4, 1.3).pdf(x) * (stats.norm(0.4, 1.3).logpdf(x) - stats.norm(-0.6, 0.9).logpdf(x)),
        -9,
        9,
    )[0]
    grid = np.linspace(-9, 12, 1051)
    log_p = lambda x: np.log(0.6 * stats.norm(-2, 0.7).pdf(x) + 1.4 * stats.norm(4, 1.1).pdf(x))  # noqa: E731
    start = ours.NormalParameters(3.5, 1.0)
    wide, narrow = (ours.fit_normal(grid, log_p, way, start) for way in ("forward", "reverse"))
    second = 0.3 * (4 + 0.49) + 0.7 * (16 + 1.21) - 2.2**2

    def loss(t: np.ndarray) -> float:
        q = stats.norm(t[0], np.exp(t[1]))
        return float(integrate.trapezoid(q.pdf(grid) * (q.logpdf(grid) - log_p(grid)), grid))

    best = optimize.minimize(loss, [3.5, 0.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10}).x
    return every(
        single=near(float(ours.kl_normal(0.4, 1.3, -0.6, 0.9)), single, tolerance=1e-8),
        several=near(ours.kl_gaussians(m0, S0, m1, S1), several, tolerance=1e-9),
        forward=near([wide.mean, wide.std], [2.2, np.sqrt(second)], tolerance=1e-5),
        reverse=near([narrow.mean, narrow.std], [best[0], np.exp(best[1])], tolerance=1e-3),
    )


@oracle(f"{PATH}.geometric_pmf", f"{PATH}.fit_poisson_to_geometric")
def counts_fitted_to_counts(seed: int) -> Verdict:
    success = float(np.random.default_rng(seed).uniform(0.3, 0.6))
    k = np.arange(200)
    parts: dict[str, Verdict] = {}
    for start in (0, 1):
        law = stats.geom(success, loc=start - 1)
        parts[f"masses_{start}"] = near(ours.geometric_pmf(k, success, start), law.pmf(k), tolerance=1e-12)
        for truncated in (False, True)[: start + 1]:
            fitted, p = ours.fit_poisson_to_geometric(success, start, truncated=truncated), law.pmf(k)

            def cost(rate: float, p: np.ndarray = p, truncated: bool = truncated) -> float:
                missing = np.log1p(-np.exp(-rate)) if truncated else 0.0
                return float(-(p * (stats.poisson(rate).logpmf(k) - missing))[p > 0].sum())

            best = optimize.minimize_scalar(cost, bounds=(0.01, 12), method="bounded", options={"xatol": 1e-9})
            parts[f"rate_{start}_{truncated}"] = near(fitted.rate, best.x, tolerance=1e-4)
            parts[f"cost_{start}_{truncated}"] = near(fitted.cross_entropy, best.fun, tolerance=1e-7)
            parts[f"entropy_{start}_{truncated}"] = near(fitted.entropy, float(law.entropy()), tolerance=1e-7)
    return every(**parts)


@oracle(*(f"{PATH}.{name}" for name in ("huffman_code", "shannon_code")))
def codes(seed: int) -> Verdict:
    """Lengths by their formula; no code is shorter than Huffman's, by trying all lengths that Kraft allows."""
    p = np.random.default_rng(seed).dirichlet(np.full(5, 0.8)) * 0.98 + 0.004
    p = p / p.sum()
    shannon, huffman = ours.shannon_code(p), ours.huffman_code(p)
    possible = (c for c in product(range(1, 5), repeat=5) if sum(2.0**-k for k in c) <= 1)
    shortest = min(float(p @ c) for c in possible)
    free = all(not b.startswith(a) for code in (shannon, huffman) for a, b in permutations(code, 2))
    return every(
        shannon=equal([len(word) for word in shannon], [int(np.ceil(-np.log2(v))) for v in p]),
        huffman=near(sum(v * len(word) for v, word in zip(p, huffman)), shortest, tolerance=1e-12),
        length=near(ours.mean_code_length(p, shannon), sum(v * len(w) for v, w in zip(p, shannon)), tolerance=1e-12),
        prefix_free=equal(free, True),
        single=equal(ours.huffman_code([1.0]), ["0"]),
    )


@oracle(
    *(f"{PATH}.{name}" for name in ("surprise", "surprise_laws", "cross_entropy_sampled", "kl_monte_carlo")),
)
def surprises(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, p, joint = rng.normal(size=30), rng.uniform(0.05, 0.9, size=4), rng.dirichlet(np.ones(6)).reshape(2, 3)
    log_p, log_q = stats.norm(0.2, 1.1).logpdf, stats.norm(-0.4, 1.6).logpdf
    gaps = (log_p(x) - log_q(x)) / np.log(2)
    estimate = ours.kl_monte_carlo(x, log_p, log_q, base=2)
    shared = (
        stats.entropy(joint.sum(0), base=2) + stats.entropy(joint.sum(1), base=2) - stats.entropy(joint.ravel(), base=2)
    )
    candidates = (lambda v: -np.log(v), lambda v: 1 / v - 1, lambda v: 2.0 - np.log(v), np.log)
    return every(
        bits=near(ours.surprise(p, base=2), -np.log2(p), tolerance=1e-12),
        sampled=near(ours.cross_entropy_sampled(x, log_q, base=2), -log_q(x).mean() / np.log(2), tolerance=1e-12),
        divergence=near([estimate.value, estimate.standard_error], [gaps.mean(), stats.sem(gaps)], tolerance=1e-12),
        shared=near(ours.mutual_information(joint, base=2), shared, tolerance=1e-12),
        laws=equal(
            [tuple(ours.surprise_laws(f, np.random.default_rng(seed))) for f in candidates],
            [(True, True, True), (True, False, True), (False, False, True), (True, True, False)],
        ),
    )
