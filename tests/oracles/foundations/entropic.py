"""Entropic transport against the minimum of its own dual."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.foundations.transport import sinkhorn


@oracle("margin.foundations.transport.sinkhorn")
def plans_by_their_dual(seed: int) -> Verdict:
    """Unequal masses and costs without symmetry: the plan of the potentials that a quasi-Newton method finds."""
    rng = np.random.default_rng(seed)
    a, b, M = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(6)), rng.uniform(0, 3, size=(4, 6))

    def dual(f: np.ndarray) -> float:
        g = -0.2 * logsumexp((f[:, None] - M) / 0.2 + np.log(a)[:, None], axis=0)
        return -float(a @ f + b @ g)

    f = minimize(dual, np.zeros(4), tol=1e-14).x
    g = -0.2 * logsumexp((f[:, None] - M) / 0.2 + np.log(a)[:, None], axis=0)
    plan = a[:, None] * np.exp((f[:, None] + g - M) / 0.2) * b
    ours = sinkhorn(a, b, M, 0.2)
    return every(
        plan=near(ours.plan, plan, tolerance=1e-5),
        rows=near(ours.plan.sum(axis=1), a, tolerance=1e-7),
        columns=near(ours.plan.sum(axis=0), b, tolerance=1e-7),
    )
