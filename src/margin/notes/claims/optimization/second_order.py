"""Claims about Newton's method and line searches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.optimize import gradient_descent, line_search, minimize, newton_root
from margin.optimize.landscapes import LANDSCAPES, ROSENBROCK, quadratic
from margin.optimize.problems import LogisticProblem
from margin.optimize.second_order import newton_step


@claim("newton-root-finding")
def tangents_find_the_root_of_two() -> Verdict:
    records = list(newton_root(lambda x: x * x - 2, lambda x: 2 * x, 1.0))
    errors = np.array([abs(record["x"] - np.sqrt(2)) for record in records])
    constants = errors[1:4] / errors[:3] ** 2  # tends to f''/(2f') = 1/(2 sqrt 2)
    return every(
        root=near(records[-1]["x"], np.sqrt(2), tolerance=1e-12),
        steps=below(records[-1].iteration, 7),
        quadratic=near(constants[-1], 1 / (2 * np.sqrt(2)), tolerance=0.01),
    )


@claim("newtons-method")
def newton_finds_stationary_points_of_any_kind(seed: int) -> Verdict:
    f, grad, hess = quadratic(np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0]))
    start = np.array([5.0, -7.0])
    one = minimize(f, start, method="newton", grad=grad, hess=hess)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 3))
    model = LogisticProblem(X, np.where(X @ [1.0, -1.0, 0.5] + rng.standard_normal(100) > 0, 1.0, -1.0))
    fit = minimize(model.value_and_gradient, np.zeros(3), method="newton", grad=True, hess=model.hessian)
    # A gradient of norm tol leaves x off by tol / smallest curvature, which is above 1e-3 here: 1e-6 at most.
    by_products = minimize(
        model.value_and_gradient, np.zeros(3), method="newton_cg", grad=True, hess=model.hessian, tol=1e-9
    )
    rosenbrock = minimize(ROSENBROCK.f, ROSENBROCK.start, method="newton", grad=ROSENBROCK.grad, hess=ROSENBROCK.hess)

    def well(x: np.ndarray) -> np.ndarray:
        return x**4 - 2 * x**2

    pieces = {"grad": lambda x: 4 * x**3 - 4 * x, "hess": lambda x: 12 * x**2 - 4}
    plain, damped = (minimize(well, 0.1, method=method, **pieces) for method in ("newton", "damped_newton"))
    return corrected(
        every(
            one_step=equal(one.iterations, 1),
            exact=near(one.x, np.linalg.solve([[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0]), tolerance=1e-10),
            logistic=below(fit.iterations, 10),
            flat=near(model.value_and_gradient(fit.x)[1], np.zeros(3), tolerance=1e-6),
            by_conjugate_gradients=near(by_products.x, fit.x, tolerance=1e-6),
            rosenbrock=near(rosenbrock.x, [1.0, 1.0], tolerance=1e-8),
            maximum_is_reported=equal((plain.converged, "not a minimum" in plain.message), (False, True)),
            damped_finds_the_minimum=near(abs(damped.x), 1.0, tolerance=1e-6),
        ),
        always_to_a_minimum=near(abs(plain.x), 1.0, tolerance=1e-2),
        # A first-order expansion has no curvature in it, and misses the end of the step.
        first_order=near(f(start) + grad(start) @ (one.x - start), f(one.x), tolerance=0.1),
    )


def _scaled_cosh(a: float) -> tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]:
    return lambda t: a * float(np.cosh(t[0])), lambda t: a * np.sinh(t)


@claim("claim-newton-adapts-step-to-curvature")
def newton_is_descent_with_rate_one_over_curvature() -> Verdict:
    x = np.array([0.7])
    gaps, rates, steps = [], [], []
    for a in (0.1, 1.0, 10.0):
        curvature = a * np.cosh(x[0])  # of the convex a cosh x, whose slope is a sinh x
        value, slope = _scaled_cosh(a)
        run = gradient_descent(value, slope, x, learning_rate=1 / curvature)
        next(run)
        gaps.append(float((next(run).x - (x + newton_step(a * np.sinh(x), np.array([[curvature]]))))[0]))
        f, grad, hess = quadratic(np.array([[a]]))
        rates.append(float(-newton_step(grad(x), hess(x))[0] / grad(x)[0]))
        steps.append(minimize(f, x, method="newton", grad=grad, hess=hess).iterations)
    return corrected(
        every(
            same_iterate=near(gaps, np.zeros(3), tolerance=1e-14),
            rate=near(rates, [10.0, 1.0, 0.1], tolerance=1e-12),
            steps=equal(steps, [1, 1, 1]),
        ),
        printed=near(rates, np.ones(3), tolerance=1e-3),  # f'' times its inverse is 1 for every curvature
    )


@claim("claim-newton-caveats")
def singular_and_indefinite_hessians_mislead_newton() -> Verdict:
    f, grad, hess = quadratic(np.diag([2.0, -2.0]))
    saddle = minimize(f, [1.0, 1.0], method="newton", grad=grad, hess=hess)
    flat, flat_grad, flat_hess = quadratic(np.diag([1.0, 0.0]))
    singular = minimize(flat, [1.0, 1.0], method="newton", grad=flat_grad, hess=flat_hess)
    regularized = minimize(flat, [1.0, 1.0], method="damped_newton", grad=flat_grad, hess=flat_hess)
    landscape = LANDSCAPES["saddle"]
    ends = [
        minimize(landscape.f, [-1.6, 0.0], method=method, grad=landscape.grad, hess=landscape.hess)
        for method in ("damped_newton", "trust_region", "newton_cg")
    ]  # on the axis that leads straight into the saddle
    return every(
        lands_on_the_saddle=near(saddle.x, [0.0, 0.0], tolerance=1e-15),
        in_steps=equal(saddle.iterations, 1),
        says_so=equal((saddle.converged, "singular" in singular.message), (False, True)),
        regularized=near(regularized.value, 0.0, tolerance=1e-12),
        others_leave=near([end.value for end in ends], [-1.0] * 3, tolerance=1e-9),
    )


@claim("line-search")
def searches_find_the_exact_step_of_a_quadratic() -> Verdict:
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    f, grad, _ = quadratic(A)
    x = np.array([1.0, -2.0])
    g = grad(x)
    exact = (g @ g) / (g @ A @ g)
    searches = {method: line_search(f, grad, x, -g, method=method) for method in ("bracket", "golden", "armijo")}
    return every(
        golden=near(searches["golden"].alpha, exact, tolerance=1e-6),
        all_lower=below(max(search.value for search in searches.values()), f(x)),
        armijo=equal(searches["armijo"].sufficient_decrease, True),
        one_gradient=equal([search.gradient_evaluations for search in searches.values()], [1, 1, 1]),
        more_values=above(searches["golden"].evaluations, 10),
    )


@claim("line-search-wolfe")
def both_wolfe_inequalities_hold(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    outcomes = []
    for landscape in LANDSCAPES.values():
        for x in rng.uniform(-2, 2, size=(20, 2)):
            g = landscape.grad(x)
            search = line_search(landscape.f, landscape.grad, x, -g, first=1 / float(np.linalg.norm(g)))
            outcomes.append(search.sufficient_decrease and search.flat_enough)
    A = np.diag([1.0, 5.0])
    f, grad, _ = quadratic(A)
    g = grad(np.ones(2))
    exact = line_search(f, grad, np.ones(2), -g, method="golden").alpha
    return every(wolfe=equal(sum(outcomes), 120), exact=near(exact, (g @ g) / (g @ A @ g), tolerance=1e-6))
