"""Kernels pair by pair, and likelihoods observation by observation."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import probability, statistics
from margin.foundations.probability import Normal, Poisson
from margin.foundations.probability.feature_maps import radial_features

PROBABILITY, STATISTICS = "margin.foundations.probability", "margin.foundations.statistics"


@oracle(
    *(f"{PROBABILITY}.{name}" for name in ("laplace_kernel", "linear_kernel", "periodic_kernel")),
    *(f"{STATISTICS}.{name}" for name in ("LaplaceCovariance", "LinearCovariance", "PeriodicCovariance")),
    f"{PROBABILITY}.feature_maps.radial_features",
)
def pairs_of_rows(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(0.4, 1.3, size=(4, 3)), rng.normal(-0.2, 0.8, size=(5, 3))
    laplace = [[math.exp(-math.dist(x, z) / 0.7) for z in Z] for x in X]
    linear = [[sum(a * b for a, b in zip(x, z)) for z in Z] for x in X]
    periodic = [
        [math.exp(-2 / 1.4**2 * sum(math.sin(math.pi * (a - b) / 2.3) ** 2 for a, b in zip(x, z))) for z in Z]
        for x in X
    ]
    return every(
        laplace=near(probability.laplace_kernel(X, Z, 0.7), laplace, tolerance=1e-7),
        linear=near(probability.linear_kernel(X, Z), linear, tolerance=1e-12),
        periodic=near(probability.periodic_kernel(X, Z, 2.3, 1.4), periodic, tolerance=1e-9),
        laplace_covariance=near(statistics.LaplaceCovariance(0.7)(X, Z), laplace, tolerance=1e-7),
        linear_covariance=near(statistics.LinearCovariance()(X, Z), linear, tolerance=1e-12),
        periodic_covariance=near(statistics.PeriodicCovariance(2.3, 1.4)(X, Z), periodic, tolerance=1e-9),
        radial=near(radial_features(X), [[*x, sum(v * v for v in x)] for x in X], tolerance=1e-12),
    )


@oracle(*(f"{PROBABILITY}.{name}" for name in ("likelihood", "log_likelihood")))
def products_of_densities(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, k = rng.normal(1.0, 2.0, size=7), rng.poisson(2.5, size=6)
    densities, masses = stats.norm(0.5, 1.7).pdf(x), stats.poisson(2.2).pmf(k)
    return every(
        densities=near(probability.likelihood(Normal(0.5, 1.7), x) / math.prod(densities), 1.0, tolerance=1e-10),
        masses=near(probability.likelihood(Poisson(2.2), k) / math.prod(masses), 1.0, tolerance=1e-10),
        logarithm=near(probability.log_likelihood(Normal(0.5, 1.7), x), sum(map(math.log, densities)), tolerance=1e-10),
    )


@oracle(f"{STATISTICS}.metric_axioms")
def axioms_tried_by_loops(seed: int) -> Verdict:
    """A distance, one that is not symmetric, one with a long way round, and one that is 0 between different points."""
    points = np.random.default_rng(seed).normal(size=(6, 2))
    distances = {
        "metric": lambda x, y: float(np.abs(x - y).max()),
        "one_way": lambda x, y: float(np.maximum(x - y, 0).sum() + 0.5 * np.maximum(y - x, 0).sum()),
        "squares": lambda x, y: float(np.sum((x - y) ** 2)),
        "blind": lambda x, y: 0.0,
    }
    parts = {}
    for name, distance in distances.items():
        found, n = statistics.metric_axioms(distance, points), range(6)
        D = [[distance(a, b) for b in points] for a in points]
        parts[name] = equal(
            (found.zero_to_itself, found.distinguishes, found.symmetric, found.triangle),
            (
                all(D[i][i] == 0 for i in n),
                all(D[i][j] != 0 for i in n for j in n if i != j),
                all(abs(D[i][j] - D[j][i]) < 1e-9 for i in n for j in n),
                all(D[i][k] <= D[i][j] + D[j][k] + 1e-9 for i in n for j in n for k in n),
            ),
        )
    return every(**parts)
