"""Gradient descent: what it does, at which rates, and where it stops."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes.claims import claim
from margin.optimize import FiniteSum, follow, gradient_descent, gradient_flow, minimize, rate_range_test
from margin.optimize.derivatives import numerical_gradient, torch_hessian
from margin.optimize.landscapes import quadratic
from margin.optimize.problems import least_squares, network_size, tanh_network
from margin.optimize.quadratics import classify_critical_point, rate_limit

CONVEX = np.diag([1.0, 30.0])


def _regression(seed: int, n: int = 40, d: int = 3) -> tuple[np.ndarray, np.ndarray, FiniteSum]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    return X, y, least_squares(X, y)


@claim("empirical-risk")
def risk_is_the_mean_loss_and_its_minimum_the_fit(seed: int) -> Verdict:
    X, y, risk = _regression(seed)
    theta = np.array([1.0, -2.0, 0.5])
    result = minimize(risk.value, np.zeros(3), method="lbfgs", grad=risk.gradient, tol=1e-10)
    return every(
        mean_of_losses=near(risk.value(theta) * risk.n, np.sum((X @ theta - y) ** 2), tolerance=1e-10),
        closed_form=near(result.x, np.linalg.lstsq(X, y)[0], tolerance=1e-6),
        never_rises=below(float(np.max(np.diff(result.history("value")))), 1e-12),
    )


@claim("gradient-descent")
def steps_follow_the_gradient_not_its_direction(seed: int) -> Verdict:
    X, y, risk = _regression(seed)
    square = follow(
        gradient_descent(lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3), 1.0, learning_rate=0.1, max_iter=200)
    )
    fit = follow(gradient_descent(risk.value, risk.gradient, np.zeros(3), learning_rate=0.1, tol=1e-9))
    unit, product = 1.05, 1.0
    for _ in range(200):
        unit -= 0.1 * np.sign(2 * unit)  # the unit vector of steepest ascent in place of the gradient
        product *= 0.1 * 2 * (product - 3)  # the minus sign left out
    return corrected(
        every(
            reaches_3=near(square.x, 3.0, tolerance=1e-6),
            normal_equations=near(fit.x, np.linalg.lstsq(X, y)[0], tolerance=1e-6),
        ),
        unit_steps=near(unit, 0.0, tolerance=0.01),
        product=near(product, 3.0, tolerance=0.01),
    )


@claim("claim-gradient-steepest-ascent")
def no_direction_rises_faster_than_the_gradient(seed: int) -> Verdict:
    f, grad, _ = quadratic(np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]))
    x, eta = np.array([0.7, 0.3]), 1e-4
    g = grad(x)
    length = float(np.linalg.norm(g))
    directions = np.random.default_rng(seed).standard_normal((10_000, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rises = np.array([f(x + eta * u) - f(x) for u in directions])
    along = f(x + eta * g / length) - f(x)
    curvature = eta**2 * 2.2  # the largest eigenvalue of the Hessian is below 2.2
    kinds = [classify_critical_point(np.zeros(2), H).kind for H in (np.eye(2), -np.eye(2), np.diag([1.0, -1.0]))]
    return corrected(
        every(
            differences=near(numerical_gradient(f, x), g, tolerance=1e-6),
            none_beats_it=below(float(rises.max()) - along, curvature),
            size=near(along, eta * length, tolerance=curvature),
            downhill=near(f(x - eta * g / length) - f(x), -eta * length, tolerance=curvature),
            zero_gradient=equal(kinds, ["minimum", "maximum", "saddle"]),
        ),
        zero_gradient_is_a_maximum=equal(kinds, ["maximum"] * 3),
        angle_stays_below_pi=below(float(np.arccos(g @ -g / length**2)), np.pi),
    )


@claim("claim-gradient-of-sum")
def gradient_of_the_total_is_the_sum(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    net = tanh_network(X, y, hidden=4)
    theta = rng.standard_normal(network_size(2, 4))
    import torch

    t = torch.tensor(theta, requires_grad=True)
    W, b, a, c = t[:8].reshape(4, 2), t[8:12], t[12:16], t[16]
    total = ((torch.tanh(torch.tensor(X) @ W.T + b) @ a + c - torch.tensor(y)) ** 2).sum()
    total.backward()
    assert t.grad is not None
    return near(net.gradients(theta, np.arange(12)).sum(axis=0), t.grad.numpy(), tolerance=1e-10)


@claim("learning-rate")
def rate_must_stay_below_the_curvature_limit() -> Verdict:
    f, grad, _ = quadratic(CONVEX)
    sweep = rate_range_test(f, grad, [1.0, 1.0], np.geomspace(1e-3, 1.0, 61))
    runs = {
        rate: minimize(f, [1.0, 1.0], method="gradient_descent", grad=grad, learning_rate=rate) for rate in (0.1, 0.01)
    }
    adaptive = minimize(f, [0.1, 0.1], method="adam", grad=grad, learning_rate=1e-3, max_iter=3000)
    return corrected(
        every(
            limit_found=near(sweep.limit, rate_limit("gradient_descent", 30.0), tolerance=0.012),
            suggestion_is_stable=below(sweep.suggestion, rate_limit("gradient_descent", 30.0)),
            smaller_is_stable=below(runs[0.01].gradient_norm, 1e-3),
            advice=equal("smaller step size" in runs[0.1].message, True),
            adaptive_wants_less=below(adaptive.gradient_norm, 1e-5),
        ),
        printed=equal(runs[0.1].converged, True),  # 0.1 as a first choice for any problem
    )


@claim("claim-gd-learning-rate-sensitivity")
def convexity_alone_does_not_save_a_large_rate(seed: int) -> Verdict:
    X, y, _ = _regression(seed)
    f, grad, _ = quadratic(2 * X.T @ X, 2 * X.T @ y)
    best = np.linalg.lstsq(X, y)[0]
    steepest = float(np.linalg.eigvalsh(2 * X.T @ X)[-1])

    def distance(factor: float) -> float:
        run = follow(gradient_descent(f, grad, np.zeros(3), learning_rate=factor / steepest, max_iter=400, tol=1e-12))
        return float(np.linalg.norm(run.x - best))

    limit = rate_limit("gradient_descent", steepest)
    return corrected(
        every(
            other_limits=near(
                [rate_limit("momentum", 4.0, 0.9), rate_limit("nesterov", 4.0, 0.9)],
                [0.95, 3.8 / 11.2],
                tolerance=1e-12,
            ),
            limit=near(limit * steepest, 2.0, tolerance=1e-12),
            below_the_limit=below(distance(1.9), 1e-6),
            above_the_limit=above(distance(2.1), 1e6),
        ),
        printed=below(distance(2.1), 1.0),
    )


@claim("claim-mse-convex")
def squared_error_of_a_linear_model_is_convex(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    tall, wide = rng.standard_normal((20, 4)), rng.standard_normal((3, 5))
    y = rng.standard_normal(20)
    import torch

    A, b = torch.tensor(tall), torch.tensor(y)
    automatic = torch_hessian(lambda t: ((b - A @ t) ** 2).sum(), np.ones(4))
    net = tanh_network(tall[:, :2], y, hidden=3)
    ends = rng.standard_normal((200, 2, network_size(2, 3)))
    sag = [net.value((p + q) / 2) - (net.value(p) + net.value(q)) / 2 for p, q in ends]
    lowest = {name: float(np.linalg.eigvalsh(2 * X.T @ X)[0]) for name, X in (("tall", tall), ("wide", wide))}
    risk, ours = least_squares(tall, y), rng.standard_normal((200, 2, 4))
    chord = [(risk.value(p) + risk.value(q)) / 2 - risk.value((p + q) / 2) for p, q in ours]
    above_the_graph = [np.mean((tall @ (p - q)) ** 2) / 4 for p, q in ours]
    return corrected(
        every(
            hessian=near(automatic, 2 * tall.T @ tall, tolerance=1e-10),
            chord=near(chord, above_the_graph, tolerance=1e-10),
            semidefinite=above(min(lowest.values()), -1e-10),
            strict_at_full_rank=above(lowest["tall"], 1.0),
            network_is_not_convex=above(max(sag), 0.1),
        ),
        printed=above(lowest["wide"], 1e-6),  # a unique minimum whatever the shape of X
    )


@claim("claim-gd-treats-directions-uniformly")
def steps_grow_with_the_condition_number() -> Verdict:
    counts, newton = [], []
    for kappa in (10.0, 20.0, 40.0, 80.0):
        f, grad, hess = quadratic(np.diag([1.0, kappa]))
        best = 2 / (1 + kappa)  # the rate that contracts both directions equally
        run = follow(gradient_descent(f, grad, [1.0, 1.0], learning_rate=best, max_iter=5000))
        counts.append(run.iterations)
        newton.append(minimize(f, [1.0, 1.0], method="newton", grad=grad, hess=hess).iterations)
    ratios = np.divide(counts[1:], counts[:-1])
    return every(
        doubling_kappa_doubles_steps=near(ratios, np.full(3, 2.0), tolerance=0.25), newton=equal(newton, [1] * 4)
    )


@claim("claim-gd-finds-local-minima")
def the_start_decides_which_minimum() -> Verdict:
    def f(t: np.ndarray) -> np.ndarray:
        return (t**2 - 1) ** 2 + 0.3 * t

    def grad(t: np.ndarray) -> np.ndarray:
        return 4 * t * (t**2 - 1) + 0.3

    ends = {
        start: minimize(f, start, method="gradient_descent", grad=grad, learning_rate=0.05) for start in (-1.5, 1.5)
    }
    return every(
        left=near(grad(ends[-1.5].x), 0.0, tolerance=1e-5),
        right=near(grad(ends[1.5].x), 0.0, tolerance=1e-5),
        right_is_higher=within(ends[1.5].value - ends[-1.5].value, 0.5, 0.7),
    )


@claim("claim-gd-saddle-escape-time")
def one_strict_saddle_costs_only_a_logarithm() -> Verdict:
    f, grad, _ = quadratic(np.diag([2.0, -2.0]))

    def steps_to_leave(delta: float) -> int:
        for step in gradient_descent(f, grad, [0.0, delta], learning_rate=0.1, tol=0.0):
            if np.linalg.norm(step.x) >= 1:
                return step.iteration
        return 1000

    counts = [steps_to_leave(delta) for delta in (1e-2, 1e-4, 1e-8, 1e-16)]
    return corrected(
        equal(counts, [26, 51, 102, 203]),
        # Exponential in log(1/delta): twice the logarithm would square the count.
        printed=above(counts[3], 0.5 * counts[2] ** 2),
    )


@claim("gradient-flow")
def one_step_leaves_the_flow_by_the_square_of_the_rate() -> Verdict:
    f, grad, _ = quadratic(np.array([[3.0, 1.0], [1.0, 2.0]]))
    start = np.array([1.0, -1.0])
    exact = np.linalg.eigh(np.array([[3.0, 1.0], [1.0, 2.0]]))
    decay = exact[1] @ np.diag(np.exp(-exact[0])) @ exact[1].T @ start
    gaps = [np.linalg.norm(gradient_flow(grad, start, a)[-1] - (start - a * grad(start))) for a in (0.04, 0.02, 0.01)]
    path = gradient_flow(grad, start, 1.0, points=20)
    return every(
        closed_form=near(path[-1], decay, tolerance=1e-9),
        order=near(np.log2(np.divide(gaps[:-1], gaps[1:])), np.full(2, 2.0), tolerance=0.05),
        falls=below(float(np.max(np.diff([f(p) for p in path]))), -1e-3),
    )
