"""Second derivatives: Taylor models, Hessians, kinds of critical points, quadratic solvers."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.notes.claims import claim
from margin.optimize import OptimizationError, conjugate_gradient, follow, steepest_descent
from margin.optimize.derivatives import numerical_hessian, taylor2, torch_hessian
from margin.optimize.landscapes import BEALE, HIMMELBLAU, quadratic
from margin.optimize.quadratics import classify_critical_point, classify_quadratic, is_singular
from margin.optimize.steps import Array


def _positive_definite(seed: int, d: int) -> Array:
    """Eigenvalues from 1 to 10, so that every seed gives a system of the same condition."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    return (Q * np.linspace(1.0, 10.0, d)) @ Q.T


@claim("taylor-second-order")
def the_model_errs_by_the_cube() -> Verdict:
    a, u = np.array([1.0, 0.4]), np.array([0.6, 0.8])
    model = taylor2(float(BEALE.f(a)), BEALE.grad(a), BEALE.hess(a), a)
    errors = [abs(model(a + h * u) - float(BEALE.f(a + h * u))) for h in (0.04, 0.02, 0.01)]
    f, grad, hess = quadratic(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 0.0]))
    exact = taylor2(f(a), grad(a), hess(a), a)
    return corrected(
        every(
            eighth=near(np.divide(errors[:-1], errors[1:]), [8.0, 8.0], tolerance=0.5),
            exact_for_quadratics=near(exact(a + 5 * u), f(a + 5 * u), tolerance=1e-12),
        ),
        printed=below(errors[0], 1e-8),  # an equality
    )


@claim("hessian")
def hessians_agree_and_are_symmetric(seed: int) -> Verdict:
    import torch

    A = _positive_definite(seed, 4)
    f, grad, _ = quadratic(A)
    x = np.array([0.5, -1.0])

    def beale(p: torch.Tensor) -> torch.Tensor:
        a, b = p[0], p[1]
        return (1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2

    automatic = torch_hessian(beale, x)
    kinds = [
        classify_critical_point(HIMMELBLAU.grad(p), HIMMELBLAU.hess(p), tol=1e-4).kind
        for p in (np.array([3.0, 2.0]), np.array([-0.270845, -0.923039]), np.array([0.0866775, 2.884255]))
    ]
    return every(
        symmetric=near(automatic, automatic.T, tolerance=1e-12),
        analytic=near(automatic, BEALE.hess(x), tolerance=1e-10),
        differences=near(automatic, numerical_hessian(BEALE.f, x), tolerance=1e-4),
        quadratic=near(numerical_hessian(f, np.ones(4), grad=grad), A, tolerance=1e-6),
        kinds=equal(kinds, ["minimum", "maximum", "saddle"]),
    )


@claim("claim-indefinite-hessian-is-saddle")
def an_indefinite_hessian_has_a_way_up_and_a_way_down() -> Verdict:
    f, grad, hess = quadratic(np.diag([2.0, -2.0]))
    point = classify_critical_point(grad(np.zeros(2)), hess(np.zeros(2)))
    steps = np.array([-0.1, 0.1])
    return every(
        kind=equal(point.kind, "saddle"),
        up=above(min(f(t * point.up) for t in steps), f(np.zeros(2))),
        down=below(max(f(t * point.down) for t in steps), f(np.zeros(2))),
        flat_is_undecided=equal(classify_critical_point([0.0, 0.0], np.diag([1.0, 0.0])).kind, "degenerate"),
    )


@claim("claim-singular-matrix-can-have-saddle")
def singular_and_indefinite_needs_three_dimensions(seed: int) -> Verdict:
    A = np.diag([1.0, -1.0, 0.0])
    rng = np.random.default_rng(seed)
    kinds = set()
    for _ in range(500):
        v = rng.standard_normal(2)
        kinds.add(classify_quadratic(rng.choice([-1.0, 1.0]) * np.outer(v, v)))  # every singular 2 x 2 form
    return every(
        three=equal((is_singular(A), classify_quadratic(A)), (True, "indefinite")),
        two=equal(sorted(kinds), ["negative semidefinite", "positive semidefinite"]),
    )


@claim("steepest-descent")
def exact_steps_converge_where_the_form_is_definite(seed: int) -> Verdict:
    A, b = _positive_definite(seed, 5), np.arange(1.0, 6.0)
    run = follow(steepest_descent(A, b))
    residuals = b - run.path @ A
    return every(
        solution=near(run.x, np.linalg.solve(A, b), tolerance=1e-6),
        consecutive_residuals_are_orthogonal=near(
            np.sum(residuals[1:20] * residuals[:19], axis=1), np.zeros(19), tolerance=1e-8
        ),
        indefinite=raises(
            OptimizationError, lambda: follow(steepest_descent(np.diag([1.0, -1.0]), [1.0, 2.0])), match="not positive"
        ),
    )


@claim("conjugate-gradient")
def conjugate_gradients_need_at_most_d_steps(seed: int) -> Verdict:
    A, b = _positive_definite(seed, 12), np.arange(1.0, 13.0)
    run = follow(conjugate_gradient(A, b, tol=1e-7))
    peer, _ = scipy.sparse.linalg.cg(A, b, rtol=1e-12)
    directions = np.diff(run.path, axis=0)
    directions /= np.sqrt(np.sum(directions @ A * directions, axis=1, keepdims=True))  # of length one in A's norm
    products = directions @ A @ directions.T
    return every(
        steps=below(run.iterations, 12.5),
        scipy=near(run.x, peer, tolerance=1e-7),
        conjugate=near(products, np.eye(len(products)), tolerance=1e-6),
        indefinite=raises(
            OptimizationError,
            lambda: follow(conjugate_gradient(np.diag([1.0, -1.0]), [1.0, 2.0])),
            match="not positive",
        ),
    )
