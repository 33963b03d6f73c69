"""Entropies, divergences and transport on the line against SciPy's, several distributions at a time."""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.foundations import information as ours
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
