"""Claims about quasi-Newton methods: their updates, and the memory they need."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import scipy.optimize

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes.claims import claim
from margin.optimize import bfgs, follow, lbfgs
from margin.optimize.landscapes import ROSENBROCK
from margin.optimize.quasi_newton import bfgs_hessian_update, bfgs_inverse_update, stored_numbers
from margin.optimize.second_order import newton_step


@claim("bfgs")
def updates_keep_the_secant_and_definiteness() -> Verdict:
    run = follow(bfgs(ROSENBROCK.f, ROSENBROCK.grad, ROSENBROCK.start, tol=1e-9))
    peer = scipy.optimize.minimize(
        ROSENBROCK.f, ROSENBROCK.start, jac=ROSENBROCK.grad, method="BFGS", options={"gtol": 1e-9}
    )
    B = H = np.eye(2)
    secant, lowest, products = [], [], []
    gradients = [ROSENBROCK.grad(x) for x in run.path]
    for s, y in zip(np.diff(run.path, axis=0)[:-2], np.diff(gradients, axis=0)[:-2]):
        products.append(float(y @ s))
        B, H = bfgs_hessian_update(B, s, y), bfgs_inverse_update(H, s, y)
        secant.append(float(np.max(np.abs(B @ s - y)) / np.max(np.abs(y))))
        lowest.append(float(np.linalg.eigvalsh(B)[0]))
    exact = newton_step(gradients[1], ROSENBROCK.hess(run.path[1]))
    taken = run.path[2] - run.path[1]
    angle = taken @ exact / np.linalg.norm(taken) / np.linalg.norm(exact)
    against = np.linalg.eigvalsh(bfgs_hessian_update(np.eye(2), np.array([1.0, 0.0]), np.array([-1.0, 0.5])))[0]
    return corrected(
        every(
            minimum=near(run.x, [1.0, 1.0], tolerance=1e-8),
            scipy=near(run.x, peer.x, tolerance=1e-6),
            secant=below(max(secant), 1e-9),
            wolfe_gives_positive_products=above(min(products), 0.0),
            definite=above(min(lowest), 0.0),
            both_forms=near(H @ B, np.eye(2), tolerance=1e-3),
        ),
        same_direction_as_newton=above(float(angle), 0.999),
        any_pair_will_do=above(float(against), 0.0),
    )


def _bytes_kept(method: Any, p: int) -> int:
    """Memory that a method holds after 25 steps on a quadratic of ``p`` variables, before it is let go."""
    curvature = np.linspace(1.0, 50.0, p)
    steps = method(lambda x: float(0.5 * curvature @ x**2), lambda x: curvature * x, np.ones(p), tol=0.0)
    tracemalloc.start()
    try:
        for _ in range(25):
            next(steps)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@claim("quasi-newton")
def limited_memory_needs_little_memory() -> Verdict:
    import torch

    full, limited = (follow(method(ROSENBROCK.f, ROSENBROCK.grad, ROSENBROCK.start)) for method in (bfgs, lbfgs))
    x = torch.tensor(ROSENBROCK.start, dtype=torch.float64, requires_grad=True)
    peer = torch.optim.LBFGS([x], max_iter=limited.iterations, line_search_fn="strong_wolfe")

    def closure() -> Any:
        x.grad = torch.tensor(ROSENBROCK.grad(x.detach().numpy()))
        return torch.tensor(float(ROSENBROCK.f(x.detach().numpy())))

    peer.step(closure)
    kept = {method.__name__: _bytes_kept(method, 600) / 8 for method in (bfgs, lbfgs)}  # as numbers
    return corrected(
        every(
            bfgs_keeps_p_squared=within(kept["bfgs"] / 600**2, 0.9, 4.0),
            lbfgs_keeps_2_m_p=within(kept["lbfgs"] / (2 * 15 * 600), 0.5, 4.0),
            bfgs=below(full.gradient_norm, 1e-6),
            lbfgs=below(limited.gradient_norm, 1e-6),
            as_low_as_torch=below(limited.value, float(ROSENBROCK.f(x.detach().numpy())) + 1e-10),
            falls=below(float(np.max(np.diff(limited.history("value")))), 1e-15),
            numbers=equal([stored_numbers(m, 1000, memory=10) for m in ("bfgs", "lbfgs")], [10**6, 20_000]),
        ),
        # The notes count n^2 numbers for n data points: here 5 examples and 1000 parameters.
        printed=equal(stored_numbers("bfgs", 1000), 5**2),
    )
