"""Entropies, transport, processes and moments against SciPy, NumPy and formulas written out."""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.foundations import information as ours
from margin.foundations.statistics import GaussianProcess
from margin.foundations.statistics.covariance_functions import RBFCovariance
from margin.foundations.transport import monotone_plan, wasserstein_1d

PATH = "margin.foundations.information"


@oracle(*(f"{PATH}.{name}" for name in ("entropy", "cross_entropy", "kl_divergence", "js_divergence")))
def entropies(seed: int) -> Verdict:
    p, q = np.random.default_rng(seed).dirichlet(np.full(4, 1.7), size=(2, 3))  # three distributions each, (3, 4)
    crossed = stats.entropy(p, base=3, axis=1) + stats.entropy(p, q, base=3, axis=1)
    return every(
        entropy=near(ours.entropy(p, base=3), stats.entropy(p, base=3, axis=1), tolerance=1e-12),
        natural=near(ours.entropy(p), stats.entropy(p, axis=1), tolerance=1e-12),
        cross_entropy=near(ours.cross_entropy(p, q, base=3), crossed, tolerance=1e-12),
        divergence=near(ours.kl_divergence(p, q, base=3), stats.entropy(p, q, base=3, axis=1), tolerance=1e-12),
        both_ways=near(ours.js_divergence(p, q, base=3), jensenshannon(p, q, base=3, axis=1) ** 2, tolerance=1e-10),
    )


@oracle("margin.foundations.transport.wasserstein_1d", "margin.foundations.transport.monotone_plan")
def transport_on_the_line(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(0.4, 1.3, size=5), rng.normal(-1.0, 0.8, size=4)
    a, b = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(4))
    cost = np.abs(x[:, None] - y) ** 3
    marginals = np.vstack([np.kron(np.eye(5), np.ones(4)), np.kron(np.ones(5), np.eye(4))])
    cheapest = linprog(cost.ravel(), A_eq=marginals, b_eq=np.concatenate([a, b])).fun
    plan, moved = monotone_plan(x, y, a, b), np.zeros((5, 4))
    np.add.at(moved, (plan.source, plan.target), plan.mass)
    return every(
        first=near(wasserstein_1d(x, y, a=a, b=b), stats.wasserstein_distance(x, y, a, b), tolerance=1e-10),
        even=near(wasserstein_1d(x, x[::-1] + y[0]), abs(y[0]), tolerance=1e-10),
        third=near(wasserstein_1d(x, y, 3, a, b), cheapest ** (1 / 3), tolerance=1e-7),
        leaves=near(moved.sum(axis=1), a, tolerance=1e-12),
        arrives=near(moved.sum(axis=0), b, tolerance=1e-12),
        cheapest=near(float((moved * cost).sum()), cheapest, tolerance=1e-7),
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
    found, deviations = process.predict(at)
    draws = process.sample(at, 4000, rng)
    return every(
        mean=near(found, centers, tolerance=1e-8),
        deviation=near(deviations, np.sqrt(np.diag(covariance)), tolerance=1e-8),
        joint=near(process.joint(at)[1], covariance, tolerance=1e-8),
        drawn_mean=near(draws.mean(axis=0), centers, tolerance=6 * float(deviations.max()) / np.sqrt(4000)),
        drawn_spread=near(np.cov(draws.T), covariance, tolerance=8 * float(deviations.max()) ** 2 / np.sqrt(4000)),
    )
